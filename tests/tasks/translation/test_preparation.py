"""What a run needs before its first update is made from its data, or taken from its checkpoint."""

import shutil
from pathlib import Path

import pytest
import torch

from transduce.base.errors import ConfigError, DataError
from transduce.corpora.splits import open_splits
from transduce.experiment import load_recipe
from transduce.tasks.translation.preparation import Numbers, prepare
from transduce.training.distributed import Processes


def prepared(recipe_file: Path, *changes: str, checkpoint: Path | None = None) -> tuple[Numbers, list[str]]:
    recipe = load_recipe(str(recipe_file), changes)
    lines: list[str] = []
    splits = open_splits(recipe.config.data, recipe.folder)
    return prepare(recipe.config, recipe.folder, splits, checkpoint, Processes(), lines.append), lines


def test_tokenizers_stores_and_model_fit_each_other(recipe_file: Path) -> None:
    found, lines = prepared(recipe_file)
    tokenizers = found.bundle.tokenizers
    (store,) = found.stores
    assert store.source.ids.max() < len(tokenizers.source) == found.bundle.model.encoder.embedding.table.num_embeddings
    assert store.target.ids.max() < len(tokenizers.target) == found.bundle.model.decoder.output.out_features
    assert found.bundle.config.longest_source == max(map(int, store.source.lengths))
    assert {direction: len(store) for direction, store in found.validation.items()} == {None: 23}
    assert f"training data: {len(store)} pairs" in "\n".join(lines)


def test_a_run_that_goes_on_reads_its_tokenizers_from_its_checkpoint(tiny_run: Path, recipe_file: Path) -> None:
    checkpoint = tiny_run / "checkpoints" / "000030"
    # What the settings name may be gone: a tokenizer file, or the model that training started from.
    for gone in ("tokenizer={kind='file', file='gone.json', shared=false}", "training.start_from=gone"):
        found, _ = prepared(recipe_file, gone, checkpoint=checkpoint)
        first, _ = prepared(recipe_file)
        assert found.bundle.tokenizers.target.content == first.bundle.tokenizers.target.content
        assert found.bundle.config.tokenizer == first.bundle.config.tokenizer


def test_a_model_that_is_started_from_brings_weights_and_tokenizers(tiny_run: Path, recipe_file: Path) -> None:
    start = f"training.start_from={tiny_run}"
    found, _ = prepared(recipe_file, start, "tokenizer={kind='characters'}")
    again, _ = prepared(recipe_file, start)
    assert found.bundle.config.tokenizer.kind == "words"
    for name, weight in found.bundle.model.state_dict().items():
        assert torch.equal(weight, again.bundle.model.state_dict()[name]), name
    with pytest.raises(ConfigError, match=r"training\.start_from: model\.dim was 24, now it is 36"):
        prepared(recipe_file, start, "model.dim=36")


def test_held_out_sentences_that_are_trained_on_are_reported_when_a_run_begins_alone(
    recipe_file: Path, tiny_run: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(recipe_file.parent, tmp_path / "corpus"))
    for language in ("en", "de"):
        first = (folder / f"train.{language}").read_text(encoding="utf-8").splitlines()[0]
        with (folder / f"dev.{language}").open("a", encoding="utf-8") as stream:
            stream.write(f"{first}\n")
    words = "1 whole pairs are in the training data too"
    assert any(words in line for line in prepared(folder / recipe_file.name)[1])
    checkpoint = tiny_run / "checkpoints" / "000030"
    assert not any(words in line for line in prepared(folder / recipe_file.name, checkpoint=checkpoint)[1])


@pytest.mark.parametrize("side", ["en", "de"])
def test_a_validation_pair_beyond_the_learned_positions_is_named(recipe_file: Path, tmp_path: Path, side: str) -> None:
    folder = Path(shutil.copytree(recipe_file.parent, tmp_path / "corpus"))
    lines = (folder / f"dev.{side}").read_text(encoding="utf-8").splitlines()
    word = (folder / f"train.{side}").read_text(encoding="utf-8").split()[0]
    lines[6] = f"{word} " * 40
    (folder / f"dev.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    limit = ["model.positions=learned", "model.max_positions=40"]
    name = {"en": "source", "de": "target"}[side]
    with pytest.raises(DataError, match=rf"dev\.en and .* the {name} of pair 7 has 41 tokens with its end"):
        prepared(folder / recipe_file.name, *limit)


def test_generated_sequences_longer_than_those_of_the_training_are_read_whole() -> None:
    sizes = "data.sequences={min_length=1, max_length=4, max_length_held_out=7, train=40, validation=20, test=5}"
    found, _ = prepared(Path("reverse-rnn"), sizes)  # each piece reversed by itself would never be the whole reversed
    assert found.bundle.config.longest_source == 7
