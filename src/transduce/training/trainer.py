"""The training loop: forward, backward, normalise, clip, step; observers, validation and checkpoints do the rest."""

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from transduce.base.errors import Interrupted
from transduce.bundle.model_bundle import load_weights, unshared_weights
from transduce.data.planned import PlannedData, Rows
from transduce.objectives.objective import Objective
from transduce.training.averaging import MovingAverage
from transduce.training.checkpoint import Checkpoints, Position, damaged, load_optimizers, optimizer_tensors
from transduce.training.distributed import Part, Processes
from transduce.training.engines import build_gradients
from transduce.training.estimate import Estimate, seconds_per_update
from transduce.training.layers_in_training import compile_layers, recompute_layers
from transduce.training.memory_check import MemoryCheck, MemoryTrial
from transduce.training.observers import Observer, Report
from transduce.training.optimizer import (
    OptimizerConfig,
    build_optimizers,
    freeze,
    normalize_gradients,
    set_rate,
)
from transduce.training.out_of_memory import naming_shortage
from transduce.training.pace import Pace
from transduce.training.precision import choose_precision
from transduce.training.process_state import Tally, load_process_state, process_state
from transduce.training.schedules import Plateau, WarmupStableDecay
from transduce.training.sharded_tensors import clear_first_rows, shard_all_like
from transduce.training.signals import catch_signals
from transduce.training.training_settings import TrainingConfig
from transduce.training.validation import Validate, ValidationConfig

Trials = Callable[[nn.Module], Sequence[MemoryTrial]]
"""Returns the validation steps that need memory; they are the same in every process."""

PLANNED_EVERY = 10  # updates

ALL_WAS_TRIED = (
    "the memory check before the first update had passed, so another process may be using it; resume when more is free"
)


class Trainer:
    """Trains a model on data until it has made its updates, its patience ends, or it is interrupted."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        data: PlannedData[Any],
        validate: Validate,
        checkpoints: Checkpoints,
        observers: Sequence[Observer],
        training: TrainingConfig,
        optimizer: OptimizerConfig,
        validation: ValidationConfig,
        processes: Processes,
        trials: Trials = lambda model: (),
        unit: str = "target tokens",
        is_adapted: bool = False,
        fixed_rows: Mapping[str, int] | None = None,
        ends: float | None = None,
    ) -> None:
        self.model = model
        self.objective = objective
        self.data = data
        self.validate = validate
        self.checkpoints = checkpoints
        self.observers = observers
        self.config = training
        self.rates = optimizer
        self.validation = validation
        self.processes = processes
        self.trials = trials
        self.unit = unit
        self.is_adapted = is_adapted
        self.device = next(model.parameters()).device
        self.precision = choose_precision(training.precision, self.device)
        freeze(optimizer, model)
        self.gradients = build_gradients(model, objective, self.precision, training.sharding, processes)
        self._fixed_rows = [(model.get_parameter(name), rows) for name, rows in (fixed_rows or {}).items()]
        self.optimizers = build_optimizers(optimizer, model, self.precision, [one for one, _ in self._fixed_rows])
        self.average = None
        if training.moving_average is not None:
            self.average = MovingAverage(model, self.gradients.copy(), training.moving_average)
        if training.compile:
            compile_layers(self.gradients.at_work)
        if training.activation_checkpointing:
            recompute_layers(self.gradients.at_work)
        self.position = Position(processes=processes.count)
        self._epoch = data.epoch(0)
        self.pace = Pace(ends) if ends is not None else None
        self.updates = training.updates or (training.epochs or 0) * len(self._epoch.batches) or 1
        self._tally = Tally(self.device)
        self._carried: dict[str, Tensor] | None = None

    def kept(self) -> nn.Module:
        """Returns the model that is validated and saved, the moving average if there is one; whole in every process,
        all of which call this together."""
        return self.gradients.whole(self._learned)

    def _validated(self) -> nn.Module:
        """Returns the kept model as it is validated: on a GPU a copy in the precision of the passes, else itself."""
        kept = self.kept()
        is_copied = self.device.type == "cuda" and self.precision != torch.float32
        return copy.deepcopy(kept).to(self.precision) if is_copied else kept

    @property
    def _learned(self) -> nn.Module:
        return self.average.model if self.average else self.model

    def resume(self, checkpoint: Path) -> bool:
        """Loads a checkpoint; returns True if the run will equal the uninterrupted one bit for bit.

        It will not with another number of processes than before, which divides the work and the dropout differently.
        """
        self.position, weights, tensors = self.checkpoints.restore(checkpoint)
        is_same = self.position.processes == self.processes.count
        parts = self.position.accumulate if is_same else None  # of other processes others fit
        self.position = _with(self.position, processes=self.processes.count, accumulate=parts)
        try:
            load_weights(self._learned, shard_all_like(weights, self._learned))
            if self.average:
                prefix = "masters."
                masters = {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
                load_weights(self.model, shard_all_like(masters, self.model))
            load_optimizers(self.optimizers, tensors)
            if is_same:
                self._carried = load_process_state(tensors, self.processes.rank, self._tally)
        except (RuntimeError, ValueError, KeyError) as error:
            raise damaged(checkpoint, error) from None
        self.gradients.refresh()
        self.updates = max(self.position.planned, self.updates)
        if self.processes.is_first:
            self.checkpoints.tidy(self.position)
        return is_same

    @property
    def stop_reason(self) -> str | None:
        """The reason why the run ends now, with the setting that would let it continue; None if it goes on."""
        made, since_best = self.position.update, self.position.validations_since_best
        if self.config.updates is not None and made >= self.config.updates:
            return f"all {made:,} updates are done; raise training.updates to continue"
        if self.config.epochs is not None and self.position.epoch >= self.config.epochs:
            return f"all {self.position.epoch:,} epochs are done; raise training.epochs to continue"
        if self.pace is not None and made >= max(self.updates, 1):
            return f"{made:,} updates fit into {self.config.minutes:g} minutes; give more minutes to continue"
        if self.validation.patience is not None and since_best >= self.validation.patience:
            return f"{since_best} validations without improvement; raise validation.patience to continue"
        return None

    def run(self) -> None:
        """Trains to the end; raises Interrupted after Ctrl-C or SIGTERM, FloatingPointError for a loss that is not
        finite, ConfigError where memory does not suffice. The checkpoints are the result."""
        if self.stop_reason:
            return
        self.announce("checking memory")
        self._check_memory()
        self.announce("timing batches")
        estimate = self.estimate()
        for observer in self.observers:
            observer.started(estimate)
        with naming_shortage(lambda: f"memory ran out at update {self.position.update + 1:,}; {ALL_WAS_TRIED}"):
            if self.is_adapted and not self.position.update and not self.position.start:
                self._validate_start()
            self._train()

    def announce(self, phase: str) -> None:
        """Tells the observers which phase of the run begins."""
        for observer in self.observers:
            observer.phase(phase)

    def _check_memory(self) -> None:
        """Tries the step that will need most memory: the update with the lowest teacher-forcing rate; chooses the
        number of parts if that is left to it."""
        position, forcing = self.position, self.config.teacher_forcing
        ends = position.update, self.updates - 1
        update = min(ends, key=lambda update: forcing.rate(update + 1, self.updates))
        self.position = _with(position, update=update)
        learning = MemoryCheck(self.gradients, self.optimizers, self.processes)
        if self.config.accumulate != "auto":
            learning.run(self.data, self.config.accumulate, self.trials(self._validated()))
            self.position = _with(position, accumulate=None)
            return
        parts = learning.choose_parts(self.data, self._parts, self.trials(self._validated()))
        self.position = _with(position, accumulate=parts)
        for observer in self.observers:
            observer.parts_chosen(parts, position.accumulate)

    def _validate_start(self) -> None:
        """Validates the initial model; it is the best until another is better."""
        cost = self._validate(torch.zeros(()))
        self.position = _with(self.position, start=self.position.scores)
        self._save(cost)

    def _train(self) -> None:
        began = time.monotonic() - self.position.seconds
        saved_at = time.monotonic()
        self._tally.started = time.monotonic()
        self.announce("training")
        with catch_signals() as stop_asked:
            while not self.stop_reason:
                updating_at = time.monotonic()
                norm = self.update(self._batch())
                self._advance(time.monotonic() - began)
                if self.pace is not None:
                    self.pace.made(time.monotonic() - updating_at)
                    if self.position.update % PLANNED_EVERY == 0 or self.position.update + 1 >= self.updates:
                        self._plan(self.pace)
                for observer in self.observers:
                    observer.updated(self.position.update)
                is_last = self.stop_reason is not None
                if self.position.update % self.config.report_every == 0 or is_last:
                    self._report(norm)
                paused_at = time.monotonic()
                cost = self._validate(norm) if self._validation_is_due(is_last) else None
                is_best = cost is not None and cost == self.position.best_cost
                is_falling = self._is_falling(self.updates)
                is_due = self.checkpoints.config.is_due(self.position.update, time.monotonic() - saved_at)
                is_due |= is_falling and not self.position.is_falling  # from where a longer run would go on
                stop, save = self.processes.agree(stop_asked(), is_due)
                if save or stop or is_best or self.stop_reason:
                    self._check_finite(norm)
                    self.position = _with(self.position, seconds=time.monotonic() - began)
                    self._save(cost)
                    saved_at = time.monotonic()
                self.position = _with(self.position, is_falling=is_falling)
                paused = time.monotonic() - paused_at
                self._tally.paused += paused
                if self.pace is not None:
                    self.pace.paused(paused)
                if stop and not self.stop_reason:
                    raise Interrupted

    def estimate(self) -> Estimate:
        """Returns an estimate of the time that the run will take, from batches that are tried and discarded."""
        seconds = seconds_per_update(self.gradients, self._epoch, self._own_parts, self.processes)
        if self.pace is not None:
            self.pace.expect(seconds)
            self._plan(self.pace)
        return Estimate(self.position.update, self.updates, seconds, self.device.type, self.pace is not None)

    def _plan(self, pace: Pace) -> None:
        """Plans the number of updates anew; a rate that falls does not rise again."""
        updates = self.processes.broadcast(lambda: pace.updates(self.position.update))
        if self._is_falling(updates) or not self.position.is_falling:
            self.updates = updates
            self.position = _with(self.position, planned=updates)

    def _is_falling(self, updates: int) -> bool:
        """Returns True if the next update of a run of `updates` belongs to the decay that ends it."""
        schedule = self.rates.schedule
        return isinstance(schedule, WarmupStableDecay) and schedule.is_falling(self.position.update + 1, updates)

    def _batch(self) -> Rows:
        """Returns the rows of the next update."""
        self._epoch = self.data.epoch(self.position.epoch)
        return self._epoch.batches[self.position.batch]

    def update(self, rows: Rows) -> Tensor:
        """Takes one optimiser step on a batch, of which this process has some parts; returns the gradient's norm."""
        tokens = torch.zeros((), dtype=torch.int64, device=self.device)
        # forward and backward, part by part: gradients of summed losses add up
        parts = self._own_parts(rows)
        for number, part in enumerate(parts, 1):
            batch, is_last = self._epoch.make(part.rows).to(self.device), number == len(parts)
            with self.processes.exchanging():
                loss = self.gradients.add(batch, self._carried, counts=part.counts, is_last=is_last)
            self._carried = loss.carried
            if part.counts:
                tokens += loss.tokens
                self._tally.plain += loss.plain.detach()
        self._tally.tokens += tokens
        # count the real tokens of all processes, whose gradients have been added up
        self.processes.all_reduce(tokens)
        for parameter, fixed in self._fixed_rows:
            if parameter.grad is not None:
                clear_first_rows(parameter.grad, fixed)
        # divide by the tokens once, and clip
        norm = normalize_gradients(self.model.parameters(), tokens, self.config.clip_norm)
        # step at the schedule's rate
        for optimizer in self.optimizers:
            set_rate(optimizer, self._rate(self.position.update + 1))
            optimizer.step()
            optimizer.zero_grad()
        # bring copies of the weights up to date: those in bfloat16, and the moving average
        self.gradients.refresh()
        if self.average:
            self.average.follow(self.position.update + 1)
        return norm

    @property
    def _parts(self) -> int:
        """The number of parts of a batch: as set, or as the memory check chose, before which it is one a process."""
        if self.config.accumulate != "auto":
            return self.config.accumulate
        return self.position.accumulate or self.processes.count

    def _own_parts(self, rows: Rows) -> list[Part]:
        """Returns the parts of a batch that this process works through."""
        return self.processes.deal(self._epoch.split(rows, self._parts, self.processes.count))

    def _rate(self, update: int) -> float:
        return self.rates.rate(update, self.updates, self.position.reductions)

    def _advance(self, seconds: float) -> None:
        batch = self.position.batch + 1
        done = batch >= len(self._epoch.batches)
        self.position = _with(
            self.position,
            update=self.position.update + 1,
            epoch=self.position.epoch + done,
            batch=0 if done else batch,
            seconds=seconds,
        )

    def _report(self, norm: Tensor) -> None:
        tally = self._tally
        self.processes.all_reduce(tally.plain)
        self.processes.all_reduce(tally.tokens)
        self._check_finite(norm, tally.plain)
        tokens, seconds = int(tally.tokens), tally.seconds
        every = self.config.report_every
        report = Report(
            update=self.position.update,
            updates=self.updates,
            epoch=self.position.epoch + self.position.batch / len(self._epoch.batches),
            loss=float(tally.plain) / max(tokens, 1),
            learning_rate=self._rate(self.position.update),
            gradient_norm=float(norm),
            target_tokens_per_second=tokens / max(seconds, 1e-9),
            seconds_per_update=seconds / (self.position.update % every or every),
            seconds=self.position.seconds,
            unit=self.unit,
        )
        for observer in self.observers:
            observer.report(report)
        self._tally = Tally(self.device)

    def _validation_is_due(self, is_last: bool) -> bool:
        position, by_epochs = self.position, self.config.epochs is not None
        return is_last or self.validation.is_due(position.update, position.epoch, position.batch == 0, by_epochs)

    def _validate(self, norm: Tensor) -> float:
        self._check_finite(norm)
        self.announce("validating")
        own = self.validate(self._validated().eval(), self.processes)
        validation = self.processes.broadcast(lambda: own)
        scores, cost = dict(validation.scores), validation.cost
        self._check_finite(*scores.values())
        is_best = self.position.best_cost is None or cost < self.position.best_cost
        if is_best:
            self.position = _with(self.position, best_cost=cost, validations_since_best=0, scores=scores)
        else:
            self.position = _with(self.position, validations_since_best=self.position.validations_since_best + 1)
            schedule = self.rates.schedule
            if isinstance(schedule, Plateau) and self.position.validations_since_best % schedule.patience == 0:
                self.position = _with(self.position, reductions=self.position.reductions + 1)
        for observer in self.observers:
            observer.validated(self.position.update, scores, is_best)
            observer.sampled(self.position.update, validation.samples)
        self.announce("training")
        return cost

    def _save(self, cost: float | None) -> None:
        of_each = self.processes.all_gather(process_state(self._tally, self._carried))
        tensors = {f"{name}.{rank}": value for rank, own in enumerate(of_each) for name, value in own.items()}
        if self.average:
            masters = unshared_weights(self.gradients.whole(self.model))
            tensors |= {f"masters.{name}": value for name, value in masters.items()}
        tensors |= optimizer_tensors(self.optimizers)
        kept = self.kept()
        if self.processes.is_first:
            self.checkpoints.save(self.position, kept, tensors, cost)

    def _check_finite(self, *values: Tensor | float) -> None:
        if not all(math.isfinite(float(value)) for value in values):
            raise FloatingPointError(
                f"the loss or its gradient is not finite at update {self.position.update}; lower "
                "optimizer.learning_rate or lengthen its warm-up, then resume the run from its last checkpoint"
            )


def _with(position: Position, **changes: Any) -> Position:
    return msgspec.structs.replace(position, **changes)
