"""A run on the workers of a Ray cluster, by Ray Train: each worker is a process of the run, as torchrun's are.

    python benchmarks/ray_train.py quickstart training.updates=40 --workers 2 --address local --out runs/on-ray

Needs `pip install 'ray[train]'`; all machines need Transduce, the data and the run's folder.
"""

import argparse
import os
import socket
from pathlib import Path
from typing import Any


def work(asked: dict[str, Any]) -> None:
    """Trains in one worker, which finds the others by the variables that torchrun sets, too."""
    from ray import train

    import transduce

    here = train.get_context()
    os.environ |= {
        "RANK": str(here.get_world_rank()),
        "WORLD_SIZE": str(here.get_world_size()),
        "LOCAL_RANK": str(here.get_local_rank()),
        "LOCAL_WORLD_SIZE": str(here.get_local_world_size()),
        "MASTER_ADDR": asked["host"],
        "MASTER_PORT": str(asked["port"]),
    }
    result = transduce.train(asked["recipe"], asked["out"], overrides=asked["changes"], resume=True)
    train.report({"updates": result.updates, **result.validation})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpus", action="store_true", help="a GPU for each worker")
    parser.add_argument("--address", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    import ray
    from ray.train import ScalingConfig
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    ray.init(asked.address)
    with socket.socket() as free:  # of the machine that starts the run, on which the first worker is
        free.bind(("", 0))
        port = free.getsockname()[1]
    run = {"recipe": asked.recipe, "changes": asked.changes, "out": str(asked.out.absolute())}
    trainer = DataParallelTrainer(
        work,
        train_loop_config=run | {"host": ray.util.get_node_ip_address(), "port": port},
        scaling_config=ScalingConfig(num_workers=asked.workers, use_gpu=asked.gpus),
    )
    trainer.fit()
    print(f"the model is in {asked.out / 'model'}")


if __name__ == "__main__":
    main()
