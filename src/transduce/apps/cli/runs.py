"""`transduce runs`: a list of runs with their scores."""

import shutil
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from transduce.apps.cli.listing import INDENT, print_facts, print_list, width_of
from transduce.apps.cli.options import Json
from transduce.apps.cli.printing import print_json

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

    width, differing = shutil.get_terminal_size().columns, differing_settings(of_task)
    columns = _columns(of_task)
    for heading in ("seed", "updates", "time"):  # leave out what is the same for all, until a run fits on a line
        if width_of(columns) > width and len(set(columns[heading])) == 1:
            del columns[heading]
    shown = 0
    if not all_settings and len(differing) <= MAX_SETTINGS:  # as many as fit on a line, too
        settings = _setting_columns(of_task, differing, columns)
        while shown < len(settings) and width_of({**columns, **dict(settings[: shown + 1])}) <= width:
            shown += 1
        columns |= settings[:shown]
    print_list(columns)
    if any(run.bleu is not None and not run.test for run in of_task):
        print("* on the validation data")
    if len({run.test["signature"] for run in of_task if run.test and "signature" in run.test}) > 1:
        print("BLEU scores with different signatures are not comparable: see `transduce info`")
    if all_settings:
        for run in of_task if differing else ():
            print(run.run)
            print_facts({f"{INDENT}{key}": str(run.settings.get(key, "")) for key in differing})
    elif rest := len(differing) - shown:
        settings_ = f"{rest} {'more ' * bool(shown)}setting{'s' * (rest > 1)}"
        print(f"the runs differ in {settings_}; --settings shows all")


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


def _columns(of_task: "Sequence[RunSummary]") -> dict[str, list[str]]:
    columns = {
        "run": [run.run for run in of_task],
        "seed": [str(run.settings.get("seed", "")) for run in of_task],
        "state": [run.state for run in of_task],
        "updates": [f"{run.updates:,}" for run in of_task],
        "time": [str(timedelta(seconds=round(run.seconds))) for run in of_task],
    }
    reported = [name for name in TOLD if any(name in run.validation for run in of_task)]
    if reported:  # classes, scores, tags, answers or hidden words
        return columns | {TOLD[name]: _scores(of_task, name, 4) for name in reported}
    columns["perplexity"] = _scores(of_task, "perplexity", 2)
    if all("bits_per_character" in run.validation for run in of_task):
        return columns | {"bits/char": _scores(of_task, "bits_per_character", 3)}
    bleu = ["" if run.bleu is None else f"{run.bleu:.1f}{' ' if run.test else '*'}" for run in of_task]
    return columns | {"BLEU": bleu}


def _scores(of_task: "Sequence[RunSummary]", name: str, digits: int) -> list[str]:
    scores = [run.validation.get(name) for run in of_task]
    return ["" if score is None else f"{score:.{digits}f}" for score in scores]


def _setting_columns(
    of_task: "Sequence[RunSummary]", keys: Sequence[str], taken: Collection[str]
) -> list[tuple[str, list[str]]]:
    """Returns a column for each setting, under the last part of its name if that is enough."""
    short = [key.rpartition(".")[2] for key in keys]
    return [
        (
            name if short.count(name) == 1 and name not in taken else key,
            [str(run.settings.get(key, "")) for run in of_task],
        )
        for key, name in zip(keys, short, strict=True)
    ]
