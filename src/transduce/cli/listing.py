"""Lists for a terminal of any width: what does not fit beside the rest stands beneath it, and nothing is cut."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

GAP = "  "
INDENT = "    "
MIN_WIDTH = 20  # of what is told of a name, however narrow the terminal


@dataclass(frozen=True)
class Column:
    """A heading and what stands below it, a cell a row."""

    heading: str
    cells: Sequence[str]
    is_number: bool = False
    """Whether cells stand at the right."""

    @property
    def width(self) -> int:
        """Of the longest of its texts, in cells of a terminal."""
        return max(cell_len(text) for text in (self.heading, *self.cells))

    def lines(self) -> list[str]:
        """Heading and cells, all as wide."""
        padded = [(text, " " * (self.width - cell_len(text))) for text in (self.heading, *self.cells)]
        return [spaces + text if self.is_number else text + spaces for text, spaces in padded]


def print_list(columns: Sequence[Column], more: Sequence[Column] = (), notes: Sequence[Sequence[str]] = ()) -> None:
    """Print a list, whose first column names the rows, as wide as the terminal is.

    Args:
        columns: stand side by side, the first on a line of its own where there is no room for all.
        more: more of them, whose cells stand beneath the row where there is no room for all.
        notes: what stands beneath each row in any case.
    """
    for line in list_lines(columns, more, notes, shutil.get_terminal_size().columns):
        print(_printable(line))


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and what is to say of each, in whole words."""
    indent = max(cell_len(name) for name in facts) + len(GAP)
    width = max(shutil.get_terminal_size().columns, indent + MIN_WIDTH)
    for name, fact in facts.items():
        padded = name + " " * (indent - cell_len(name))
        lines = textwrap.wrap(fact, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
        print(_printable(f"\n{' ' * indent}".join([padded + lines[0], *lines[1:]]).rstrip()))


def _printable(text: str) -> str:
    """The text with escapes for what standard output's encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def list_lines(
    columns: Sequence[Column], more: Sequence[Column], notes: Sequence[Sequence[str]], width: int
) -> Iterator[str]:
    """The lines that `print_list` prints where the terminal is so wide."""
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
    """How wide columns are side by side, in cells of a terminal."""
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def _packed(items: Sequence[str], width: int) -> Iterator[str]:
    """As many items a line as there is room for; one that is longer than a line goes on at the next, between words."""
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
