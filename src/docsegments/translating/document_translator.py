"""Translates whole documents, with a translation memory and a log of each segment's origin."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, Literal

import msgspec

from docsegments.document import Document, Languages, Unit, bytes_of
from docsegments.document_formats import read_document
from docsegments.language_codes import is_same, primary
from docsegments.memory import MemoryMatch, Remembers
from docsegments.messages.tables import Columns
from docsegments.segment import Mark, Segment, joined, problems
from docsegments.translating.segment_translator import SegmentTranslator, TranslatedSegment
from docsegments.translating.sentence_translator import FunctionTranslator, SentenceTranslator, Tell, Translate
from docsegments.user_errors import InputError

Origin = Literal["model", "memory", "document", "source", "untranslated"]
"""The origin of a translation: `document` if the document had one, which was left; `source` if there are no words, or
the model's output could not be used; `untranslated` if the document's format gives no way to translate a text."""


_KEY_SIGN = re.compile(r"(?<!\w)[&_](?=[^\W_])|(?<=[^\W\dA-Z_])[&_](?=[^\W\dA-Z_])")
"""The sign before the letter that chooses a menu's entry: `&File`, `_File`, `E&xit`."""


@dataclass(frozen=True)
class Offer:
    """A memory's translation of a similar segment."""

    source: str
    target: str
    similarity: float
    """The similarity of the two segments, 0 to 1."""


@dataclass(frozen=True)
class SegmentReport:
    """Outcome of a segment: a line of the log."""

    where: str
    source: str
    target: str
    origin: Origin
    id: str = ""
    """The document's own name of the segment; "" if it has none."""
    confidence: float | None = None
    """Geometric mean of the probabilities of the model's tokens, 0 to 1."""
    memory: Offer | None = None
    review: tuple[str, ...] = ()
    """Reasons for a person to look at the segment."""
    in_context: bool = False
    """True for a translation of the memory that was after the same segment there."""


@dataclass(frozen=True)
class TranslatedDocument:
    """A document in another language."""

    data: bytes
    segments: list[SegmentReport]

    def count(self, origin: Origin) -> int:
        """Returns the number of segments of an origin."""
        return sum(report.origin == origin for report in self.segments)

    def describe(self) -> str:
        """Describes on one line the origins of all translations."""
        in_context = sum(report.in_context for report in self.segments)
        counts = [
            (self.count("model"), "translated"),
            (self.count("memory"), "from the memory" + (f" ({in_context:,} in context)" if in_context else "")),
            (self.count("document"), "translated before and left"),
            (self.count("source"), "without words"),
            (self.count("untranslated"), "not translated"),
        ]
        outcomes = ", ".join(f"{count:,} {outcome}" for count, outcome in counts if count)
        number = len(self.segments)
        return f"{number:,} segment{'s' if number > 1 else ''}: {outcomes}" if outcomes else "no text to translate"

    def log(self, also: Sequence[Mapping[str, Any]] | None = None) -> Iterator[str]:
        """Yields the report of each segment, and further facts about it, as a JSON object on a line."""
        for number, report in enumerate(self.segments, 1):
            facts = {"segment": number, **msgspec.to_builtins(report), **(also[number - 1] if also else {})}
            yield msgspec.json.encode(facts).decode()


class DocumentTranslator:
    """Translates whole documents, in the formats of `docsegments.document_formats`, with a translator of sentences.

    Placeholders are required of a translator that can keep them, else they are put in afterwards. A segment that occurs
    several times is translated once, or once in each context that the translator reads.
    """

    def __init__(
        self,
        translator: SentenceTranslator | Translate,
        memory: Remembers | None = None,
        languages: Languages | None = None,
        splits_sentences: bool = True,
    ) -> None:
        """Makes a translator of documents.

        Args:
            translator: translates sentences; a function from a list of texts to the list of their translations does.
            memory: translations that exist.
            languages: languages to translate between; the translator's where they are left open.
            splits_sentences: translate a segment sentence by sentence; else at once, as far as the translator can
                read it.

        Raises InputError for other languages than the translator's.
        """
        sentences = translator if isinstance(translator, SentenceTranslator) else FunctionTranslator(translator)
        self.memory = memory
        self.languages = chosen_languages(sentences.languages, languages)
        self._segments = SegmentTranslator(sentences, splits_sentences)

    def translate(
        self,
        data: bytes,
        name: str,
        kind: str | None = None,
        retranslate: bool = False,
        tell: Tell | None = None,
        encoding: str | None = None,
        columns: Columns | None = None,
    ) -> TranslatedDocument:
        """Translates a document of a format of the table, by default that of its name's ending.

        Args:
            data: its bytes.
            name: its file's name, for its format and for messages.
            kind: the format, by its name in the table.
            retranslate: replace translations that the document has; else those stay, but for drafts.
            tell: called now and then with the share that is done.
            encoding: the encoding of its characters (default: as the document says, else UTF-8).
            columns: which columns of a CSV file are translated (default: by their names).

        Raises InputError for a document that cannot be read, or is in other languages.
        """
        document = read_document(data, name, self.languages, kind, encoding, columns)
        return self.translate_document(document, retranslate, tell)

    def translate_file(
        self,
        path: str | Path,
        output: str | Path,
        kind: str | None = None,
        retranslate: bool = False,
        columns: Columns | None = None,
    ) -> list[SegmentReport]:
        """Translates one file into a new one; InputError where that exists or cannot be written."""
        output = Path(output)
        if output.exists():
            raise InputError(f"{output} exists; remove it or choose another name")
        translated = self.translate(bytes_of(path), str(path), kind, retranslate, columns=columns)
        partial = output.with_name(f".{output.name}.new")
        try:
            partial.write_bytes(translated.data)
            partial.replace(output)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise InputError(f"{output} cannot be written ({error.strerror}); choose another name") from None
        return translated.segments

    def translate_html(self, text: str) -> str:
        """Translates a page, or a part of one."""
        return html_text(self.translate(html_data(text), "the text", "html").data) if text.strip() else text

    def translate_document(
        self, document: Document, retranslate: bool = False, tell: Tell | None = None, before: Sequence[str] = ()
    ) -> TranslatedDocument:
        """Translates a document that has been read; `before` are sentences before each of its texts."""
        work = _Work(document, before)
        unknown: list[int] = []
        matches: dict[Segment, MemoryMatch | None] = {}
        remembered: list[tuple[int, MemoryMatch]] = []
        for number, unit in enumerate(document.units):
            core = work.cores[number]
            if not is_open(unit, retranslate) and unit.target is not None:
                work.leave(number, unit.target)
            elif not core.is_translatable:
                work.put(number, "source")
            elif (match := self._look_up(core, work.before(number, 1), matches)) is None or match.similarity < 1:
                unknown.append(number)
            else:
                remembered.append((number, match))
        placed = self._place([(work.cores[number], match) for number, match in remembered])
        for (number, match), translated in zip(remembered, placed, strict=True):
            work.put(number, "memory", translated, match)
        waiting: dict[tuple[Segment, tuple[str, ...]], list[int]] = {}
        for number in unknown:
            before_it = work.before(number, self._segments.context, self._segments.reads_both)
            waiting.setdefault((work.cores[number], before_it), []).append(number)
        contexts = [texts for _, texts in waiting]
        translations = self._segments.translate([core for core, _ in waiting], tell, contexts)
        for ((core, _), numbers), translated in zip(waiting.items(), translations, strict=True):
            origin: Origin = "model"
            if wrong := problems(core, translated.segment):
                origin, translated = "source", TranslatedSegment(core, None, (f"not translated: {'; '.join(wrong)}",))
            for number in numbers:
                work.put(number, origin, translated, matches.get(core))
        reports = [work.reports[number] for number in range(len(document.units))]
        left = [
            SegmentReport(text.where, text.text, text.text, "untranslated", review=(text.reason,))
            for text in document.untranslated
        ]
        return TranslatedDocument(document.translated(work.targets), [*reports, *left])

    def _look_up(
        self, core: Segment, before: tuple[str, ...], matches: dict[Segment, MemoryMatch | None]
    ) -> MemoryMatch | None:
        """Returns the memory's match, in the same context if there is one; an equal source whose translation has other
        marks counts as only similar."""
        if self.memory is None:
            return None
        if before:
            in_context = self.memory.find_in_context(core, *before)
            if in_context is not None and _fits(core, in_context.target):
                return in_context
        if core not in matches:
            match = self.memory.find(core)
            if match is not None and match.similarity == 1.0 and not _fits(core, match.target):
                match = replace(match, similarity=0.999)
            matches[core] = match
        return matches[core]

    def _place(self, pairs: Sequence[tuple[Segment, MemoryMatch]]) -> list[TranslatedSegment]:
        """Puts the marks of segments into the translations of a memory."""
        outputs = [TranslatedSegment(match.target.split_edges()[1], None) for _, match in pairs]
        others = [n for n, (core, match) in enumerate(pairs) if not _has_same_marks(core, match, outputs[n].segment)]
        placed = self._segments.place([(pairs[n][0], outputs[n].segment.text) for n in others])
        for n, translated in zip(others, placed, strict=True):
            outputs[n] = translated
        return outputs


class _Work:
    """Outcomes of a document's units so far."""

    def __init__(self, document: Document, before: Sequence[str]) -> None:
        self._units = document.units
        self._before = before
        self._edges = [unit.source.split_edges() for unit in document.units]
        self.cores = [core for _, core, _ in self._edges]
        """Segments to translate."""
        self.targets: list[Segment | None] = [None] * len(document.units)
        self.reports: dict[int, SegmentReport] = {}
        """Reports of units, by their numbers."""

    def before(self, number: int, most: int, with_translations: bool = False) -> tuple[str, ...]:
        """Returns at most this many texts before a unit: of segments with words, each with its translation after it if
        that is wanted and known, and those before the document's."""
        connected = takewhile(lambda later: not self._units[later].begins, range(number, 0, -1))
        texts = (text for later in connected for text in self._texts(later - 1, with_translations))
        return tuple(islice(chain(texts, reversed(self._before)), most))[::-1]

    def _texts(self, number: int, with_translation: bool) -> Iterator[str]:
        """Yields the translation of a segment with words, if it is wanted and known, and its source."""
        if self.cores[number].is_translatable:
            if with_translation and number in self.reports:
                yield self.reports[number].target
            yield self.cores[number].text

    def leave(self, number: int, target: Segment) -> None:
        """Keeps the document's translation of a unit."""
        unit = self._units[number]
        self.reports[number] = SegmentReport(unit.where, unit.source.text, target.text, "document", unit.id)

    def put(
        self, number: int, origin: Origin, translated: TranslatedSegment | None = None, match: MemoryMatch | None = None
    ) -> None:
        """Gives a unit a translation, or its source, with the facts about the source."""
        unit, (before, core, after) = self._units[number], self._edges[number]
        confidence, notes = (translated.confidence, translated.notes) if translated else (None, ())
        core = translated.segment if translated else core
        target = self.targets[number] = Segment(tuple(joined([*before, *core.parts, *after])))
        self.reports[number] = SegmentReport(
            unit.where,
            unit.source.text,
            target.text,
            origin,
            unit.id,
            None if confidence is None else round(confidence, 4),
            None
            if match is None or origin == "memory"
            else Offer(match.source, match.target.text, round(match.similarity, 3)),
            (*notes, *unit.notes, *_warnings(unit, target)),
            match is not None and match.is_in_context,
        )


def is_open(unit: Unit, retranslate: bool = False) -> bool:
    """Returns True if a translation of the unit's document writes a new one for it."""
    return unit.source.is_translatable and (unit.target is None or retranslate or unit.is_draft)


def _warnings(unit: Unit, target: Segment) -> Iterator[str]:
    """Yields what a program that shows a translation needs, and it does not have."""
    if 0 < unit.longest < len(target.text):
        yield f"has {len(target.text)} characters, and the document allows {unit.longest}"
    if (key := _KEY_SIGN.search(unit.source.text)) and not re.search(rf"{key[0]}\w", target.text):
        yield f"has no {key[0]!r} before the letter of its key"


def html_data(text: str) -> bytes:
    """Encodes a page's text as a file, with a byte order mark, since the page may name another encoding."""
    return codecs.BOM_UTF8 + text.encode(errors="replace")


def html_text(data: bytes) -> str:
    """Returns the text of a file made by `html_data`."""
    return data.removeprefix(codecs.BOM_UTF8).decode()


def chosen_languages(known: Languages, wanted: Languages | None = None) -> Languages:
    """Returns the languages of a translator, with the regions asked for; "" if one is not known.

    Raises InputError where others are wanted than the translator is known to have.
    """
    wanted = wanted or Languages()
    codes = []
    for code, asked, word in ((known.source, wanted.source, "from"), (known.target, wanted.target, "to")):
        if asked and code and len(primary(code)) == len(primary(asked)) and not is_same(code, asked):
            raise InputError(f"the model translates {word} {code}, not {word} {asked}; use another model")
        codes.append(asked or code)
    return Languages(*codes)


def _has_same_marks(core: Segment, match: MemoryMatch, target: Segment) -> bool:
    """Returns True if a memory's translation has the segment's marks, about the same words."""
    marked = match.marked_source
    return not problems(core, target) and (marked is None or _layout(marked.split_edges()[1]) == _layout(core))


def _layout(segment: Segment) -> list[tuple[str, ...]]:
    """Returns the contents of a segment without regard to its blanks."""
    return [(part.raw, part.kind) if isinstance(part, Mark) else tuple(part.split()) for part in segment.parts]


def _fits(core: Segment, target: Segment) -> bool:
    """Returns True if a memory's translation has a segment's marks, or its held marks if it has no breaks."""
    inner = target.split_edges()[1]
    held, others = (Counter(mark.shown for mark in segment.marks if mark.is_held) for segment in (core, inner))
    return not problems(core, inner) or (held == others and not any(mark.breaks for mark in core.marks))
