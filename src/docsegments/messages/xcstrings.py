"""String catalogues of Xcode (.xcstrings): JSON with all languages of each string side by side."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from docsegments import language_codes
from docsegments.document import Document, Edit, Languages, TextFile, Unit
from docsegments.messages.json_messages import Json, is_ascii_by_escapes, is_encodable, parse_json
from docsegments.messages.message import PLURAL_FORMS, message_segment, plural_notes
from docsegments.segment import Segment
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError

STATE = "needs_review"
"""State of a translation that nobody has reviewed."""
DRAFT = "new"
"""The state of a text that is still to be translated."""


def read_string_catalogue(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts of the source language that are translatable and in use; translations are put beside them."""
    file = TextFile.read(data, name)
    root = parse_json(file)
    strings, source = root.get("strings"), root.get("sourceLanguage")
    if strings is None or strings.members is None or source is None or source.text is None:
        raise InputError(f"{name}: is no string catalogue; it needs strings and sourceLanguage")
    language_codes.check(name, "source language", source.text, wanted.source)
    if not wanted.target:
        raise InputError(f"{name}: the target language is not known; name it (target language)")
    units: list[Unit] = []
    style = _Style.of(file)
    for key, _, value in strings.members:
        if value.members is not None and not _is_skipped(value):
            units += _Entry(file, style, key, value, source.text, wanted.target).units()
    return Document(units, lambda edits: file.save(_whole(edits)))


def _is_skipped(entry: Json) -> bool:
    state, wanted = entry.get("extractionState"), entry.get("shouldTranslate")
    is_unwanted = wanted is not None and wanted.end - wanted.start == len("false") and wanted.text is None
    return is_unwanted or (state is not None and state.text == "stale")


@dataclass(frozen=True)
class _Style:
    """Style in which a file writes values."""

    step: str | None
    """Indent of a line relative to its parent's; None for a file in one line."""
    colon: str
    line_end: str
    is_ascii: bool

    @staticmethod
    def of(file: TextFile) -> "_Style":
        """Returns the style at the beginning of a file."""
        head = file.text[:2000]
        second = head.strip().partition("\n")[2]
        step = second[: len(second) - len(second.lstrip(" \t"))] or "  " if second else None
        colon = " : " if second and '" : ' in head else ": "
        return _Style(step, colon, "\r\n" if "\r\n" in head else "\n", is_ascii_by_escapes(file))

    def written(self, value: Any, file: TextFile, offset: int) -> str:
        """Writes a value with the indent of the line that it begins on."""
        if self.step is None:
            return json.dumps(value, ensure_ascii=self.is_ascii)
        line = file.text[file.text.rfind("\n", 0, offset) + 1 : offset]
        indent = line[: len(line) - len(line.lstrip())]
        separators = (",", self.colon)
        text = json.dumps(value, ensure_ascii=self.is_ascii, indent=self.step, separators=separators)
        return text.replace("\n", self.line_end + indent)


@dataclass(frozen=True)
class _Text:
    """A text of a language: a `stringUnit` and the names that lead to it."""

    path: tuple[str, ...]
    value: str
    state: str = ""
    unit: Json | None = None
    """The object of the text; None for a text that is only a key."""


@dataclass
class _Entry:
    """A string of the catalogue."""

    file: TextFile
    style: _Style
    key: str
    value: Json
    source: str
    target: str
    of_source: Json | None = field(init=False)
    of_target: Json | None = field(init=False)

    def __post_init__(self) -> None:
        localizations = self.value.get("localizations")
        coded = [(code, value) for code, _, value in (localizations.members if localizations else None) or []]
        self.of_source = language_codes.find(coded, self.source)
        others = [(code, value) for code, value in coded if value is not self.of_source]
        self.of_target = language_codes.find(others, self.target)

    def units(self) -> Iterator[Unit]:
        """Yields units of the source language's texts."""
        texts = list(_texts(self.of_source, ())) if self.of_source is not None else []
        if not any(text.path == ("stringUnit",) or text.path[:1] == ("variations",) for text in texts):
            texts.insert(0, _Text(("stringUnit",), self.key))
        targets = {text.path: text for text in _texts(self.of_target, ())} if self.of_target is not None else {}
        forms: dict[tuple[str, ...], set[str]] = {}  # of each message with plural forms
        for text in texts:
            forms.setdefault(text.path[:-2], set()).update(PLURAL_FORMS & {*text.path[-2:-1]})
        for text in texts:
            if not text.value.strip() or not is_encodable(text.value):
                continue
            target = targets.get(text.path)
            translation = message_segment(target.value) if target is not None and target.value.strip() else None
            yield Unit(
                message_segment(text.value),
                partial(self._changes, text, target),
                self.file.where((text.unit or self.value).start),
                is_bilingual=True,
                target=translation,
                is_draft=target is not None and target.state == DRAFT,
                notes=plural_notes("".join(text.path[-2:-1]), forms[text.path[:-2]], self.target),
                id="/".join([self.key, *(step for step in text.path if step not in _WRAPPERS)]),
            )

    def _changes(self, text: _Text, target: _Text | None, segment: Segment) -> list[Edit]:
        edited = self.value if target is None or target.unit is None else target.unit
        is_new, value = edited is self.value, segment.written(program_text(message_segment(text.value)))
        return [_Change(edited.start, edited.end, (value,), entry=self, path=text.path, value=value, is_new=is_new)]

    def edit(self, changes: "Sequence[_Change]") -> Iterator[Edit]:
        """Yields the edits that give the string all its new translations."""
        if not any(change.is_new for change in changes):
            for change in changes:
                yield self._replaced(change.start, change.end, {"state": STATE, "value": change.value})
            return
        base = self.of_target or self.of_source
        value = json.loads(self.file.text[base.start : base.end]) if base is not None else {}
        if self.of_target is not None:
            _fill(value, changes)
            yield self._replaced(self.of_target.start, self.of_target.end, value)
            return
        value = {key: inner for key, inner in value.items() if key in ("stringUnit", "variations", "substitutions")}
        _fill(value, changes)  # a language that the string lacks is made like the source language
        localizations = self.value.get("localizations")
        if localizations is None or localizations.members is None:
            yield self._member(self.value, "localizations", {self.target: value})
        else:
            yield self._member(localizations, self.target, value)

    def _replaced(self, start: int, end: int, value: Any) -> Edit:
        return self.file.edit(start, end, self.style.written(value, self.file, start))

    def _member(self, parent: Json, name: str, value: Any) -> Edit:
        """Returns the edit that puts another member into an object, by the order of its names."""
        members = parent.members or []
        if not members:
            return self._replaced(parent.start, parent.end, {name: value})
        first = members[0][1].start
        blanks = self.file.text[parent.start + 1 : first]
        key = json.dumps(name, ensure_ascii=self.style.is_ascii)
        body = f"{key}{self.style.colon}{self.style.written(value, self.file, first)}"
        following = next((key for other, key, _ in members if other > name), None)
        if following is not None:
            return self.file.edit(following.start, following.start, f"{body},{blanks}")
        return self.file.edit(members[-1][2].end, members[-1][2].end, f",{blanks}{body}")


_WRAPPERS = frozenset(["stringUnit", "variations"])


def _texts(value: Json, path: tuple[str, ...]) -> Iterator[_Text]:
    """Yields each `stringUnit` of a language, those of plural forms, devices and substitutions included."""
    for name, _, inner in value.members or []:
        if name == "stringUnit" and (text := inner.get("value")) is not None and text.text is not None:
            state = inner.get("state")
            yield _Text((*path, name), text.text, (state.text if state else None) or "", inner)
        elif name in ("variations", "substitutions") or path:
            yield from _texts(inner, (*path, name))


@dataclass(frozen=True, kw_only=True)
class _Change(Edit):
    """A translation of a text, for which the string may have no `stringUnit` yet."""

    entry: _Entry = field(hash=False)
    path: tuple[str, ...]
    value: str
    is_new: bool


def _whole(edits: Sequence[Edit]) -> list[Edit]:
    """Joins the edits that make up a string's new translation to one."""
    of_entry: dict[int, list[_Change]] = {}
    for edit in edits:
        if isinstance(edit, _Change):
            of_entry.setdefault(edit.entry.value.start, []).append(edit)
    return [edit for changes in of_entry.values() for edit in changes[0].entry.edit(changes)]


def _fill(value: dict[str, Any], changes: Sequence[_Change]) -> None:
    """Puts translations into a language's value."""
    for change in changes:
        value.pop("variations" if change.path == ("stringUnit",) else "", None)
        inner = value
        for step in change.path[:-1]:
            if step == "variations":
                inner.pop("stringUnit", None)
            if not isinstance(inner.get(step), dict):
                inner[step] = {}
            inner = inner[step]
        inner[change.path[-1]] = {"state": STATE, "value": change.value}
