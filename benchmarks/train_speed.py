"""Training speed of Transduce and its peers: the same sentences, vocabularies, sizes and batches, on one machine.

    python benchmarks/train_speed.py --report             # the sizes of multi30k-words
    python benchmarks/train_speed.py --task rnn --report  # the sizes of multi30k-rnn

Each system runs in a process of its own, round after round; what a round measured is kept and not done again.
`--report` writes table and chart into results/speed.md, with `--repeats 0` from what is kept alone.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.lines import write_lines
from peers.measurements import Measurements, OtherSettingsError, Spread, System, measure, paired
from peers.report import PAGE, PICTURES, describe_machine, draw_bars, table, write_between
from transduce.base.config import to_tree
from transduce.experiment import load_recipe

OURS = "Transduce"
SYSTEMS = [
    System(OURS, "transduce", "train_transduce", {"precision": "auto", "processes": 1}),
    System("Transduce in two processes", "transduce", "train_transduce", {"precision": "auto", "processes": 2}),
    System(
        "Transduce with random batches",
        "transduce",
        "train_transduce",
        {"precision": "auto", "processes": 1, "changes": ["batching.groups=128"]},
    ),
    System("JoeyNMT", "joeynmt", "train_joeynmt"),
    System("eole float32", "eole", "train_eole", {"precision": "float32"}),
    System("eole bfloat16", "eole", "train_eole", {"precision": "bfloat16"}),
    System("Marian float32", "transformers", "train_marian", {"precision": "float32"}),
    System("Marian bfloat16", "transformers", "train_marian", {"precision": "bfloat16"}),
]


@dataclass(frozen=True)
class Task:
    """What is trained, and which systems can."""

    recipe: str
    changes: tuple[str, ...]
    """To the recipe."""
    batch: int
    """Sentence pairs."""
    systems: list[System]


TASKS = {
    "words": Task("multi30k-words", (), 128, SYSTEMS),
    "rnn": Task("multi30k-rnn", ("batching={sentences=256, groups=256}",), 256, [*SYSTEMS[:2], SYSTEMS[3]]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--task", choices=TASKS, default="words")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/training"))
    parser.add_argument("--peers", nargs="+", metavar="NAME", help="only those whose name begins so, and Transduce")
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--updates", type=int, default=16, help="timed in each round")
    parser.add_argument("--warm-up", type=int, default=4, help="updates before them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", action="store_true", help=f"write what is kept into {PAGE.name}")
    options = parser.parse_args()
    task, folder = TASKS[options.task], (options.out / options.task).absolute()
    recipe = load_recipe(task.recipe, task.changes)
    write_lines(recipe, folder / "lines")
    shared = {
        "recipe": task.recipe,
        "changes": task.changes,
        "data": str(folder / "lines"),
        "source": recipe.config.data.source,
        "target": recipe.config.data.target,
        "model": to_tree(recipe.config.model),
        "label_smoothing": recipe.config.training.label_smoothing,
        "batch": task.batch,
        "updates": options.updates,
        "warm_up": options.warm_up,
        "threads": options.threads,
    }
    chosen = [system for system in task.systems if system.is_chosen(options.peers)]
    try:
        found = measure(chosen, options.repeats, folder, shared)
    except OtherSettingsError as error:
        parser.error(str(error))
    print(make_table(found), end="")
    if options.report:
        write_report(options.task, found, shared)


def speeds(measurements: Measurements) -> dict[int, float]:
    """Target tokens a second of each round."""
    return {number: found["target_tokens"] / found["seconds"] for number, found in measurements.rounds.items()}


def make_table(found: dict[str, Measurements]) -> str:
    """A row a system: its precision and speed, and how many times as fast we were in the same rounds."""
    rows = [["", "precision", "target tokens a second", f"{OURS}'s speed divided by it"]]
    ours = speeds(found[OURS]) if OURS in found else {}
    for name, measurements in found.items():
        theirs = speeds(measurements)
        if not theirs:
            rows.append([name, "", measurements.reason or "", ""])
            continue
        any_round = next(iter(measurements.rounds.values()))
        ratio = paired(ours, theirs) if name != OURS else None
        toolkit, *how = name.removesuffix(f" {any_round['precision']}").split()
        title = " ".join([toolkit, any_round["version"], *how])
        rows.append([title, any_round["precision"], Spread.of(list(theirs.values())).show(",.0f"), show_ratio(ratio)])
    return table(rows)


def show_ratio(ratio: Spread | None) -> str:
    """Nothing where there is nothing to compare."""
    return ratio.show(".1f") if ratio else ""


def write_report(task: str, found: dict[str, Measurements], shared: dict[str, Any]) -> None:
    """Table and chart of a task."""
    bars = {name: Spread.of(list(speeds(m).values())) for name, m in found.items() if m.rounds}
    picture = PICTURES / f"training-{task}.svg"
    draw_bars(bars, "target tokens a second", picture)
    torch = next((found["torch"] for m in found.values() for found in m.rounds.values()), "")
    told = (
        f"`python benchmarks/train_speed.py --task {task}`: {describe_machine(shared['threads'])} PyTorch {torch}; "
        f"{max(len(m.rounds) for m in found.values())} rounds of {shared['updates']} updates after "
        f"{shared['warm_up']} more, batches of {shared['batch']} sentence pairs.\n"
    )
    text = f"{told}\n{make_table(found)}\n![Target tokens a second](../docs/{picture.name})\n"
    write_between(PAGE, f"training {task}", text)


if __name__ == "__main__":
    main()
