"""The verbs that train: quickstart, train and sweep."""

import os
import sys
from pathlib import Path
from typing import Annotated

import click

from transduce.apps.cli.file_options import Data
from transduce.apps.cli.machine_options import Processor, set_threads
from transduce.apps.cli.options import Device, Json, Quiet, TableFormat, Threads
from transduce.apps.cli.printing import as_typed, print_json, teller
from transduce.base import ranges
from transduce.base.errors import InputError, Interrupted

SHOWN = 5
"""Number of sentences that quickstart shows."""


def quickstart(
    *, out: Path = Path("runs/quickstart"), threads: Threads = None, json: Json = False, quiet: Quiet = False
) -> None:
    """Train, evaluate and try a small English-German model, without data or network.

    Example: `transduce quickstart`

    Args:
        out: The run's folder.
    """
    from transduce import experiment
    from transduce.bundle.model_bundle import ModelBundle
    from transduce.corpora.splits import open_split
    from transduce.evaluation.evaluate import evaluate
    from transduce.inference.translator import Translator

    set_threads(threads)

    tell = teller(quiet, prefix="")
    tell("A grammar that ships with Transduce writes English sentences and their German translations.")
    recipe = experiment.load_recipe("quickstart")
    try:
        run = experiment.train(recipe, out, progress=not quiet)
    except Interrupted as error:
        error.add_note(f"go on with `transduce train quickstart --out {out} --resume`")
        raise
    test = list(open_split("grammar", "test", "en", "de"))
    translator = Translator(ModelBundle.load(run.model))
    tell("Translating sentences it has not seen ...")
    result = evaluate(translator, [pair.source for pair in test], [pair.target for pair in test])
    if json:
        print_json({"training": run.to_dict(), "evaluation": result.to_dict()})
        return
    print()
    for pair, translation in list(zip(test, result.translations, strict=True))[:SHOWN]:
        mark = "" if translation.text == pair.target else f"   (expected: {pair.target})"
        print(f"  {pair.source}\n    -> {translation.text}{mark}")
    print(f"\n{result.describe()}\n")
    print(f"The model is in {run.model}. Try next:")
    for command, about in (
        (f"echo '{test[-1].source}' | transduce translate {out}", ""),
        (f"transduce info {out}", ""),
        ("transduce train multi30k", "        (real captions, German to English)"),
        ("transduce train mine.de mine.en", " (your own two files)"),
    ):
        print(f"  {as_typed(command)}{about}")


def train(
    context: click.Context,
    recipe: Annotated[list[str], "FILES|RECIPE [KEY=VALUE]..."],
    *,
    data: Data,
    out: Path | None = None,
    minutes: ranges.Minutes | None = None,
    dry_run: bool = False,
    no_doctor: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    device: Device = "auto",
    processes: ranges.Processes = 1,
    threads: ranges.Threads | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model from two aligned files or from a recipe.

    Examples: `transduce train mine.de mine.en --test new.de new.en`, `transduce train multi30k training.updates=2000`

    Args:
        recipe: Two aligned files, one .tsv, .csv or .jsonl file, or with task=language files of running text (settings
            are then chosen automatically); or a recipe's name, a .toml file, or a run's folder. Then settings to
            change, as KEY=VALUE.
        minutes: Minutes that all of it may take on this machine, instead of updates; with --resume, that many more.
        dry_run: Only say which settings would be chosen, why, and how long training would take; --json prints them.
        no_doctor: Learn from the pairs as they are: none is repaired, or left out as faulty.
        out: The run's folder (default: runs/NAME; if RECIPE is a run's folder, that folder).
        resume: Resume from the newest checkpoint, if there is one.
        overwrite: Replace an existing run in the folder.
        processes: Processes that share each batch, each with a GPU or a share of the cores.
        threads: CPU threads per process; by default its share of the cores.
    """
    import torch

    from transduce import experiment
    from transduce.base.config import to_toml, to_tree
    from transduce.base.task_table import find_task
    from transduce.bundle.bundle_config import read_config
    from transduce.bundle.model_bundle import example
    from transduce.experiment.recipe import SETTINGS_FILE, read_settings
    from transduce.training.display import console_observer
    from transduce.training.distributed import is_first_process, local_device
    from transduce.training.launch import beside

    set_threads(threads or max(torch.get_num_threads() // processes, 1))
    quiet = quiet or not is_first_process()
    undoctored = ["data.doctor=0"] if no_doctor else []
    loaded = experiment.from_words([*recipe, *data.columns(context), *undoctored], data.held_out(context))
    if dry_run:
        settings = experiment.preview(loaded, tell=teller(quiet, prefix=""), device=device, minutes=minutes).config
        print_json(to_tree(settings)) if json else print(to_toml(settings), end="")
        return
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
                minutes=minutes,
            )
    except Interrupted as error:
        error.add_note(f"add --resume to go on with {run}")
        raise
    if not is_first_process():
        return
    if json:
        print_json(result.to_dict())
        return
    scores = ", ".join(f"{name} {score:.4g}" for name, score in result.validation.items())
    length = f"{result.updates:,} updates in {result.seconds / 60:.1f} minutes" if result.updates else "learned"
    print(f"{length}; validation {scores}")
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


def sweep(
    context: click.Context,
    recipe: Annotated[list[str], "FILES|RECIPE KEY=A,B,C..."],
    *,
    data: Data,
    seeds: ranges.Iterations = 1,
    metric: str | None = None,
    out: Path | None = None,
    processor: Processor,
    format: TableFormat = "text",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a recipe with every combination of the given values, and compare each with the first combination.

    Finished runs are not trained again; after an interruption, repeat the command.

    Examples: `transduce sweep multi30k optimizer.learning_rate=1e-3,2e-3,3e-3 --seeds 2`,
    `transduce sweep mine.de mine.en model.dropout=0.1,0.3`

    Args:
        recipe: Files or a recipe, as for `train`. Then settings and their values; a setting with one value applies to
            all runs.
        seeds: Number of seeds per combination, 1 to N.
        metric: Metric to report on the test set (default: bleu; bits_per_character for language models).
        out: The folder of all runs (default: runs/RECIPE-sweep).
    """
    from transduce import experiment
    from transduce.experiment.automatic import is_setting
    from transduce.experiment.sweep import split_values
    from transduce.experiment.sweep import sweep as run_sweep
    from transduce.experiment.sweep_tables import sweep_tables
    from transduce.training.display import console_observer

    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    count = next(filter(lambda number: is_setting(recipe[number]), range(len(recipe))), len(recipe))
    values: dict[str, list[str]] = {}
    for setting in recipe[count:]:
        key, equals, text = setting.partition("=")
        if not equals or not key or key == "seed" or key in values or not all(split_values(text)):
            raise InputError(f"'{setting}': expected a setting and its values, such as training.updates=300,600, once")
        values[key] = split_values(text)
    same = [f"{key}={choices[0]}" for key, choices in values.items() if len(choices) == 1]
    same += data.columns(context)
    if not count or not values:
        raise InputError(f"'{recipe[-1]}': expected a setting and its values, such as training.updates=300,600, once")
    try:
        result = run_sweep(
            experiment.from_words([*recipe[:count], *same], data.held_out(context)),
            {key: choices for key, choices in values.items() if len(choices) > 1},
            range(1, seeds + 1),
            out,
            (),
            metric,
            lambda: [] if quiet else [console_observer()],
            teller(quiet, prefix=""),
            processor.device,
        )
    except Interrupted as error:
        error.add_note("repeat the command to continue")
        raise
    print_json(result.to_dict()) if json else print(sweep_tables(result, format))
