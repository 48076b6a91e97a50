"""A text encoder as a tool: its vectors and guesses are the model's own, batched or one by one."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import transduce
from transduce.apps.cli.main import app
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.text_batch import make_text_batch
from transduce.inference.text_encoder import Encoder
from transduce.models.bert import BertConfig
from transduce.models.families import build_encoder_model
from transduce.models.heads import HeadConfig, WordHead, WordHeadConfig
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import SpecialTokens, TokenizerConfig

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "cat", "see", "##s", "a", "."]
TEXTS = ["the dog sees", "a cat .", "the dog sees the cat . " * 9]


def make(folder: Path, head: HeadConfig | None) -> Path:
    tree = {
        "version": "1.0",
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [
            {
                "id": i,
                "content": word,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, word in enumerate(WORDS[:5])
        ],
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: i for i, word in enumerate(WORDS)},
        },
    }
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(tree))
    special = SpecialTokens(pad="[PAD]", unknown="[UNK]", bos="[CLS]", eos="[SEP]", mask="[MASK]")
    tokenizer = Tokenizer.load(folder / "tokenizer.json", special)
    config = BundleConfig(
        format=FORMAT,
        task="encoder",
        source="en",
        target="en",
        model=BertConfig(layers=2, dim=12, heads=3, max_positions=32),
        tokenizer=TokenizerConfig(kind="file", file="tokenizer.json", special=special),
        longest_source=32,
        head=head,
    )
    torch.manual_seed(2)
    model = build_encoder_model(config.model, len(tokenizer), head)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 5)
    ModelBundle(config, model.eval(), Tokenizers(tokenizer, tokenizer)).save(folder / "model", [("the dog", "")])
    return folder / "model"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("encoder") / "words", WordHeadConfig())


def test_a_vector_is_the_mean_of_its_tokens_vectors(model: Path) -> None:
    encoder = transduce.load(model)
    assert isinstance(encoder, Encoder)
    bundle = encoder.bundle
    batch = make_text_batch([(bundle.tokenizers.target.encode(TEXTS[0]), None)], bundle.special)
    with torch.inference_mode():
        encoded = encoder.model.encoder(batch.tokens, batch.segments, batch.is_real)
    expected = encoded.hidden[0].mean(0).numpy()
    np.testing.assert_allclose(encoder.embed(TEXTS[0], normalize=False), expected, atol=1e-5)
    np.testing.assert_allclose(encoder.embed(TEXTS[0]), expected / np.linalg.norm(expected), atol=1e-5)
    np.testing.assert_allclose(
        encoder.embed(TEXTS[0], pooling="pooler", normalize=False), encoded.pooled[0].numpy(), atol=1e-5
    )
    np.testing.assert_allclose(
        encoder.embed(TEXTS[0], pooling="first", normalize=False), encoded.hidden[0, 0].numpy(), atol=1e-5
    )


def test_batched_is_one_by_one_and_long_texts_are_cut(model: Path) -> None:
    encoder = Encoder.load(model)
    together = encoder.embed(TEXTS)
    assert together.shape == (3, 12)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(encoder.embed(text), vector, atol=1e-5)


def test_guesses_are_probabilities_of_the_vocabulary(model: Path) -> None:
    encoder = Encoder.load(model)
    text = "the [MASK] sees a [MASK] ."
    found = encoder.fill(text, guesses=len(WORDS))
    assert [text[place.start : place.end] for place in found.places] == ["[MASK]", "[MASK]"]
    for place in found.places:
        probabilities = [guess.probability for guess in place.guesses]
        assert sum(probabilities) == pytest.approx(1)
        assert probabilities == sorted(probabilities, reverse=True)
        assert sorted(guess.token for guess in place.guesses) == sorted(WORDS)
    assert found.places[0].guesses[0].text.endswith(" sees a [MASK] .")
    (first, other) = encoder.fill([text, "[MASK]"], guesses=3)
    assert [guess.token for guess in first.places[1].guesses] == [g.token for g in found.places[1].guesses[:3]]
    assert len(other.places) == 1


def test_logits_are_made_of_hidden_places_alone(model: Path) -> None:
    encoder, sizes = Encoder.load(model), []
    assert isinstance(encoder.model.head, WordHead)
    encoder.model.head.output.register_forward_hook(lambda module, inputs, output: sizes.append(output.shape[:-1]))
    encoder.fill(["the [MASK] sees a dog .", "[MASK]", "a cat . [MASK] a dog ."])
    assert sum(size.numel() for size in sizes) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [("the dog", "nothing is hidden"), ("[MASK] " + "the " * 40, "reads 32 at most")],
)
def test_a_text_that_cannot_be_filled_is_reported(model: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder.load(model).fill(text)


def test_what_cannot_be_asked_is_reported(model: Path) -> None:
    encoder = Encoder.load(model)
    with pytest.raises(InputError, match="pooling = 'max': expected one of mean, first, pooler"):
        encoder.embed("the dog", pooling="max")  # type: ignore[arg-type, call-overload]
    with pytest.raises(InputError, match="guesses = 0"):
        encoder.fill("the [MASK]", guesses=0)


def test_a_model_without_a_head_for_words_does_not_guess(tmp_path: Path) -> None:
    encoder = Encoder.load(make(tmp_path / "bare", None))
    assert encoder.embed(["the"]).shape == (1, 12)
    with pytest.raises(InputError, match="does not guess hidden words"):
        encoder.fill("a [MASK]")


def test_the_commands_give_a_line_for_each_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts").write_text("the [MASK] sees\n\n", encoding="utf-8")
    app(["fill", str(model), str(tmp_path / "texts"), "--guesses", "2"])
    app(["embed", str(model), str(tmp_path / "texts"), "--pooling", "first"])
    filled, blank, vector, none = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(filled["places"][0]["guesses"]) == 2
    assert blank is none is None
    assert np.linalg.norm(vector) == pytest.approx(1)
