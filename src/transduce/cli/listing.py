"""Prints lists for a terminal of any width: columns that do not fit move below, and nothing is cut."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

GAP = "  "
INDENT = "    "
MIN_WIDTH = 20  # of a fact beside its name, however narrow the terminal


@dataclass(frozen=True)
class Column:
    """A heading and the cells below it, one a row."""

    heading: str
    cells: Sequence[str]
    is_number: bool = False
    """True if cells are right-aligned."""

    @property
    def width(self) -> int:
        """The width of the longest text, in cells of a terminal."""
        return max(cell_len(text) for text in (self.heading, *self.cells))

    def lines(self) -> list[str]:
        """Returns heading and cells, all of equal width."""
        padded = [(text, " " * (self.width - cell_len(text))) for text in (self.heading, *self.cells)]
        return [spaces + text if self.is_number else text + spaces for text, spaces in padded]


def print_list(columns: Sequence[Column], more: Sequence[Column] = (), notes: Sequence[Sequence[str]] = ()) -> None:
    """Prints a list, whose first column names the rows, as wide as the terminal is.

    Args:
        columns: side by side, the first on a line of its own if there is no room for all.
        more: further columns, whose cells go below the row if there is no room for all.
        notes: texts below each row in any case.
    """
    for line in list_lines(columns, more, notes, shutil.get_terminal_size().columns):
        print(_printable(line))


def print_facts(facts: Mapping[str, str]) -> None:
    """Prints facts beside their names, wrapped between words."""
    indent = max(cell_len(name) for name in facts) + len(GAP)
    width = max(shutil.get_terminal_size().columns, indent + MIN_WIDTH)
    for name, fact in facts.items():
        padded = name + " " * (indent - cell_len(name))
        lines = textwrap.wrap(fact, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
        print(_printable(f"\n{' ' * indent}".join([padded + lines[0], *lines[1:]]).rstrip()))


def _printable(text: str) -> str:
    """Returns the text with escapes for characters that standard output's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def list_lines(
    columns: Sequence[Column], more: Sequence[Column], notes: Sequence[Sequence[str]], width: int
) -> Iterator[str]:
    """Yields the lines that `print_list` prints on a terminal of this width."""
    has_room = width_of([*columns, *more]) <= width
    name, *others = [*columns, *more] if has_room else columns
    rows = [GAP.join(cells).rstrip() for cells in zip(*(column.lines() for column in others), strict=True)]
    names = name.lines()
    is_apart = width_of([name, *others]) > width
    for i, (named, row) in enumerate(zip(names, rows, strict=True)):
        yield from [named.rstrip(), f"{INDENT}{row}"] if is_apart else [f"{named}{GAP}{row}".rstrip()]
        if i == 0:
            continue
        beneath = [] if has_room else [f"{column.heading}: {cell}" for column in more if (cell := column.cells[i - 1])]
        yield from _packed([*beneath, *(notes[i - 1] if notes else ())], width)


def width_of(columns: Sequence[Column]) -> int:
    """Returns the width of columns side by side, in cells of a terminal."""
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """Yields lines with as many items as fit; an item that is longer than a line is wrapped between words."""
    line = ""
    for item in items:
        first, *rest = textwrap.wrap(item, max(width - len(INDENT), 1), break_long_words=False, break_on_hyphens=False)
        longer = f"{line}{GAP}{first}"
        if line and (rest or cell_len(longer) > width):
            yield line
            line = ""
        line = longer if line else f"{INDENT}{first}"
        for part in rest:
            yield line
            line = f"{INDENT}{part}"
    if line:
        yield line
