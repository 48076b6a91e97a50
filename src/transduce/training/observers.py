"""Observers of a run: its log file, and its lines or progress bar on a terminal."""

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import msgspec

from transduce.training.estimate import Estimate
from transduce.training.validation import Sample

FINAL_TEST = "final test"
"""The phase after training, in which the kept model is tested."""
SURE = 10.0
"""Seconds of training before a wrong estimate is corrected."""


@dataclass(frozen=True)
class Report:
    """Progress since the last report."""

    update: int
    """Number of updates made."""
    updates: int
    """Number of updates that the run is to make."""
    epoch: float
    """Passes over the training data."""
    loss: float
    """Mean loss in nats per real target token, without smoothing, with dropout."""
    learning_rate: float
    gradient_norm: float
    """Norm of the last update's gradient of the mean over tokens, before clipping."""
    target_tokens_per_second: float
    """Speed in real target tokens per second, without validation and saving."""
    seconds_per_update: float
    """Seconds per update, without validation and saving."""
    seconds: float
    """Seconds since the run began, over all its resumes."""
    unit: str = "target tokens"
    """The unit of the mean loss and of the speed."""

    @property
    def perplexity(self) -> float:
        """The exponential of the loss."""
        return math.exp(min(self.loss, 700))

    @property
    def seconds_left(self) -> float:
        """Seconds until the last update, at the present speed, without validation and saving."""
        return (self.updates - self.update) * self.seconds_per_update


class Observer:
    """Base of what watches a run; a subclass overrides the events that it wants to see."""

    def phase(self, name: str) -> None:
        """Receives the phase that begins: "checking memory", "training", "validating", "final test"."""

    def parts_chosen(self, parts: int, before: int | None) -> None:
        """Receives the number of parts of a batch that the memory check chose, and that of a run before it resumed."""

    def started(self, estimate: Estimate) -> None:
        """Receives an estimate of the run's duration when training begins or resumes."""

    def updated(self, update: int) -> None:
        """Receives the number of updates made, after each one, while a GPU may still be computing it."""

    def report(self, report: Report) -> None:
        """Receives a report on training."""

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Receives the scores of a validation."""

    def sampled(self, update: int, samples: Sequence[Sample]) -> None:
        """Receives the outputs for a few sentences, the same ones after each validation."""

    def close(self) -> None:
        """Finishes when the run ends, for any reason."""


class GivenObserver(Observer):
    """An observer of a user's own class, which may lack events."""

    def __init__(self, given: Any) -> None:
        for event in (name for name in vars(Observer) if hasattr(given, name) and not name.startswith("_")):
            setattr(self, event, getattr(given, event))


class JsonLog(Observer):
    """A log file with one JSON object a line, appended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")

    def report(self, report: Report) -> None:
        """Writes a line with the report's fields."""
        self._write(msgspec.to_builtins(report))

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Writes a line with the scores."""
        self._write({"update": update, "validation": scores, "best": is_best})

    def sampled(self, update: int, samples: Sequence[Sample]) -> None:
        """Writes a line with the samples."""
        if samples:
            self._write({"update": update, "samples": msgspec.to_builtins(samples)})

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()

    @staticmethod
    def cut_after(path: Path, update: int) -> None:
        """Removes the lines of later updates, which a resumed run will write again, and one that is incomplete."""
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
    """Returns the samples of the last validation in a log; none if there are none."""
    for line in reversed(log.read_bytes().splitlines() if log.exists() else ()):
        if b'"samples"' in line:
            with suppress(msgspec.DecodeError):
                return list(msgspec.json.decode(line, type=dict[str, Any]).get("samples", ()))
    return []


class StartLines(Observer):
    """Reports how long the run will take, and once, while it trains, if the estimate was wrong."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._estimate: Estimate | None = None
        self._updates, self._seconds = 0, 0.0

    def started(self, estimate: Estimate) -> None:
        """Reports the estimate, and advice if it is long."""
        self._estimate, self._updates, self._seconds = estimate, estimate.update, 0.0
        self._tell(estimate.describe())
        if estimate.advice is not None:
            self._tell(estimate.advice)

    def parts_chosen(self, parts: int, before: int | None) -> None:
        """Reports the number of parts, and if it is not that of the run before."""
        split = "is one part" if parts == 1 else f"is split into {parts:,} parts"
        line = f"training.accumulate = auto: a batch {split}, the fewest that fit into memory"
        if before not in (None, parts):
            line = f"{line}; before they were {before:,}, so the run will not be bit for bit that of before"
        self._tell(line)

    def report(self, report: Report) -> None:
        """Reports once if updates have taken at least twice or at most half the estimated time for a while."""
        if self._estimate is None:
            return
        made = report.update - self._updates
        self._updates, self._seconds = report.update, self._seconds + made * report.seconds_per_update
        pace = self._seconds / max(report.update - self._estimate.update, 1)
        if self._seconds >= SURE and (correction := self._estimate.correction(pace, report.update)) is not None:
            self._tell(correction)
            self._estimate = None


class Lines(Observer):
    """Prints one line a report, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def phase(self, name: str) -> None:
        """Prints a line for the final test, which has no other."""
        if name == FINAL_TEST:
            print(f"{name} ...", file=self._stream, flush=True)

    def report(self, report: Report) -> None:
        """Prints a report on one line."""
        print(_describe(report), file=self._stream, flush=True)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Prints a validation on one line."""
        print(describe_validation(update, scores, is_best), file=self._stream, flush=True)


def _describe(report: Report) -> str:
    return (
        f"update {report.update:>6}/{report.updates}  epoch {report.epoch:6.2f}  loss {report.loss:.4f}  "
        f"{describe_perplexity(report)}rate {report.learning_rate:.2e}  "
        f"{report.target_tokens_per_second:6,.0f} {report.unit}/s  "
        f"{clock(report.seconds)}, {clock(report.seconds_left)} left"
    )


def describe_perplexity(report: Report) -> str:
    """Returns the perplexity and the space after it; "" if the loss is not a mean over tokens."""
    return f"perplexity {report.perplexity:8.2f}  " if report.unit == "target tokens" else ""


def clock(seconds: float) -> str:
    """Formats seconds as hours, minutes and seconds."""
    return str(timedelta(seconds=round(seconds)))


def describe_validation(update: int, scores: dict[str, float], is_best: bool) -> str:
    """Describes a validation on one line."""
    shown = "  ".join(f"{name} {score:.4g}" for name, score in scores.items())
    return f"validation at update {update}: {shown}{'  (best so far)' if is_best else ''}"
