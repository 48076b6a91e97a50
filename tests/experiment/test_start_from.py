"""A recipe that starts from a model says only what is different, and parts of the model may stay as they are."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w
import torch

import transduce
from transduce.base.config import read_toml, to_toml
from transduce.base.errors import CheckpointError, ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment.recipe import load_recipe
from transduce.models.named_parts import is_in, parameters_of, stacks
from transduce.text.tokenizer_settings import SideConfig, TokenizerConfig

FEW = {"updates": 1, "precision": "float32"}


@pytest.fixture
def silent(tiny_run: Path, recipe_file: Path, tmp_path: Path) -> Path:
    """A recipe without [model], [tokenizer] and languages."""
    tree = read_toml(recipe_file)
    data = {name: [str(recipe_file.parent / file) for file in tree["data"][name]] for name in ("train", "validation")}
    path = tmp_path / "mine.toml"
    training = {**FEW, "start_from": str(tiny_run)}
    path.write_text(tomli_w.dumps({"data": data, "training": training}), encoding="utf-8")
    return path


def test_what_a_recipe_leaves_out_is_taken_from_the_model_it_starts_from(silent: Path, tiny_run: Path) -> None:
    start = ModelBundle.load(tiny_run).config
    config = load_recipe(silent).config
    assert config.model == start.model
    assert config.tokenizer == start.tokenizer
    assert (config.data.source, config.data.target) == (start.source, start.target) == ("en", "de")
    told: list[str] = []
    result = transduce.train(silent, silent.parent / "run", tell=told.append)
    assert not any("no effect" in line for line in told)
    assert ModelBundle.load(result.model).config.model == start.model
    again = load_recipe(result.run)  # says all by itself, should the first model go
    assert again.config.model == start.model


def test_a_recipe_may_change_rates_of_dropout_and_nothing_else_of_the_model(silent: Path) -> None:
    changes = ["model.dropout=0.25", "model.attention_dropout=0.0", "optimizer.learning_rate=1e-12"]
    result = transduce.train(load_recipe(silent, changes), silent.parent / "run")
    model = ModelBundle.load(result.model)
    assert (model.config.model.dropout, model.config.model.attention_dropout) == (0.25, 0.0)
    with pytest.raises(ConfigError, match=r"model\.kind was transformer, now it is recurrent"):
        transduce.train(load_recipe(silent, ["model.kind=recurrent"]), silent.parent / "other")


def test_a_recipe_without_a_tokenizer_has_that_of_the_model(silent: Path, tiny_run: Path) -> None:
    start = ModelBundle.load(tiny_run).config
    two = TokenizerConfig(source=SideConfig(size=500), target=SideConfig(size=600, lowercase=True))
    for number, tokenizer in enumerate([TokenizerConfig(kind="bpe", size=500, lowercase=True), two]):
        folder = silent.parent / f"start-{number}"
        folder.mkdir()
        settings = to_toml(msgspec.structs.replace(start, tokenizer=tokenizer))
        (folder / "config.toml").write_text(settings, encoding="utf-8")
        assert load_recipe(silent, [f"training.start_from={folder.name}"]).config.tokenizer == tokenizer


def test_a_model_that_cannot_be_started_from_is_named_where_its_settings_are_needed(silent: Path) -> None:
    with pytest.raises(CheckpointError, match=r"training\.start_from: .*nowhere: no such model"):
        load_recipe(silent, ["training.start_from=nowhere"])
    with pytest.raises(InputError, match=r"training\.start_from: .* is a translation model"):
        load_recipe(silent, {"task": "language"})


def moved(recipe: Path, start: Path, out: Path, **optimizer: Any) -> dict[str, float]:
    """How far an update of the same size for all moves each parameter."""
    settings = {"kind": "adamw", "learning_rate": 1e-3, "schedule": {"kind": "constant"}, **optimizer}
    overrides = {"training": {**FEW, "start_from": str(start)}, "optimizer": settings}
    transduce.train(recipe, out, overrides=overrides)
    before, after = (ModelBundle.load(model).model.state_dict() for model in (start, out))
    return {name: float((after[name] - before[name]).abs().max()) for name in before}


@pytest.mark.parametrize(
    ("optimizer", "stays"),
    [
        ({"frozen": ["embeddings"]}, lambda name: "table" in name or name == "decoder.output.weight"),
        ({"frozen": ["encoder", "cross_attention"]}, lambda name: "encoder." in name or ".cross_attention." in name),
        ({"frozen": ["decoder.layers.1"]}, lambda name: name.startswith("decoder.layers.1.")),
        (
            {"frozen": ["embeddings", "layers.0"]},
            lambda name: "layers.0" in name or "table" in name or name == "decoder.output.weight",
        ),
    ],
)
def test_frozen_parts_of_a_translation_model_stay(
    tiny_run: Path, recipe_file: Path, tmp_path: Path, optimizer: dict[str, Any], stays: Any
) -> None:
    changes = moved(recipe_file, tiny_run, tmp_path / "run", **optimizer)
    assert {name for name, change in changes.items() if change == 0} == {name for name in changes if stays(name)}


def test_layers_of_encoder_and_decoder_learn_less_the_lower_they_are(
    tiny_run: Path, recipe_file: Path, tmp_path: Path
) -> None:
    changes = moved(recipe_file, tiny_run, tmp_path / "run", layer_decay=0.5)
    for name, share in (
        ("encoder.norm.bias", 1),
        ("encoder.layers.0.feed_forward.inner.bias", 0.5),
        ("encoder.embedding.table.weight", 0.25),
        ("decoder.layers.1.feed_forward.inner.bias", 0.5),
        ("decoder.layers.0.feed_forward.inner.bias", 0.25),
        ("decoder.embedding.table.weight", 0.125),
    ):
        assert changes[name] == pytest.approx(1e-3 * share, rel=0.05), name


def test_a_part_is_named_by_whole_words_of_its_place(tiny_run: Path) -> None:
    assert is_in("decoder.layers.1.cross_attention.query.weight", "layers.1.cross_attention")
    assert not is_in("decoder.layers.1.cross_attention.query.weight", "attention")
    assert not is_in("decoder.layers.11.attention", "layers.1")
    assert not is_in("decoder", "")
    model = ModelBundle.load(tiny_run).model
    assert {name: len(blocks) for name, blocks in stacks(model).items()} == {"encoder": 2, "decoder": 3}
    tables = parameters_of(model, "embeddings", "frozen")
    assert {id(table) for table in tables} == {
        id(model.encoder.embedding.table.weight),
        id(model.decoder.output.weight),
    }
    assert torch.equal(model.decoder.output.weight, model.decoder.embedding.table.weight)
