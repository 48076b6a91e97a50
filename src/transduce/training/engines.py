"""Chooses between the three ways to sum gradients: one process, replicas of the model, or shards."""

import torch
from torch import nn

from transduce.objectives.objective import Objective
from transduce.training.distributed import Processes
from transduce.training.fsdp import Shards
from transduce.training.gradients import Gradients, OneProcess, Replicas
from transduce.training.training_settings import Sharding


def build_gradients(
    model: nn.Module, objective: Objective, precision: torch.dtype, sharding: Sharding, processes: Processes
) -> Gradients:
    """Returns what makes the gradients of a model whose parts that keep their weights are frozen; in a single process
    there is nothing to shard."""
    if processes.count == 1:
        return OneProcess(model, objective, precision)
    if sharding == "none":
        return Replicas(model, objective, precision)
    return Shards(model, objective, precision, is_full=sharding == "full")
