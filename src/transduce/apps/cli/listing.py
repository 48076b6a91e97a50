"""Lists, facts and explained translations on a terminal of any width: what does not fit is wrapped, nothing is cut."""

import io
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from rich.table import Table

    from transduce.inference.translation import Translation

GAP = 2  # blanks between two columns
INDENT = "    "
MIN_WIDTH = 20  # of a column that is wrapped, however narrow the terminal
LEVELS = ((0.9, "#4477aa"), (0.7, "#66ccee"), (0.5, "#ccbb44"), (0.3, "#ee9944"), (0.0, "#ee6677"))
"""The least probability of a word's weakest token, and the colour: colour-blind people can distinguish them too."""


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


def explained(translation: "Translation") -> str:
    """Returns a translation for a terminal: its words, coloured by their probabilities if there are colours, and the
    probability of each weak one."""
    from rich.color import Color
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    if translation.details is None or not translation.details.words:
        return translation.text + "\n"
    text = Text()
    for word, probability in zip(translation.details.words, _weakest(translation), strict=True):
        colour = next(colour for least, colour in LEVELS if probability >= least)
        shown = word if probability >= LEVELS[1][0] else f"{word} ({100 * probability:.0f} %)"
        text.append(f" {shown}" if text else shown, Style(color=Color.parse(colour)))
    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as captured:
        console.print(text)
    return captured.get()


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


def _weakest(translation: "Translation") -> list[float]:
    """Returns the probability of each word's least probable token."""
    details = translation.details
    assert details is not None
    weakest = [1.0] * len(details.words)
    for word, token in zip(details.word_of_tokens, details.tokens, strict=False):  # the end token is of no word
        weakest[word] = min(weakest[word], token.probability)
    return weakest
