"""Tables of text: their rows, by the sign that separates cells, and their columns, by names or numbers."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

from transduce.documents import languages
from transduce.errors import InputError

DELIMITERS = ",;\t|"
SOURCE_NAMES = frozenset(["source", "source text", "source string", "src", "original", "text", "string", "message"])
TARGET_NAMES = frozenset(["target", "target text", "target string", "tgt", "translation", "translated"])
LONGEST_CELL = 2**24  # characters; a quotation mark that is never closed takes in the rest of a file


def rows_of(lines: Iterable[str], name: str, delimiter: str = "") -> Iterator[tuple[int, list[str]]]:
    """The cells of each row of a table, with the number of its last line, from 1.

    Between tabs cells are taken as they are; with other signs, those in quotation marks may hold the sign, line ends
    and, written twice, quotation marks.

    Args:
        lines: of the file, without their ends.
        name: of the file, which tells the sign if its first line does not, for messages too.
        delimiter: the sign, if it is known.

    Raises InputError where cells cannot be told apart.
    """
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    delimiter = delimiter or delimiter_of(first, name)
    if delimiter == "\t":
        yield 1, first.split("\t")
        yield from ((number, line.split("\t")) for number, line in enumerate(rest, 2))
        return
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    reader = csv.reader(_with_ends(first, rest), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(
            f"{name}: line {reader.line_num}: its cells cannot be told apart ({error}); a quotation mark in a cell is "
            'written twice, in a cell in quotation marks ("a ""b"" c")'
        ) from None


def delimiter_of(text: str, name: str) -> str:
    """What separates cells: of the signs in use the one that the first row has most often, outside quotation marks."""
    if _without_packing(name).endswith((".tsv", ".tab")):
        return "\t"
    first = re.match(r'(?:"(?:[^"]++|"")*+"|[^"\r\n]++|")*+', text)
    row = re.sub(r'"(?:[^"]++|"")*+"', "", first[0] if first else "")
    return max(DELIMITERS, key=row.count)


def find_column(names: Sequence[str], asked: str) -> tuple[int, bool] | None:
    """Where a column is that is asked for by its name in the first row, or else by its number from 1, and whether it is
    by the number; None where there is none."""
    folded = [name.strip().casefold() for name in names]
    if asked in names or asked.strip().casefold() in folded:
        return (names.index(asked) if asked in names else folded.index(asked.strip().casefold())), False
    if asked.isascii() and asked.isdecimal() and 1 <= int(asked[:9]) <= max(len(names), 1):
        return int(asked) - 1, True
    return None


def known_column(names: Sequence[str], language: str, known: frozenset[str]) -> int | None:
    """The column called by a language, or by a name that is known."""
    if language and (found := languages.find([(name, n) for n, name in enumerate(names)], language)) is not None:
        return found
    return next((n for n, name in enumerate(names) if plain_name(name) in known), None)


def plain_name(name: str) -> str:
    """A column's name in small letters, whatever separates its words."""
    return " ".join(re.split(r"[\s_-]+", name.strip().casefold()))


def shown_names(names: Sequence[str]) -> str:
    """A first row, for messages."""
    return ", ".join(repr(name[:40]) for name in names[:12])


def _with_ends(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first + "\n"
    for line in rest:
        yield line + "\n"


def _without_packing(name: str) -> str:
    return re.sub(r"\.(?:gz|xz|zst)\Z", "", name.lower())
