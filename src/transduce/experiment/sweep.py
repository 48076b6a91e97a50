"""Sweeps: trainings of one recipe with every combination of some settings' values and several seeds, compared."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.config import to_toml
from transduce.base.devices import find_device
from transduce.base.errors import InputError
from transduce.base.files import write_text
from transduce.base.task_table import find_task
from transduce.evaluation.compare import Pair, against, compare_pairs
from transduce.evaluation.metric import Scoring, SentenceCounts
from transduce.evaluation.metrics import METRICS, find_metric, metric_key
from transduce.evaluation.significance import Difference
from transduce.experiment.automatic import Files, files_of, recipe_for
from transduce.experiment.machine import measure_machine
from transduce.experiment.recipe import Recipe, find_recipe, record
from transduce.experiment.run import train
from transduce.inference.engines.exported import open_model
from transduce.training.observers import Observer

CHOSEN = "recipe.toml"
"""The file of the settings chosen for a sweep of files; runs name theirs differently, so that `runs` lists only
trainings."""


@dataclass(frozen=True)
class TrainedRun:
    """One training of a sweep."""

    run: Path
    seed: int
    perplexity: float | None
    """Perplexity on the validation data; None if training diverged."""
    score: float | None
    """Score on the test set; None if training diverged."""


@dataclass(frozen=True)
class Combination:
    """One combination of values, trained with every seed."""

    settings: dict[str, str]
    """The settings swept, as they were written."""
    trained: list[TrainedRun]
    against_first: Difference | None
    """Difference to the first combination over the test sentences of all seeds; None for itself, or if a training
    diverged."""

    @property
    def name(self) -> str:
        """The settings and their values, on one line."""
        return ", ".join(f"{key}={value}" for key, value in self.settings.items()) or "the recipe"

    def mean(self, figure: str) -> float | None:
        """Returns the mean of `perplexity` or `score` over the seeds that did not diverge; None if all did."""
        values = self._values(figure)
        return statistics.mean(values) if values else None

    def spread(self, figure: str) -> float | None:
        """Returns the standard deviation over seeds; None for fewer than two."""
        values = self._values(figure)
        return statistics.stdev(values) if len(values) > 1 else None

    def _values(self, figure: str) -> list[float]:
        return [value for training in self.trained if (value := getattr(training, figure)) is not None]


@dataclass(frozen=True)
class Sweep:
    """The results of all combinations, in the order given."""

    metric: str
    title: str
    """The metric's name in tables."""
    digits: int
    """Decimals shown of the metric."""
    signature: str
    test_set: str
    """Name of the recipe's test set, or of its validation data if it has none."""
    size: int
    """The number of lines or pairs in the test set."""
    unit: str
    """The unit of `size`: "sentences" or "lines"."""
    cells: list[Combination]
    pairs: list[Pair]
    """All pairs of combinations without a diverged training, by their names: differences over the test sentences of all
    seeds."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce sweep --json`."""
        facts: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        del facts["pairs"]
        for cell, cell_facts in zip(self.cells, facts["cells"], strict=True):
            for figure in ("perplexity", "score"):
                cell_facts[figure] = {"mean": cell.mean(figure), "standard_deviation": cell.spread(figure)}
        return facts


def sweep(
    recipe: str | Path | Recipe[Any] | Files | Sequence[str | Path],
    values: Mapping[str, Sequence[str]],
    seeds: Sequence[int] = (1,),
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    metric: str | None = None,
    observers: Callable[[], Sequence[Observer]] = lambda: (),
    tell: Callable[[str], None] = lambda line: None,
    device: str = "auto",
) -> Sweep:
    """Trains every combination of the values with every seed, and compares the models on the test set.

    Finished trainings are not repeated; stopped ones are resumed.

    Args:
        recipe: as for `train`. For files the settings are chosen once, before any value is swept, and kept in the
            folder of all runs, so that trainings differ only in the swept settings.
        values: the values of each setting swept, such as {"optimizer.learning_rate": ["1e-3", "3e-3"]}.
        seeds: the seeds of each combination.
        out: the folder of all runs (default: `runs/RECIPE-sweep`, or by the files' names).
        overrides: other changes, `key=value`, that all trainings share.
        metric: the metric that compares trainings (default: the first of their task's in METRICS of
            `transduce.evaluation.metrics`: BLEU of translations, bits per character of language models).
        observers: returns the observers of one training.
        tell: receives lines on the progress.
        device: the device to train on.

    Raises ConfigError for settings that do not fit, before the first training; InputError for no seeds or for settings
    that change the test set.
    """
    if not seeds or len(set(seeds)) < len(seeds):
        raise InputError("a sweep needs one seed or more, all different")
    for key, swept in values.items():
        if twice := next((value for value in swept if list(swept).count(value) > 1), None):
            raise InputError(f"{key}: {twice} is named twice; name each value once")
    combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    files = files_of(recipe, overrides)
    if files is not None:
        if not files.is_text:  # what is compared is what is swept, not the phrases that may be better than all
            files = files_of(Files(files.paths, ["phrases=false"]), files.overrides) or files
        folder = Path(out or f"{files.default_run}-sweep")
        recipe = recipe_for(files, folder / CHOSEN, tell, lambda: measure_machine(find_device(device)))
        overrides = ()
    trainings = [
        [find_recipe(recipe, [*overrides, *_assignments(settings), f"seed={seed}"]) for seed in seeds]  # type: ignore[arg-type]
        for settings in combinations
    ]
    if files is None:
        folder = Path(out or Path("runs") / f"{trainings[0][0].name}-sweep")
    task = find_task(trainings[0][0].config.task)
    tested = [task.open(row[0].config, row[0].folder).tested for row in trainings]
    name = metric or next(iter(METRICS[tested[0].measured]))
    found_metric = find_metric(name, tested[0].measured)
    if len({data.texts.content() for data in tested}) > 1:
        raise InputError("these settings change the test set, so that scores could not be compared; sweep others")
    if files is not None:
        _keep(recipe, folder / CHOSEN, tell)  # type: ignore[arg-type]
    scoring = Scoring(any(data.folds_case for data in tested))  # of all: cased scores do not compare with others
    trained = [Combination(settings, [], None) for settings in combinations]
    counts: dict[str, SentenceCounts] = {}
    number, count = 0, len(combinations) * len(seeds)
    for cell, row, data in zip(trained, trainings, tested, strict=True):
        finished: list[SentenceCounts] = []
        for seed, training in zip(seeds, row, strict=True):
            number += 1
            tell(f"training {number} of {count}: {', '.join([*_assignments(cell.settings), f'seed={seed}'])}")
            name_of_run = ",".join(_assignments(cell.settings)).replace("/", "_").replace(" ", "") or "recipe"
            run = folder / name_of_run / f"seed-{seed}"
            try:
                result = train(training, run, resume=True, observers=observers(), tell=tell, device=device)
            except FloatingPointError as error:
                tell(str(error))
                cell.trained.append(TrainedRun(run, seed, None, None))
                continue
            scores = task.score(open_model(run, device), data, [name], scoring)
            counted = next(iter(scores.counts.values()))
            finished.append(counted)
            cell.trained.append(TrainedRun(run, seed, result.validation.get("perplexity"), counted.score))
        if len(finished) == len(seeds):
            counts[cell.name] = SentenceCounts.summed(finished)
    signature = next((of_cell.signature for of_cell in counts.values()), "")
    key = metric_key(name)
    pairs = compare_pairs({key: counts})
    cells = [
        replace(cell, against_first=(against(pairs, trained[0].name, cell.name) or {}).get(key)) for cell in trained
    ]
    return Sweep(
        key,
        found_metric.title,
        found_metric.digits,
        signature,
        tested[0].texts.name,
        tested[0].size,
        tested[0].unit,
        cells,
        pairs,
    )


def _keep(chosen: Recipe[Any], path: Path, tell: Callable[[str], None]) -> None:
    """Writes the chosen recipe, so that repeating the command uses the same one."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, to_toml(record(chosen, path.parent)))
    tell(f"all settings but those that are swept go into {path}, a recipe that you can edit and train again")


def split_values(text: str) -> list[str]:
    """Splits values at commas, except those inside brackets, braces or quotation marks."""
    values, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "[{(") - (character in ")}]")
        if character == "," and not depth and not quote:
            values.append("")
        else:
            values[-1] += character
    return [value.strip() for value in values]


def _assignments(settings: Mapping[str, str]) -> Iterator[str]:
    return (f"{key}={value}" for key, value in settings.items())
