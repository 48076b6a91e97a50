"""What a stopped run needs to go on as if it had never stopped, kept in the run's folder."""

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor

from transduce.config import Settings
from transduce.errors import CheckpointError
from transduce.files import new_folder, save_tensors, write_text
from transduce.ranges import PositiveFloat, PositiveInt


class CheckpointConfig(Settings, frozen=True):
    """When checkpoints are written and how many stay."""

    every_updates: PositiveInt | None = None
    """Updates between checkpoints; 500 unless this or every_minutes is given. A validation that is the best so far
    writes one too."""
    every_minutes: PositiveFloat | None = None
    """Minutes between checkpoints."""
    keep_last: PositiveInt = 2
    """The latest checkpoints that stay."""
    keep_best: PositiveInt = 1
    """The checkpoints of best validation that stay."""

    def is_due(self, update: int, seconds: float) -> bool:
        """Whether to write one after this update, so many seconds after the one before."""
        if self.every_minutes is not None and seconds >= 60 * self.every_minutes:
            return True
        every_updates = self.every_updates or (500 if self.every_minutes is None else None)
        return every_updates is not None and update % every_updates == 0


class Position(Settings, frozen=True):
    """Where a run stands: all that is not a tensor."""

    update: int = 0
    """Updates made."""
    epoch: int = 0
    """Passes over the data that are complete."""
    batch: int = 0
    """Batches of this epoch consumed."""
    seconds: float = 0.0
    """Time spent, over all resumes."""
    best_cost: float | None = None
    """Lowest cost of a validation so far: see ValidationConfig."""
    worse: int = 0
    """Validations since then."""
    reductions: int = 0
    """Times the plateau schedule has reduced the rate."""
    processes: int = 1
    """Processes that worked on it."""
    scores: dict[str, float] = msgspec.field(default_factory=dict)
    """Of the best validation."""


class Checkpoints:
    """The folders `checkpoints/000500` and the file `best.json` of a run."""

    def __init__(self, run: Path, config: CheckpointConfig, write_bundle: Callable[[Path], None]) -> None:
        self.config = config
        self._run = run
        self._folder = run / "checkpoints"
        self._write_bundle = write_bundle

    def save(self, position: Position, tensors: dict[str, Tensor], cost: float | None) -> None:
        """Write a checkpoint, name it the best if its validation's cost is least, and remove those not to be kept."""
        with new_folder(self._folder / f"{position.update:06d}") as new:
            self._write_bundle(new / "bundle")
            save_tensors(tensors, new / "optimizer.safetensors")
            # The last file: a folder without it is not a checkpoint.
            progress = {"position": msgspec.to_builtins(position), "validation_cost": cost}
            (new / "progress.json").write_bytes(msgspec.json.encode(progress))
        self._name_best(position)
        self._prune()

    def restore(self, checkpoint: Path) -> tuple[Position, dict[str, Tensor], dict[str, Tensor]]:
        """Where the run stood, the weights of its bundle, and all other tensors."""
        try:
            weights = load_file(checkpoint / "bundle" / "weights.safetensors")
            tensors = load_file(checkpoint / "optimizer.safetensors")
            progress = msgspec.json.decode((checkpoint / "progress.json").read_bytes())
            return msgspec.convert(progress["position"], Position), weights, tensors
        except (safetensors.SafetensorError, KeyError, OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
            raise damaged(checkpoint, error) from None

    def tidy(self, position: Position) -> None:
        """Do what a killed run did not come to: name its best checkpoint, remove half-written ones."""
        self._name_best(position)
        for unfinished in self._folder.glob(".[0-9]*"):
            shutil.rmtree(unfinished)

    def _name_best(self, position: Position) -> None:
        names = [path.name for path, cost in _validated(self._run) if cost == position.best_cost]
        if names:
            best = {"checkpoint": names[0], "validation": position.scores}
            write_text(self._run / "best.json", msgspec.json.encode(best).decode())

    def _prune(self) -> None:
        whole = whole_checkpoints(self._run)
        kept = whole[-self.config.keep_last :] + best_checkpoints(self._run, self.config.keep_best)
        for path in set(whole) - set(kept):
            (path / "progress.json").unlink()
            shutil.rmtree(path)


def latest_checkpoint(run: Path) -> Path | None:
    """A run's newest checkpoint, or None."""
    return next(reversed(whole_checkpoints(run)), None)


def whole_checkpoints(run: Path) -> list[Path]:
    """A run's checkpoints, oldest first."""
    return sorted((path.parent for path in run.glob("checkpoints/[0-9]*/progress.json")), key=lambda p: int(p.name))


def best_checkpoints(run: Path, count: int) -> list[Path]:
    """A run's checkpoints of best validation, best first; of equal ones the older."""
    return [path for path, _ in sorted(_validated(run), key=lambda found: found[1])[:count]]


def load_optimizers(optimizers: Sequence[torch.optim.Optimizer], tensors: dict[str, Tensor]) -> None:
    """Fill optimisers from what `optimizer_tensors` gave."""
    states: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        if number.isdigit():
            states[int(number)][name] = value
    for optimizer, first in _first_numbers(optimizers):
        saved = optimizer.state_dict()
        count = sum(len(group["params"]) for group in saved["param_groups"])
        state = {number - first: values for number, values in states.items() if first <= number < first + count}
        optimizer.load_state_dict(saved | {"state": state})


def optimizer_tensors(optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """The state of optimisers by the numbers of their parameters, which go on from one optimiser to the next."""
    return {
        f"{first + index}.{name}": value.cpu().contiguous()
        for optimizer, first in _first_numbers(optimizers)
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def _first_numbers(optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[tuple[torch.optim.Optimizer, int]]:
    first = 0
    for optimizer in optimizers:
        yield optimizer, first
        first += sum(len(group["params"]) for group in optimizer.param_groups)


def damaged(checkpoint: Path, error: Exception) -> CheckpointError:
    """What to say of a checkpoint that cannot be read."""
    return CheckpointError(f"{checkpoint} is damaged ({error}); remove it to go on from the one before")


def _validated(run: Path) -> list[tuple[Path, float]]:
    costs = [
        (path, msgspec.json.decode((path / "progress.json").read_bytes())["validation_cost"])
        for path in whole_checkpoints(run)
    ]
    return [(path, cost) for path, cost in costs if cost is not None]
