"""Translation memories: existing translations, reused for the same segment, offered for a similar one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Protocol

from docsegments.budget import check
from docsegments.document import Languages, TextFile, Unit, bytes_of
from docsegments.document_formats import format_of, read_document
from docsegments.extras import require
from docsegments.messages.tables import rows_in_direction, rows_of
from docsegments.segment import Mark, Segment
from docsegments.text.placeholders import plain_segment
from docsegments.user_errors import InputError

LEAST_LIKE = 0.7
"""Least similarity, 0 to 1, of two similar segments: the share of characters that need not change."""

LONGEST = 1000
"""Characters of the longest segment for which similar ones are sought: the time grows with the square of its length."""
AT_ONCE = 256
"""Segments that are compared in one call, of milliseconds, in which no other thread of Python can work."""


@dataclass(frozen=True)
class MemoryMatch:
    """A segment of a memory, and its similarity to the one that was asked for."""

    source: str
    target: Segment
    similarity: float
    """0 to 1, where 1 is the same text."""
    marked_source: Segment | None = None
    """The memory's segment of the same text, whose marks may be about other words; None for another text."""
    is_in_context: bool = False
    """True if the segment before is the same, too."""


class Remembers(Protocol):
    """Finds translations of segments."""

    def find(self, segment: Segment) -> MemoryMatch | None:
        """Returns the same segment (`similarity` 1), or else the most similar; None if none is similar enough."""

    def find_in_context(self, segment: Segment, before: str) -> MemoryMatch | None:
        """Returns the same segment after the same text; None if there is none."""


@dataclass(frozen=True)
class Memory:
    """Segments and their translations."""

    pairs: dict[str, tuple[Segment, Segment]]
    """Segments and their translations by the source's text with single blanks; the last of several."""
    in_context: dict[tuple[str, str], tuple[Segment, Segment]] = field(default_factory=dict)
    """Segments and their translations by the text of the segment before, where it is known, and of the source."""

    @staticmethod
    def of(pairs: Iterable[tuple[Segment, Segment]]) -> "Memory":
        """Makes a memory of pairs, except those that are blank on a side."""
        return Memory(
            {source.one_line: (source, target) for source, target in pairs if source.one_line and target.one_line}
        )

    @staticmethod
    def of_units(units: Sequence[Unit], follow_one_another: bool = True) -> "Memory":
        """Makes a memory of the finished units of a file. Units that `follow_one_another` are each other's context;
        others say theirs, and of several of one source the last without context is found in any."""
        befores = _texts_before(units) if follow_one_another else [unit.before for unit in units]
        known = [
            (before, unit.source, unit.target)
            for unit, before in zip(units, befores, strict=True)
            if unit.target is not None and unit.target.one_line and not unit.is_draft
        ]
        of_any = known if follow_one_another else sorted(known, key=lambda each: not each[0])
        in_context = {(before, source.one_line): (source, target) for before, source, target in known if before}
        return replace(Memory.of((source, target) for _, source, target in of_any), in_context=in_context)

    @staticmethod
    def read(path: str | Path, languages: Languages) -> "Memory":
        """Reads the translations in a TMX, XLIFF or PO file, or in a .tsv of source, tab and target.

        Raises InputError for a file that cannot be read, or holds none in these languages.
        """
        name, data = str(path), bytes_of(path)
        if Path(path).suffix.lower() == ".tsv":
            memory = Memory.of(_rows(data, name, languages))
        elif format_of(name) in ("tmx", "xliff", "po"):
            memory = Memory.of_units(read_document(data, name, languages).units, format_of(name) != "tmx")
        else:
            raise InputError(f"{name}: a translation memory is a file of the ending .tmx, .tsv, .xlf, .xliff or .po")
        if not memory.pairs:
            raise InputError(f"{name}: no translations; each segment is without a target")
        return memory

    def find(self, segment: Segment) -> MemoryMatch | None:
        """See Remembers."""
        return next(iter(self.matches(segment, 1)), None)

    def find_in_context(self, segment: Segment, before: str) -> MemoryMatch | None:
        """See Remembers."""
        found = self.in_context.get((" ".join(before.split()), segment.one_line))
        return None if found is None else MemoryMatch(segment.one_line, found[1], 1.0, found[0], is_in_context=True)

    def matches(self, segment: Segment, most: int) -> list[MemoryMatch]:
        """Returns the same segment alone, or else at most so many that are similar enough, the most similar first; none
        that are similar to one of more than LONGEST characters. BudgetError if that is to end."""
        wanted = segment.one_line
        if wanted in self.pairs:
            source, target = self.pairs[wanted]
            return [MemoryMatch(wanted, target, 1.0, source)]
        if not most or not wanted or len(wanted) > LONGEST:
            return []
        process, fuzz = require("rapidfuzz.process", "documents"), require("rapidfuzz.fuzz", "documents")
        settings = {"scorer": fuzz.ratio, "score_cutoff": 100 * LEAST_LIKE, "limit": most}
        similar: list[tuple[str, float, int]] = []
        for begin in range(0, len(self._sources), AT_ONCE):
            check()
            similar += process.extract(wanted, self._sources[begin : begin + AT_ONCE], **settings)
        similar.sort(key=lambda one: -one[1])
        return [
            MemoryMatch(text, self.pairs[text][1], min(percent / 100, 0.999)) for text, percent, _ in similar[:most]
        ]

    @cached_property
    def _sources(self) -> list[str]:
        return list(self.pairs)


def pairs_of_tmx(data: bytes, name: str, languages: Languages) -> list[tuple[str, str]]:
    """Returns the sources in a TMX file with their translations, see `plain_text`; the last of several of one source.

    Raises InputError for a file that cannot be read, or holds no translations in these languages.
    """
    units = read_document(data, name, languages, "tmx").units
    pairs = Memory.of_units(units, follow_one_another=False).pairs.values()
    if not pairs:
        raise InputError(f"{name}: no translations from {languages.source!r} to {languages.target!r}")
    return [(plain_text(source).strip(), plain_text(target).strip()) for source, target in pairs]


def _texts_before(units: Iterable[Unit]) -> Iterator[str]:
    """Yields the text of the segment with words before each unit."""
    before = ""
    for unit in units:
        yield before
        if unit.source.is_translatable:
            before = unit.source.one_line


def plain_text(segment: Segment, is_xml: bool = True) -> str:
    """Returns a segment as a person typed it: with the placeholders and tags of its text, without elements of XML.

    `is_xml` says whether the document writes its text as XML.
    """
    if not is_xml:
        return segment.written()
    return "".join(part if isinstance(part, str) else _typed(part) for part in segment.parts)


def _typed(mark: Mark) -> str:
    return mark.shown if mark.raw.startswith("<") else unescape(mark.raw)


def _rows(data: bytes, name: str, wanted: Languages) -> Iterable[tuple[Segment, Segment]]:
    lines = (line.removesuffix("\r") for line in TextFile.read(data, name).text.split("\n"))
    for number, cells in rows_in_direction(rows_of(lines, name, "\t"), name, wanted.source, wanted.target):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) < 2:
            raise InputError(f"{name}: line {number} has no tab; expected a source, a tab and its translation")
        yield plain_segment(cells[0]), plain_segment(cells[1])
