"""A vocabulary grows by new words: old ids stay, a new word is one token, and the model gives it a fair beginning."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models
from torch.testing import assert_close
from toy_models import CONFIGS

import transduce
from transduce.base.config import read_toml
from transduce.base.errors import ConfigError, DataError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import load_recipe
from transduce.models.families import ModelConfig, build_model
from transduce.models.larger_vocabulary import with_new_tokens
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.text.new_words import frequent_words, grow, read_words
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

OLD = [f"the {noun} sees a {other}, and it runs!" for noun in ("dog", "cat", "cow") for other in ("moon", "sun")] * 3
NEW = ["the ophthalmologist sees a dog", "an ophthalmologist, and a tachycardia", "Größe of a tachycardia"]
WORDS = ["ophthalmologist", "tachycardia", "Größe", "日本"]
KINDS = ["bpe", "unigram", "wordpiece", "words", "whitespace", "bert"]


def tokenizer_of(kind: str) -> Tokenizer:
    return train_tokenizer(SideConfig(kind=kind, min_frequency=1), OLD)


@pytest.mark.parametrize("kind", KINDS)
def test_new_words_are_one_token_and_old_text_keeps_its_ids(kind: str, tmp_path: Path) -> None:
    old = tokenizer_of(kind)
    words = WORDS[:3] if kind == "bert" else WORDS  # which puts spaces between Chinese characters
    growth = grow(old, words)
    new = growth.tokenizer
    assert len(new) == len(old) + len(words) == len(old) + len(growth.former)
    assert new.encode_batch(OLD) == old.encode_batch(OLD)
    assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
    before = old.encode("the")
    for number, word in enumerate(words):
        assert new.encode(f"the {word}") == [*before, len(old) + number], word
        assert new.encode(word) == [len(old) + number]
        assert [*before, *growth.former[number]] == old.encode(f"the {word}")
    new.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.encode_batch(NEW) == new.encode_batch(NEW)
    assert [again.decode(ids) for ids in again.encode_batch(NEW)] == [new.decode(ids) for ids in new.encode_batch(NEW)]
    if kind in ("bpe", "unigram", "wordpiece"):
        assert [new.decode(ids) for ids in new.encode_batch(NEW)] == NEW


def test_words_that_are_pieces_already_or_are_divided_before_are_left_out() -> None:
    old = tokenizer_of("bpe")
    assert grow(old, ["the", "e-mail", "tachycardia", "tachycardia"]).former == [old.encode("a tachycardia")[1:]]


def test_frequent_words_are_those_split_most_often() -> None:
    old = tokenizer_of("bpe")
    assert frequent_words(old, NEW, 5, 3) == ["ophthalmologist", "tachycardia"]
    assert frequent_words(old, NEW, 1, 3) == ["ophthalmologist"]
    assert frequent_words(old, OLD, 5, 3) == []
    assert frequent_words(tokenizer_of("words"), NEW, 5, 3) == ["ophthalmologist", "tachycardia"]  # unknown ones


@pytest.mark.parametrize("kind", ["characters", "bytes"])
def test_tokenizers_without_words_do_not_grow(kind: str) -> None:
    with pytest.raises(ConfigError, match="does not divide text into words first"):
        grow(train_tokenizer(SideConfig(kind=kind, min_frequency=1), OLD), WORDS)


def test_other_tokenizers_that_cannot_grow_are_refused() -> None:
    old = tokenizer_of("words")
    made = Tokenizer(old.backend, None, sentencepiece=b"a model")
    with pytest.raises(ConfigError, match="was made from a model of SentencePiece"):
        grow(made, WORDS)
    backend = Backend(models.WordLevel({"a": 0, "b": 1, "<unk>": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = old.backend.pre_tokenizer
    with pytest.raises(ConfigError, match="has tokens beside its vocabulary"):
        grow(Tokenizer(backend), WORDS)


@pytest.mark.parametrize("content", [b"one\ntwo words\n", b"\xff\n", b"\n"])
def test_a_damaged_file_of_words_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises((ConfigError, DataError), match=r"words\.txt"):
        read_words(tmp_path / "words.txt")


@pytest.mark.parametrize(
    "config",
    [
        TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=3, feed_forward_dim=17, output_bias=True),
        TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=3, feed_forward_dim=17, tie="none"),
        CONFIGS["bahdanau"],
    ],
)
def test_rows_of_new_tokens_are_means_and_all_else_stays(config: ModelConfig) -> None:
    torch.manual_seed(3)
    model = build_model(config, 11, 13)
    state = torch.get_rng_state()
    larger = with_new_tokens(config, model, (11, 13), [[1, 5]], [[2], [3, 7, 7]]).state_dict()
    assert torch.equal(state, torch.get_rng_state())
    for name, tensor in model.state_dict().items():
        new = larger[name]
        assert torch.equal(new[: len(tensor)], tensor), name
        if len(new) == len(tensor):
            continue
        if name.startswith("encoder"):
            assert_close(new[11], (tensor[1] + tensor[5]) / 2)
        else:
            assert_close(new[13], tensor[2])
            assert_close(new[14], (tensor[3] + 2 * tensor[7]) / 3)
    grown = {name: len(tensor) for name, tensor in larger.items() if len(tensor) != len(model.state_dict()[name])}
    assert {12, 15} == set(grown.values())
    assert grown["decoder.output.weight"] == 15


def test_embeddings_in_clusters_do_not_grow() -> None:
    config = TransformerXLConfig(layers=1, dim=12, heads=3, feed_forward_dim=17, cutoffs=(5,), memory=3)
    with pytest.raises(ConfigError, match=r"in clusters \(model\.cutoffs\)"):
        with_new_tokens(config, build_model(config, 11, 11), (11, 11), [[1]], [[1]])


def test_a_run_adds_words_of_a_file_and_frequent_ones_and_goes_on_with_them(
    tiny_run: Path, recipe_file: Path, tmp_path: Path
) -> None:
    tree = read_toml(recipe_file)
    for side in ("en", "de"):
        text = (recipe_file.parent / f"train.{side}").read_text(encoding="utf-8")
        (tmp_path / f"train.{side}").write_text(text + "tachycardia\n" * 5, encoding="utf-8")
    (tmp_path / "words.txt").write_text("ophthalmologist\nthe\n", encoding="utf-8")
    start = ModelBundle.load(tiny_run)
    changes = {
        "data.train": [str(tmp_path / f"train.{side}") for side in ("en", "de")],
        "training": {"start_from": str(tiny_run), "updates": 10},
        "training.new_words": {"file": str(tmp_path / "words.txt"), "frequent": 1, "min_pieces": 2},
        "optimizer.learning_rate": 1e-9,
    }
    assert "train" in tree["data"]
    told: list[str] = []
    result = transduce.train(load_recipe(recipe_file, changes), tmp_path / "run", tell=told.append)
    (line, _) = (line for line in told if line.startswith("new words: "))
    assert line == "new words: 2 of 2 from the file and 1 frequent ones, such as ophthalmologist (<unk>)"
    bundle = ModelBundle.load(result.model)
    assert bundle.tokenizers.source.pieces(bundle.tokenizers.source.encode("tachycardia")) == ["tachycardia"]
    assert len(bundle.tokenizers.source) == len(start.tokenizers.source) + 2
    assert result.before["loss"] < 20
    changes["training"] = {"start_from": str(tiny_run), "updates": 12}
    assert transduce.train(load_recipe(recipe_file, changes), tmp_path / "run", resume=True).updates == 12
    (tmp_path / "words.txt").write_text("other\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"words\.txt \(training\.new_words\.file\): the contents have changed"):
        transduce.train(load_recipe(recipe_file, changes), tmp_path / "run", resume=True)
