"""Pictures of a run."""

from pathlib import Path
from typing import Any

import msgspec
from matplotlib.figure import Figure

TRAINING, VALIDATION = "#4c78a8", "#e45756"


def plot_training_curves(log: Path, picture: Path) -> None:
    """Draw loss and learning rate over the updates of a run's `log.jsonl` into a PNG file."""
    lines = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    reports = [line for line in lines if "loss" in line]
    validations = [line for line in lines if "validation" in line]
    figure = Figure(figsize=(7, 6), layout="constrained")
    losses, rates = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    _line(losses, reports, [line["loss"] for line in reports], TRAINING, "training, dropout on")
    _line(losses, validations, [line["validation"]["loss"] for line in validations], VALIDATION, "validation", "o")
    losses.set_ylabel("loss (nats per target token)")
    losses.grid(alpha=0.3)
    losses.legend(frameon=False)
    _line(rates, reports, [line["learning_rate"] for line in reports], TRAINING)
    rates.set_ylabel("learning rate")
    rates.set_xlabel("updates")
    rates.set_ylim(bottom=0)
    rates.grid(alpha=0.3)
    figure.savefig(picture, dpi=120)


def _line(
    axes: Any, lines: list[dict[str, Any]], values: list[float], colour: str, label: str = "", dot: str = ""
) -> None:
    axes.plot([line["update"] for line in lines], values, color=colour, label=label, marker=dot, markersize=3)
