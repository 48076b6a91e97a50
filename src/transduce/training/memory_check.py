"""Check before the first update that memory suffices, so that a run fails now and not after hours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from transduce.data.planned import Epoch, PlannedData, Rows
from transduce.devices import OnDevice
from transduce.errors import ConfigError
from transduce.training.distributed import Processes
from transduce.training.gradients import Gradients
from transduce.training.memory import is_shortage
from transduce.training.optimizer import learned_parameters

SMALLER_MODEL = "choose a smaller model in [model], or a smaller vocabulary in [tokenizer]"
ROUNDS, MOST_TURNS = 3, 8
"""Rounds that try a whole update, and the most turns of each part in a round: parts and gradients fragment memory, so
that a part needs up to a tenth more than at first."""


@dataclass(frozen=True)
class MemoryTrial:
    """A step that needs memory."""

    what: str
    """The step that does not fit into memory if this fails."""
    remedy: str | Callable[[], str]
    """Advice if it fails, or a function that finds it."""
    take: Callable[[], object]
    """Runs the step."""


@dataclass(frozen=True)
class MemoryCheck:
    """Tries what updates and validations do, without changing weights, random generators or optimisers."""

    gradients: Gradients
    optimizers: Sequence[torch.optim.Optimizer]
    processes: Processes

    def run(self, data: PlannedData[OnDevice], accumulate: int, others: Sequence[MemoryTrial] = ()) -> None:
        """Works through the parts of batches that need most, takes memory for the exchange of gradients, and tries what
        is done between updates.

        Raises ConfigError, in all processes, if memory does not suffice in one of them.
        """
        device = next(self.gradients.model.parameters()).device
        largest, first = data.largest(accumulate, self.processes.count), data.epoch(0)
        update = [self._part(first, part, device, accumulate, largest.has_several) for part in largest.parts]
        begun = [optimizer for optimizer in self.optimizers if optimizer.state]
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                turns = min(max(accumulate, 2), MOST_TURNS) if largest.has_several else 1
                step = self._step([optimizer for optimizer in self.optimizers if optimizer not in begun])
                exchange = [self._exchange()] if self.processes.count > 1 else []
                self._try([step, *exchange], device)
                for _ in range(ROUNDS):
                    self.gradients.forget()  # as an update does: the next update's memory is fragmented
                    self._try([*update * turns, step], device)
                self.gradients.forget()
                self._try(others, device)
        finally:
            self.gradients.forget()
            for optimizer in self.optimizers:
                if optimizer not in begun:
                    optimizer.state.clear()
            if device.type == "cuda":
                torch.cuda.empty_cache()

    def _try(self, trials: Sequence[MemoryTrial], device: torch.device) -> None:
        for trial in trials:
            for shortage in self.processes.all_gather(_attempt(trial, device)):
                if shortage is not None:
                    raise ConfigError(shortage)

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
        self, epoch: Epoch[OnDevice], part: Rows, device: torch.device, accumulate: int, has_several: bool
    ) -> MemoryTrial:
        batch = epoch.make(part).to(device)

        def take() -> None:
            if not has_several:  # there are no gradients yet when a batch's only part is worked through
                self.gradients.forget()
            self._learn(batch)

        parts = -(-accumulate // self.processes.count) * self.processes.count

        def remedy() -> str:
            """Returns advice with a number of parts that fits beside the gradients of other parts, if there is one."""
            for divisor in (2**power for power in range(1, (len(part) - 1).bit_length() + 1)):
                smaller = epoch.make(part[: -(-len(part) // divisor)]).to(device)
                self.gradients.forget()
                if _attempt(MemoryTrial("", "", partial(self._learn, smaller, 2)), device) is None:
                    return f"{usual}: training.accumulate={parts * divisor} fits"
            return f"{usual}, or {SMALLER_MODEL}"

        step, usual = epoch.too_large(part)
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


def _attempt(trial: MemoryTrial, device: torch.device) -> str | None:
    """Returns the error message if memory does not suffice, else None."""
    try:
        trial.take()
    except Exception as error:
        if not is_shortage(error):
            raise
    else:
        return None
    remedy = trial.remedy if isinstance(trial.remedy, str) else trial.remedy()
    return f"{trial.what} does not fit into the memory of {device}; {remedy}"
