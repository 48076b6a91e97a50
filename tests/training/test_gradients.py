"""Gradients of the parts of an update add up, however they are exchanged between processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.testing import assert_close

from transduce.objectives.objective import Loss
from transduce.training.gradients import Gradients, OneProcess, Replicas


class Model(nn.Module):
    """Two layers, of which a part may leave one out, one that no part uses, and one that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 5), nn.Linear(5, 2)
        self.unused, self.frozen = nn.Linear(7, 2), nn.Linear(2, 2)
        self.frozen.requires_grad_(False)


def objective(model: Any, batch: Tensor, carried: dict[str, Tensor] | None) -> Loss:
    hidden = model.first(batch)
    total = (model.frozen(model.second(hidden)) if batch.sum() > 0 else hidden).square().sum()
    return Loss(total, total, torch.tensor(len(batch)))


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """This process as a group of its own."""
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def parts() -> list[Tensor]:
    random = torch.Generator().manual_seed(3)
    return [torch.rand(rows, 3, generator=random) * sign for rows, sign in ((2, 1), (4, 1), (3, -1))]


def summed(gradients: Gradients, dtype: torch.dtype) -> list[Tensor]:
    """The gradients of an update, the second of two: the first is to leave nothing."""
    for _ in range(2):
        gradients.forget()
        for number, part in enumerate(parts(), 1):
            gradients.add(part.to(dtype), None, is_last=number == 3)
        found = [parameter.grad for parameter in gradients.model.parameters() if parameter.requires_grad]
    return [torch.zeros(()) if gradient is None else gradient.clone() for gradient in found]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_replicas_add_up_the_gradients_of_all_parts_in_float32(group: None, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    model = Model()
    expected = summed(OneProcess(model, objective, dtype), dtype)
    model.zero_grad()
    replicas = Replicas(model, objective, dtype)
    found = summed(replicas, dtype)
    replicas.close()
    assert all(gradient.dtype == torch.float32 for gradient in found)
    for gradient, other in zip(found, expected, strict=True):
        assert_close(gradient, other.expand_as(gradient), rtol=1e-6, atol=0)


def test_a_part_that_does_not_count_adds_nothing(group: None) -> None:
    replicas = Replicas(Model(), objective, torch.float32)
    replicas.add(parts()[0], None)
    before = [None if parameter.grad is None else parameter.grad.clone() for parameter in replicas.model.parameters()]
    replicas.add(parts()[1], None, counts=False, is_last=True)
    for parameter, gradient in zip(replicas.model.parameters(), before, strict=True):
        if gradient is not None:
            assert parameter.grad is not None
            assert_close(parameter.grad, gradient)
    replicas.close()
