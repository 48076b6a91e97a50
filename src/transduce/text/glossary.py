"""A glossary file: phrases that translations of lines with a term must, or must not, contain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from docsegments.messages.tables import (
    DELIMITERS,
    SOURCE_NAMES,
    TARGET_NAMES,
    known_column,
    plain_name,
    rows_in_direction,
    rows_of,
)
from docsegments.messages.tbx import ConceptTerm, concepts_of_tbx
from docsegments.orthography.characters import without_invisible
from docsegments.orthography.words import PhraseIndex
from transduce.base.errors import DataError, InputError
from transduce.base.files import write_text
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.lines import lines_in, open_bytes
from transduce.text.terms import Term

BAN = "ban"
"""The mark of a phrase that translations must not hold, and the name of the column of such marks."""

FORMS = "|"
"""The sign between the forms of a term in a file; one within a term has a backslash before it, as has a backslash."""

LONGEST = 2000
"""The most characters of an entry: a search tries each form of a term at each step."""

Use = Literal["inflected", "exact"]
"""The use of target phrases: inflected, any of their forms is required; exact, they themselves."""


@cache
def _nfc() -> Any:
    """Returns the library's normaliser, since Python's takes time that is quadratic in the marks on a letter."""
    from tokenizers import normalizers  # which a document's process does not need

    return normalizers.NFC()


@dataclass(frozen=True)
class Entry:
    """One line of a glossary."""

    source: str
    """The words that a source line must hold for the entry to apply; empty for every line."""
    target: str
    """The words that the translation must hold, or must not."""
    is_banned: bool = False
    source_forms: tuple[str, ...] = ()
    """Other forms of the source term, to which the entry applies, too."""
    target_forms: tuple[str, ...] = ()
    """Other forms of the phrase: one of them may stand in its place, or all of them are banned, too."""


class Applying(NamedTuple):
    """Demands of a glossary on the translation of one line."""

    required: tuple[str, ...]
    """Phrases that the translation must hold."""
    banned: tuple[str, ...]
    """Phrases that the translation must not hold."""
    terms: tuple[Term, ...]
    """Terms of the line, without bans."""


@dataclass(frozen=True)
class Glossary:
    """The entries of a glossary, sought in source lines as whole words without regard to case."""

    entries: Sequence[Entry]
    use: Use = field(default="inflected", kw_only=True)

    @staticmethod
    def read(path: str | Path, source: str = "", target: str = "", use: Use = "inflected") -> "Glossary":
        """Reads a file of lines `source term TAB target phrase [TAB ban]`, a .csv, or a term base (.tbx).

        In lines, a term and a phrase may be followed by other forms of them: `hound|hounds TAB Hund|Hunde|Hunden`.

        Args:
            path: the file.
            source: language of the source, which names a column or the terms of a term base.
            target: language of the target.
            use: whether forms may stand in for phrases, and whether phrases are required at all.

        Raises DataError for a bad line, InputError for a term base that cannot be read or lacks a language.
        """
        with open_bytes(path) as stream:
            return Glossary.parse(stream, str(path), source, target, use)

    @staticmethod
    def parse(
        stream: IO[bytes], name: str, source: str = "", target: str = "", use: Use = "inflected", most: int = 10**9
    ) -> "Glossary":
        """Reads an open file of a name as `read` does; DataError for one of more than `most` entries, or of an entry of
        more than `LONGEST` characters."""
        is_tbx = Path(name).suffix.lower() == ".tbx"
        entries = list(islice((_of_tbx if is_tbx else _of_table)(stream, name, source, target), most + 1))
        if not entries:
            raise DataError(f"{name}: the glossary is empty")
        if len(entries) > most:
            raise DataError(f"{name}: the glossary has more than {most:,} entries; divide it")
        if long := next((entry for entry in entries if sum(map(len, cells_of(entry))) > LONGEST), None):
            raise DataError(
                f"{name}: the entry of {long.source[:60]!r} has more than {LONGEST:,} characters, forms included; "
                "shorten it"
            )
        return Glossary(entries, use=use)

    def write(self, path: Path) -> None:
        """Writes the entries, with their forms, as lines that `read` reads."""
        rows = ("\t".join(cells_of(entry)) + "\n" for entry in self.entries)
        write_text(path, "".join(rows))

    @property
    def requires_any(self) -> bool:
        """True if any phrase is required."""
        return not all(entry.is_banned for entry in self.entries)

    def applying(self, source: str) -> Applying:
        """Returns what applies to a source line; BudgetError if finding that is to end."""
        forms, index = self._forms
        held = [place for form in index.held_by(comparable(source)) for place in forms[form]]
        always = [(number, 0, "") for number, entry in enumerate(self.entries) if not entry.source]
        first = {number: form for number, _, form in sorted([*held, *always], reverse=True)}
        found = [(self.entries[number], first[number]) for number in sorted(first)]
        banned = (phrase for entry, _ in found if entry.is_banned for phrase in (entry.target, *entry.target_forms))
        terms = tuple(
            Term(entry.source, entry.target, () if self.use == "exact" else entry.target_forms, form)
            for entry, form in found
            if not entry.is_banned
        )
        return Applying(tuple(dict.fromkeys(term.target for term in terms)), tuple(dict.fromkeys(banned)), terms)

    @cached_property
    def _forms(self) -> tuple[dict[str, list[tuple[int, int, str]]], PhraseIndex]:
        """The entries of each form of a source, each with the number of the form among its own; and their index."""
        forms: dict[str, list[tuple[int, int, str]]] = {}
        for number, entry in enumerate(self.entries):
            for place, form in enumerate((entry.source, *entry.source_forms) if entry.source else ()):
                forms.setdefault(comparable(form), []).append((number, place, form))
        return forms, PhraseIndex(forms)


def comparable(text: str) -> str:
    """Returns a text without regard to case, invisible characters, and whether accents are characters of their own."""
    composed: str = _nfc().normalize_str(without_invisible(text).casefold())
    return composed


def _of_table(stream: IO[bytes], path: str, source: str, target: str) -> Iterator[Entry]:
    """Yields the entries of the lines of a table; a first line may name its columns."""
    columns: list[int] | None = None
    is_csv = Path(path).suffix.lower() == ".csv"
    rows = rows_of(lines_in(stream, path), path, DELIMITERS.replace(FORMS, "") if is_csv else "\t")
    for number, row in rows_in_direction(rows, path, source, target):
        cells = [" ".join(cell.split()) for cell in row]
        if not any(cells):
            continue
        if columns is None:
            columns = _columns(cells, source, target)
            if columns:
                continue
        if columns:
            cells = [cells[column] if column < len(cells) else "" for column in columns]
        if len(cells) not in (2, 3) or not cells[1] or cells[2:] not in ([], [""], [BAN]):
            line, sign = (",".join(row), "comma") if is_csv else ("\t".join(row), "tab")
            raise DataError(
                f"{path}: line {number} is {line[:200]!r}; expected a source term, a {sign} and a target phrase, and, "
                f"to forbid the phrase, a {sign} and '{BAN}'"
            )
        sources, targets = (_forms(cell, f"{path}: line {number}") for cell in cells[:2])
        yield Entry(sources[0], targets[0], cells[2:] == [BAN], sources[1:], targets[1:])


def _forms(cell: str, where: str) -> tuple[str, ...]:
    """Returns the forms in a cell; DataError for a blank one beside others."""
    whole = cell.replace("\\\\", "\1").replace(f"\\{FORMS}", "\0")
    forms = tuple(form.strip().replace("\0", FORMS).replace("\1", "\\") for form in whole.split(FORMS))
    if len(forms) > 1 and not all(forms):
        raise DataError(
            f"{where}: {cell[:200]!r} has a blank form; write one '{FORMS}' between two forms, or '\\{FORMS}' for a "
            "sign"
        )
    return forms


def cells_of(entry: Entry) -> list[str]:
    """Returns an entry as the cells of a line: terms with their forms, and the mark of a ban."""
    sides = ((entry.source, *entry.source_forms), (entry.target, *entry.target_forms))
    cells = [FORMS.join(form.replace("\\", "\\\\").replace(FORMS, f"\\{FORMS}") for form in side) for side in sides]
    return [*cells, BAN] if entry.is_banned else cells


def _columns(names: list[str], source: str, target: str) -> list[int]:
    """Returns the columns of terms, phrases and bans in a table if its first line names them; else nothing."""
    terms = known_column(names, source, SOURCE_NAMES | {"term", "source term"})
    phrases = known_column(names, target, TARGET_NAMES | {"target phrase", "target term"})
    if terms is None or phrases is None or terms == phrases:
        return []
    return [terms, phrases, *(n for n, name in enumerate(names) if plain_name(name) == BAN)]


def _of_tbx(stream: IO[bytes], path: str, source: str, target: str) -> Iterator[Entry]:
    """Yields each source term with the concept's preferred term, or else its first, and bans of deprecated ones.

    A concept's variants are forms of its first source term, of the target term that is taken, or of the first banned
    one.
    """
    if not source or not target or (source, target) == UNKNOWN:
        raise InputError(f"{path}: a term base has several languages, and the model does not say which are its own")
    for sources, targets in concepts_of_tbx(stream.read(), path, source, target):
        allowed = sorted((term for term in targets if not term.is_banned), key=lambda term: not term.is_preferred)
        banned = [term for term in targets if term.is_banned]
        phrases = [(*phrase, False) for phrase in _with_forms(allowed)[:1]]
        phrases += [(*phrase, True) for phrase in _with_forms(banned)]
        for term, source_forms in _with_forms(sources):
            for phrase, forms, is_banned in phrases:
                yield Entry(term, phrase, is_banned, source_forms, forms)


def _with_forms(terms: Sequence[ConceptTerm]) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the terms that are not variants, the first of them with the variants as its forms."""
    variants = [term.text for term in terms if term.is_variant]
    names = [term.text for term in terms if not term.is_variant]
    if not names:
        names, variants = variants[:1], variants[1:]
    return [(name, () if number else tuple(variants)) for number, name in enumerate(names)]
