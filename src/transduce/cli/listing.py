"""Prints lists and facts for a terminal of any width: what does not fit is wrapped, and nothing is cut."""

import io
import shutil
import sys
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2  # blanks between two columns
MIN_WIDTH = 20  # of a column that is wrapped, however narrow the terminal


def print_list(columns: Mapping[str, Sequence[str]], wrapped: str) -> None:
    """Prints the cells below each heading; the column `wrapped` gives way where there is no room for all."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for heading, cells in columns.items():
        is_number = not any(map(str.isalpha, "".join(cells)))
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=heading != wrapped, overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    _print(table, width_of({heading: cells for heading, cells in columns.items() if heading != wrapped}))


def print_facts(facts: Mapping[str, str]) -> None:
    """Prints facts beside their names, wrapped between words."""
    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(Text(name), Text(fact))
    _print(table, width_of({"": list(facts)}))


def width_of(columns: Mapping[str, Sequence[str]]) -> int:
    """Returns the width of columns side by side, in cells of a terminal."""
    widths = [max(map(cell_len, (heading, *cells))) for heading, cells in columns.items()]
    return sum(widths) + GAP * (len(widths) - 1)


def _print(table: Table, fixed: int) -> None:
    """Prints a table with columns of a fixed width and one that is wrapped; characters that standard output's encoding
    lacks become escapes."""
    width = max(shutil.get_terminal_size().columns, fixed + GAP + MIN_WIDTH)
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as printed:
        console.print(table)
    encoding = sys.stdout.encoding or "utf-8"
    for line in printed.get().removesuffix("\n").split("\n"):
        print(line.rstrip().encode(encoding, "backslashreplace").decode(encoding))
