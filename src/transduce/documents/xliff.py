"""XLIFF 1.2 and 2: texts to be translated beside their translations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.inline import InlineKind, segment_of, written
from transduce.documents.segment import Segment
from transduce.documents.xml import (
    Element,
    Token,
    blanks_before,
    content_edit,
    element_of,
    escape,
    read_xml,
    tag_edits,
    tokens_of,
)
from transduce.errors import InputError

DRAFTS = frozenset(["new", "needs-translation", "needs-l10n", "initial"])
"""States in which the text of a <target> is still to be translated. The other `needs-` of XLIFF 1.2 are about what is
no text, or ask a person to review a translation that is there."""
FINISHED = {
    "translated": "needs-review-translation",
    "signed-off": "needs-review-translation",
    "final": "needs-review-translation",
}
"""States of XLIFF 1.2 that a translation which nobody has reviewed must not have, and what it has instead."""
REVIEWED = {"reviewed": "translated", "final": "translated"}
"""The same of XLIFF 2."""


def read_xliff(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts that are to be translated; InputError for languages that are not those wanted."""
    file = read_xml(data, name)
    units: list[Unit] = []
    left: list[Untranslated] = []
    root: Token | None = None
    for entry in _entries(file):
        root = entry.root
        languages.check(name, "source language", entry.languages.source, wanted.source)
        languages.check(name, "target language", entry.languages.target, wanted.target)
        units += _units(file, entry)
        left += _left(file, entry)
    if not units:
        raise InputError(f"{name}: no texts to translate")
    assert root is not None
    lacks_language = not root.attributes["version"].startswith("1") and "trgLang" not in root.attributes
    added: list[Edit] = []
    if lacks_language and wanted.target:  # XLIFF 2 has none where there are no translations yet, but needs it then
        place = file.text[root.start : root.end].rstrip(">").rstrip("/").rstrip()
        code = escape(wanted.target).replace('"', "&quot;")
        added = [Edit(root.start + len(place), root.start + len(place), f' trgLang="{code}"')]
    return Document(units, lambda edits: file.save([*_whole(edits), *added] if edits else edits), left)


def languages_of_xliff(data: bytes, name: str) -> list[str]:
    """Source and target language, as far as they are named."""
    for entry in _entries(read_xml(data, name)):
        return [code for code in (entry.languages.source, entry.languages.target) if code]
    return []


@dataclass(frozen=True)
class _Entry:
    """A <trans-unit> of XLIFF 1, or a <segment> or <ignorable> of XLIFF 2."""

    root: Token
    languages: Languages
    id: str
    """The names of its file, its unit and itself."""
    element: Element

    @property
    def version(self) -> int:
        """1 or 2."""
        return int(self.root.attributes["version"][0])

    @property
    def state(self) -> str | None:
        """How far the translation is; None if the file does not say."""
        target = self.element.find("target") if self.version == 1 else self.element
        return None if target is None else target.attributes.get("state")


def _entries(file: TextFile) -> Iterator[_Entry]:
    tokens = tokens_of(file)
    root: Token | None = None
    found = Languages()
    file_name = ""
    skipped: list[bool] = []  # whether each element that is open keeps what is in it from being translated
    for token in tokens:
        if token.kind == "end":
            skipped.pop()
        if token.kind != "start":
            continue
        attributes = token.attributes
        if root is None:
            root = _checked(token, file.name)
            found = Languages(attributes.get("srcLang", ""), attributes.get("trgLang", ""))
        if token.name == "file":
            file_name = attributes.get("original") or attributes.get("id", "")
            if "source-language" in attributes:
                found = Languages(attributes["source-language"], attributes.get("target-language", ""))
        is_skipped = attributes["translate"] == "no" if "translate" in attributes else bool(skipped and skipped[-1])
        if token.name not in ("trans-unit", "unit"):
            skipped.append(is_skipped)
            continue
        element = element_of(token, tokens)
        if is_skipped:
            continue
        for part in [element] if element.name == "trans-unit" else element.elements:
            if part.name in ("trans-unit", "segment", "ignorable"):
                ids = [
                    file_name,
                    attributes.get("id", ""),
                    part.attributes.get("id", "") if part is not element else "",
                ]
                yield _Entry(root, found, "/".join(filter(None, ids)), part)


def _checked(root: Token, name: str) -> Token:
    if root.name != "xliff":
        raise InputError(f"{name}: is no XLIFF but begins with <{root.value[:40]}>")
    version = root.attributes.get("version", "")
    if not version.startswith(("1.", "2.")):
        raise InputError(f"{name}: XLIFF of version {version[:20]!r}; supported are 1.2 and 2.0")
    return root


def _left(file: TextFile, entry: _Entry) -> Iterator[Untranslated]:
    """The text of what XLIFF 2 lets be between segments."""
    source = entry.element.find("source")
    if entry.element.name != "ignorable" or source is None:
        return
    text = segment_of(source, file, _inline)
    if text.is_translatable:
        yield Untranslated(f"line {file.line_of(source.start)}", text.text.strip(), "<ignorable> is not translated")


def _units(file: TextFile, entry: _Entry) -> Iterator[Unit]:
    source = entry.element.find("seg-source") or entry.element.find("source")
    if entry.element.name == "ignorable" or source is None:
        return
    target = entry.element.find("target")
    writer = _Writer(file, entry, source, target)
    segments = list(_segments(source))
    filled = target is not None and target.has_text
    others = {_mid(one): one for one in _segments(target)} if target is not None and filled else {}
    names = {_mid(one) for one in segments}
    if len(names) < len(segments) or not segments or (filled and not names <= others.keys()) or _has_more(source):
        yield _unit(file, entry, source, target, writer.write, entry.id)
        return
    for number, one in enumerate(segments):
        part = _SegmentWriter(writer, number, one, others.get(_mid(one)))
        yield _unit(file, entry, one, part.target, part.write, f"{entry.id}/{_mid(one)}")


def _unit(
    file: TextFile,
    entry: _Entry,
    source: Element,
    target: Element | None,
    write: Callable[[Segment], Sequence[Edit]],
    id: str,
) -> Unit:
    segment, found = segment_of(source, file, _inline), None
    if target is not None and target.has_text:
        found = segment_of(target, file, _inline)
        if segment.is_translatable and not found.text.strip():
            found = None
    where = f"line {file.line_of(source.start)}"
    is_draft = found is not None and _is_draft(entry, segment, found)
    return Unit(segment, write, where, True, found, is_draft, id=id)


def _is_draft(entry: _Entry, source: Segment, target: Segment) -> bool:
    """Whether a translation is none yet: as its state says, or if it has none because it repeats the source."""
    if (state := entry.state) is not None or entry.element.attributes.get("approved") == "yes":
        return state in DRAFTS
    return source.is_translatable and source.text.split() == target.text.split()


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes the <target> of a unit."""

    file: TextFile
    entry: _Entry
    source: Element
    """After which a new one is put."""
    target: Element | None

    def write(self, segment: Segment) -> list[Edit]:
        """Give the unit a translation."""
        return self.fill(written(segment))

    def fill(self, content: str) -> list[Edit]:
        """Give the <target> other content."""
        if self.target is not None:
            return [content_edit(self.target, self.file, content, self.of_target), *self.of_unit]
        name = self.source.tag.removesuffix(self.source.name) + "target"
        space = self.source.attributes.get("xml:space")
        tag = name if space is None else f'{name} xml:space="{escape(space)}"'
        place = self.source.end
        new = f"{blanks_before(self.source.start, self.file)}<{tag}>{content}</{name}>"
        return [Edit(place, place, new), *self.of_unit]

    @property
    def of_target(self) -> dict[str, str | None]:
        """Attributes of the <target> that a translation changes: it has not been reviewed."""
        state = self.entry.state
        return {"state": FINISHED.get(state or "", state), "state-qualifier": None}

    @property
    def of_unit(self) -> list[Edit]:
        """The same of the unit's or segment's own."""
        attributes = self.entry.element.attributes
        changes: dict[str, str | None] = {}
        if attributes.get("approved") == "yes":
            changes["approved"] = "no"
        elif self.entry.version > 1 and (state := REVIEWED.get(attributes.get("state", ""))) is not None:
            changes = {"state": state, "subState": None}
        return tag_edits(self.entry.element, self.file, changes)


@dataclass(frozen=True)
class _SegmentWriter:
    """Writes one of the segments that a unit of XLIFF 1.2 is divided into."""

    writer: _Writer
    number: int
    source: Element
    target: Element | None
    """The segment of this name in the <target>; None if that has no segments."""

    def write(self, segment: Segment) -> list[Edit]:
        """Give the segment a translation."""
        if self.target is None:
            return [_NewSegment(self.source.inner_start, self.source.inner_end, written(segment), writer=self.writer)]
        assert self.writer.target is not None
        changed = tag_edits(self.writer.target, self.writer.file, self.writer.of_target)
        return [content_edit(self.target, self.writer.file, written(segment)), *changed, *self.writer.of_unit]


@dataclass(frozen=True, kw_only=True)
class _NewSegment(Edit):
    """A translation that takes the place of its source, not there but in a new <target>."""

    writer: _Writer


def _whole(edits: Sequence[Edit]) -> list[Edit]:
    """Edits of which those that make up a <target> together are one; what several segments change in tags is done
    once."""
    found = dict.fromkeys(edit for edit in edits if not isinstance(edit, _NewSegment))
    of_writer: dict[_Writer, dict[int, _NewSegment]] = {}
    for edit in edits:
        if isinstance(edit, _NewSegment):
            of_writer.setdefault(edit.writer, {})[edit.start] = edit
    for writer, new in of_writer.items():
        text, content, done = writer.file.text, "", writer.source.inner_start
        for segment in _segments(writer.source):
            if segment.inner_end == segment.end:
                continue
            translation = new.get(segment.inner_start)
            content += text[done : segment.inner_start] + ("" if translation is None else translation.text)
            done = segment.inner_end
        found.update(dict.fromkeys(writer.fill(content + text[done : writer.source.inner_end])))
    return list(found)


def _segments(element: Element) -> Iterator[Element]:
    """The segments of XLIFF 1.2 that a text is divided into."""
    for child in element.elements:
        if child.name == "mrk" and child.attributes.get("mtype") == "seg":
            yield child
        else:
            yield from _segments(child)


def _mid(segment: Element) -> str:
    return segment.attributes.get("mid", "")


def _has_more(element: Element) -> bool:
    """Whether there is text to translate outside the segments of a text."""
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
