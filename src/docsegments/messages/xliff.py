"""XLIFF 1.2 and 2: texts to be translated beside their translations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from docsegments import language_codes
from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated, Write
from docsegments.inline_xml import InlineKind, segment_of
from docsegments.segment import Segment
from docsegments.text.placeholders import Escape
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError
from docsegments.xml import (
    Attributes,
    Element,
    Token,
    checked_root,
    content_edit,
    element_after,
    element_of,
    escape,
    prefixed,
    quoted,
    read_xml,
    tag_edits,
    tokens_of,
)

DRAFTS = frozenset(["new", "needs-translation", "needs-l10n", "initial"])
"""States in which the text of a <target> is still to be translated. The other `needs-` of XLIFF 1.2 are not about text,
or ask a person to review an existing translation."""
FINISHED = {
    "translated": "needs-review-translation",
    "signed-off": "needs-review-translation",
    "final": "needs-review-translation",
}
"""States of XLIFF 1.2 that an unreviewed translation must not have, and those that it gets instead."""
REVIEWED = {"reviewed": "translated", "final": "translated"}
"""States of XLIFF 2 that an unreviewed translation must not have, and those that it gets instead."""


def read_xliff(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts that are to be translated; InputError for languages that are not those wanted."""
    file = read_xml(data, name)
    units: list[Unit] = []
    left: list[Untranslated] = []
    for entry in _entries(file):
        language_codes.check(name, "source language", entry.languages.source, wanted.source)
        language_codes.check(name, "target language", entry.languages.target, wanted.target)
        units += _units(file, entry)
        left += _left(file, entry)
    if not units:
        raise InputError(f"{name}: no texts to translate")
    root = checked_root(file, "XLIFF", "xliff")
    added: list[Edit] = []
    if not root.attributes["version"].startswith("1") and "trgLang" not in root.attributes and wanted.target:
        # XLIFF 2 needs a target language as soon as there is a translation
        offset = root.start + len(file.text[root.start : root.end].rstrip(">").rstrip("/").rstrip())
        added = [file.edit(offset, offset, f" trgLang={quoted(wanted.target)}")]
    return Document(units, lambda edits: file.save([*_whole(edits), *added] if edits else edits), left)


def languages_of_xliff(data: bytes, name: str) -> list[str]:
    """Returns source and target language, as far as they are named."""
    named = next((entry.languages for entry in _entries(read_xml(data, name))), Languages())
    return list(filter(None, (named.source, named.target)))


@dataclass(frozen=True)
class _Entry:
    """A <trans-unit> of XLIFF 1, or a <segment> or <ignorable> of XLIFF 2."""

    root: Token
    languages: Languages
    id: str
    """Names of its file, its unit and itself, separated by slashes."""
    element: Element
    longest: int
    """Most characters of its translation; 0 where the file does not say."""
    notes: tuple[str, ...]

    @property
    def version(self) -> int:
        """Major version of XLIFF: 1 or 2."""
        return int(self.root.attributes["version"][0])

    @property
    def state(self) -> str | None:
        """State of the translation; None if the file does not say."""
        target = self.element.find("target") if self.version == 1 else self.element
        return None if target is None else target.attributes.get("state")


def _entries(file: TextFile) -> Iterator[_Entry]:
    tokens, root = tokens_of(file), checked_root(file, "XLIFF", "xliff")
    version = root.attributes.get("version", "")
    if not version.startswith(("1.", "2.")):
        raise InputError(f"{file.name}: XLIFF of version {version[:20]!r}; supported are 1.2 and 2.0")
    named = Languages(root.attributes.get("srcLang", ""), root.attributes.get("trgLang", ""))
    file_name = ""
    skipped: list[bool] = []  # for each open element, True if its content is not translated
    for token in tokens:
        if token.kind == "end":
            skipped.pop()
        if token.kind != "start":
            continue
        attributes = token.attributes
        if token.name == "file":
            file_name = attributes.get("original") or attributes.get("id", "")
            if "source-language" in attributes:
                named = Languages(attributes["source-language"], attributes.get("target-language", ""))
        is_skipped = attributes["translate"] == "no" if "translate" in attributes else bool(skipped and skipped[-1])
        if token.name not in ("trans-unit", "unit"):
            skipped.append(is_skipped)
            continue
        element = element_of(token, tokens)
        if is_skipped:
            continue
        for part in [element] if element.name == "trans-unit" else element.elements:
            if part.name in ("trans-unit", "segment", "ignorable"):
                own_id = part.attributes.get("id", "") if part is not element else ""
                ids = (file_name, attributes.get("id", ""), own_id)
                yield _Entry(root, named, "/".join(filter(None, ids)), part, *_limit({**attributes, **part.attributes}))


def _limit(attributes: Attributes) -> tuple[int, tuple[str, ...]]:
    """Returns how many characters a translation may have, 0 for any number, and notes on other limits."""
    unit = attributes.get("size-unit", "pixel") if "maxwidth" in attributes else "char"
    width = attributes.get("maxwidth") or prefixed(attributes, "sizeRestriction").rpartition(",")[2]
    if unit in ("char", "glyph") and width.isdecimal():
        return int(width[:9]), ()
    return 0, (f"may be no wider than {width} ({unit})",) if width else ()


def _left(file: TextFile, entry: _Entry) -> Iterator[Untranslated]:
    """Yields text between segments, which XLIFF 2 allows and which is not translated."""
    source = entry.element.find("source")
    if entry.element.name != "ignorable" or source is None:
        return
    text = segment_of(source, file, _inline)
    if text.is_translatable:
        yield Untranslated(file.where(source.start), text.text.strip(), "<ignorable> is not translated")


def _units(file: TextFile, entry: _Entry) -> Iterator[Unit]:
    source = entry.element.find("seg-source") or entry.element.find("source")
    if entry.element.name == "ignorable" or source is None:
        return
    target = entry.element.find("target")
    written = program_text(segment_of(source, file, _inline), is_xml=True, escape=escape)
    writer = _TargetWriter(file, entry, source, target, written)
    segments = list(_segments(source))
    filled = target is not None and target.has_text
    others = {_mid(segment): segment for segment in _segments(target)} if target is not None and filled else {}
    names = {_mid(segment) for segment in segments}
    if len(names) < len(segments) or not segments or (filled and not names <= others.keys()) or _has_more(source):
        yield _unit(file, entry, source, target, writer.write, entry.id)
        return
    for segment in segments:
        other = others.get(_mid(segment))
        write = partial(writer.write_part, segment, other)
        yield _unit(file, entry, segment, other, write, f"{entry.id}/{_mid(segment)}")


def _unit(file: TextFile, entry: _Entry, source: Element, target: Element | None, write: Write, id: str) -> Unit:
    segment, translation = segment_of(source, file, _inline), None
    if target is not None and target.has_text:
        translation = segment_of(target, file, _inline)
        if segment.is_translatable and not translation.text.strip():
            translation = None
    is_draft = translation is not None and _is_draft(entry, segment, translation)
    return Unit(
        segment,
        write,
        file.where(source.start),
        is_bilingual=True,
        target=translation,
        is_draft=is_draft,
        needs_review=translation is not None and _needs_review(entry),
        notes=entry.notes,
        id=id,
        longest=entry.longest,
    )


def _needs_review(entry: _Entry) -> bool:
    """Returns True for a state before a person's last look; in XLIFF 2, "translated" is one that a machine may give."""
    state = entry.state or ""
    if entry.version > 1:
        return state in ("initial", "translated")
    is_approved = entry.element.attributes.get("approved") == "yes"
    return not is_approved and (state == "new" or state.startswith("needs-"))


def _is_draft(entry: _Entry, source: Segment, target: Segment) -> bool:
    """Returns True if a translation is a draft: by its state, or, without a state, because it repeats the source."""
    if (state := entry.state) is not None or entry.element.attributes.get("approved") == "yes":
        return state in DRAFTS
    return source.is_translatable and source.text.split() == target.text.split()


@dataclass(frozen=True, eq=False)
class _TargetWriter:
    """Writes the <target> of a unit, as a whole or the segments of XLIFF 1.2 that it is divided into."""

    file: TextFile
    entry: _Entry
    source: Element
    """The <source>, after which a new <target> is put."""
    target: Element | None
    escape: Escape
    """Writes texts as the program reads them, see `program_text`."""

    def write(self, segment: Segment) -> list[Edit]:
        return self.fill(segment.written(self.escape))

    def write_part(self, source: Element, target: Element | None, segment: Segment) -> list[Edit]:
        """Gives one of the unit's segments a translation."""
        content = segment.written(self.escape)
        if target is None or self.target is None:
            return [_NewPart(source.inner_start, source.inner_end, (content,), writer=self)]
        return [content_edit(target, self.file, content), *self._reviewed_edits()]

    def fill(self, content: str) -> list[Edit]:
        """Gives the <target> other content."""
        if self.target is not None:
            return [content_edit(self.target, self.file, content), *self._reviewed_edits()]
        return [element_after(self.source, self.file, "target", content), *self._reviewed_edits()]

    def _reviewed_edits(self) -> Iterator[Edit]:
        """Yields edits after which the <target>, and its unit or segment, do not claim a review."""
        if self.target is not None:
            state = self.entry.state
            changes = {"state": FINISHED.get(state or "", state), "state-qualifier": None}
            yield from tag_edits(self.target, self.file, changes)
        attributes = self.entry.element.attributes
        if attributes.get("approved") == "yes":
            yield from tag_edits(self.entry.element, self.file, {"approved": "no"})
        elif self.entry.version > 1 and (state := REVIEWED.get(attributes.get("state", ""))) is not None:
            yield from tag_edits(self.entry.element, self.file, {"state": state, "subState": None})


@dataclass(frozen=True, kw_only=True)
class _NewPart(Edit):
    """A translation of a segment that belongs into a new <target>, where it replaces the copy of its source."""

    writer: _TargetWriter


def _whole(edits: Sequence[Edit]) -> list[Edit]:
    """Joins the edits of the parts of a new <target> to one."""
    whole = [edit for edit in edits if not isinstance(edit, _NewPart)]
    of_writer: dict[_TargetWriter, dict[int, Edit]] = {}
    for edit in edits:
        if isinstance(edit, _NewPart):
            of_writer.setdefault(edit.writer, {})[edit.start] = edit
    for writer, new in of_writer.items():
        text, done = "", writer.source.inner_start
        for segment in _segments(writer.source):
            if segment.inner_end < segment.end:
                text += writer.file.text[done : segment.inner_start]
                text += "".join(map(str, new[segment.inner_start].pieces)) if segment.inner_start in new else ""
                done = segment.inner_end
        whole += writer.fill(text + writer.file.text[done : writer.source.inner_end])
    return whole


def _segments(element: Element) -> Iterator[Element]:
    """Yields the segments of XLIFF 1.2 that a text is divided into."""
    return element.outermost(lambda child: child.name == "mrk" and child.attributes.get("mtype") == "seg")


def _mid(segment: Element) -> str:
    return segment.attributes.get("mid", "")


def _has_more(element: Element) -> bool:
    """Returns True if there is text to translate outside the segments of a text."""
    return any(
        any(map(str.isalpha, child.value))
        if isinstance(child, Token)
        else _inline(child)[0] in ("pair", "held", "free") and _has_more(child)
        for child in element.content
        if isinstance(child, Element) or child.kind == "text"
    )


def _inline(element: Element) -> tuple[InlineKind, str]:
    attributes = element.attributes
    number = attributes.get("rid") or attributes.get("startRef") or attributes.get("id", "")
    match element.name:
        case "mrk" if attributes.get("translate") == "no" or attributes.get("mtype") == "protected":
            return "held", "mrk"
        case "mrk" if attributes.get("translate") == "yes":
            return "free", "mrk"
        case "mrk" if attributes.get("mtype") == "seg":
            return "apart", "mrk"
        case "bx" | "bpt" | "sc" | "sm":
            return "open", f"{element.name[0]} {number}"
        case "ex" | "ept" | "ec" | "em":
            opening = {"ex": "b", "ept": "b", "ec": "s", "em": "s"}[element.name]
            return "close", f"{opening} {number}"
        case "x" | "ph" | "it" | "cp":
            return "alone", ""
    return "pair", element.name
