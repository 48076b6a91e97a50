"""What needs most memory is tried before the first update, and leaves no trace."""

import re
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from transduce.base.errors import ConfigError
from transduce.data.batch import Batch
from transduce.data.planned import Epoch, Largest, Plan, PlannedData, Rows, largest_part, split_evenly
from transduce.objectives.objective import Loss
from transduce.training import memory_check
from transduce.training.distributed import Processes
from transduce.training.gradients import OneProcess
from transduce.training.memory_check import MemoryCheck, MemoryTrial
from transduce.training.muon import Muon

pytestmark = pytest.mark.slow

LACKING = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    RuntimeError("std::bad_alloc"),
    RuntimeError("could not create a primitive"),
    OSError(12, "Cannot allocate memory"),
]


def data_of(parts: Plan, has_several: bool = False) -> PlannedData[Batch]:
    """Data whose largest parts are these."""

    def make(rows: Rows) -> Batch:
        ids = torch.from_numpy(rows)[:, None]
        real = torch.ones(len(rows), 1, dtype=torch.bool)
        return Batch(ids, real, ids, ids, real)

    epoch = Epoch(
        parts,
        tokens=lambda rows: int(rows.sum()),
        make=make,
        too_large=lambda rows: (f"a part of {len(rows)}", "make it smaller"),
        find_largest=lambda *_: Largest(parts, has_several),
    )
    return PlannedData(lambda number: epoch)


class Watch:
    """An objective that remembers what it was given and what there was beside it, draws dropout, and may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.seen: list[list[int]] = []
        self.gradients: list[bool] = []
        self.kept: list[int] = []
        self.error = error
        self.optimizers: Sequence[torch.optim.Optimizer] = ()

    def __call__(self, model: nn.Module, batch: Batch, carried: object) -> Loss:
        self.seen.append(batch.source[:, 0].tolist())
        self.gradients.append(all(parameter.grad is not None for parameter in model.parameters()))
        tensors = [
            value for optimizer in self.optimizers for state in optimizer.state.values() for value in state.values()
        ]
        self.kept.append(sum(tensor.numel() for tensor in tensors if tensor.ndim))
        if self.error:
            raise self.error
        total = torch.dropout(model(torch.ones(2)), 0.5, True).sum()
        return Loss(total, total, torch.tensor(1))


def check_memory(
    model: nn.Module,
    objective: Any,
    data: PlannedData[Batch],
    optimizers: Sequence[torch.optim.Optimizer] = (),
    processes: Processes | None = None,
    others: Sequence[MemoryTrial] = (),
    accumulate: int = 1,
) -> None:
    objective.optimizers = optimizers
    gradients = OneProcess(model, objective, torch.float32)
    MemoryCheck(gradients, optimizers, processes or Processes()).run(data, accumulate, others)


PARTS = [np.array([3, 5]), np.array([11])]


@pytest.fixture(autouse=True)
def every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are tried as often as on a device whose memory is fragmented."""
    monkeypatch.setattr(memory_check, "_is_fragmented", lambda device: True)


def test_each_part_that_needs_most_is_tried_also_after_the_others_and_no_gradient_or_random_state_stays() -> None:
    model, objective = nn.Linear(2, 3), Watch()
    before = torch.get_rng_state()
    check_memory(model, objective, data_of(PARTS))
    assert objective.seen == [[3, 5], [11]] * 3
    assert torch.equal(torch.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("has_several", [False, True])
def test_gradients_are_there_as_they_will_be(has_several: bool) -> None:
    objective = Watch()
    check_memory(nn.Linear(2, 3), objective, data_of(PARTS, has_several))
    assert objective.gradients == ([False, True, True, True] * 3 if has_several else [False] * 6)


def optimizers_of(model: nn.Linear) -> list[torch.optim.Optimizer]:
    adam = torch.optim.AdamW([model.bias], lr=0.5, weight_decay=0.5, fused=True)
    return [adam, Muon([model.weight], 0.5, 0.5, torch.float32)]


def test_what_optimisers_will_keep_is_there_meanwhile_and_then_forgotten() -> None:
    model, objective = nn.Linear(2, 3), Watch()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizers = optimizers_of(model)
    check_memory(model, objective, data_of(PARTS), optimizers)
    assert objective.kept == [2 * 3 + 6] * 6  # two moments of three biases, one of six weights
    assert not any(optimizer.state for optimizer in optimizers)
    assert [group["lr"] for optimizer in optimizers for group in optimizer.param_groups] == [0.5, 0.5]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_what_a_resumed_optimiser_keeps_is_neither_changed_nor_counted_twice() -> None:
    model, objective = nn.Linear(2, 3), Watch()
    optimizers = optimizers_of(model)
    model(torch.ones(2)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    kept = [{name: value.clone() for name, value in state.items()} for o in optimizers for state in o.state.values()]
    check_memory(model, objective, data_of(PARTS), optimizers)
    assert objective.kept == [2 * 3 + 6] * 6
    after = [state for optimizer in optimizers for state in optimizer.state.values()]
    torch.testing.assert_close(after, kept, rtol=0, atol=0)


@pytest.mark.parametrize("error", LACKING)
def test_memory_beyond_reach_names_the_settings_to_change(error: Exception) -> None:
    with pytest.raises(
        ConfigError, match=r"a part of 1 does not fit into the memory of cpu; make it smaller, or choose a smaller"
    ):
        check_memory(nn.Linear(2, 3), Watch(error), data_of(PARTS[1:]))


@pytest.mark.parametrize(
    ("most", "remedy"),
    [
        (4, "raise training.accumulate, or make it smaller: training.accumulate=6 fits"),
        (3, "raise training.accumulate, or make it smaller: training.accumulate=12 fits"),
        (1, "raise training.accumulate, or make it smaller: training.accumulate=24 fits"),
        (0, "raise training.accumulate, or make it smaller, or choose a smaller model in [model]"),
    ],
)
def test_the_number_of_parts_that_is_named_is_one_that_fits(most: int, remedy: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"does not fit into the memory of cpu; {remedy}")):
        check_memory(nn.Linear(2, 3), Bounded(most), data_of([np.arange(7)]), accumulate=3)


class Bounded(Watch):
    """An objective for which memory holds no more than some rows."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __call__(self, model: nn.Module, batch: Batch, carried: object) -> Loss:
        self.error = MemoryError() if len(batch.source) > self.most else None
        return super().__call__(model, batch, carried)


def choose_parts(objective: Watch, first: int = 1, processes: Processes | None = None) -> int:
    """Chooses for batches of 21 and 5 rows."""
    gradients = OneProcess(nn.Linear(2, 3), objective, torch.float32)
    batches = [np.arange(21), np.arange(21, 26)]
    epoch = replace(data_of(batches).epoch(0), tokens=len, split=split_evenly, find_largest=largest_part)
    check = MemoryCheck(gradients, [], processes or Processes())
    return check.choose_parts(PlannedData(lambda number: epoch), first)


@pytest.mark.parametrize(("most", "parts"), [(99, 1), (21, 1), (20, 2), (11, 2), (10, 4), (5, 8), (2, 16), (1, 32)])
def test_as_few_parts_are_chosen_as_fit(most: int, parts: int) -> None:
    objective = Bounded(most)
    assert choose_parts(objective) == parts
    largest = -(-21 // parts)
    assert max(map(len, objective.seen[-3:])) == largest <= most  # it was tried, and nothing larger after it


def test_a_resumed_run_keeps_its_parts_and_has_more_only_where_these_do_not_fit() -> None:
    assert choose_parts(Bounded(99), first=4) == 4
    assert choose_parts(Bounded(3), first=4) == 8


def test_where_not_even_single_rows_fit_the_error_is_one_of_batches_and_models() -> None:
    with pytest.raises(ConfigError, match=r"does not fit into the memory of cpu; make it smaller, or choose a smaller"):
        choose_parts(Bounded(0))


def test_all_processes_choose_alike_where_one_has_less_memory() -> None:
    objective = Watch()
    answers = iter(
        [None, None, "cuda:7", None, None, "cuda:7"]
    )  # its optimiser's step and exchange, then a part, twice
    second = Second(other_lacks=lambda: next(answers, None))
    assert choose_parts(objective, first=2, processes=second) == 8


def test_a_model_beyond_the_memory_is_one_to_make_smaller() -> None:
    class Large(torch.optim.SGD):
        def step(self, closure: object = None) -> None:  # type: ignore[override]
            raise MemoryError

    model = nn.Linear(2, 3)
    with pytest.raises(ConfigError, match=r"a model of 9 parameters, .* choose a smaller model in \[model\]"):
        check_memory(model, Watch(), data_of(PARTS), [Large(model.parameters())])


def test_what_follows_is_tried_with_what_optimisers_keep_but_without_gradients() -> None:
    model, objective = nn.Linear(2, 3), Watch()
    optimizers = optimizers_of(model)
    seen = []

    def take() -> None:
        seen.append((model.weight.grad, sum(len(optimizer.state) for optimizer in optimizers)))
        raise MemoryError

    with pytest.raises(ConfigError, match="validating does not fit into the memory of cpu; do less"):
        check_memory(model, objective, data_of(PARTS), optimizers, others=[MemoryTrial("validating", "do less", take)])
    assert seen == [(None, 2)]
    assert not any(optimizer.state for optimizer in optimizers)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a shape"):
        check_memory(nn.Linear(2, 3), Watch(RuntimeError("a shape")), data_of(PARTS))


@dataclass(frozen=True)
class Second(Processes):
    """One of two processes, of which the other may lack memory on a device."""

    rank: int = 1
    count: int = 2
    other_lacks: Callable[[], str | None] = lambda: None

    def all_gather(self, value: Any) -> list[Any]:
        return [self.other_lacks(), value]


def test_all_processes_end_alike_where_one_lacks_memory() -> None:
    with pytest.raises(
        ConfigError, match=r"a model of 9 parameters, .* does not fit into the memory of cuda:7; choose"
    ):
        check_memory(nn.Linear(2, 3), Watch(), data_of(PARTS), processes=Second(other_lacks=lambda: "cuda:7"))


def test_each_process_tries_the_largest_parts_that_it_may_get_and_validation() -> None:
    objective, tried = Watch(), []
    trial = MemoryTrial("", "", lambda: tried.append(True))
    check_memory(nn.Linear(2, 3), objective, data_of([np.array([1, 2, 3])]), processes=Second(), others=[trial])
    assert objective.seen == [[1, 2, 3]] * 3
    assert tried


@pytest.mark.thorough
def test_a_batch_beyond_the_machine_is_said_in_one_line_before_training_and_what_that_says_helps(
    recipe_file: Path, tmp_path: Path
) -> None:
    def train(run: str, *changes: str) -> subprocess.CompletedProcess[str]:
        limit = 3 * 2**28
        large = ("model.feed_forward_dim=8000", "batching.target_tokens=100000", "training.updates=1")
        return subprocess.run(
            [
                *(sys.executable, "-m", "transduce", "train", str(recipe_file), "--out", str(tmp_path / run)),
                *(*large, *changes, "--threads", "1"),
            ],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )

    done = train("whole")
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("transduce: the largest part of a batch") and "raise training.accumulate" in last
    assert "Traceback" not in done.stderr
    done = train("in-parts", "training.accumulate=20", "search.max_ratio=1.0", "search.max_extra=1")
    assert done.returncode == 0, done.stderr
