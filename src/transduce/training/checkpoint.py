"""Checkpoints: all that a stopped run needs to resume as if it had never stopped, kept in the run's folder."""

import hashlib
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from transduce.base.config import Settings
from transduce.base.errors import CheckpointError
from transduce.base.files import new_folder, remove, sha256, write_text
from transduce.base.ranges import NonNegativeInt, PositiveFloat, PositiveInt
from transduce.base.tensor_files import save_tensors
from transduce.base.verification import check_unchanged, read_json
from transduce.bundle.probe import read_probe
from transduce.training.sharded_tensors import shard_like, whole

BUNDLE = "bundle"
PROBE = f"{BUNDLE}/probe.json"
OPTIMIZER = "optimizer.safetensors"
PROGRESS = "progress.json"


class CheckpointConfig(Settings, frozen=True):
    """When checkpoints are written and how many are kept."""

    every_updates: PositiveInt | None = None
    """Updates between checkpoints (default: 500, unless every_minutes is set). A validation that is the best so far
    writes one too."""
    every_minutes: PositiveFloat | None = None
    """Minutes between checkpoints."""
    keep_last: PositiveInt = 2
    """Number of latest checkpoints to keep."""
    keep_best: PositiveInt = 1
    """Number of checkpoints with the best validation score to keep."""

    def is_due(self, update: int, seconds: float) -> bool:
        """Returns True if a checkpoint is due after this update; `seconds` have passed since the last one."""
        if self.every_minutes is not None and seconds >= 60 * self.every_minutes:
            return True
        every_updates = self.every_updates or (500 if self.every_minutes is None else None)
        return every_updates is not None and update % every_updates == 0


class Position(Settings, frozen=True):
    """The progress of a run: all that is not a tensor."""

    update: NonNegativeInt = 0
    """Number of updates made."""
    epoch: NonNegativeInt = 0
    """Number of complete passes over the data."""
    batch: NonNegativeInt = 0
    """Number of batches of this epoch consumed."""
    seconds: float = 0.0
    """Seconds spent, over all resumes."""
    best_cost: float | None = None
    """Lowest cost of a validation so far."""
    validations_since_best: int = 0
    """Number of validations since the best one."""
    reductions: int = 0
    """Number of times that the plateau schedule has reduced the rate."""
    planned: NonNegativeInt = 0
    """Number of updates that the run is to make, if they follow from its minutes."""
    is_falling: bool = False
    """True once the rate falls to end the run."""
    processes: int = 1
    """Number of processes that trained."""
    accumulate: PositiveInt | None = None
    """Number of parts of a batch that the memory check chose, with training.accumulate = auto."""
    scores: dict[str, float] = msgspec.field(default_factory=dict)
    """Scores of the best validation."""
    start: dict[str, float] = msgspec.field(default_factory=dict)
    """Scores of the validation before the first update, if a model is adapted."""


class Progress(Settings, frozen=True):
    """The contents of `progress.json` in a checkpoint."""

    position: Position
    validation_cost: float | None
    """Cost of the validation after this update; None without one."""
    optimizer_sha256: str
    """SHA-256 of `optimizer.safetensors`."""
    probe_sha256: str
    """SHA-256 of the bundle's `probe.json`, which has those of the bundle's other files."""


class _Sealed(Settings, frozen=True):
    """`progress.json`: the progress as it was encoded, and the SHA-256 of that."""

    progress: msgspec.Raw
    sha256: str


class Checkpoints:
    """The folders `checkpoints/000500` and the file `best.json` of a run."""

    def __init__(self, run: Path, config: CheckpointConfig, write_bundle: Callable[[Path, nn.Module], None]) -> None:
        self.config = config
        self._run = run
        self._folder = run / "checkpoints"
        self._write_bundle = write_bundle

    def save(self, position: Position, model: nn.Module, tensors: dict[str, Tensor], cost: float | None) -> None:
        """Writes a checkpoint, names it best if its validation's cost is least, and removes those not to be kept."""
        with new_folder(self._folder / _name(position.update)) as new:
            self._write_bundle(new / BUNDLE, model)
            save_tensors(tensors, new / OPTIMIZER)
            progress = Progress(
                position=position,
                validation_cost=cost,
                optimizer_sha256=sha256(new / OPTIMIZER),
                probe_sha256=sha256(new / PROBE),
            )
            content = msgspec.json.encode(progress)
            sealed = _Sealed(progress=msgspec.Raw(content), sha256=hashlib.sha256(content).hexdigest())
            # The last file: a folder without it is not a checkpoint.
            (new / PROGRESS).write_bytes(msgspec.json.encode(sealed))
        self._name_best(position)
        self._prune()

    def restore(self, checkpoint: Path) -> tuple[Position, dict[str, Tensor], dict[str, Tensor]]:
        """Returns the position, the weights of the bundle and all other tensors of a checkpoint that was verified."""
        try:
            weights = load_file(checkpoint / BUNDLE / "weights.safetensors")
            tensors = load_file(checkpoint / OPTIMIZER)
        except (safetensors.SafetensorError, OSError) as error:
            raise damaged(checkpoint, error) from None
        return read_progress(checkpoint).position, weights, tensors

    def tidy(self, position: Position) -> None:
        """Finishes after a killed run: names its best checkpoint, removes half-written ones."""
        self._name_best(position)
        for path in self._folder.iterdir():
            if re.fullmatch(r"\.\d+-\w+(\.old)?", path.name):
                remove(path)

    def _name_best(self, position: Position) -> None:
        names = [path.name for path, cost in _validated(self._run) if cost == position.best_cost]
        if names:
            best = {"checkpoint": names[0], "validation": position.scores}
            write_text(self._run / "best.json", msgspec.json.encode(best).decode())

    def _prune(self) -> None:
        whole = whole_checkpoints(self._run)
        kept = whole[-self.config.keep_last :] + best_checkpoints(self._run, self.config.keep_best)
        for path in set(whole) - {*kept, _before_decay(self._run)}:
            _remove(path)


def newest_checkpoint(run: Path, tell: Callable[[str], None]) -> Path | None:
    """Returns a run's newest checkpoint, verified, or None; reports newer ones that are incomplete.

    Raises CheckpointError, which names the file, if the newest is damaged: resuming from the one before repeats
    updates, which the user must decide.
    """
    for path in reversed(_folders(run)):
        if (path / PROGRESS).exists():
            check_checkpoint(path)
            return path
        tell(f"ignoring {path}: it is incomplete (no {PROGRESS})")
    return None


def before_decay(run: Path) -> Position:
    """Returns the position of a run's newest checkpoint from before its rate fell; the beginning if there is none."""
    before = _before_decay(run)
    return Position() if before is None else read_progress(before).position


def forget_decay(run: Path) -> None:
    """Removes the checkpoints of a run whose rate has begun to fall, so that it can be prolonged, if there is one from
    before; raises CheckpointError if the newest is damaged."""
    complete, before = complete_checkpoints(run), _before_decay(run)
    if before is not None and read_progress(complete[-1]).position.is_falling:
        for path in complete[complete.index(before) + 1 :]:
            _remove(path)


def complete_checkpoints(run: Path) -> list[Path]:
    """Returns a run's complete checkpoints, oldest first; they may have been damaged since."""
    return [path for path in _folders(run) if (path / PROGRESS).exists()]


def whole_checkpoints(run: Path) -> list[Path]:
    """Returns a run's checkpoints whose progress can be read, oldest first."""
    return [path for path, _ in _with_progress(run)]


def best_checkpoints(run: Path, count: int) -> list[Path]:
    """Returns a run's checkpoints of best validation, best first; of equal ones the older."""
    return [path for path, _ in sorted(_validated(run), key=lambda checkpoint: checkpoint[1])[:count]]


def check_checkpoint(checkpoint: Path) -> None:
    """Raises CheckpointError, which names the file, unless all files were saved together and are unchanged."""
    check_unchanged(checkpoint, {OPTIMIZER: read_progress(checkpoint).optimizer_sha256}, _advice(checkpoint))
    check_bundle(checkpoint)


def check_bundle(checkpoint: Path) -> None:
    """Raises CheckpointError, which names the file, unless the bundle's files are unchanged."""
    check_unchanged(checkpoint, {PROBE: read_progress(checkpoint).probe_sha256}, _advice(checkpoint))
    check_unchanged(checkpoint / BUNDLE, read_probe(checkpoint / BUNDLE).sha256, _advice(checkpoint))


def read_progress(checkpoint: Path) -> Progress:
    """Reads a checkpoint's progress; raises CheckpointError if it is missing, damaged, or of another checkpoint or
    version."""
    path, advice = checkpoint / PROGRESS, _advice(checkpoint)
    if "position" in read_json(path, dict[str, Any], advice):
        raise CheckpointError(
            f"{path} was written by an older Transduce without checksums; start a new run with training.start_from = "
            f"'{checkpoint / BUNDLE}'"
        )
    sealed = read_json(path, _Sealed, advice)
    if hashlib.sha256(sealed.progress).hexdigest() != sealed.sha256:
        raise CheckpointError(f"{path} has changed since it was saved (SHA-256 differs); {advice}")
    try:
        progress = msgspec.json.decode(sealed.progress, type=Progress)
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{path} is of another version of Transduce ({error}); {advice}") from None
    if _name(progress.position.update) != checkpoint.name:
        raise CheckpointError(f"{path} belongs to checkpoint {_name(progress.position.update)}; {advice}")
    return progress


def load_optimizers(optimizers: Sequence[torch.optim.Optimizer], tensors: dict[str, Tensor]) -> None:
    """Loads into optimisers the state that `optimizer_tensors` returned."""
    states: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        if number.isdigit():
            states[int(number)][name] = value
    for optimizer, first in _first_numbers(optimizers):
        saved = optimizer.state_dict()
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state = {
            number: {
                name: shard_like(value, parameter) if value.shape == parameter.shape else value
                for name, value in states[first + number].items()
            }
            for number, parameter in enumerate(parameters)
            if first + number in states
        }
        optimizer.load_state_dict(saved | {"state": state})


def optimizer_tensors(optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """Returns the state of optimisers by parameter number, counted across all optimisers; that of shards as a whole,
    for which all processes call this together."""
    return {
        f"{first + index}.{name}": whole(value).cpu().contiguous()
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
    """Returns the error for a checkpoint that cannot be resumed."""
    return CheckpointError(f"{checkpoint} is damaged ({' '.join(str(error).split())}); {_advice(checkpoint)}")


def _advice(checkpoint: Path) -> str:
    return f"remove {checkpoint} to resume from an earlier one"


def _name(update: int) -> str:
    return f"{update:06d}"


def _folders(run: Path) -> list[Path]:
    """Returns the folders named as checkpoints, oldest first; copies and the user's own files have other names."""
    numbered = [path for path in run.glob("checkpoints/*") if re.fullmatch("[0-9]+", path.name) and path.is_dir()]
    return sorted((path for path in numbered if path.name == _name(int(path.name))), key=lambda path: int(path.name))


def _remove(checkpoint: Path) -> None:
    (checkpoint / PROGRESS).unlink()  # a folder without it is not a checkpoint
    shutil.rmtree(checkpoint)


def _before_decay(run: Path) -> Path | None:
    """Returns the newest checkpoint of a run from before its rate fell; None if there is none."""
    return next((path for path, progress in reversed(_with_progress(run)) if not progress.position.is_falling), None)


def _with_progress(run: Path) -> list[tuple[Path, Progress]]:
    """Returns the checkpoints with readable progress, oldest first."""
    checkpoints = []
    for path in complete_checkpoints(run):
        with suppress(CheckpointError):
            checkpoints.append((path, read_progress(path)))
    return checkpoints


def _validated(run: Path) -> list[tuple[Path, float]]:
    costs = [(path, progress.validation_cost) for path, progress in _with_progress(run)]
    return [(path, cost) for path, cost in costs if cost is not None]
