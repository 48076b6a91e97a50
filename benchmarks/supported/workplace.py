"""Where a row is tried: a folder of tiny texts, commands run in this process, and models compared."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import tomli_w

from supported.cells import CELLS, LOOKED_AT, SCORED, USE, Cell, Outcome
from supported.partners import train_together
from supported.rows import Row, base_of

if TYPE_CHECKING:
    from transduce.training.observers import Observer

EQUAL = 1e-6  # of weights, after updates of about 1e-2
DATA = "data"


def prepare() -> Path:
    """A new folder with texts for every task."""
    from transduce.corpora.generated.grammar import derive_pairs, split_pairs

    folder = Path(tempfile.mkdtemp(prefix="supported-"))
    (folder / DATA).mkdir()

    def write(name: str, lines: Sequence[str]) -> None:
        (folder / DATA / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    for name, part in zip(("train", "dev", "test"), split_pairs(derive_pairs(150, seed=3), 11, 5), strict=True):
        write(f"{name}.en", [pair.source for pair in part])
        write(f"{name}.de", [pair.target for pair in part])
    labelled = (("a dog", "sees", "1"), ("the cat", "hears", "0"), ("a bird sees", "sings", "1"))
    write("classes.tsv", [f"{text} {i}\t{label}" for i in range(6) for text, _, label in labelled])
    write("pairs.tsv", [f"{text} {i}\t{second}\t{label}" for i in range(6) for text, second, label in labelled])
    write("texts.tsv", ["a dog 1", "the cat 2"])
    write("second.tsv", ["a dog 1\tsees", "the cat 2\thears"])
    write("tags.conll", [f"Ada\tB-person\nlives\tO\n{i}\tO\n\nin\tO\nRome\tB-place\n{i}\tO\n" for i in range(8)])
    asked = [{"id": str(i), "question": "where ?", "answers": [{"text": "Rome", "answer_start": 7}]} for i in range(12)]
    passages = [{"context": f"Ada in Rome {one['id']}", "qas": [one]} for one in asked]
    write("asked.json", [json.dumps({"data": [{"paragraphs": passages}]})])
    write("masked.txt", ["the [MASK] sees ."])
    write("questions.txt", ["where ?"])
    write("passage.txt", ["Ada in Rome 1"])
    return folder


def try_row(row: Row, data: Path, cells: Sequence[str] = tuple(CELLS)) -> dict[str, Outcome]:
    """What comes of the cells with a row's recipe; where it cannot be trained, the first says why, and is all."""
    os.environ["TRANSDUCE_CACHE"] = str(data / "cache")
    with tempfile.TemporaryDirectory(dir=data) as folder, contextlib.chdir(folder):
        for file in (data / DATA).iterdir():
            shutil.copy(file, ".")
        if "data.second" in row.changes:
            shutil.copy("pairs.tsv", "classes.tsv")
            shutil.copy("second.tsv", "texts.tsv")
        Path("recipe.toml").write_text(tomli_w.dumps(row.recipe), encoding="utf-8")
        if "start_from" in row.changes:
            Path("base.toml").write_text(tomli_w.dumps(base_of(row.task, row.family)), encoding="utf-8")
            _command("train", "base.toml", "--out", "base", "--quiet")
        with light(row.is_exact):
            found = {"train": train((), "run")}
            if found["train"].is_supported:
                found |= {name: _try(row, CELLS[name], name) for name in cells if name != "train"}
        return found


def _try(row: Row, cell: Cell, name: str) -> Outcome:
    match cell.kind:
        case "train":
            return train(cell.arguments, name.replace(" ", "-"))
        case "resume":
            return _resume(row)
        case "parts":
            outcome = train(cell.arguments, name)
            return outcome if outcome.line or not row.is_exact else _equal(Path("run"), Path(name), EQUAL)
        case "processes":
            out = name.replace(" ", "-")
            outcome = train_together(cell.arguments, out, row.is_exact)
            return outcome if outcome.line or not row.is_exact else _equal(Path("run"), Path(out), EQUAL)
        case "use":
            verb, arguments = USE[row.task]
            more = ["--to", "de"] if "directions" in row.changes else []
            return _command(verb, *_placed(arguments), *cell.arguments, *more, "-o", f"{name.replace(' ', '-')}.out")
        case "export":
            ending = ".argosmodel" if name == "argos" else ""
            return _command("export", "run", "--to", name, "-o", f"out/{name}{ending}")
        case _:
            arguments = [*_placed(cell.arguments)]
            if name == "look":
                text = LOOKED_AT.get(row.task, ["Ada sees a dog"])
                text = ["a dog", "--second", "sees"] if "data.second" in row.changes else text
                arguments += [*text, "-o", "look.json"] + (["--to", "de"] if "directions" in row.changes else [])
            elif name == "score":
                arguments += SCORED.get(row.task, ["--target", "test.en"])
                arguments += ["--to", "de"] if "directions" in row.changes else []
            return _command(*arguments)


def _placed(arguments: Sequence[str]) -> list[str]:
    return [{"MODEL": "run/model", "RUN": "run"}.get(word, word) for word in arguments]


def train(changes: Sequence[str], out: str) -> Outcome:
    """Train the working folder's recipe."""
    return _command("train", "recipe.toml", *changes, "--out", out, "--quiet", "--device", "cpu")


@contextlib.contextmanager
def light(is_exact: bool) -> Iterator[None]:
    """Train without what takes a third of so short a training and is not tried here; exactly, without chance either."""
    from transduce.nn.layers import Dropout

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch("transduce.experiment.run.plot_training_curves"))
        stack.enter_context(mock.patch("os.fsync"))
        if is_exact:  # heads drop a tenth of what they read, which no setting changes; XLNets draw orders for each part
            stack.enter_context(mock.patch("transduce.models.heads.Dropout", lambda rate: Dropout(0.0)))
            stack.enter_context(mock.patch("transduce.objectives.next_segment.draw_orders", _same_orders))
        yield


def _same_orders(rows: int, time: int, *how: Any) -> Any:
    """The same order for all segments of a length."""
    import torch

    from transduce.nn.permutation import FactorizationOrder, draw_orders

    with torch.random.fork_rng():
        torch.manual_seed(time)
        one = draw_orders(1, time, *how)
    return FactorizationOrder(one.rank.repeat(rows, 1), one.targets.repeat(rows, 1))


def _resume(row: Row) -> Outcome:
    """A copy of the run as it was halfway, trained to its end, must be the run."""
    from transduce.base.errors import Interrupted
    from transduce.experiment import load_recipe, train

    halfway = Path("halfway")

    def again() -> None:
        with contextlib.suppress(Interrupted):
            train(load_recipe("recipe.toml"), halfway, observers=[_stop_at(2)])
        train(load_recipe("recipe.toml"), halfway, resume=True)

    outcome = _attempted(again)
    return outcome if outcome.line else _equal(Path("run"), halfway, 0.0)


def _stop_at(update: int) -> "Observer":
    """Returns an observer that interrupts a run at an update."""
    from transduce.training.observers import Observer, Report

    class StopAt(Observer):
        def report(self, report: Report) -> None:
            if report.update == update:
                os.kill(os.getpid(), signal.SIGINT)

    return StopAt()


def _equal(one: Path, other: Path, most: float) -> Outcome:
    """Returns True if the weights of two runs' models are within `most` of each other."""
    from safetensors.torch import load_file

    first, second = (load_file(run / "model" / "weights.safetensors") for run in (one, other))
    apart = max(float((first[name].float() - second[name].float()).abs().max()) for name in first)
    if apart <= most:
        return Outcome()
    return Outcome(f"weights differ by {apart:.2g}", is_broken=True)


def _command(*arguments: str) -> Outcome:
    """Run the command line in this process."""
    from transduce.apps.cli.main import app

    return _attempted(lambda: app(list(arguments)))


def _attempted(action: Callable[[], object]) -> Outcome:
    """What a command says, or what Python raises; a mistake is told on one line."""
    from transduce.apps.cli.failures import MISTAKE, run

    trace: list[str] = []

    def traced() -> None:
        try:
            action()
        except Exception:
            trace.append(traceback.format_exc())
            raise

    with _captured() as said:
        status = run(traced)
    if status == 0:
        return Outcome()
    line = said().strip().rpartition("\n")[2].removeprefix("transduce: ")
    if status != MISTAKE or not line or "unexpected" in line:
        if os.environ.get("SHOW_TRACES"):
            print("".join(trace), file=sys.stderr)
        return Outcome(f"status {status}: {line}", is_broken=True)
    return Outcome(re.sub(r"\S*/supported-\S*?/\S*?/", "", line))


@contextlib.contextmanager
def _captured() -> Iterator[Callable[[], str]]:
    """Standard output forgotten, standard error kept."""
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield lambda: errors.buffer.getvalue().decode()
