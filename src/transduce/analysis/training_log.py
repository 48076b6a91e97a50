"""Reads the log of a training run as series over the updates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import DataError, InputError

REPORTED = {
    "loss": "loss",
    "learning_rate": "learning rate",
    "target_tokens_per_second": "tokens per second",
    "gradient_norm": "gradient norm",
}
"""The names of series, by the fields of a report."""


@dataclass(frozen=True)
class Series:
    """One figure over the updates."""

    x: list[int]
    """The numbers of updates made."""
    y: list[float]


@dataclass(frozen=True)
class Curves:
    """The curves of one run."""

    name: str
    series: dict[str, Series]
    """Series by name: loss (nats per target token, with dropout), validation loss, perplexity and other scores of
    validation, learning rate, tokens per second (real target tokens), gradient norm (before clipping)."""


def read_runs(runs: Sequence[str | Path]) -> list[Curves]:
    """Reads the curves of runs, by their folders, as far as they have come; InputError for a folder that is not a
    run."""
    curves = []
    for run in runs:
        if not (Path(run) / "log.jsonl").is_file():
            raise InputError(f"{run} is not the folder of a run that has begun: it has no log.jsonl")
        curves.append(read_curves(Path(run) / "log.jsonl", str(run)))
    return curves


def read_curves(log: Path, name: str = "") -> Curves:
    """Reads the curves of a run's log; a last line that is still being written is left out, and a number that was not
    finite is NaN. Raises DataError for other lines that are damaged."""
    points: dict[str, dict[int, float]] = {}
    lines = log.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):  # text after the last line's end is not complete
        try:
            entry = msgspec.json.decode(line, type=dict[str, Any])
            for kind, value in _figures(entry).items():
                points.setdefault(kind, {})[int(entry["update"])] = math.nan if value is None else float(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError, ValueError):
            raise DataError(f"{log}:{number}: damaged, not a line of a training log") from None
    in_order = {kind: dict(sorted(values.items())) for kind, values in points.items()}
    return Curves(name, {kind: Series(list(values), list(values.values())) for kind, values in in_order.items()})


def to_dict(runs: Sequence[Curves]) -> dict[str, Any]:
    """Returns curves as lists and strings."""
    facts: dict[str, Any] = {"runs": msgspec.to_builtins(list(runs))}
    return facts


def _figures(line: dict[str, Any]) -> dict[str, Any]:
    if "validation" in line:
        scores = dict(line["validation"])
        return {"validation loss" if name == "loss" else name.replace("_", " "): v for name, v in scores.items()}
    return {title: line[name] for name, title in REPORTED.items() if name in line}
