"""Language models that remember the segments before: trained, resumed, measured, and written with."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w
import torch

import transduce
from forked_run import train_in_processes
from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import DataOptions
from transduce.apps.cli.scored import evaluate_text
from transduce.base.errors import ConfigError, InputError
from transduce.corpora.formats import text_file
from transduce.data.text_store import open_text_store
from transduce.data.windows import WindowsConfig
from transduce.evaluation.dynamic import DynamicEvaluation, read_dynamically
from transduce.evaluation.perplexity import read_in_order
from transduce.inference.generator import Generator
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling
from transduce.tasks.language.language_validation import Reading

pytestmark = pytest.mark.slow

LINES = [f"the {animal} sees  the {other}\n\n" for animal in ("dog", "cat", "cow") for other in ("sun", "moon")]
TEXT = "".join(LINES) * 20
MODELS: dict[str, dict[str, Any]] = {
    "transformer-xl": {
        "kind": "transformer-xl",
        "layers": 2,
        "dim": 16,
        "heads": 2,
        "feed_forward_dim": 24,
        "memory": 17,
        "dropout": 0.1,
        "word_dropout": 0.1,
        "variational_dropout": True,
    },
    "xlnet": {
        "kind": "xlnet",
        "layers": 2,
        "dim": 16,
        "heads": 2,
        "feed_forward_dim": 24,
        "memory": 17,
        "dropout": 0.1,
        "predicted": 1.0,
    },
    "recurrent-language": {"kind": "recurrent-language", "layers": 2, "dim": 16, "dropout": 0.1, "word_dropout": 0.1},
}
SETTINGS: dict[str, Any] = {
    "task": "language",
    "data": {"train": "text", "validation_share": 0.1, "language": "en"},
    "tokenizer": {"kind": "characters", "min_frequency": 1},
    "batching": {"window": 12, "target_tokens": 48},
    "training": {"updates": 20, "precision": "float32", "report_every": 5, "label_smoothing": 0.0},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "inverse_square_root", "warmup": 5}},
    "checkpoint": {"every_updates": 10},
    "validation": {"every_updates": 10, "samples": 1},
}
KINDS = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a text, and a recipe for each kind of model."""
    folder = tmp_path_factory.mktemp("segments")
    (folder / "text").write_text(TEXT, encoding="utf-8")
    for kind, model in MODELS.items():
        (folder / f"{kind}.toml").write_text(tomli_w.dumps({**SETTINGS, "model": model}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, Path]:
    """A finished run of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        for kind in MODELS:
            transduce.train(folder / f"{kind}.toml", folder / kind)
    return {kind: folder / kind for kind in MODELS}


def losses(run: Path) -> list[float]:
    log = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    return [line["loss"] for line in log if "loss" in line]


def load(run: Path) -> Generator:
    loaded = transduce.load(run)
    assert isinstance(loaded, Generator)
    return loaded


@KINDS
def test_a_stopped_run_goes_on_bit_for_bit_with_its_memory(kind: str, folder: Path, runs: dict[str, Path]) -> None:
    transduce.train(folder / f"{kind}.toml", folder / f"{kind}-stopped", overrides={"training.updates": 10})
    transduce.train(folder / f"{kind}.toml", folder / f"{kind}-stopped", resume=True)
    assert losses(folder / f"{kind}-stopped") == losses(runs[kind])


@KINDS
def test_each_part_of_a_batch_keeps_its_own_memory(kind: str, folder: Path, tmp_path: Path) -> None:
    rates = (name for name in ("dropout", "word_dropout") if name in MODELS[kind])
    still = {**{f"model.{name}": 0.0 for name in rates}, "training.updates": 10}
    for name, parts in (("whole", 1), ("parts", 3)):
        overrides = {**still, "training.accumulate": parts}
        transduce.train(folder / f"{kind}.toml", tmp_path / name, overrides=overrides)
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), rel=1e-4)


@KINDS
def test_memory_is_what_a_segment_is_predicted_from(kind: str, folder: Path, runs: dict[str, Path]) -> None:
    generator = load(runs[kind])
    tokenizer = generator.bundle.tokenizers.target
    store = open_text_store(text_file(folder / "text"), tokenizer, folder / "cache")
    found = [
        torch.cat(list(read_in_order(generator.bundle.model, store, WindowsConfig(window=window))))
        for window in (5, 31, 1000)
    ]
    assert len(found[0]) == len(store) - 1
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], atol=1e-4, rtol=1e-4)


@KINDS
@pytest.mark.parametrize(
    "search",
    [Beam(size=1), Beam(size=3, n_best=2), Sampling(temperature=0.3, seed=4), DiverseBeam(size=4, groups=2, n_best=2)],
    ids=str,
)
def test_writing_with_a_memory_is_writing_from_scratch(kind: str, search: Any, runs: dict[str, Path]) -> None:
    generator = load(runs[kind])
    prompt = "the dog sees  the sun\n\nthe c"
    for found in generator.generate(prompt, search, max_tokens=40).n_best:
        ids = generator.encode(found.text)
        nothing = torch.tensor([ids])[:, :0]
        model: Any = generator.model
        with torch.no_grad():
            logits, _ = model.decoder(torch.tensor([ids[:-1]]), model.start(model.encode(nothing, nothing.bool())))
        written = len(ids) - len(generator.encode(prompt))
        scores = logits.log_softmax(-1)[0].gather(1, torch.tensor(ids[1:])[:, None])[-written:]
        assert float(scores.sum()) == pytest.approx(found.log_probability, abs=1e-3)


@KINDS
def test_a_stream_is_what_is_generated_however_long(kind: str, runs: dict[str, Path]) -> None:
    generator = load(runs[kind])
    whole = generator.generate("the dog", max_tokens=90)
    assert "".join(generator.stream("the dog", max_tokens=90)) == whole.continuation
    assert whole.n_best[0].tokens == 90


@KINDS
def test_long_prompts_are_read_in_parts(kind: str, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = load(runs[kind])
    whole = generator.generate(TEXT[:300], max_tokens=10)
    monkeypatch.setattr("transduce.inference.generator.READ_AT_ONCE", 7)
    parts = generator.generate(TEXT[:300], max_tokens=10)
    assert parts.text == whole.text
    assert parts.n_best[0].log_probability == pytest.approx(whole.n_best[0].log_probability, abs=1e-4)


def test_streams_in_both_directions_go_on_bit_for_bit_with_their_memory(folder: Path, tmp_path: Path) -> None:
    def train(name: str, updates: int, resume: bool = False) -> list[float]:
        settings = {"batching.bidirectional": True, "training.accumulate": 3, "validation.samples": 0}
        changes = {**settings, "training.updates": updates, "training.report_every": 1}
        transduce.train(folder / "xlnet.toml", tmp_path / name, overrides=changes, resume=resume)
        return losses(tmp_path / name)

    uninterrupted = train("whole", 7)
    train("stopped", 4)
    assert train("stopped", 7, resume=True) == uninterrupted


def test_each_process_keeps_the_memory_of_its_streams(folder: Path, tmp_path: Path) -> None:
    recipe, still = folder / "transformer-xl.toml", {"model.dropout": 0.0, "model.word_dropout": 0.0}

    def in_two(run: str, updates: int, resume: bool = False) -> list[float]:
        changes = {**still, "training.updates": updates}
        train_in_processes(2, recipe, tmp_path / run, overrides=changes, resume=resume)
        return losses(tmp_path / run)

    transduce.train(recipe, tmp_path / "one", overrides={**still, "training.updates": 10})
    whole = in_two("whole", 10)
    assert whole == pytest.approx(losses(tmp_path / "one"), abs=1e-4)
    in_two("stopped", 5)
    assert in_two("stopped", 10, resume=True) == whole


def test_scheduled_sampling_is_refused(folder: Path, tmp_path: Path) -> None:
    overrides = {"training.teacher_forcing.last": 0.5}
    with pytest.raises(ConfigError, match=r"training\.teacher_forcing: a model that remembers reads the true text"):
        transduce.train(folder / "transformer-xl.toml", tmp_path / "run", overrides=overrides)


@pytest.mark.parametrize("kind", ["transformer-xl", "xlnet"])
def test_a_text_is_measured_with_another_memory_than_in_training(kind: str, runs: dict[str, Path]) -> None:
    options = DataOptions()
    _, as_trained = evaluate_text(str(runs[kind]), options, MachineOptions("cpu"))
    _, same = evaluate_text(str(runs[kind]), options, MachineOptions("cpu"), Reading(memory=17))
    _, other = evaluate_text(str(runs[kind]), options, MachineOptions("cpu"), Reading(memory=40))
    assert same == as_trained
    assert other["loss"] != as_trained["loss"]


@KINDS
def test_dynamic_evaluation_learns_from_what_it_has_predicted_and_changes_no_model(
    kind: str, folder: Path, runs: dict[str, Path]
) -> None:
    generator = load(runs[kind])
    model, tokenizer = generator.bundle.model, generator.bundle.tokenizers.target
    store = open_text_store(text_file(folder / "text"), tokenizer, folder / "cache")
    window = WindowsConfig(window=30)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    plain = torch.cat(list(read_in_order(model, store, window)))
    found = torch.cat(list(read_dynamically(model, store, window, DynamicEvaluation(learning_rate=1e-3))))
    still = torch.cat(list(read_dynamically(model, store, window, DynamicEvaluation(learning_rate=1e-30))))
    torch.testing.assert_close(
        found[:30], plain[:30], atol=1e-4, rtol=1e-4
    )  # nothing is learned before it is predicted
    torch.testing.assert_close(still, plain, atol=1e-4, rtol=1e-4)
    assert found.mean() > plain.mean()
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
@KINDS
def test_other_precisions_measure_and_write_nearly_the_same(
    kind: str, precision: Any, folder: Path, runs: dict[str, Path]
) -> None:
    options = DataOptions(reference=[str(folder / "text")])
    plain, other = (
        evaluate_text(str(runs[kind]), options, MachineOptions("cpu", precision=one))[1]
        for one in ("float32", precision)
    )
    assert other["loss"] == pytest.approx(plain["loss"], rel=0.05)
    loaded = transduce.load(runs[kind], precision=precision)
    assert isinstance(loaded, Generator)
    assert loaded.generate("the dog", max_tokens=12).n_best[0].tokens == 12


@KINDS
def test_bytes_cannot_learn_from_what_they_read(kind: str, folder: Path, runs: dict[str, Path]) -> None:
    options = DataOptions(reference=[str(folder / "text")])
    with pytest.raises(InputError, match="int8 cannot learn from what it reads"):
        evaluate_text(
            str(runs[kind]), options, MachineOptions("cpu", precision="int8"), Reading(dynamic=DynamicEvaluation())
        )
