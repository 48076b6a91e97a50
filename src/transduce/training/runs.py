"""What the folders of runs tell of themselves."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.config import flatten, read_toml
from transduce.errors import InputError
from transduce.training.checkpoint import Position, whole_checkpoints


@dataclass(frozen=True)
class RunSummary:
    """A run, as far as it has come."""

    run: str
    """Its folder."""
    state: str
    """finished (its model stands), or stopped: still going, interrupted, or killed."""
    data: str
    """The data set's name, or the first training file."""
    model: str
    """The family's name."""
    updates: int
    """Made, and saved."""
    seconds: float
    """Spent on them, over all resumes."""
    validation: dict[str, float]
    """Scores of its best model."""
    test: dict[str, Any] | None
    """BLEU on the test set and its signature, once finished."""


def find_runs(folder: Path) -> list[RunSummary]:
    """The runs in a folder and below, by name; raises InputError where there is no such folder."""
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder; runs are kept in 'runs' unless `transduce train --out` says otherwise"
        )
    return [summarize_run(path.parent) for path in sorted(folder.rglob("experiment.toml"))]


def summarize_run(run: Path) -> RunSummary:
    """What a run's folder tells."""
    settings = flatten(read_toml(run / "experiment.toml"))
    saved = whole_checkpoints(run)
    position = Position()
    if saved:
        progress = msgspec.json.decode((saved[-1] / "progress.json").read_bytes())
        position = msgspec.convert(progress["position"], Position)
    history = run / "model" / "history.json"
    test = msgspec.json.decode(history.read_bytes()).get("test") if history.exists() else None
    return RunSummary(
        run=str(run),
        state="finished" if history.exists() else "stopped",
        data=str(settings.get("data.dataset") or settings.get("data.train") or "files"),
        model=str(settings.get("model.kind", "")),
        updates=position.update,
        seconds=position.seconds,
        validation=position.scores,
        test=test,
    )
