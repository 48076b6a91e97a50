"""Metrics, scores, schedules, objectives, observers, tokenizers and pairs of one's own: objects, and entry points."""

import importlib
import json
import linecache
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn

import transduce
from small_corpus import small_corpus
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.base.plugins import code_of, name_of, short_name
from transduce.corpora.formats import parallel_files
from transduce.evaluation.evaluate import evaluate_outputs
from transduce.evaluation.metric import Metric
from transduce.evaluation.metrics import METRICS, find_metric
from transduce.experiment.recipe import load_recipe
from transduce.nn.scores import SCORES, GeneralScore
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Loss
from transduce.training.observers import Report
from transduce.training.optimizer import OptimizerConfig
from transduce.training.schedules import SCHEDULES, Cosine
from transduce.training.trackers import WatchedRun
from transduce.training.training_settings import TrainingConfig

SHORT = {"training.updates": 2, "training.report_every": 1, "search": {"size": 1, "max_extra": 0}}
LUONG = {"kind": "recurrent", "dim": 4, "encoder_dim": 3, "decoder_dim": 6}
OUTPUTS = ["a b", "c d e", "f"]
REFERENCES = ["a b", "c x e", "g"]
PACKAGE = '''
"""What a package brings."""
def halved(update, updates): return 0.5
def words(outputs, references): return [len(output.split()) for output in outputs]
def read(path, columns):
    for line in open(path, encoding="utf-8"):
        yield tuple(line.rstrip("\\n").split("|"))
class Watch:
    def __init__(self, run): self.file = run.folder / "watched"
    def report(self, report): self.file.open("a").write(f"{report.update} {report.learning_rate}\\n")
    def validated(self, update, scores, is_best): pass
    def close(self): pass
'''
ENTRY_POINTS = """
[transduce.schedules]
half = own_pack:halved
[transduce.metrics]
own_words = own_pack:words
[transduce.formats]
.bar = own_pack:read
[transduce.observers]
own_watch = own_pack:Watch
[transduce.scores]
gone = own_pack:gone
"""


def share(outputs: list[str], references: list[str]) -> float:
    return sum(map(str.__eq__, outputs, references)) / len(outputs)


def constant(update: int, updates: int) -> float:
    return 0.25


def plain_loss(model: nn.Module, batch: Any, carried: dict[str, Tensor] | None) -> Loss:
    return NextToken(0.0)(model, batch, carried)


class OwnGeneral(nn.Module):
    """As the built-in general score, three times as large."""

    def __init__(self, query_dim: int, memory_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory_dim, query_dim, bias=False)

    def project(self, memory: Tensor) -> Tensor:
        return 3 * self.key(memory)[:, None]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-2, -1)


class Watch:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def report(self, report: Report) -> None:
        self.heard.append(f"report {report.update} at {report.learning_rate}")

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        self.heard.append(f"validated {update}: {', '.join(scores)}")

    def close(self) -> None:
        self.heard.append("closed")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with entry points."""
    folder = tmp_path / "site"
    facts = folder / "own_pack-1.2.dist-info"
    facts.mkdir(parents=True)
    (folder / "own_pack.py").write_text(PACKAGE)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: own-pack\nVersion: 1.2\n")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS)
    (facts / "RECORD").write_text("own_pack.py,,\n")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield folder
    sys.modules.pop("own_pack", None)


def train(recipe: Path, out: Path, changes: dict[str, Any], **others: Any) -> list[str]:
    told: list[str] = []
    transduce.train(recipe, out, overrides=SHORT | changes, tell=told.append, **others)
    return told


def test_a_run_takes_objects_and_records_their_code(recipe_file: Path, tmp_path: Path) -> None:
    out, watch = tmp_path / "run", Watch()
    changes = {
        "model": LUONG | {"attention": {"kind": "luong", "score": OwnGeneral}},
        "optimizer": {"learning_rate": 0.5, "schedule": constant},
        "training.objective": plain_loss,
        "validation.metrics": [share, "chrf"],
        "validation.best_by": share,
    }
    train(recipe_file, out, changes, observers=[watch])
    assert watch.heard[:2] == ["report 1 at 0.125", "report 2 at 0.125"]
    assert watch.heard[2:] == ["validated 2: loss, perplexity, share, chrf", "closed"]
    recorded = {each["setting"]: each for each in json.loads((out / "code.json").read_text())}
    assert recorded.keys() == {
        "model.attention.score",
        "optimizer.schedule",
        "training.objective",
        "validation.metrics",
        "validation.best_by",
        "observers",
    }
    assert recorded["training.objective"]["object"] == f"{__name__}:plain_loss"
    assert recorded["observers"]["object"] == f"{__name__}:Watch()"
    assert all(len(each["source"]) == 64 for each in recorded.values())
    assert load_recipe(out).config.model.attention.score == f"{__name__}:OwnGeneral"
    assert json.loads((out / "model" / "history.json").read_text())["code"] == list(recorded.values())
    model = transduce.load(out).bundle.model
    assert any(isinstance(module, OwnGeneral) for module in model.modules())
    assert share(["a"], ["a"]) == 1


def test_an_own_objective_and_schedule_train_as_the_built_in_ones_do(recipe_file: Path, tmp_path: Path) -> None:
    own = {"training.objective": plain_loss, "optimizer.schedule": lambda update, updates: min(update / 7, 1.0)}
    built_in = {"training.label_smoothing": 0.0, "optimizer.schedule": {"kind": "constant", "warmup": 7}}
    weights = []
    for name, changes in (("own", own), ("built_in", built_in)):
        train(recipe_file, tmp_path / name, changes)
        weights.append((tmp_path / name / "model" / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_a_resumed_run_reports_other_code(recipe_file: Path, tmp_path: Path) -> None:
    def made(share: float) -> Callable[[int, int], float]:
        def own(update: int, updates: int) -> float:
            return share

        return own

    out = tmp_path / "run"
    train(recipe_file, out, {"optimizer.schedule": made(1.0)})
    told = train(recipe_file, out, {"optimizer.schedule": made(0.5), "training.updates": 3}, resume=True)
    assert not any("code behind" in line for line in told)

    def own(update: int, updates: int) -> float:
        return 0.1 + share(["a"], ["a"])

    own.__qualname__ = made(1.0).__qualname__
    told = train(recipe_file, out, {"optimizer.schedule": own, "training.updates": 4}, resume=True)
    (line,) = [line for line in told if "code behind" in line]
    assert line == (
        f"optimizer.schedule: the code behind '{__name__}:{own.__qualname__}' is another: its source has changed"
    )


@pytest.mark.slow
def test_a_run_goes_on_in_another_process_where_its_code_is_found(
    package: Path, recipe_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    train(
        recipe_file, out, {"optimizer": {"learning_rate": 0.5, "schedule": "half"}, "training.observers": ["own_watch"]}
    )
    assert (out / "watched").read_text() == "1 0.25\n2 0.25\n"
    (schedule, watch) = json.loads((out / "code.json").read_text())
    assert (schedule["object"], schedule["version"]) == ("own_pack:halved", "1.2")
    assert (watch["setting"], watch["name"]) == ("training.observers", "own_watch")
    (package / "own_pack.py").write_text(PACKAGE.replace("0.5", "0.50"))
    (package / "own_pack-1.2.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-pack\nVersion: 1.3\n"
    )
    SCHEDULES._checked.clear()  # as in a new process
    sys.modules.pop("own_pack")
    linecache.clearcache()
    importlib.invalidate_caches()
    told = train(
        recipe_file, out, {"optimizer": {"learning_rate": 0.5, "schedule": "half"}, "training.updates": 3}, resume=True
    )
    (line,) = [line for line in told if line.startswith("optimizer.schedule: the code")]
    assert line.endswith("'half' is another: its version was 1.2, now it is 1.3, its source has changed")


def test_what_packages_bring_is_found_by_name(package: Path, tmp_path: Path) -> None:
    assert evaluate_outputs(OUTPUTS, REFERENCES, metrics=["own_words"]).scores["own_words"].score == 2
    (tmp_path / "pairs.bar").write_text("ein Hund|a dog\nzwei|two\n")
    assert [pair.target for pair in parallel_files([tmp_path / "pairs.bar"])] == ["a dog", "two"]
    (tmp_path / "wrong.bar").write_text("ein Hund|a dog\nzwei\n")
    with pytest.raises(DataError, match=r"wrong\.bar: pair 2: .* is not a pair"):
        list(parallel_files([tmp_path / "wrong.bar"]))
    with pytest.raises(InputError, match=r"score 'gone': own_pack:gone cannot be imported"):
        SCORES.find("gone")
    (tmp_path / "pairs.baz").write_text("a|b\n")
    with pytest.raises(DataError, match=r"must end in \.tsv, .*\.bar \(and"):
        parallel_files([tmp_path / "pairs.baz"])


def test_names_of_things_that_nobody_gave_import_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dangerous.py").write_text("raise SystemError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("dangerous:metric", "os:system", "shutil:nothing"):
        with pytest.raises(InputError, match=rf"metric '{name}': not known in this process"):
            find_metric(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"optimizer.schedule": lambda update: 1.0},
            r"optimizer\.schedule: .*<lambda>\(update\) does not fit; expected",
        ),
        ({"optimizer.schedule": lambda update, updates: -1}, r"gave -1 at update 1 of 100; expected a share"),
        ({"optimizer.schedule": lambda update, updates: "1"}, r"gave '1' at update 1 of 100"),
        ({"optimizer.schedule": "cosin"}, r"no schedule 'cosin'; there are constant, .*cosine"),
        (
            {"optimizer.schedule": "subprocess:Popen"},
            r"Popen\(args, .*does not fit; expected a class that is made without",
        ),
        ({"optimizer.schedule": "noam"}, r'schedule = "noam" is not enough'),
        ({"training.objective": lambda model, batch: 1}, r"training\.objective: .*\(model, batch\) does not fit"),
        ({"training.objective": plain_loss, "training.teacher_forcing.last": 0.5}, "leave teacher_forcing out"),
        ({"training.observers": ["wand"]}, r"no observer 'wand'; there are mlflow, wandb, trackio, aim"),
        ({"training.observers": [7]}, r"training\.observers: .*cannot be called; expected an observer"),
        ({"validation.metrics": [lambda outputs: 1.0]}, r"validation\.metrics: .*\(outputs\) does not fit"),
        ({"model": LUONG | {"attention": {"kind": "luong", "score": Watch}}}, r"Watch is no torch\.nn\.Module"),
        (
            {"model": LUONG | {"attention": {"kind": "luong", "score": torch.add}}},
            r"model: score .*fails on queries of",
        ),
        (
            {"model": LUONG | {"attention": {"kind": "hard", "score": lambda queries, keys: queries}}},
            r"gave \[2, 1, 3, 6\] where \[2, 1, 3, 5\] is expected",
        ),
        ({"tokenizer": 7}, "a int is none; expected settings, or a tokenizers.Tokenizer"),
    ],
)
def test_what_does_not_fit_is_one_line_before_anything_is_written(
    change: dict[str, Any], message: str, recipe_file: Path, tmp_path: Path
) -> None:
    with pytest.raises((ConfigError, DataError), match=message) as caught:
        train(recipe_file, tmp_path / "run", change)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_an_objective_that_gives_no_sums_is_one_line(recipe_file: Path, tmp_path: Path) -> None:
    def no_loss(model: nn.Module, batch: Any, carried: object) -> Any:
        return 3.0

    def means(model: nn.Module, batch: Any, carried: object) -> Any:
        loss = plain_loss(model, batch, None)
        return Loss(loss.total[None], loss.plain, loss.tokens)

    def without_gradients(model: nn.Module, batch: Any, carried: object) -> Any:
        loss = plain_loss(model, batch, None)
        return Loss(loss.plain.detach(), loss.plain, loss.tokens)

    for objective, message in (
        (no_loss, r"no_loss' gave a float; expected"),
        (means, r"means' gave a Loss of \[1\], \[\], \[\]; expected"),
        (without_gradients, "gave a total without gradients"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(recipe_file, tmp_path / objective.__name__, {"training.objective": objective})


def test_a_metric_may_be_a_function() -> None:
    def lengths(outputs: list[str], references: list[str], sources: list[str]) -> list[int]:
        return list(map(len, sources))

    found = evaluate_outputs(OUTPUTS, REFERENCES, metrics=[share, lengths], sources=["1", "22", "333"]).scores
    exact = evaluate_outputs(OUTPUTS, REFERENCES, metrics=["exact_match"]).scores["exact_match"]
    assert (found["share"].score, *found["share"].interval) == pytest.approx((exact.score, *exact.interval))
    assert found["lengths"].score == 2
    assert found["share"].signature.startswith(f"share|code:{__name__}:share|version:")
    with pytest.raises(InputError, match="needs the sources"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=[lengths])
    with pytest.raises(InputError, match=r"gave \[1\] for 3 sentences; expected a number, or a number for each"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=[lambda outputs, references: [1]])
    with pytest.raises(InputError, match="gave nan for 3 sentences"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=[lambda outputs, references: math.nan])
    with pytest.raises(InputError, match="two metrics are called 'bleu'"):
        evaluate_outputs(OUTPUTS, REFERENCES, metrics=[type("bleu", (), {"__call__": lambda self, a, b: 1.0})])


def test_an_entry_of_the_table_of_metrics_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    for digits in (1, 5):
        monkeypatch.setitem(
            METRICS["translations"], "mine", Metric("mine", METRICS["translations"]["bleu"].count, digits=digits)
        )  # type: ignore[arg-type]
        assert find_metric("mine").digits == digits


def test_a_number_for_all_sentences_is_exact_and_its_interval_the_jackknifes() -> None:
    def root_mean_square(outputs: list[str], references: list[str]) -> float:
        return math.sqrt(sum(len(output) ** 2 for output in outputs) / len(outputs))

    outputs = ["x" * (3 + i % 5) for i in range(200)]
    score = evaluate_outputs(outputs, outputs, metrics=[root_mean_square]).scores["root_mean_square"]
    assert score.score == pytest.approx(root_mean_square(outputs, outputs), abs=1e-12)
    lengths = torch.tensor([float(len(output)) for output in outputs])
    draws = torch.randint(200, (2000, 200), generator=torch.Generator().manual_seed(1))
    resampled = lengths[draws].square().mean(1).sqrt()
    low, high = torch.quantile(resampled, torch.tensor([0.025, 0.975])).tolist()
    assert score.interval == pytest.approx((low, high), abs=0.04)


def test_pairs_may_be_any_iterable(recipe_file: Path, tmp_path: Path) -> None:
    pairs = [(pair.source, pair.target) for pair in small_corpus(50)]
    changes = {"data": {"train": (pair for pair in pairs), "validation": pairs[:3], "test": None}}
    told = train(recipe_file, tmp_path / "run", changes)
    assert any(line.startswith(f"training data: {len(pairs):,} pairs from ") for line in told)
    file = Path(load_recipe(tmp_path / "run").config.data.train)
    assert [tuple(json.loads(line).values()) for line in file.read_text().splitlines()] == pairs
    with pytest.raises(DataError, match=r"pair 2: 'ab' is not a pair; expected a source and its translation"):
        transduce.train(iter([("a", "b"), "ab"]), tmp_path / "none")


def test_a_tokenizer_may_be_an_object(recipe_file: Path, tmp_path: Path) -> None:
    backend = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = [side for pair in small_corpus() for side in (pair.source, pair.target)]
    backend.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False))
    train(recipe_file, tmp_path / "run", {"tokenizer": backend})
    bundle = transduce.load(tmp_path / "run").bundle
    assert bundle.tokenizers.source.encode_batch(["the dog"]) == [backend.encode("the dog").ids]
    assert load_recipe(tmp_path / "run").config.tokenizer.kind == "file"


def test_settings_take_objects_too() -> None:
    assert OptimizerConfig(schedule=constant).rate(3, 9, 0) == 0.25e-3
    assert OptimizerConfig(schedule="cosine") == OptimizerConfig(schedule=Cosine())
    assert short_name(name_of(constant)) == "constant"
    assert code_of(GeneralScore).is_ours and not code_of(constant).is_ours
    watch = Watch()
    assert len(TrainingConfig(updates=1, observers=[watch, watch]).observers) == 1
    with pytest.raises(InputError, match=r"two objects have the name .*Watch"):
        TrainingConfig(updates=1, observers=[watch, Watch()])


@pytest.mark.slow
def test_an_observer_knows_the_run_that_it_is_made_for(recipe_file: Path, tmp_path: Path) -> None:
    known: list[WatchedRun] = []

    def watch(run: WatchedRun) -> Watch:
        known.append(run)
        return Watch()

    train(recipe_file, tmp_path / "run", {}, observers=[watch])
    train(recipe_file, tmp_path / "run", {"training.updates": 3}, observers=[watch], resume=True)
    assert [(run.folder, run.resumed_after) for run in known] == [(tmp_path / "run", 0), (tmp_path / "run", 2)]
    assert known[1].settings["training.updates"] == 3
    with pytest.raises(InputError, match="made a int; expected an observer"):
        train(recipe_file, tmp_path / "other", {}, observers=[lambda run: 7])
