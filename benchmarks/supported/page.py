"""What was found, as a page of the documentation, and what such a page says of each cell."""

import re
from collections.abc import Iterator, Mapping, Sequence

from supported.cells import CELLS, Outcome
from supported.rows import Row

Found = Mapping[Row, Mapping[str, Outcome]]
YES, REASON, NAME = "yes", re.compile(r"(.*) \((\d+)\)"), re.compile(r"`([^`]+)`")
ALL, NONE, REFUSED, SAME = "| All can | ", "| None can | ", "| Refused | ", "| The same as "

INTRODUCTION = """# What works with what

Every family of models in every task, and every choice of its settings, was tried with every verb and precision on a
tiny model, by `python benchmarks/support.py --out docs/support.md` (`make bench-support`). What is refused has the
number of the line below. Phrase-based models ([`model.kind = "phrases"`](recipes.md#few-pairs)) are not among them.

- **resume**: bit for bit the uninterrupted model. **in parts** (`training.accumulate = 3`), **two processes**: within
  1e-6 of whole batches in one process, but where a model draws numbers while it learns, or Muon is used.
- **use** is `translate`, `generate`, `fill`, `tag`, `answer` or `classify`, **look** `-o look.json`; **CTranslate2**,
  **Argos**, **Hugging Face** and **Firefox** are forms of `export`.
- **The same as** a family are settings with which the same works and the same is refused.
"""


def page(found: Found) -> str:
    """The whole page, with a table for each task."""
    reasons: dict[str, int] = {}
    lines = [INTRODUCTION]
    for task in dict.fromkeys(row.task for row in found):
        lines += [f"## {task}\n", *_of_task({row: one for row, one in found.items() if row.task == task}, reasons), ""]
    lines += ["## Reasons\n", "| number | line |\n| --- | --- |"]
    lines += [f"| {number} | {line.replace('|', '&#124;')} |" for line, number in reasons.items()]
    return "\n".join(lines) + "\n"


def cells_of(text: str) -> dict[tuple[str, str], dict[str, str]]:
    """Reads a page: by task and row, the reason for which each column is refused, empty where it is not.

    Rows that are the same as a family's are left out.
    """
    found_reasons = re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE)
    reasons = {number: line.replace("&#124;", "|") for number, line in found_reasons}
    titles = {cell.title: name for name, cell in CELLS.items()}
    told: dict[tuple[str, str], dict[str, str]] = {}

    def of(cell: str) -> tuple[str, str]:
        """The cell without its number, and the reason of that number."""
        match = REASON.fullmatch(cell)
        return (match[1], reasons[match[2]]) if match else (cell, "")

    for section in text.split("\n## ")[1:]:
        task, _, body = section.partition("\n")
        common: dict[str, str] = {}
        columns: Sequence[str] = ()
        for line in body.splitlines():
            if line.startswith((ALL, NONE)):
                every = line.removesuffix(" |").split(" | ")[1].split(", ")
                common |= {titles[title]: reason for title, reason in map(of, every)}
            elif line.startswith("| | "):
                columns = [titles[cell.strip()] for cell in line.strip("| ").split("|")]
            elif line.startswith("| `"):
                name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
                found = {column: of(cell)[1] for column, cell in zip(columns, cells, strict=True)}
                told[task, NAME.findall(name)[0].replace("&#124;", "|")] = common | found
            elif line.startswith(REFUSED):
                for named in re.findall(r"`[^`]+` \(\d+\)", line):
                    name, reason = of(named)
                    told[task, name.strip("`")] = dict.fromkeys(CELLS, reason)
    return told


def name_of(row: Row) -> str:
    """What a page calls a row."""
    return ", ".join(filter(None, (row.family, row.choice)))


def _of_task(found: Found, reasons: dict[str, int]) -> Iterator[str]:
    """Yields two tables: the columns that all rows have in common, choices with which the same works as with a family's
    defaults, and rows that are refused whole; and all other columns of the other rows."""
    shown, same, refused = _sorted(found)
    common: dict[str, str] = {}
    for name, cell in CELLS.items():
        of_all = {outcomes[name].line for outcomes in shown.values()}
        if len(of_all) == 1:
            common[name] = f"{cell.title}{_number(of_all.pop(), reasons)}"
    can = [title for title in common.values() if not REASON.fullmatch(title)]
    cannot = [title for title in common.values() if REASON.fullmatch(title)]
    yield "| what | which |\n| --- | --- |"
    yield f"{ALL}{', '.join(can)} |"
    if cannot:
        yield f"{NONE}{', '.join(cannot)} |"
    yield from (f"{SAME}`{family}` | {', '.join(choices)} |" for family, choices in same.items())
    if refused:
        every = [f"`{name_of(row)}`{_number(line, reasons)}" for row, line in refused.items()]
        yield f"{REFUSED}{', '.join(every)} |"
    rest = [name for name in CELLS if name not in common]
    if rest or len(shown) > 1:
        yield f"\n| | {' | '.join(CELLS[name].title for name in rest)} |"
        yield f"| --- |{' --- |' * len(rest)}"
    for row, outcomes in shown.items():
        cells = [YES if outcomes[name].is_supported else f"no{_number(outcomes[name].line, reasons)}" for name in rest]
        yield f"| `{name_of(row)}` | {' | '.join(cells)} |"


def _sorted(found: Found) -> tuple[dict[Row, Mapping[str, Outcome]], dict[str, list[str]], dict[Row, str]]:
    """Rows of a table; choices with which the same works as with their family's defaults; and what is refused whole."""
    shown: dict[Row, Mapping[str, Outcome]] = {}
    same: dict[str, list[str]] = {}
    refused: dict[Row, str] = {}
    usual: list[bool] = []
    for row, outcomes in found.items():
        works = [outcome.is_supported for outcome in outcomes.values()]
        if not outcomes["train"].is_supported:
            refused[row] = outcomes["train"].line
        elif row.choice and works == usual:
            same.setdefault(row.family, []).append(f"`{row.choice}`")
        else:
            shown[row] = outcomes
            usual = usual if row.choice else works
    return shown, same, refused


def _number(line: str, reasons: dict[str, int]) -> str:
    """The number of a reason, in brackets; nothing without one."""
    return f" ({reasons.setdefault(line, len(reasons) + 1)})" if line else ""
