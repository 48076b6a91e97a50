"""The largest batch is tried before the first update, and leaves no trace."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.data.batch import Batch
from transduce.errors import ConfigError
from transduce.objectives.objective import Loss
from transduce.training.precision import WorkingCopy
from transduce.training.rehearsal import rehearse


class Pairs:
    """Batches whose size is the number of the pair."""

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        return int(pairs.sum())

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        ids, real = torch.from_numpy(pairs)[None], torch.ones(1, len(pairs), dtype=torch.bool)
        return Batch(ids, real, ids, ids, real)


class Watch:
    """An objective that remembers what it was given, draws dropout, and may have too little memory."""

    def __init__(self, error: Exception | None = None) -> None:
        self.seen: list[int] = []
        self.error = error

    def __call__(self, model: nn.Module, batch: Batch, carried: object) -> Loss:
        self.seen.append(int(batch.source.sum()))
        if self.error:
            raise self.error
        total = torch.dropout(model(torch.ones(2)), 0.5, True).sum()
        return Loss(total, total, torch.tensor(1))


def whole(pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """A batch as one part."""
    return [pairs]


PLAN = [np.array([n]) for n in (3, 11, 7, 2, 5)]


def test_only_the_largest_is_tried_and_no_gradient_or_random_state_stays() -> None:
    model, objective = nn.Linear(2, 3), Watch()
    before = torch.get_rng_state()
    rehearse(WorkingCopy(model, torch.float32), objective, Pairs(), PLAN, whole)
    assert objective.seen == [11]
    assert torch.equal(torch.get_rng_state(), before)
    assert model.weight.grad is None


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_memory_beyond_reach_names_the_settings_to_change(error: Exception) -> None:
    with pytest.raises(ConfigError, match=r"1 pairs of 11 .* lower batching\.target_tokens .* training\.accumulate"):
        rehearse(WorkingCopy(nn.Linear(2, 3), torch.float32), Watch(error), Pairs(), PLAN, whole)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="a shape"):
        rehearse(WorkingCopy(nn.Linear(2, 3), torch.float32), Watch(RuntimeError("a shape")), Pairs(), PLAN, whole)


def test_a_batch_beyond_the_machine_is_said_in_one_line_before_training(recipe_file: Path, tmp_path: Path) -> None:
    limit = 3 * 2**29
    done = subprocess.run(
        [
            *(sys.executable, "-m", "transduce", "train", str(recipe_file), "--out", str(tmp_path / "run")),
            *("model.inner_dim=80000", "batching.target_tokens=100000", "--threads", "1"),
        ],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("transduce: the largest batch")
    assert "Traceback" not in done.stderr
