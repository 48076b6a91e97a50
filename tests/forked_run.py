"""A training on several processes that fork from the tests' own: importing takes each longer than the training."""

import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import transduce
from transduce.experiment import Recipe

PATIENCE = 300  # seconds


def train_in_processes(count: int, recipe: Recipe | Path, out: Path, **options: Any) -> None:
    """Trains as under torchrun on one machine; raises AssertionError if any of the processes fails."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sizes = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    variables = {**sizes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_train, args=(variables, rank, recipe, out, options)) for rank in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
    failed = [process.exitcode for process in processes if process.exitcode != 0]
    for process in processes:
        process.kill()
    assert not failed, f"processes ended with {failed}; standard error says why"


def _train(variables: dict[str, str], rank: int, recipe: Recipe | Path, out: Path, options: dict[str, Any]) -> None:
    os.environ.update(variables, RANK=str(rank), LOCAL_RANK=str(rank))
    transduce.train(recipe, out, **options)
