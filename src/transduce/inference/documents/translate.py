"""Documents in, the same documents in another language out; with a memory, and a log of where each segment is from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from transduce.corpora.languages import UNKNOWN
from transduce.documents.document import Document, Languages, Unit
from transduce.documents.formats import read_document
from transduce.documents.held import is_complete
from transduce.documents.languages import is_same, primary
from transduce.documents.memory import Match, Memory
from transduce.documents.segment import Part, Segment, joined, problems
from transduce.errors import InputError
from transduce.files import new_file
from transduce.inference.documents.segments import SegmentTranslator, Tell, TranslatedSegment
from transduce.inference.translator import Translator
from transduce.search.choices import Search
from transduce.text.glossary import Glossary

Origin = Literal["model", "memory", "document", "source"]
"""Where a translation is from: `document` where one stood there and was left, `source` where there are no words."""


@dataclass(frozen=True)
class Offer:
    """A translation of a memory that is of another segment, but of one like it."""

    source: str
    target: str
    similarity: float
    """0 to 1."""


@dataclass(frozen=True)
class SegmentReport:
    """What became of a segment: a line of the log."""

    where: str
    source: str
    target: str
    origin: Origin
    confidence: float | None = None
    """Of the model: the geometric mean of the probabilities of its tokens, 0 to 1."""
    memory: Offer | None = None
    review: tuple[str, ...] = ()
    """Why a person should look at it."""


@dataclass(frozen=True)
class TranslatedDocument:
    """A document in another language."""

    data: bytes
    segments: list[SegmentReport]

    def count(self, origin: Origin) -> int:
        """How many segments are from there."""
        return sum(one.origin == origin for one in self.segments)

    def log(self) -> Iterator[str]:
        """What became of each segment, as a JSON object on a line."""
        for number, one in enumerate(self.segments, 1):
            yield msgspec.json.encode({"segment": number, **msgspec.to_builtins(one)}).decode()


@dataclass
class DocumentTranslator:
    """Translates whole documents with a translator, see `transduce.documents.formats` for which.

    Placeholders are required of the search where it can (a beam, in PyTorch), else put in afterwards; and each segment
    that stands several times is translated once.
    """

    translator: Translator
    search: Search | None = None
    glossary: Glossary | None = None
    memory: Memory | None = None
    languages: Languages = field(default_factory=Languages)
    """Those of the model where they are left open."""

    def __post_init__(self) -> None:
        self.languages = languages_of(self.translator, self.languages)
        self._segments = SegmentTranslator(self.translator, self.search, self.glossary)

    def translate(
        self, data: bytes, name: str, kind: str | None = None, fill_only: bool = False, tell: Tell | None = None
    ) -> TranslatedDocument:
        """Translate a document of a format of the table, by default that of its name's ending.

        Args:
            data: its bytes.
            name: its file's name, for its format and for messages.
            kind: the format, by its name in the table.
            fill_only: leave segments as they are that have a translation.
            tell: hears, now and then, the share that is done.

        Raises InputError for a document that cannot be read, or is in other languages.
        """
        return self._translate(read_document(data, name, self.languages, kind), fill_only, tell)

    def translate_file(
        self, path: str | Path, output: str | Path, kind: str | None = None, fill_only: bool = False
    ) -> list[SegmentReport]:
        """The same from one file to a new one; InputError where that exists."""
        if Path(output).exists():
            raise InputError(f"{output} exists; remove it or choose another name")
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror})") from None
        translated = self.translate(data, str(path), kind, fill_only)
        with new_file(Path(output)) as partial:
            partial.write_bytes(translated.data)
        return translated.segments

    def translate_html(self, text: str) -> str:
        """Translate a page, or a part of one."""
        document = read_document(text.encode(), "the text", self.languages, "html") if text.strip() else None
        return text if document is None else self._translate(document, False, None).data.decode()

    def _translate(self, document: Document, fill_only: bool, tell: Tell | None) -> TranslatedDocument:
        reports: list[SegmentReport | None] = [None] * len(document.units)
        targets: list[Segment | None] = [None] * len(document.units)
        waiting: dict[Segment, list[int]] = {}
        offers: dict[Segment, Match | None] = {}
        remembered: list[tuple[int, Segment, str]] = []
        for number, unit in enumerate(document.units):
            before, core, after = unit.source.split_edges()
            if unit.target is not None and (not core.is_translatable or (fill_only and not unit.is_draft)):
                reports[number] = _report(unit, unit.target, "document")
            elif not core.is_translatable:
                targets[number] = unit.source
                reports[number] = _report(unit, unit.source, "source")
            elif (match := self._look_up(core, offers)) is None or match.similarity < 1:
                waiting.setdefault(core, []).append(number)
            elif not core.marks or _is_marked_like(core, match.target.split_edges()[1]):
                targets[number] = _with_edges(before, match.target.split_edges()[1], after)
                reports[number] = _report(unit, targets[number], "memory")
            else:
                remembered.append((number, core, match.target.split_edges()[1].text))
        placed = self._segments.place([(core, text) for _, core, text in remembered])
        for (number, *_), segment in zip(remembered, placed, strict=True):
            before, _, after = document.units[number].source.split_edges()
            targets[number] = _with_edges(before, segment, after)
            reports[number] = _report(document.units[number], targets[number], "memory")
        found = self._segments.translate(list(waiting), tell)
        for (core, numbers), translated in zip(waiting.items(), found, strict=True):
            assert not problems(core, translated.segment), problems(core, translated.segment)
            for number in numbers:
                before, _, after = document.units[number].source.split_edges()
                targets[number] = _with_edges(before, translated.segment, after)
                reports[number] = _report(
                    document.units[number], targets[number], "model", translated, offers.get(core)
                )
        return TranslatedDocument(document.translated(targets), [one for one in reports if one is not None])

    def _look_up(self, core: Segment, offers: dict[Segment, Match | None]) -> Match | None:
        """What the memory has; what does not fit as it is counts as less than the same."""
        if self.memory is None:
            return None
        if core not in offers:
            match = self.memory.find(core)
            if match is not None and match.similarity == 1.0 and not _fits(core, match.target):
                match = Match(match.source, match.target, 0.999)
            offers[core] = match
        return offers[core]


def languages_of(translator: Translator, wanted: Languages | None = None) -> Languages:
    """The languages that a translator translates between, with the regions that are wanted; "" where one is not known.

    Raises InputError where others are wanted than the model is known to have.
    """
    config = translator.bundle.config
    wanted = wanted or Languages()
    found = []
    for code, unknown, asked, word in (
        (config.source, UNKNOWN[0], wanted.source, "from"),
        (config.target, UNKNOWN[1], wanted.target, "to"),
    ):
        if asked and code != unknown and len(primary(code)) == len(primary(asked)) and not is_same(code, asked):
            raise InputError(f"the model translates {word} {code}, not {word} {asked}; use another model")
        found.append(asked or ("" if code == unknown else code))
    return Languages(*found)


def _fits(core: Segment, target: Segment) -> bool:
    """Whether a memory's translation can stand for a segment: what is held is in it, and line ends are where they are
    known to be."""
    inner = target.split_edges()[1]
    if _is_marked_like(core, inner):
        return True
    return is_complete(inner.text, [m for m in core.marks if m.is_held]) and not any(m.breaks for m in core.marks)


def _is_marked_like(core: Segment, target: Segment) -> bool:
    """Whether a translation has the very marks of a segment."""
    return not problems(core, target)


def _with_edges(before: Sequence[Part], segment: Segment, after: Sequence[Part]) -> Segment:
    return Segment(tuple(joined([*before, *segment.parts, *after])))


def _report(
    unit: Unit,
    target: Segment | None,
    origin: Origin,
    translated: TranslatedSegment | None = None,
    match: Match | None = None,
) -> SegmentReport:
    offer = None if match is None else Offer(match.source, match.target.text, round(match.similarity, 3))
    return SegmentReport(
        unit.where,
        unit.source.text,
        "" if target is None else target.text,
        origin,
        None if translated is None or translated.confidence is None else round(translated.confidence, 4),
        offer,
        (*(translated.notes if translated else ()), *(unit.notes if origin != "document" else ())),
    )
