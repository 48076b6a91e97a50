"""The verb `transduce plan`."""

from typing import Annotated

from transduce.apps.cli.listing import print_facts
from transduce.apps.cli.options import Json, Quiet
from transduce.apps.cli.printing import print_json, teller
from transduce.base import ranges
from transduce.base.errors import InputError
from transduce.training.hardware import GpuName


def plan(
    recipe: Annotated[list[str], "RECIPE [KEY=VALUE]..."],
    *,
    gpus: ranges.Processes = 1,
    gpu: GpuName = "h100",
    memory: ranges.MemoryInGiB | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count what a recipe will need of GPUs, before anything is trained: parameters, memory, operations, time.

    Needs no GPU, but the data: the largest batch is worked through on tensors that have shapes and no numbers.

    Example: `transduce plan multi30k --gpu l4`

    Args:
        recipe: A recipe's name, a .toml file, or a run's folder. Then settings to change, as KEY=VALUE.
        gpus: Processes that share each batch, each with a GPU.
        gpu: The GPU whose published figures give the time.
        memory: Memory of a GPU, in GiB (default: that of the GPU).
    """
    from transduce import experiment

    known = experiment.from_words(recipe)
    if isinstance(known, experiment.Files):
        raise InputError(
            f"{known.paths[0]}: plan takes a recipe, not files; `transduce train` chooses settings for files, "
            "and writes them to a run's folder, which plan takes"
        )
    result = experiment.plan(known, gpus=gpus, gpu=gpu, memory=memory, tell=teller(quiet, prefix=""))
    print_json(result.to_dict()) if json else print_facts(result.describe())
