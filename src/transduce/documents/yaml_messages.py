"""Files of messages in YAML, such as those of Rails: PyYAML finds the strings, and only these are written anew."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.libraries import require
from transduce.documents.message_files import (
    DEEPEST,
    Path,
    PluralForms,
    key_of,
    language_among,
    message_segment,
    text_of,
)
from transduce.documents.segment import Segment
from transduce.documents.sentences import ends_sentence
from transduce.documents.yaml_strings import comment_of, double_quoted, is_plain, written_like
from transduce.errors import InputError

_STRING = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+(?:[ \t]|#[^\n]*+\n|[\r\n])++)*+")
_SWITCH = re.compile(r"(?i:yes|no|on|off)")


def read_yaml(data: bytes, name: str, wanted: Languages) -> Document:
    """The strings that are messages. Where the first keys are languages, those of the source language, whose key
    becomes the target language's. InputError for what is no YAML, or is in other languages."""
    file = TextFile.read(data, name)
    scalars = list(_scalars(file))
    first_keys = {scalar.text: scalar for scalar in scalars if scalar.is_key and not scalar.path}
    roots = {str(scalar.path[0]) for scalar in scalars if len(scalar.path) > 1 and not scalar.is_key}
    language = language_among(list(first_keys), wanted, name) if roots >= set(first_keys) else None
    messages = [one for one in scalars if one.is_string and not one.is_key]
    ours = [one for one in messages if language is None or one.path[:1] == (language,)]
    others = [one for one in messages if language is not None and one.path[:1] != (language,)]
    forms = PluralForms((one.path for one in ours), wanted.target)
    units = [_unit(file, one, forms) for one in ours if one.text.strip()]
    left = [
        Untranslated(one.where(file), one.text, "it is in another language than is translated")
        for one in others
        if any(map(str.isalpha, one.text))
    ]
    left += [
        Untranslated(one.where(file), one.text, "programs read it as yes or no; a text needs quotation marks")
        for one in scalars
        if not one.is_string and not one.is_key and one.style is None and _SWITCH.fullmatch(one.text)
    ]
    added: list[_Rewriting] = []
    if language is not None and wanted.target:
        code = wanted.target.replace("-", "_") if "_" in language else wanted.target
        added = [_rewriting(file, first_keys[language], code)]
    return Document(units, lambda edits: _save(file, scalars, [*edits, *added] if edits else edits), left)


@dataclass(frozen=True)
class _Scalar:
    """A key or a value that is no list or mapping."""

    number: int
    """How many come before it."""
    path: Path
    """What leads to it; for a key, to the mapping that it is in."""
    is_key: bool
    is_string: bool
    text: str
    style: str | None
    """`'`, `"`, `|` or `>`; None for a plain one."""
    start: int
    end: int

    def where(self, file: TextFile) -> str:
        """For a person to find it."""
        return f"line {file.line_of(self.start)}"


@dataclass
class _Collection:
    path: Path
    is_mapping: bool
    count: int = 0
    """Of keys and values that it has so far."""
    key: str | None = None

    @property
    def next_path(self) -> Path:
        """What leads to the value that comes next."""
        return (*self.path, self.count if not self.is_mapping else self.key or "")

    @property
    def expects_key(self) -> bool:
        """Whether what comes next is a key."""
        return self.is_mapping and self.count % 2 == 0


def _scalars(file: TextFile) -> Iterator[_Scalar]:
    """All scalars, in their order. Aliases are none: what they refer to is there once."""
    yaml = require("yaml")
    opened: list[_Collection] = []
    number = 0
    for event in _events(yaml, file):
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        outer = opened[-1] if opened else None
        is_key = outer is not None and outer.expects_key
        path = () if outer is None else outer.path if is_key else outer.next_path
        if isinstance(event, yaml.ScalarEvent):
            if outer is not None and is_key:
                outer.key = event.value
            yield _scalar(yaml, file, event, number, path, is_key)
            number += 1
        elif outer is not None and is_key:
            outer.key = ""
        if outer is not None:
            outer.count += 1
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Collection(path, isinstance(event, yaml.MappingStartEvent)))
            if len(opened) > DEEPEST:
                line = event.start_mark.line + 1
                raise InputError(f"{file.name}: line {line}: more than {DEEPEST} lists and mappings in each other")


def _events(yaml: Any, file: TextFile) -> Iterator[Any]:
    try:
        yield from yaml.parse(file.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        what = " ".join(str(problem or getattr(error, "reason", None) or error).split())[:100]
        raise InputError(f"{file.name}: {where}is not YAML ({what})") from None


def _scalar(yaml: Any, file: TextFile, event: Any, number: int, path: Path, is_key: bool) -> _Scalar:
    start, end = event.start_mark.index, event.end_mark.index
    properties = _PROPERTIES.match(file.text, start, end)
    start = start if properties is None else properties.end()
    style = event.style or None
    tag = event.tag
    if tag is None:
        tag = (
            _STRING
            if not event.implicit[0]
            else yaml.SafeLoader("").resolve(yaml.ScalarNode, event.value, (True, False))
        )
    return _Scalar(number, path, is_key, tag in (_STRING, "!"), event.value, style, start, end)


def _unit(file: TextFile, scalar: _Scalar, forms: PluralForms) -> Unit:
    def write(segment: Segment) -> list[Edit]:
        return [_rewriting(file, scalar, text_of(segment))]

    breaks = ends_sentence if scalar.style in ("|", ">") else None
    source = message_segment(scalar.text, breaks)
    return Unit(source, write, scalar.where(file), notes=forms.notes(scalar.path), id=key_of(scalar.path))


@dataclass(frozen=True, kw_only=True)
class _Rewriting(Edit):
    """A scalar that is to have another text."""

    number: int
    value: str
    in_quotes: str
    """The same in quotation marks, in which everything can be said."""


def _rewriting(file: TextFile, scalar: _Scalar, text: str) -> _Rewriting:
    raw = file.text[scalar.start : scalar.end]
    end = scalar.end
    written: str | None
    if scalar.style in ("|", ">"):
        written = written_like(raw, scalar.style, scalar.text, text)
        if written is None:
            end = scalar.start + len(raw.rstrip())
    elif scalar.style is None and is_plain(text):
        written = text
    elif scalar.style != '"' and text.isprintable():
        written = "'" + text.replace("'", "''") + "'"
    else:
        written = None
    is_ascii = raw.isascii() and not scalar.text.isascii()
    in_quotes = double_quoted(text, is_ascii) + (comment_of(raw) if scalar.style in ("|", ">") else "")
    return _Rewriting(scalar.start, end, written or in_quotes, number=scalar.number, value=text, in_quotes=in_quotes)


def _save(file: TextFile, scalars: Sequence[_Scalar], edits: Sequence[Edit]) -> bytes:
    """The file with edits made; what then is read otherwise than meant is written in quotation marks."""
    wanted = [scalar.text for scalar in scalars]
    rewritings = [edit for edit in edits if isinstance(edit, _Rewriting)]
    for edit in rewritings:
        wanted[edit.number] = edit.value
    saved = file.save(rewritings)
    if rewritings and (wrong := _misread(saved, file.name, wanted)):
        quoted = [_quoted(file, edit) if edit.number in wrong else edit for edit in rewritings]
        saved = file.save(quoted)
        if _misread(saved, file.name, wanted):
            raise InputError(f"{file.name}: its translation cannot be written as YAML of the same structure")
    return saved


def _misread(data: bytes, name: str, wanted: Sequence[str]) -> set[int]:
    """Which scalars of a file are not what they should be."""
    try:
        found = [scalar.text for scalar in _scalars(TextFile.read(data, name))]
    except InputError:
        found = []
    if len(found) != len(wanted):
        return set(range(len(wanted)))
    return {number for number, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1]}


def _quoted(file: TextFile, edit: _Rewriting) -> Edit:
    end = edit.start + len(file.text[edit.start : edit.end].rstrip())
    return Edit(edit.start, end, edit.in_quotes)
