"""What was found, as a page of the documentation, and what such a page says of each cell."""

import re
from collections.abc import Iterator, Mapping

from supported.cells import CELLS, Outcome
from supported.rows import Row

Found = Mapping[Row, Mapping[str, Outcome]]
YES, REASON = "yes", re.compile(r"no \((\d+)\)")

INTRODUCTION = """# What works with what

Every family of models in every task, and every choice of its settings, was tried with every verb and precision on a
tiny model: "yes" is done, "no" is refused in the line of that number below the tables. The page is made by
`python benchmarks/support.py --out docs/support.md` (`make bench-support`), which ends with an error if anything is
neither; a sample of it is tried again in the tests. Families and choices are taken from the types of the settings.

- **resume**: interrupted halfway and resumed, the model is the uninterrupted one's, bit for bit.
- **in parts**, **two processes**: with `training.accumulate = 3`, and with `--processes 2`, all weights are within 1e-6
  of those of whole batches in one process. Where a model draws numbers at random while it learns (dropout, hard
  attention, scheduled sampling) each part draws others, and Muon enlarges rounding errors: there, only that it trains.
  XLNets, which draw an order for each segment, were given the same one for all.
- **use** is `translate`, `generate`, `fill`, `tag`, `answer` or `classify`.
- **look** is asked for numbers (`-o look.json`), which pages and figures are drawn from.
"""


def page(found: Found) -> str:
    """The whole page, with a table for each task."""
    reasons: dict[str, int] = {}
    lines = [INTRODUCTION]
    for task in dict.fromkeys(row.task for row in found):
        lines += [f"## {task}\n", *_table({row: one for row, one in found.items() if row.task == task}, reasons), ""]
    lines += ["## Reasons\n", *(f"{number}. {line}" for line, number in reasons.items())]
    return "\n".join(lines) + "\n"


def cells_of(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """What a page says: by task and row, why each column is refused, empty where it is not."""
    reasons = dict(re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE))
    told: dict[tuple[str, str], dict[str, str]] = {}
    for section in text.split("\n## ")[1:]:
        task, _, body = section.partition("\n")
        for line in body.splitlines():
            if line.startswith("| `"):
                name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
                found = {
                    column: "" if cell == YES else reasons[match[1]] if (match := REASON.fullmatch(cell)) else cell
                    for column, cell in zip(CELLS, cells, strict=True)
                }
                told[task, name.replace("`", "").replace("&#124;", "|")] = found
    return told


def name_of(row: Row) -> str:
    """What a page calls a row."""
    return ", ".join(filter(None, (row.family, row.choice)))


def _table(found: Found, reasons: dict[str, int]) -> Iterator[str]:
    """A row for each family, and for each choice with which something is different."""
    yield f"| | {' | '.join(cell.title for cell in CELLS.values())} |"
    yield f"| --- |{' --- |' * len(CELLS)}"
    same: dict[str, list[str]] = {}
    usual: Mapping[str, Outcome] = {}
    for row, outcomes in found.items():
        if not row.choice:
            usual = outcomes
        elif outcomes == usual:
            same.setdefault(row.family, []).append(f"`{row.choice}`")
            continue
        cells = [_cell(outcomes.get(name, outcomes["train"]), reasons) for name in CELLS]
        yield f"| `{name_of(row)}` | {' | '.join(cells)} |"
    for family, choices in same.items():
        yield f"\nThe same as `{family}`: {', '.join(choices)}."


def _cell(outcome: Outcome, reasons: dict[str, int]) -> str:
    if outcome.is_supported:
        return YES
    return f"no ({reasons.setdefault(outcome.line, len(reasons) + 1)})"
