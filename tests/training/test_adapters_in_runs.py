"""Runs that train adapters alone: what changes, how the model is saved, and how a stopped run goes on."""

import hashlib
import os
import shutil
import signal
from pathlib import Path

import msgspec
import pytest
import torch
from safetensors.torch import load_file
from stop_at_update import Stop
from torch.testing import assert_close

import transduce
from bert_folder import write_bert
from transduce.apps.cli.main import app
from transduce.apps.cli.main import run as command
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import CheckpointError, InputError, Interrupted
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import average, load_recipe, merge
from transduce.training.checkpoint import whole_checkpoints
from transduce.training.observers import Observer

pytestmark = pytest.mark.slow

ADAPTERS = ["training.adapters.rank=3", "training.adapters.dropout=0.1", "optimizer.learning_rate=0.01"]
TIMED = ("seconds", "seconds_per_update", "target_tokens_per_second")


def train(recipe: Path, start: Path, out: Path, *changes: str) -> Path:
    return transduce.train(load_recipe(recipe, [f"training.start_from={start}", *ADAPTERS, *changes]), out).run


@pytest.fixture(scope="module")
def runs(recipe_file: Path, tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs that differ in how their models are saved, and the model that they started from."""
    folder = tmp_path_factory.mktemp("adapted")
    shutil.copytree(tiny_run / "model", folder / "general")
    for save in ("merged", "apart"):
        train(recipe_file, folder / "general", folder / save, f"training.adapters.save={save}")
    return folder


def test_apart_and_merged_are_the_same_model(runs: Path) -> None:
    merged, apart = (ModelBundle.load(runs / save) for save in ("merged", "apart"))
    assert merged.config == apart.config
    assert merged.config.adapters is merged.config.base is None
    for name, tensor in merged.model.state_dict().items():
        assert_close(apart.model.state_dict()[name], tensor, atol=1e-6, rtol=0)
    lines = ["the red dog sees a cat", "two women"]
    translators = [transduce.load(runs / save) for save in ("merged", "apart")]
    first, second = ([found.n_best[0].score for found in one.translate(lines)] for one in translators)
    assert first == pytest.approx(second, abs=1e-6)


def test_nothing_but_adapters_changes_and_apart_nothing_else_is_saved(runs: Path) -> None:
    before = load_file(runs / "general" / "weights.safetensors")
    checkpoint = whole_checkpoints(runs / "apart")[-1]
    after, saved = (
        load_file(folder / "weights.safetensors") for folder in (checkpoint / "bundle", runs / "apart" / "model")
    )
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert saved.keys() == after.keys() - before.keys()
    assert all(name.endswith((".up", ".down")) for name in saved)
    assert any(tensor.any() for name, tensor in saved.items() if name.endswith(".up"))
    optimizer = load_file(checkpoint / "optimizer.safetensors")
    moments = [tensor for name, tensor in optimizer.items() if name.endswith("exp_avg")]
    assert sum(moment.numel() for moment in moments) == sum(tensor.numel() for tensor in saved.values())


def test_merging_writes_an_ordinary_model_and_a_base_that_moved_is_named(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "apart" / "model", tmp_path / "moved")
    with pytest.raises(
        CheckpointError, match=r"holds adapters alone, for the model that was in .*general: .*no such model"
    ):
        ModelBundle.load(tmp_path / "moved")
    merge(tmp_path / "moved", tmp_path / "one", base=runs / "general")
    assert read_config(tmp_path / "one") == read_config(runs / "merged" / "model")
    expected = ModelBundle.load(runs / "merged").model.state_dict()
    for name, tensor in ModelBundle.load(tmp_path / "one").model.state_dict().items():
        assert_close(tensor, expected[name], atol=1e-6, rtol=0)
    assert command(lambda: app(["merge", str(runs / "apart"), "-o", str(tmp_path / "two")])) == 0
    assert ModelBundle.load(tmp_path / "two")
    with pytest.raises(InputError, match="exists"):
        merge(runs / "apart", tmp_path / "two")
    with pytest.raises(
        CheckpointError, match=r"is another model \(SHA-256 differs\); restore it, or merge .* \(base\)"
    ):
        merge(runs / "apart", tmp_path / "three", base=runs / "merged")


def test_adapters_of_adapters_name_their_base_in_turn(runs: Path, recipe_file: Path, tmp_path: Path) -> None:
    run = train(recipe_file, runs / "apart", tmp_path / "second", "training.adapters.save=apart", "training.updates=2")
    assert ModelBundle.load(run).config.base is None
    config = read_config(run / "model")
    assert config.base is not None
    assert (run / "model" / config.base.path).resolve() == (runs / "apart" / "model").resolve()


@pytest.mark.parametrize(
    "changes",
    [
        ["training.moving_average=0.9", "training.precision=bfloat16"],
        ["optimizer.kind=muon", "optimizer.frozen=['encoder']", "training.adapters.save=apart"],
    ],
)
def test_a_stopped_run_goes_on_as_the_one_left_alone(
    recipe_file: Path, tiny_run: Path, tmp_path: Path, changes: list[str]
) -> None:
    class Stop(Observer):
        def report(self, report: object) -> None:
            if report.update == 15:  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGINT)

    recipe = load_recipe(recipe_file, [f"training.start_from={tiny_run}", *ADAPTERS, *changes])
    transduce.train(recipe, tmp_path / "alone")
    with pytest.raises(Interrupted):
        transduce.train(recipe, tmp_path / "stopped", observers=[Stop()])
    transduce.train(recipe, tmp_path / "stopped", resume=True)

    def result(run: Path) -> object:
        log = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
        told = [{key: value for key, value in line.items() if key not in TIMED} for line in log]
        return told, hashlib.sha256((run / "model" / "weights.safetensors").read_bytes()).hexdigest()

    assert result(tmp_path / "stopped") == result(tmp_path / "alone")


def test_an_average_is_of_the_merged_weights(runs: Path, tmp_path: Path) -> None:
    found = average(runs / "apart", last=2, out=tmp_path / "average")
    folders = [runs / "apart" / "checkpoints" / name / "bundle" for name in found.checkpoints]
    of_each = [ModelBundle.load(folder).model.state_dict() for folder in folders]
    for name, tensor in ModelBundle.load(tmp_path / "average").model.state_dict().items():
        assert_close(tensor, (of_each[0][name] + of_each[1][name]) / 2, atol=1e-6, rtol=0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_new_words_learn_beside_adapters_and_all_other_rows_stay(
    recipe_file: Path, tiny_run: Path, tmp_path: Path, precision: str
) -> None:
    changes = [
        "training.new_words={frequent=3, min_pieces=2}",
        "optimizer={kind='adamw', weight_decay=0.1, learning_rate=0.01}",
        f"training.precision={precision}",
    ]
    text = (recipe_file.parent / "train.en").read_text(encoding="utf-8")
    target = (recipe_file.parent / "train.de").read_text(encoding="utf-8")
    (tmp_path / "train.en").write_text(text + "the aorta sees a stent\n" * 30, encoding="utf-8")
    (tmp_path / "train.de").write_text(target + "die Aorta sieht einen Stent\n" * 30, encoding="utf-8")
    changes.append(f"data.train={[str(tmp_path / f'train.{side}') for side in ('en', 'de')]}")
    recipe = load_recipe(recipe_file, [f"training.start_from={tiny_run}", *ADAPTERS, *changes])
    transduce.train(recipe, tmp_path / "alone")
    before = load_file(tiny_run / "model" / "weights.safetensors")
    first, last = (load_file(path / "bundle" / "weights.safetensors") for path in whole_checkpoints(tmp_path / "alone"))
    grown = [name for name, tensor in before.items() if last[name].shape != tensor.shape]
    assert len(grown) == 2  # of the source, and of the target with the output layer
    for name, tensor in before.items():
        assert torch.equal(last[name][: len(tensor)], tensor), name
    for name in grown:
        assert (first[name][len(before[name]) :] != last[name][len(before[name]) :]).any(1).all()
    halfway = tmp_path / "halfway"
    with pytest.raises(Interrupted):
        transduce.train(recipe, halfway, observers=[Stop(15)])
    transduce.train(recipe, halfway, resume=True)
    for name, tensor in load_file(halfway / "model" / "weights.safetensors").items():
        assert torch.equal(tensor, load_file(tmp_path / "alone" / "model" / "weights.safetensors")[name])


def test_adapters_of_a_text_encoder_are_kept_apart_with_its_pooler_and_head(tmp_path: Path) -> None:
    write_bert(tmp_path / "theirs")
    import_huggingface(tmp_path / "theirs", tmp_path / "encoder")
    (tmp_path / "classes.tsv").write_text("the dog\tgood\nthe cat\tbad\n" * 6, encoding="utf-8")
    (tmp_path / "classes.toml").write_text(
        'task = "classification"\n[data]\ntrain = "classes.tsv"\nvalidation = "classes.tsv"\n[training]\nupdates = 6\n'
        'start_from = "encoder"\nadapters = { rank = 2 }\n[optimizer]\nlearning_rate = 0.05\n',
        encoding="utf-8",
    )
    for save in ("merged", "apart"):
        recipe = load_recipe(
            tmp_path / "classes.toml", [f"training.adapters.save={save}", "training.precision=float32"]
        )
        transduce.train(recipe, tmp_path / save)
    merged, apart = (ModelBundle.load(tmp_path / save).model.state_dict() for save in ("merged", "apart"))
    for name, tensor in merged.items():
        assert_close(apart[name], tensor, atol=1e-6, rtol=0)
    kept = {path.name: path.stat().st_size for path in (tmp_path / "apart" / "model").iterdir()}
    assert kept["weights.safetensors"] < (tmp_path / "merged" / "model" / "weights.safetensors").stat().st_size


def test_new_words_are_kept_apart_with_the_tables_that_hold_them(
    recipe_file: Path, tiny_run: Path, tmp_path: Path
) -> None:
    for side, line in (("en", "the aorta sees a stent"), ("de", "die Aorta sieht einen Stent")):
        text = (recipe_file.parent / f"train.{side}").read_text(encoding="utf-8")
        (tmp_path / f"train.{side}").write_text(text + f"{line}\n" * 30, encoding="utf-8")
    data = f"data.train={[str(tmp_path / f'train.{side}') for side in ('en', 'de')]}"
    words = "training.new_words={frequent=3, min_pieces=2}"
    for save in ("merged", "apart"):
        train(recipe_file, tiny_run, tmp_path / save, data, words, f"training.adapters.save={save}")
    merged, apart = (ModelBundle.load(tmp_path / save).model.state_dict() for save in ("merged", "apart"))
    assert merged.keys() == apart.keys()
    for name, tensor in merged.items():
        assert_close(apart[name], tensor, atol=1e-6, rtol=0)
