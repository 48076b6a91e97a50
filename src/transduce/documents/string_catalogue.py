"""String catalogues of Xcode (.xcstrings): JSON with all languages of each string side by side."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.json_tree import Encoder, Json, is_encodable, parse_json
from transduce.documents.message_files import PLURAL_FORMS, message_segment, plural_notes, text_of
from transduce.documents.segment import Segment
from transduce.errors import InputError

STATE = "needs_review"
"""Of a translation that nobody has seen yet."""
DRAFT = "new"
"""The state of a text that is still to be translated."""


def read_string_catalogue(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of the source language, beside which the translations are put; not those marked as not to be
    translated, nor what is no longer used (stale)."""
    file = TextFile.read(data, name)
    root = parse_json(file)
    strings, source = root.get("strings"), root.get("sourceLanguage")
    if strings is None or strings.members is None or source is None or source.text is None:
        raise InputError(f"{name}: is no string catalogue; it needs strings and sourceLanguage")
    languages.check(name, "source language", source.text, wanted.source)
    if not wanted.target:
        raise InputError(f"{name}: the target language is not known; name it (target language)")
    units: list[Unit] = []
    for key, _, value in strings.members:
        if value.members is not None and not _is_skipped(value):
            units += _Entry(file, key, value, source.text, wanted.target).units()
    return Document(units, lambda edits: file.save(_whole(edits)))


def _is_skipped(entry: Json) -> bool:
    state = entry.get("extractionState")
    return _is_false(entry.get("shouldTranslate")) or (state is not None and state.text == "stale")


def _is_false(value: Json | None) -> bool:
    return value is not None and value.end - value.start == len("false") and value.text is None


@dataclass(frozen=True)
class _Text:
    """A text of a language: a `stringUnit`, by the names that lead to it."""

    path: tuple[str, ...]
    value: str
    state: str = ""
    place: Json | None = None
    """Its object; None for a text that is only a key."""


@dataclass
class _Entry:
    """A string of the catalogue."""

    file: TextFile
    key: str
    value: Json
    source: str
    target: str
    of_source: Json | None = field(init=False)
    of_target: Json | None = field(init=False)

    def __post_init__(self) -> None:
        localizations = self.value.get("localizations")
        coded = [(code, value) for code, _, value in (localizations.members if localizations else None) or []]
        self.of_source = languages.find(coded, self.source)
        others = [(code, value) for code, value in coded if value is not self.of_source]
        self.of_target = languages.find(others, self.target)

    def units(self) -> Iterator[Unit]:
        """One for each text of the source language."""
        texts = list(_texts(self.of_source, ())) if self.of_source is not None else []
        if not any(text.path == ("stringUnit",) or text.path[:1] == ("variations",) for text in texts):
            texts.insert(0, _Text(("stringUnit",), self.key))
        targets = {text.path: text for text in _texts(self.of_target, ())} if self.of_target is not None else {}
        for text in texts:
            if not text.value.strip() or not is_encodable(text.value):
                continue
            target = targets.get(text.path)
            found = message_segment(target.value) if target is not None and target.value.strip() else None
            where = f"line {self.file.line_of((text.place or self.value).start)}"
            yield Unit(
                message_segment(text.value),
                self._writer(text, target),
                where,
                is_bilingual=True,
                target=found,
                is_draft=target is not None and target.state == DRAFT,
                notes=self._notes(text, texts),
                id="/".join([self.key, *(step for step in text.path if step not in _WRAPPERS)]),
            )

    def _notes(self, text: _Text, texts: Sequence[_Text]) -> tuple[str, ...]:
        if len(text.path) < 2:
            return ()
        forms = {other.path[-2] for other in texts if other.path[:-2] == text.path[:-2] and len(other.path) > 1}
        return plural_notes(text.path[-2], forms & set(PLURAL_FORMS), self.target)

    def _writer(self, text: _Text, target: _Text | None) -> Callable[[Segment], list[Edit]]:
        def write(segment: Segment) -> list[Edit]:
            translation = text_of(segment)
            if target is None or target.place is None:
                return [_New(self.value.start, self.value.start, translation, entry=self, text_path=text.path)]
            unit = {"state": STATE, "value": translation}
            return [Edit(target.place.start, target.place.end, self.written(unit, target.place.start))]

        return write

    def written(self, value: Any, place: int) -> str:
        """A value as the file writes values, with the indent of the line that it begins on."""
        begin = self.file.text.rfind("\n", 0, place) + 1
        line = self.file.text[begin:place]
        indent = line[: len(line) - len(line.lstrip())]
        is_ascii = Encoder.like(self.file, Json(0, 0)).is_ascii
        if "\n" not in self.file.text.strip():
            return json.dumps(value, ensure_ascii=is_ascii)
        step = self._step
        text = json.dumps(value, ensure_ascii=is_ascii, indent=step, separators=(",", self._colon))
        ending = "\r\n" if "\r\n" in self.file.text else "\n"
        return text.replace("\n", ending + indent)

    @property
    def _colon(self) -> str:
        return " : " if '" : ' in self.file.text[:2000] else ": "

    @property
    def _step(self) -> str:
        """What a line is indented by, relative to that which it belongs to."""
        first = self.file.text.partition("\n")[2]
        return first[: len(first) - len(first.lstrip(" \t"))] or "  "


_WRAPPERS = frozenset(["stringUnit", "variations"])


def _texts(value: Json, path: tuple[str, ...]) -> Iterator[_Text]:
    """All `stringUnit` of a language, those of plural forms, devices and substitutions included."""
    for name, _, inner in value.members or []:
        if name == "stringUnit" and (text := inner.get("value")) is not None and text.text is not None:
            state = inner.get("state")
            yield _Text((*path, name), text.text, (state.text if state else None) or "", inner)
        elif name in ("variations", "substitutions") or path:
            yield from _texts(inner, (*path, name))


@dataclass(frozen=True, kw_only=True)
class _New(Edit):
    """A translation for which the string has no place yet."""

    entry: _Entry = field(hash=False)
    text_path: tuple[str, ...]


def _whole(edits: Sequence[Edit]) -> list[Edit]:
    """Edits of which those that make up a string's new translation are one."""
    found = [edit for edit in edits if not isinstance(edit, _New)]
    of_entry: dict[int, list[_New]] = {}
    for edit in edits:
        if isinstance(edit, _New):
            of_entry.setdefault(edit.start, []).append(edit)
    for new in of_entry.values():
        entry, place = new[0].entry, new[0].entry.of_target
        texts = {edit.text_path: edit.text for edit in new}
        if place is None:
            found.append(_inserted(entry, texts))
            continue
        within = [edit for edit in found if place.start <= edit.start and edit.end <= place.end]
        found = [edit for edit in found if not (place.start <= edit.start and edit.end <= place.end)]
        found.append(_completed(entry, place, texts, within))
    return found


def _inserted(entry: _Entry, texts: dict[tuple[str, ...], str]) -> Edit:
    """The edit that gives a string a translation into a language that it lacks, made like the source language's."""
    value: dict[str, Any] = {}
    if entry.of_source is not None:
        value = json.loads(entry.file.text[entry.of_source.start : entry.of_source.end])
        value = {key: inner for key, inner in value.items() if key in ("stringUnit", "variations", "substitutions")}
    _fill(value, texts)
    localizations = entry.value.get("localizations")
    if localizations is None or localizations.members is None:
        return _member(entry, entry.value, "localizations", {entry.target: value})
    return _member(entry, localizations, entry.target, value)


def _completed(entry: _Entry, place: Json, texts: dict[tuple[str, ...], str], edits: Sequence[Edit]) -> Edit:
    """The edit that gives a string the texts that a language lacks, among them what other edits change in it."""
    own = TextFile(entry.file.name, entry.file.text[place.start : place.end])
    moved = [Edit(edit.start - place.start, edit.end - place.start, edit.text) for edit in edits]
    value = json.loads(own.save(moved))
    _fill(value, texts)
    return Edit(place.start, place.end, entry.written(value, place.start))


def _fill(value: dict[str, Any], texts: dict[tuple[str, ...], str]) -> None:
    for path, text in texts.items():
        inner = value
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = {"state": STATE, "value": text}


def _member(entry: _Entry, place: Json, name: str, value: Any) -> Edit:
    """The edit that puts another member into an object, by the order of its names."""
    text = entry.file.text
    members = place.members or []
    following = next((key for other, key, _ in members if other > name), None)
    if not members:
        return Edit(place.start, place.end, entry.written({name: value}, place.start))
    first = members[0][1]
    blanks = text[place.start + 1 : first.start]
    written = entry.written({name: value}, first.start).strip()
    body = written[1:-1].strip()
    if "\n" in body:
        body = _dedented(body, entry._step)
    if following is not None:
        return Edit(following.start, following.start, f"{body},{blanks}")
    last = members[-1][2]
    return Edit(last.end, last.end, f",{blanks}{body}")


def _dedented(text: str, step: str) -> str:
    """All lines but the first with one step of indent less."""
    first, *others = text.split("\n")
    return "\n".join([first, *(line.replace(step, "", 1) for line in others)])
