"""The training loop: forward, backward, normalise, clip, step; observers, validation and checkpoints do the rest."""

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transduce.config import Settings
from transduce.data.batch import Batch
from transduce.objectives.objective import Objective
from transduce.training.checkpoint import Checkpoints, Position
from transduce.training.observers import Observer, Report
from transduce.training.optimizer import (
    OptimizerConfig,
    Precision,
    WorkingCopy,
    build_optimizer,
    choose_precision,
    normalize_gradients,
)

Validate = Callable[[nn.Module], dict[str, float]]
"""Scores of a model on the validation data; `loss`, in nats per real target token, decides what is best."""


class TrainingConfig(Settings, frozen=True):
    """How long and how to train."""

    updates: int | None = None
    """Updates of the weights to make."""
    epochs: int | None = None
    """Passes over the training data to make, instead of updates."""
    label_smoothing: float = 0.1
    """Share of the target's probability that is spread over the vocabulary, 0 to 1."""
    clip_norm: float = 1.0
    """Longest gradient allowed, joint over all weights, of the mean loss a token; 0 for any."""
    precision: Precision = "auto"
    """Of forward and backward: float32, bfloat16 beside float32 master weights, or what the machine does best."""
    accumulate: int = 1
    """Parts that each batch is worked through in, to save memory."""
    report_every: int = 50
    """Updates between lines of the log."""
    start_from: str | None = None
    """A bundle whose weights and tokenizers training starts from, to adapt it to other data."""

    def __post_init__(self) -> None:
        if (self.updates is None) == (self.epochs is None):
            raise ValueError("give either updates or epochs")
        for name in ("updates", "epochs", "accumulate", "report_every"):
            if (getattr(self, name) or 1) < 1:
                raise ValueError(f"{name} must be at least 1")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError("label_smoothing must be at least 0 and below 1")


class ValidationConfig(Settings, frozen=True):
    """When the model is validated, and when that ends the run."""

    every_updates: int | None = None
    """Updates between validations; 500, or an epoch in a run measured by epochs, unless given."""
    every_epochs: int | None = None
    """Passes over the training data between validations."""
    bleu: bool = False
    """Translate the validation source, greedily, and report BLEU too."""
    patience: int | None = None
    """Validations without a lower loss after which the run ends."""

    def __post_init__(self) -> None:
        if self.every_updates is not None and self.every_epochs is not None:
            raise ValueError("give either every_updates or every_epochs")
        for name in ("every_updates", "every_epochs", "patience"):
            if (getattr(self, name) or 1) < 1:
                raise ValueError(f"{name} must be at least 1")


class TrainingData(Protocol):
    """Plans the batches of an epoch and makes them; see data/batching.py."""

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """The pairs of each batch; the same for the same epoch."""
        ...

    def split(self, pairs: NDArray[np.int64], parts: int) -> list[NDArray[np.int64]]:
        """A batch's pairs in at most so many parts."""
        ...

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """The padded ids of some pairs."""
        ...


class Interrupted(Exception):  # noqa: N818 - nothing went wrong
    """The run was asked to stop, and everything is saved."""


@dataclass
class _Tally:
    """Sums since the last report, kept as tensors so that nothing waits for them."""

    plain: Tensor
    tokens: Tensor
    started: float
    paused: float = 0.0


class Trainer:
    """Trains a model on data until it has made its updates, its patience ends, or it is interrupted."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        data: TrainingData,
        validate: Validate,
        checkpoints: Checkpoints,
        observers: Sequence[Observer],
        training: TrainingConfig,
        optimizer: OptimizerConfig,
        validation: ValidationConfig,
    ) -> None:
        self.model = model
        self.objective = objective
        self.data = data
        self.validate = validate
        self.checkpoints = checkpoints
        self.observers = observers
        self.config = training
        self.validation = validation
        self.schedule = optimizer.schedule
        self.learning_rate = optimizer.learning_rate
        self.device = next(model.parameters()).device
        self.optimizer = build_optimizer(optimizer, model.parameters())
        self.precision = choose_precision(training.precision, self.device)
        self.working = WorkingCopy(model, self.precision)
        self.position = Position()

    def resume(self, checkpoint: Path) -> None:
        """Go back to a checkpoint."""
        self.position = self.checkpoints.restore(checkpoint, self.model, self.optimizer)
        self.working.refresh()

    def run(self, checkpoint_every: int) -> Position:
        """Train to the end; raises Interrupted after Ctrl-C or SIGTERM, FloatingPointError for a loss that is not
        finite. The checkpoints are the result."""
        began = time.monotonic() - self.position.seconds
        tally = self._new_tally()
        plan: list[NDArray[np.int64]] = []
        planned_epoch = -1
        with _catch_signals() as stop_asked:
            while True:
                if planned_epoch != self.position.epoch:
                    planned_epoch = self.position.epoch
                    plan = self.data.plan(planned_epoch)
                updates = self.config.updates or (self.config.epochs or 0) * len(plan)
                if self.position.update >= updates or self._patience_ends():
                    return self.position
                norm = self._update(plan[self.position.batch], tally)
                self._advance(len(plan), time.monotonic() - began)
                is_last = self.position.update >= updates
                stopping = is_last or stop_asked()
                if self.position.update % self.config.report_every == 0 or stopping:
                    tally = self._report(tally, updates, len(plan), norm)
                paused_at = time.monotonic()
                loss = self._validate(norm) if self._validation_is_due(is_last) else None
                is_best = loss is not None and loss == self.position.best_loss
                if is_best or stopping or self.position.update % checkpoint_every == 0:
                    self._check_finite(norm)
                    self.position = _with(self.position, seconds=time.monotonic() - began)
                    self.checkpoints.save(self.position, self.optimizer, loss)
                tally.paused += time.monotonic() - paused_at
                if stop_asked() and not is_last:
                    raise Interrupted

    def _update(self, pairs: NDArray[np.int64], tally: _Tally) -> Tensor:
        """One step of the optimiser on a batch; the norm of its gradient."""
        self.working.model.train()
        tokens = torch.zeros((), dtype=torch.int64, device=self.device)
        carried = None
        for part in self.data.split(pairs, self.config.accumulate):
            loss = self.objective(self.working.model, self.data.batch(part).to(self.device), carried)
            loss.total.backward()
            self.working.collect_gradients()
            carried = loss.carried
            tokens += loss.tokens
            tally.plain += loss.plain.detach()
        tally.tokens += tokens
        norm = normalize_gradients(self.model.parameters(), tokens, self.config.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(self.position.update + 1)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.working.refresh()
        return norm

    def _rate(self, update: int) -> float:
        return self.learning_rate * self.schedule.factor(update)

    def _advance(self, batches: int, seconds: float) -> None:
        batch = self.position.batch + 1
        done = batch >= batches
        self.position = _with(
            self.position,
            update=self.position.update + 1,
            epoch=self.position.epoch + done,
            batch=0 if done else batch,
            seconds=seconds,
        )

    def _report(self, tally: _Tally, updates: int, batches: int, norm: Tensor) -> _Tally:
        self._check_finite(norm, tally.plain)
        tokens = int(tally.tokens)
        report = Report(
            update=self.position.update,
            updates=updates,
            epoch=self.position.epoch + self.position.batch / batches,
            loss=float(tally.plain) / max(tokens, 1),
            learning_rate=self._rate(self.position.update),
            gradient_norm=float(norm),
            target_tokens_per_second=tokens / max(time.monotonic() - tally.started - tally.paused, 1e-9),
            seconds=self.position.seconds,
        )
        for observer in self.observers:
            observer.report(report)
        return self._new_tally()

    def _validation_is_due(self, is_last: bool) -> bool:
        if is_last:
            return True
        if self.validation.every_epochs is not None:
            return self.position.batch == 0 and self.position.epoch % self.validation.every_epochs == 0
        every_updates = self.validation.every_updates
        if every_updates is None and self.config.epochs is not None:
            return self.position.batch == 0
        return self.position.update % (every_updates or 500) == 0

    def _validate(self, norm: Tensor) -> float:
        self._check_finite(norm)
        scores = self.validate(self.model.eval())
        loss = scores["loss"]
        is_best = self.position.best_loss is None or loss < self.position.best_loss
        if is_best:
            self.position = _with(self.position, best_loss=loss, worse=0, scores=scores)
        else:
            self.position = _with(self.position, worse=self.position.worse + 1)
        for observer in self.observers:
            observer.validated(self.position.update, scores, is_best)
        return loss

    def _patience_ends(self) -> bool:
        return self.validation.patience is not None and self.position.worse >= self.validation.patience

    def _check_finite(self, *values: Tensor) -> None:
        if not all(math.isfinite(float(value)) for value in values):
            raise FloatingPointError(
                f"the loss or its gradient is not finite at update {self.position.update}; lower "
                "optimizer.learning_rate or lengthen its warm-up, then go on from the last checkpoint with --resume"
            )

    def _new_tally(self) -> _Tally:
        zero = torch.zeros((), device=self.device)
        return _Tally(zero, zero.to(torch.int64, copy=True), time.monotonic())


def _with(position: Position, **changes: Any) -> Position:
    return msgspec.structs.replace(position, **changes)


@contextmanager
def _catch_signals() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM ask the run to stop after its update; a second Ctrl-C stops it at once."""
    asked: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: the caller handles signals
        before = {}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
