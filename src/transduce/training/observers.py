"""Those who watch a run: its log file, and its lines or progress bar on a terminal."""

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, TextIO, runtime_checkable

import msgspec

from transduce.training.estimate import Estimate
from transduce.training.validation import Sample

FINAL_TEST = "final test"
"""The phase after training, in which the kept model translates the test set."""
SURE = 10.0
"""Seconds of training after which an estimate that was wrong is corrected."""


@dataclass(frozen=True)
class Report:
    """What happened since the last report."""

    update: int
    """Updates made."""
    updates: int
    """Updates that the run is to make."""
    epoch: float
    """Passes over the training data."""
    loss: float
    """Nats per real target token, without smoothing, dropout on."""
    learning_rate: float
    gradient_norm: float
    """Before clipping, of the mean over tokens; the last update's."""
    target_tokens_per_second: float
    """Real target tokens, validation and saving not counted."""
    seconds_per_update: float
    """The same."""
    seconds: float
    """Since the run began, over all its resumes."""
    unit: str = "target tokens"
    """What the loss is a mean over, and the speed is told in."""

    @property
    def perplexity(self) -> float:
        """The exponential of the loss."""
        return math.exp(min(self.loss, 700))

    @property
    def seconds_left(self) -> float:
        """Until the last update, at the present speed, validation and saving not counted."""
        return (self.updates - self.update) * self.seconds_per_update


class Observer(Protocol):
    """Hears of every report and validation of a run."""

    def report(self, report: Report) -> None:
        """Training went on."""
        ...

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """The model was validated."""
        ...

    def close(self) -> None:
        """The run ends, for whatever reason."""
        ...


@runtime_checkable
class StartObserver(Protocol):
    """An observer that also hears, before the first update, how long the run will take."""

    def started(self, estimate: Estimate) -> None:
        """Training begins, or goes on."""
        ...


@runtime_checkable
class SampleObserver(Protocol):
    """An observer that also hears, after each validation, what the model makes of a few sentences."""

    def sampled(self, update: int, samples: Sequence[Sample]) -> None:
        """The same sentences each time."""
        ...


@runtime_checkable
class UpdateObserver(Protocol):
    """An observer that also hears of each single update, while a GPU may still be at work on it."""

    def updated(self, update: int) -> None:
        """So many updates are made."""
        ...


@runtime_checkable
class PhaseObserver(Protocol):
    """An observer that also hears what the run does."""

    def phase(self, name: str) -> None:
        """This begins: "checking memory", "training", "validating", "final test"."""
        ...


def announce_phase(observers: Sequence[Observer], name: str) -> None:
    """Tell those that want to hear it what the run does from now on."""
    for observer in observers:
        if isinstance(observer, PhaseObserver):
            observer.phase(name)


class JsonLog:
    """One JSON object a line in a file, appended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def report(self, report: Report) -> None:
        """A line with the report's fields."""
        self._write(msgspec.to_builtins(report))

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """A line with the scores."""
        self._write({"update": update, "validation": scores, "best": is_best})

    def sampled(self, update: int, samples: Sequence[Sample]) -> None:
        """A line with the samples."""
        if samples:
            self._write({"update": update, "samples": msgspec.to_builtins(samples)})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()

    @staticmethod
    def cut_after(path: Path, update: int) -> None:
        """Drop the lines of later updates, which a resumed run will write again, and one that was half written."""
        if not path.exists():
            return
        kept = []
        for line in path.read_bytes().splitlines():
            try:
                if msgspec.json.decode(line)["update"] <= update:
                    kept.append(line + b"\n")
            except (msgspec.DecodeError, KeyError, TypeError):
                continue
        cut = path.with_suffix(".cut")
        cut.write_bytes(b"".join(kept))
        cut.replace(path)


def last_samples(log: Path) -> list[dict[str, Any]]:
    """The samples of the last validation that a log tells of; none where it has none."""
    for line in reversed(log.read_bytes().splitlines() if log.exists() else ()):
        if b'"samples"' in line:
            with suppress(msgspec.DecodeError):
                return list(msgspec.json.decode(line, type=dict[str, Any]).get("samples", ()))
    return []


class StartLines:
    """Tells by a function how long the run will take, and once, while it trains, if that was wrong."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._estimate: Estimate | None = None
        self._updates, self._seconds = 0, 0.0

    def started(self, estimate: Estimate) -> None:
        """A line, and another where it is long."""
        self._estimate, self._updates, self._seconds = estimate, estimate.update, 0.0
        self._tell(estimate.describe())
        if estimate.advice is not None:
            self._tell(estimate.advice)

    def report(self, report: Report) -> None:
        """A line where updates take twice or half as long as foreseen, over more than a bad moment."""
        if self._estimate is None:
            return
        made = report.update - self._updates
        self._updates, self._seconds = report.update, self._seconds + made * report.seconds_per_update
        pace = self._seconds / max(report.update - self._estimate.update, 1)
        if self._seconds >= SURE and (correction := self._estimate.correction(pace, report.update)) is not None:
            self._tell(correction)
            self._estimate = None

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Not told."""

    def close(self) -> None:
        """Nothing is held."""


class Lines:
    """A plain line a report, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def phase(self, name: str) -> None:
        """One line where nothing else would tell of it."""
        if name == FINAL_TEST:
            print(f"{name} ...", file=self._stream, flush=True)

    def report(self, report: Report) -> None:
        """One line."""
        print(_describe(report), file=self._stream, flush=True)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """One line."""
        print(describe_validation(update, scores, is_best), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is held."""


def _describe(report: Report) -> str:
    return (
        f"update {report.update:>6}/{report.updates}  epoch {report.epoch:6.2f}  loss {report.loss:.4f}  "
        f"{describe_perplexity(report)}rate {report.learning_rate:.2e}  "
        f"{report.target_tokens_per_second:6,.0f} {report.unit}/s  "
        f"{clock(report.seconds)}, {clock(report.seconds_left)} left"
    )


def describe_perplexity(report: Report) -> str:
    """The perplexity and the space after it; nothing where the loss is no mean over tokens."""
    return f"perplexity {report.perplexity:8.2f}  " if report.unit == "target tokens" else ""


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))


def describe_validation(update: int, scores: dict[str, float], is_best: bool) -> str:
    """A line about a validation."""
    shown = "  ".join(f"{name} {score:.4g}" for name, score in scores.items())
    return f"validation at update {update}: {shown}{'  (best so far)' if is_best else ''}"
