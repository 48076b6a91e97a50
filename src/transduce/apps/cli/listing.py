"""Prints lists and facts for a terminal of any width: what does not fit is wrapped, and nothing is cut."""

import io
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from rich.table import Table

GAP = 2  # blanks between two columns
INDENT = "    "
MIN_WIDTH = 20  # of a column that is wrapped, however narrow the terminal


def print_list(columns: Mapping[str, Sequence[str]], wrapped: Collection[str] = ()) -> None:
    """Prints the cells below each heading.

    Where there is no room for all, the columns `wrapped` give way; without any, the cells of the first column stand on
    lines of their own.
    """
    from rich.table import Table
    from rich.text import Text

    names, shown = next(iter(columns.items())), dict(columns)
    is_apart = not wrapped and width_of(columns) > shutil.get_terminal_size().columns
    if is_apart:
        del shown[names[0]]
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for heading, cells in shown.items():
        is_number = not any(map(str.isalpha, "".join(cells)))
        table.add_column(
            heading, justify="right" if is_number else "left", no_wrap=heading not in wrapped, overflow="fold"
        )
    for row in zip(*shown.values(), strict=True):
        table.add_row(*map(Text, row))
    lines = _lines(table, width_of({heading: cells for heading, cells in shown.items() if heading not in wrapped}))
    if is_apart:
        lines = [
            each for name, line in zip((names[0], *names[1]), lines, strict=True) for each in (name, INDENT + line)
        ]
    for line in lines:
        print(_printable(line))


def print_facts(facts: Mapping[str, str]) -> None:
    """Prints facts beside their names, wrapped between words."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(Text(name), Text(fact))
    for line in _lines(table, width_of({"": list(facts)})):
        print(_printable(line))


def width_of(columns: Mapping[str, Sequence[str]]) -> int:
    """Returns the width of columns side by side, in cells of a terminal."""
    widths = [max(map(cell_len, (heading, *cells))) for heading, cells in columns.items()]
    return sum(widths) + GAP * (len(widths) - 1)


def _lines(table: "Table", fixed: int) -> list[str]:
    """Returns the lines of a table, which has columns of a fixed width and others that are wrapped."""
    from rich.console import Console

    width = max(shutil.get_terminal_size().columns, fixed + GAP + MIN_WIDTH)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as printed:
        console.print(table)
    return [line.rstrip() for line in printed.get().split("\n")[:-1]]


def _printable(text: str) -> str:
    """Returns the text with escapes for characters that standard output's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
