"""`transduce runs`: a list of runs with their scores."""

import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transduce.cli.listing import Column, print_list, width_of
from transduce.cli.messages import print_json
from transduce.cli.options import Json

if TYPE_CHECKING:
    from transduce.training.run_summary import RunSummary

MAX_SETTINGS = 12
"""The most differing settings that are listed: runs that differ in more are of different recipes."""


def runs(
    folder: Path = Path("runs"),
    *,
    sort: Literal["score", "perplexity", "time", "name"] = "score",
    settings: bool = False,
    json: Json = False,
) -> None:
    """List runs with their scores and the settings in which they differ, grouped by data set and direction.

    Example: `transduce runs`

    Args:
        folder: Folder to search, including subfolders.
        sort: score: by BLEU, or by perplexity where there is no BLEU, best first; perplexity; training time; or name.
        settings: Show all settings that differ, however many there are.
    """
    from transduce.training.run_summary import find_runs

    summaries = find_runs(folder)
    if json:
        print_json(summaries)
        return
    if not summaries:
        print(f"there are no runs in {folder}")
    tasks: dict[str, list[RunSummary]] = {}
    for run in summaries:
        tasks.setdefault(run.task, []).append(run)
    for i, (task, of_task) in enumerate(tasks.items()):
        print("" if i == 0 else "\n", f"{task}:", sep="")
        _print_task(sorted(of_task, key=lambda run: _order(run, sort)), settings)
    for run in summaries:
        if run.problem:
            print(f"{run.run}: {run.problem}")


def _print_task(of_task: "Sequence[RunSummary]", all_settings: bool) -> None:
    from transduce.training.run_summary import differing_settings

    width = shutil.get_terminal_size().columns
    columns = _one_line(_columns(of_task), width)
    shown = differing = differing_settings(of_task)
    setting_columns = _setting_columns(of_task, differing, {column.heading for column in columns})
    if not all_settings:  # a line a run: what there is room for
        room = len(differing) if len(differing) <= MAX_SETTINGS else 0
        while room and width_of([*columns, *setting_columns[:room]]) > width:
            room -= 1
        shown, setting_columns = differing[:room], setting_columns[:room]
    print_list(columns, setting_columns)
    if any(run.bleu is not None and not run.test for run in of_task):
        print("* on the validation data")
    if len({run.test["signature"] for run in of_task if run.test and "signature" in run.test}) > 1:
        print("BLEU scores with different signatures are not comparable: see `transduce info`")
    if len(shown) < len(differing):
        more = f"{len(differing) - len(shown)} more settings" if shown else f"{len(differing)} settings"
        print(f"the runs differ in {more.removesuffix('s') if more.startswith('1 ') else more}; --settings shows all")


def _one_line(columns: list[Column], width: int) -> list[Column]:
    """Returns the columns without those that are the same for all runs, until they fit on a line."""
    for heading in ("seed", "updates", "time"):
        if width_of(columns) > width:
            columns = [column for column in columns if column.heading != heading or len(set(column.cells)) > 1]
    return columns


TOLD = {
    "accuracy": "accuracy",
    "pearson": "Pearson",
    "entity_f1": "entity F1",
    "f1": "F1",
    "masked_accuracy": "hidden words",
    "next_accuracy": "next sentence",
}
"""Headings of the validation scores of models that read texts."""


def _order(run: "RunSummary", sort: str) -> tuple[Any, ...]:
    perplexity = run.validation.get("perplexity", float("inf"))
    if sort == "score" and (score := next((run.validation[name] for name in TOLD if name in run.validation), None)):
        return False, -score, perplexity, run.run
    if sort == "score":
        return run.bleu is None, -(run.bleu or 0), perplexity, run.run
    return ({"perplexity": perplexity, "time": run.seconds, "name": 0}[sort], run.run)


def _columns(of_task: "Sequence[RunSummary]") -> list[Column]:
    columns = [
        Column("run", [run.run for run in of_task]),
        Column("seed", [str(run.settings.get("seed", "")) for run in of_task], is_number=True),
        Column("state", [run.state for run in of_task]),
        Column("updates", [f"{run.updates:,}" for run in of_task], is_number=True),
        Column("time", [str(timedelta(seconds=round(run.seconds))) for run in of_task], is_number=True),
    ]
    reported = [name for name in TOLD if any(name in run.validation for run in of_task)]
    if reported:  # classes, scores, tags, answers or hidden words
        return columns + [_scores(of_task, name, TOLD[name], 4) for name in reported]
    columns.append(_scores(of_task, "perplexity", "perplexity", 2))
    if all("bits_per_character" in run.validation for run in of_task):
        return [*columns, _scores(of_task, "bits_per_character", "bits/char", 3)]
    bleu = ["" if run.bleu is None else f"{run.bleu:.1f}{' ' if run.test else '*'}" for run in of_task]
    return [*columns, Column("BLEU", bleu, is_number=True)]


def _scores(of_task: "Sequence[RunSummary]", name: str, heading: str, digits: int) -> Column:
    scores = [run.validation.get(name) for run in of_task]
    return Column(heading, ["" if score is None else f"{score:.{digits}f}" for score in scores], is_number=True)


def _setting_columns(of_task: "Sequence[RunSummary]", keys: Sequence[str], taken: set[str]) -> list[Column]:
    """Returns a column for each setting, under the last part of its name if that is enough."""
    short = [key.rpartition(".")[2] for key in keys]
    return [
        Column(
            name if short.count(name) == 1 and name not in taken else key,
            [str(run.settings.get(key, "")) for run in of_task],
        )
        for key, name in zip(keys, short, strict=True)
    ]
