"""What a stopped run needs to go on as if it had never stopped, kept in the run's folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from transduce.bundle import load_weights
from transduce.config import Settings
from transduce.errors import CheckpointError
from transduce.files import new_folder, save_tensors, write_text


class CheckpointConfig(Settings, frozen=True):
    """When checkpoints are written and how many stay."""

    every_updates: int = 500
    """Updates between checkpoints; a validation that is the best so far writes one too."""
    keep_last: int = 2
    """The latest checkpoints that stay."""
    keep_best: int = 1
    """The checkpoints of lowest validation loss that stay."""

    def __post_init__(self) -> None:
        if min(self.every_updates, self.keep_last, self.keep_best) < 1:
            raise ValueError("every_updates, keep_last and keep_best must be at least 1")


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
    best_loss: float | None = None
    """Lowest validation loss so far, nats per real target token."""
    worse: int = 0
    """Validations since then."""
    scores: dict[str, float] = msgspec.field(default_factory=dict)
    """Of the best validation."""


class Checkpoints:
    """The folders `checkpoints/000500` and the file `best.json` of a run."""

    def __init__(self, run: Path, config: CheckpointConfig, write_bundle: Callable[[Path], None]) -> None:
        self._run = run
        self._folder = run / "checkpoints"
        self._config = config
        self._write_bundle = write_bundle

    def save(self, position: Position, optimizer: torch.optim.Optimizer, loss: float | None) -> None:
        """Write a checkpoint, name it the best if its validation loss is, and remove those not to be kept."""
        name = f"{position.update:06d}"
        with new_folder(self._folder / name) as new:
            self._write_bundle(new / "bundle")
            save_tensors(_optimizer_tensors(optimizer) | _random_state(), new / "optimizer.safetensors")
            # The last file: a folder without it is not a checkpoint.
            progress = {"position": msgspec.to_builtins(position), "validation_loss": loss}
            (new / "progress.json").write_bytes(msgspec.json.encode(progress))
        if loss is not None and loss == position.best_loss:
            best = {"checkpoint": name, "validation": position.scores}
            write_text(self._run / "best.json", msgspec.json.encode(best).decode())
        self._prune()

    def restore(self, checkpoint: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Position:
        """Fill model, optimiser and torch's random generators, and say where the run stood."""
        try:
            load_weights(model, load_file(checkpoint / "bundle" / "weights.safetensors"))
            tensors = load_file(checkpoint / "optimizer.safetensors")
            _fill_optimizer(optimizer, tensors)
            progress = msgspec.json.decode((checkpoint / "progress.json").read_bytes())
            position = msgspec.convert(progress["position"], Position)
        except (safetensors.SafetensorError, RuntimeError, KeyError, OSError, msgspec.DecodeError) as error:
            raise CheckpointError(
                f"{checkpoint} is damaged ({error}); remove it to go on from the one before"
            ) from None
        torch.set_rng_state(tensors["random.cpu"])
        if torch.cuda.is_available() and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
        return position

    def _prune(self) -> None:
        whole = _whole_checkpoints(self._run)
        losses: list[tuple[float, Path]] = []
        for path in whole:
            loss = msgspec.json.decode((path / "progress.json").read_bytes())["validation_loss"]
            if loss is not None:
                losses.append((loss, path))
        kept = set(whole[-self._config.keep_last :]) | {path for _, path in sorted(losses)[: self._config.keep_best]}
        for path in set(whole) - kept:
            (path / "progress.json").unlink()
            shutil.rmtree(path)


def latest_checkpoint(run: Path) -> Path | None:
    """A run's newest whole checkpoint, or None."""
    return max(_whole_checkpoints(run), default=None)


def _whole_checkpoints(run: Path) -> list[Path]:
    return sorted(path.parent for path in run.glob("checkpoints/[0-9]*/progress.json"))


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{name}": value.cpu().contiguous() for index, values in state.items() for name, value in values.items()
    }


def _fill_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        index, _, name = key.partition(".")
        if index.isdigit():
            state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


def _random_state() -> dict[str, Tensor]:
    state = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["random.cuda"] = torch.cuda.get_rng_state()
    return state
