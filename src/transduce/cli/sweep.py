"""`transduce sweep`: one recipe with several values and seeds, and what they are worth."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.file_options import Data
from transduce.cli.machine import Processor
from transduce.cli.messages import print_json, teller
from transduce.cli.options import Json, Quiet, TableFormat
from transduce.errors import InputError
from transduce.ranges import Iterations


def sweep(
    context: typer.Context,
    recipe: Annotated[list[str], "FILES|RECIPE KEY=A,B,C..."],
    *,
    data: Data,
    seeds: Iterations = 1,
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
    from transduce.training.signals import Interrupted

    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    count = next(filter(lambda number: is_setting(recipe[number]), range(len(recipe))), len(recipe))
    values: dict[str, list[str]] = {}
    for setting in recipe[count:]:
        key, equals, text = setting.partition("=")
        if not equals or not key or key == "seed" or key in values or not all(split_values(text)):
            raise InputError(f"'{setting}': expected a setting and its values, such as training.updates=300,600, once")
        values[key] = split_values(text)
    same = [f"{key}={some[0]}" for key, some in values.items() if len(some) == 1]
    same += data.columns(context)
    if not count or not values:
        raise InputError(f"'{recipe[-1]}': expected a setting and its values, such as training.updates=300,600, once")
    try:
        found = run_sweep(
            experiment.from_words([*recipe[:count], *same], data.held_out(context)),
            {key: some for key, some in values.items() if len(some) > 1},
            range(1, seeds + 1),
            out,
            (),
            metric,
            lambda: [] if quiet else [console_observer()],
            teller(quiet, prefix=""),
            processor.device,
        )
    except Interrupted:
        teller()("interrupted; everything is saved; repeat the command to continue")
        raise typer.Exit(130) from None
    if json:
        print_json(found.to_dict())
    else:
        print(sweep_tables(found, format))
