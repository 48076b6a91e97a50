"""`transduce train`: from a recipe to a model."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.file_options import Data
from transduce.cli.machine import set_threads
from transduce.cli.messages import as_typed, print_json, teller
from transduce.cli.options import Device, Json, Quiet
from transduce.ranges import Processes, Threads


def train(
    context: typer.Context,
    recipe: Annotated[list[str], "FILES|RECIPE [KEY=VALUE]..."],
    *,
    data: Data,
    out: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: Device = "auto",
    processes: Processes = 1,
    threads: Threads | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model from two aligned files or from a recipe.

    Examples: `transduce train mine.de mine.en --test new.de new.en`, `transduce train multi30k training.updates=2000`

    Args:
        recipe: Two aligned files, or one .tsv, .csv or .jsonl file (settings are then chosen automatically); or a
            recipe's name, a .toml file, or a run's folder. Then settings to change, as KEY=VALUE.
        out: The run's folder (default: runs/NAME; if RECIPE is a run's folder, that folder).
        resume: Resume from the newest checkpoint, if there is one.
        overwrite: Replace an existing run in the folder.
        processes: Processes that share each batch, each with a GPU or a share of the cores.
        threads: CPU threads per process; by default its share of the cores.
    """
    import torch

    from transduce import experiment
    from transduce.bundle import example
    from transduce.bundle_config import read_config
    from transduce.experiment.recipe import SETTINGS_FILE, read_settings
    from transduce.task_table import find_task
    from transduce.training.display import console_observer
    from transduce.training.distributed import is_first_process, local_device
    from transduce.training.launch import beside
    from transduce.training.signals import Interrupted

    set_threads(threads or max(torch.get_num_threads() // processes, 1))
    quiet = quiet or not is_first_process()
    loaded = experiment.from_words([*recipe, *data.columns(context)], data.held_out(context))
    run = out or loaded.default_run
    local_device(device, processes)  # before others are started
    observers = [] if quiet else [console_observer()]

    def give_up(line: str) -> None:
        for observer in observers:
            observer.close()
        teller()(line)
        os._exit(1)  # the main thread may wait for a process that is no more

    try:
        with beside([sys.executable, "-m", "transduce", *sys.argv[1:]], processes, give_up):
            result = experiment.train(
                loaded,
                run,
                resume=resume,
                overwrite=overwrite,
                observers=observers,
                tell=teller(quiet, prefix=""),
                device=device,
            )
    except Interrupted:
        teller()(f"interrupted; everything is saved, add --resume to go on with {run}")
        raise typer.Exit(130) from None
    if not is_first_process():
        return
    if json:
        print_json(result.to_dict())
        return
    scores = ", ".join(f"{name} {score:.4g}" for name, score in result.validation.items())
    print(f"{result.updates:,} updates in {result.seconds / 60:.1f} minutes; validation {scores}")
    if result.before:
        print(f"since the start: {_changes(result.before, result.validation)}")
        if result.before == result.validation:
            print("no validation was better than that of the model that training started from, which is kept")
    if result.test:
        print(find_task(result.task).describe_test(result.test))
    config, direction = read_config(result.model), None
    if config.languages is not None:  # what was learned now, of a model that may know more
        settings = read_settings(result.run / SETTINGS_FILE)
        assert isinstance(settings, experiment.TranslationConfig)
        direction = settings.data.learned[0]
    command = example(config, str(result.run), direction)
    print(f"the model is in {result.model}; try it:\n  {as_typed(command)}")


def _changes(before: dict[str, float], after: dict[str, float]) -> str:
    """Describes how validation scores changed."""
    common = [name for name in after if name in before]
    return ", ".join(
        f"{name} {before[name]:.4g} to {after[name]:.4g} ({after[name] - before[name]:+.3g})" for name in common
    )
