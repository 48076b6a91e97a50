"""Processes that each have a shard of the weights train the model that one process would."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, distributed, multiprocessing, nn
from torch.testing import assert_close

import transduce
from forked_run import train_in_processes
from transduce.experiment import load_recipe
from transduce.nn.initialization import Initialization
from transduce.nn.layers import FeedForward
from transduce.objectives.objective import Loss
from transduce.training.averaging import MovingAverage
from transduce.training.checkpoint import load_optimizers, optimizer_tensors, whole_checkpoints
from transduce.training.fsdp import Shards
from transduce.training.gradients import Gradients, OneProcess
from transduce.training.muon import Muon
from transduce.training.optimizer import normalize_gradients
from transduce.training.sharded_tensors import clear_first_rows, is_sharded, whole

pytestmark = pytest.mark.slow

COUNT = 2
PARTS = 6


class Model(nn.Module):
    """A layer that is gathered by itself, one that is not, tied matrices, and a layer that no part uses."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.inner = FeedForward(5, 7, "relu", 0.0, Initialization("scaled", 1))
        self.last, self.tied = nn.Linear(5, 3), nn.Linear(3, 5, bias=False)
        self.tied.weight = self.first.weight
        self.unused = nn.Linear(2, 11)
        self.register_buffer("scale", torch.tensor(0.3), persistent=False)


def objective(model: Any, batch: Tensor, carried: dict[str, Tensor] | None) -> Loss:
    hidden = model.inner(model.first(batch)) * model.scale
    total = model.tied(model.last(hidden)).float().square().sum()
    return Loss(total, total, torch.tensor(len(batch)))


def part(number: int) -> Tensor:
    return torch.randn(2 + number, 3, generator=torch.Generator().manual_seed(number))


def build() -> Model:
    torch.manual_seed(1)
    return Model()


def whole_gradients(gradients: Gradients) -> list[Tensor]:
    found = [parameter.grad for parameter in gradients.model.parameters()]
    return [torch.zeros(()) if gradient is None else whole(gradient).clone() for gradient in found]


def check_sums(rank: int, is_full: bool, dtype: torch.dtype) -> None:
    one = OneProcess(build(), objective, dtype)
    for number in range(PARTS):
        one.add(part(number).to(dtype), None)
    shards = Shards(build(), objective, dtype, is_full)
    assert all(is_sharded(parameter) and parameter.dtype == torch.float32 for parameter in shards.model.parameters())
    for _ in range(2):  # the first update leaves nothing to the second
        shards.forget()
        shards.add(part(7).to(dtype), None)
        shards.forget()
        own = range(rank, PARTS, COUNT)
        for number in own:
            shards.add(part(number).to(dtype), None, is_last=number == own[-1])
        found = whole_gradients(shards)
    tolerance = 1e-5 if dtype == torch.float32 else 0.02
    for gradient, expected in zip(found, whole_gradients(one), strict=True):
        assert_close(
            gradient, expected.expand_as(gradient), rtol=tolerance, atol=tolerance * float(expected.abs().max())
        )


def check_updates(rank: int) -> None:
    """Gradients that are clipped, rows that are fixed, Muon, Adam, and a moving average."""
    found = []
    for gradients in (OneProcess(build(), objective, torch.float32), Shards(build(), objective, torch.float32, True)):
        model = gradients.model
        average = MovingAverage(model, gradients.copy(), 0.5)
        matrices = [parameter for parameter in model.parameters() if parameter.ndim == 2]
        others = [parameter for parameter in model.parameters() if parameter.ndim == 1]
        optimizers = [Muon(matrices, 0.1, 0.1, torch.float32), torch.optim.AdamW(others, lr=0.1, eps=1.0, fused=True)]
        norms = []
        for update in range(3):
            is_sharded_run = isinstance(gradients, Shards)
            own = range(rank, PARTS, COUNT) if is_sharded_run else range(PARTS)
            for number in own:
                gradients.add(part(number + update), None, is_last=number == own[-1])
            for parameter in model.parameters():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            clear_first_rows(matrices[0].grad, 2)  # type: ignore[arg-type]
            norms.append(normalize_gradients(model.parameters(), torch.tensor(9), 0.5))
            if update == 2:  # what is saved whole is loaded in shards
                load_optimizers(
                    optimizers, {name: value.clone() for name, value in optimizer_tensors(optimizers).items()}
                )
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
            average.follow(update + 1)
        kept = [gradients.whole(one) for one in (model, average.model)]
        assert kept[0].tied.weight is kept[0].first.weight
        found.append([norms, *([parameter.detach() for parameter in one.parameters()] for one in kept)])
    for expected, others in zip(*found, strict=True):
        for tensor, other in zip(expected, others, strict=True):
            assert_close(other, tensor, rtol=1e-4, atol=1e-5)


def work(rank: int, folder: Path) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=COUNT)
    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.bfloat16):
        for is_full in (False, True):
            check_sums(rank, is_full, dtype)
    check_updates(rank)
    distributed.barrier()
    distributed.destroy_process_group()


def test_gradients_updates_and_averages_of_shards_are_those_of_one_process(tmp_path: Path) -> None:
    """FSDP would divide sums by the number of processes."""
    multiprocessing.start_processes(work, (tmp_path,), COUNT, start_method="fork")


RUN = [
    "model.dropout=0.1",
    "training.accumulate=3",
    "training.report_every=1",
    "training.moving_average=0.9",
    "optimizer.kind=muon",
    "checkpoint={every_updates=6, keep_last=9}",
    "validation.every_updates=6",
    "training.precision=float32",
]


def train(recipe_file: Path, out: Path, *changes: str, resume: bool = False) -> None:
    train_in_processes(COUNT, load_recipe(str(recipe_file), [*RUN, *changes]), out, resume=resume)


def losses(run: Path) -> list[float]:
    lines = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    return [line["loss"] if "loss" in line else line["validation"]["loss"] for line in lines if "samples" not in line]


def test_a_sharded_run_resumes_bit_for_bit_and_goes_on_in_one_process(recipe_file: Path, tmp_path: Path) -> None:
    train(recipe_file, tmp_path / "whole", "training.sharding=full", "training.updates=12")
    train(recipe_file, tmp_path / "run", "training.sharding=full", "training.updates=6")
    train(recipe_file, tmp_path / "run", "training.sharding=full", "training.updates=12", resume=True)
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")
    first, second = (
        load_file(whole_checkpoints(tmp_path / run)[-1] / "optimizer.safetensors") for run in ("run", "whole")
    )
    assert all(torch.equal(first[name], second[name]) for name in first if not name.startswith("seconds"))
    changes = [*RUN, "training.updates=14", "training.sharding=none"]
    lines: list[str] = []
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "run", resume=True, tell=lines.append)
    assert any("the number of processes differs" in line for line in lines)


LONGER = [*RUN, "model.dropout=0.0", "training.updates=12"]


@pytest.fixture(scope="module")
def losses_of_one(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[float]]:
    """The losses of one process by the number of updates: of a run, and of the run that goes on."""
    run, found = tmp_path_factory.mktemp("one") / "run", {}
    for updates in (8, 12):
        recipe = load_recipe(str(recipe_file), [*LONGER, f"training.updates={updates}"])
        transduce.train(recipe, run, resume=updates > 8)
        found[updates] = losses(run)
    return found


@pytest.mark.parametrize("sharding", ["none", "optimizer", "full"])
def test_with_muon_the_losses_are_those_of_one_process_and_so_they_go_on(
    recipe_file: Path, tmp_path: Path, sharding: str, losses_of_one: dict[int, list[float]]
) -> None:
    train(recipe_file, tmp_path / "two", "model.dropout=0.0", "training.updates=8", f"training.sharding={sharding}")
    assert losses(tmp_path / "two") == pytest.approx(losses_of_one[8], abs=1e-4)
    transduce.train(load_recipe(str(recipe_file), LONGER), tmp_path / "two", resume=True)
    assert losses(tmp_path / "two") == pytest.approx(losses_of_one[12], abs=1e-4)
