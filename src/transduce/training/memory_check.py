"""Check before the first update that memory suffices, so that a run fails now and not after hours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from transduce.data.planned import Epoch, Plan, PlannedData, Rows
from transduce.devices import OnDevice
from transduce.errors import ConfigError
from transduce.objectives.objective import Objective, most_carried
from transduce.training.distributed import Processes
from transduce.training.memory import is_shortage
from transduce.training.optimizer import learned_parameters
from transduce.training.precision import WorkingCopy

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

    working: WorkingCopy
    objective: Objective
    optimizers: Sequence[torch.optim.Optimizer]
    processes: Processes

    def run(self, data: PlannedData[OnDevice], accumulate: int, of_first: Sequence[MemoryTrial] = ()) -> None:
        """Works through the parts of batches that need most, exchanges gradients, and tries what only the first process
        does between updates.

        Raises ConfigError, in all processes, if memory does not suffice in one of them.
        """
        device = next(self.working.masters.parameters()).device
        largest, first = data.largest(accumulate), data.epoch(0)
        shares = self._shares(largest.parts, first.tokens)
        update = [self._part(first, share, device, accumulate, largest.has_several) for share in shares]
        if self.processes.count > 1:
            update.append(self._exchange())
        begun = [optimizer for optimizer in self.optimizers if optimizer.state]
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                turns = min(max(accumulate, 2), MOST_TURNS) if largest.has_several else 1
                step = self._step([optimizer for optimizer in self.optimizers if optimizer not in begun])
                self._try([step], device)
                for _ in range(ROUNDS):
                    self._forget_gradients()  # as an update does: the next update's memory is fragmented
                    self._try([*update * turns, step], device)
                self._forget_gradients()
                is_first = self.processes.is_first
                self._try([trial if is_first else replace(trial, take=_wait) for trial in of_first], device)
        finally:
            self._forget_gradients()
            for optimizer in self.optimizers:
                if optimizer not in begun:
                    optimizer.state.clear()
            if device.type == "cuda":
                torch.cuda.empty_cache()

    def _shares(self, parts: Plan, size: Callable[[Rows], int]) -> Plan:
        """Returns for each part the largest share of any process; which process gets it changes."""
        turns = range(self.processes.count)
        shares = [[self.processes.share(part, turn) for turn in turns] for part in parts]
        return [max(filter(len, of_part), key=size) for of_part in shares if any(map(len, of_part))]

    def _try(self, trials: Sequence[MemoryTrial], device: torch.device) -> None:
        for trial in trials:
            for shortage in self.processes.all_gather(_attempt(trial, device)):
                if shortage is not None:
                    raise ConfigError(shortage)

    def _step(self, optimizers: Sequence[torch.optim.Optimizer]) -> MemoryTrial:
        """Returns a trial step of optimisers that have no state yet, with zero gradients and a rate of zero."""
        parameters = sum(parameter.numel() for parameter in self.working.masters.parameters())

        def take() -> None:
            for parameter in learned_parameters(self.working.masters):
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
        self, epoch: Epoch[OnDevice], share: Rows, device: torch.device, accumulate: int, has_several: bool
    ) -> MemoryTrial:
        batch = epoch.make(share).to(device)

        def take() -> None:
            if not has_several:  # there are no gradients yet when a batch's only part is worked through
                self._forget_gradients()
            self._learn(batch)

        def remedy() -> str:
            """Returns advice with a number of parts that fits beside the gradients of other parts, if there is one."""
            for divisor in (2**power for power in range(1, (len(share) - 1).bit_length() + 1)):
                smaller = epoch.make(share[: -(-len(share) // divisor)]).to(device)
                self._forget_gradients()
                if _attempt(MemoryTrial("", "", partial(self._learn, smaller, 2)), device) is None:
                    return f"{usual}: training.accumulate={accumulate * divisor} fits"
            return f"{usual}, or {SMALLER_MODEL}"

        step, usual = epoch.too_large(share)
        return MemoryTrial(step, remedy, take)

    def _learn(self, batch: OnDevice, times: int = 1) -> None:
        for _ in range(times):
            model = self.working.model.train()
            self.objective(model, batch, most_carried(self.objective, model, batch)).total.backward()
            self.working.collect_gradients()

    def _exchange(self) -> MemoryTrial:
        return MemoryTrial(
            "the gradient exchange between processes",
            "use fewer processes on a machine, or a smaller model",
            lambda: self.processes.all_reduce_gradients(learned_parameters(self.working.masters)),
        )

    def _forget_gradients(self) -> None:
        for model in (self.working.masters, self.working.model):
            model.zero_grad()


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


def _wait() -> None:
    pass
