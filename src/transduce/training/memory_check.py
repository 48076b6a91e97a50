"""Check before the first update that memory suffices, so that a run fails now and not after hours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from transduce.base.devices import OnDevice
from transduce.base.errors import ConfigError
from transduce.data.planned import Epoch, PlannedData, Rows
from transduce.training.distributed import Processes
from transduce.training.gradients import Gradients
from transduce.training.optimizer import learned_parameters
from transduce.training.out_of_memory import is_shortage

SMALLER_MODEL = "choose a smaller model in [model], or a smaller vocabulary in [tokenizer]"
ROUNDS, MOST_TURNS = 3, 8
"""Rounds that try a whole update, and the most turns of each part in a round, on a device."""


@dataclass(frozen=True)
class MemoryTrial:
    """A step that needs memory."""

    what: str
    """The step that does not fit into memory if this fails."""
    remedy: str | Callable[[], str]
    """Advice if it fails, or a function that finds it, which all processes call together."""
    take: Callable[[], object]
    """Runs the step."""


class PartTooLargeError(ConfigError):
    """The largest part of a batch does not fit into memory."""


@dataclass(frozen=True)
class MemoryCheck:
    """Tries what updates and validations do, without changing weights, random generators or optimisers."""

    gradients: Gradients
    optimizers: Sequence[torch.optim.Optimizer]
    processes: Processes

    def choose_parts(self, data: PlannedData[OnDevice], first: int, others: Sequence[MemoryTrial] = ()) -> int:
        """Returns the fewest parts of a batch, `first` or twice, four times ... as many, with which `run` succeeds; the
        same in all processes.

        Raises ConfigError if not even single rows fit, or for what smaller parts do not help.
        """
        parts, most = first, max(map(len, data.epoch(0).batches))
        while True:
            try:
                self.run(data, parts, others, names_parts=False)
            except PartTooLargeError:
                if parts >= most:
                    raise
            else:
                return parts
            parts *= 2

    def run(
        self,
        data: PlannedData[OnDevice],
        accumulate: int,
        others: Sequence[MemoryTrial] = (),
        names_parts: bool = True,
    ) -> None:
        """Works through the parts of batches that need most, takes memory for the exchange of gradients, and tries what
        is done between updates.

        Raises ConfigError, in all processes, if memory does not suffice in one of them, and PartTooLargeError for a
        part; with `names_parts` its advice is a number of parts that fits.
        """
        device = next(self.gradients.model.parameters()).device
        largest, first = data.largest(accumulate, self.processes.count), data.epoch(0)
        update = [
            self._part(first, part, device, accumulate if names_parts else None, largest.has_several)
            for part in largest.parts
        ]
        begun = [optimizer for optimizer in self.optimizers if optimizer.state]
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                again = _is_fragmented(device)
                turns = min(max(accumulate, 2), MOST_TURNS) if again and largest.has_several else 1
                step = self._step([optimizer for optimizer in self.optimizers if optimizer not in begun])
                exchange = [self._exchange()] if self.processes.count > 1 else []
                self._try([step, *exchange], device)
                for _ in range(ROUNDS if again else 1):
                    self.gradients.forget()  # as an update does: the next update's memory is fragmented
                    self._try(update * turns, device, PartTooLargeError)
                    self._try([step], device)
                self.gradients.forget()
                self._try(others, device)
        finally:
            self.gradients.forget()
            for optimizer in self.optimizers:
                if optimizer not in begun:
                    optimizer.state.clear()
            if device.type == "cuda":
                torch.cuda.empty_cache()

    def _try(self, trials: Sequence[MemoryTrial], device: torch.device, kind: type[ConfigError] = ConfigError) -> None:
        """Raises an error, the same in all processes, for the first step that one of them has no memory for."""
        for trial in trials:
            lacking = self._lacking(trial.take, device)
            if lacking is not None:
                remedy = trial.remedy if isinstance(trial.remedy, str) else trial.remedy()
                raise kind(f"{trial.what} does not fit into the memory of {lacking}; {remedy}")

    def _lacking(self, take: Callable[[], object], device: torch.device) -> str | None:
        """Takes a step in all processes; returns the device of the first whose memory does not suffice, else None."""
        lacking = None
        try:
            take()
        except Exception as error:
            if not is_shortage(error):
                raise
            lacking = str(device)
        return next(filter(None, self.processes.all_gather(lacking)), None)

    def _step(self, optimizers: Sequence[torch.optim.Optimizer]) -> MemoryTrial:
        """Returns a trial step of optimisers that have no state yet, with zero gradients and a rate of zero."""
        parameters = sum(parameter.numel() for parameter in self.gradients.model.parameters())

        def take() -> None:
            for parameter in learned_parameters(self.gradients.model):
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.zero_()
            for optimizer in optimizers:
                rates = [group["lr"] for group in optimizer.param_groups]
                for group in optimizer.param_groups:
                    group["lr"] = 0.0
                optimizer.step()
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate

        return MemoryTrial(
            f"a model of {parameters:,} parameters, with its gradients and what the optimiser keeps,",
            SMALLER_MODEL,
            take,
        )

    def _part(
        self, epoch: Epoch[OnDevice], part: Rows, device: torch.device, accumulate: int | None, has_several: bool
    ) -> MemoryTrial:
        """Returns the trial of a part; without `accumulate`, its remedy is not a number of parts."""
        batch = epoch.make(part).to(device)
        step, smaller_batches = epoch.too_large(part)

        def take() -> None:
            if not has_several:  # there are no gradients yet when a batch's only part is worked through
                self.gradients.forget()
            self._learn(batch)

        if accumulate is None or len(part) == 1:
            return MemoryTrial(step, f"{smaller_batches}, or {SMALLER_MODEL}", take)
        parts = -(-accumulate // self.processes.count) * self.processes.count
        usual = f"raise training.accumulate, or {smaller_batches}"

        def remedy() -> str:
            """Returns advice with a number of parts that fits beside the gradients of other parts, if there is one."""
            for divisor in (2**power for power in range(1, (len(part) - 1).bit_length() + 1)):
                smaller = epoch.make(part[: -(-len(part) // divisor)]).to(device)
                self.gradients.forget()
                if self._lacking(partial(self._learn, smaller, 2), device) is None:
                    return f"{usual}: training.accumulate={parts * divisor} fits"
            return f"{usual}, or {SMALLER_MODEL}"

        return MemoryTrial(step, remedy, take)

    def _learn(self, batch: OnDevice, times: int = 1) -> None:
        for _ in range(times):
            self.gradients.add(batch, self.gradients.most_carried(batch))

    def _exchange(self) -> MemoryTrial:
        return MemoryTrial(
            "the gradient exchange between processes",
            "use fewer processes on a machine, or a smaller model",
            self.gradients.prepare,
        )


def _is_fragmented(device: torch.device) -> bool:
    """Returns whether parts and gradients fragment memory, so that a part needs up to a tenth more than at first; on a
    processor, where updates take long, that does not pay."""
    return device.type != "cpu"
