"""Files of messages in YAML, such as those of Rails: PyYAML finds the strings, and only these are rewritten."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from docsegments.extras import require
from docsegments.messages.message import DEEPEST, Path, PluralForms, key_of, language_among, message_segment
from docsegments.segment import Segment
from docsegments.sentences import ends_sentence
from docsegments.text.program_text import has_icu, program_text
from docsegments.user_errors import InputError

_STRING = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+(?:[ \t]|#[^\n]*+\n|[\r\n])++)*+")
_SWITCH = re.compile(r"(?i:yes|no|on|off)")
_SWITCH_STAYS = "programs read it as yes or no; a text needs quotation marks"


def read_yaml(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads messages; of several languages the source's, whose key is renamed; InputError for what is not YAML."""
    file = TextFile.read(data, name)
    scalars = list(_scalars(file))
    first_keys = {scalar.text: scalar for scalar in scalars if scalar.is_key and not scalar.path}
    roots = {str(scalar.path[0]) for scalar in scalars if len(scalar.path) > 1 and not scalar.is_key}
    language = language_among(list(first_keys), wanted, name) if roots >= set(first_keys) else None
    messages = [scalar for scalar in scalars if scalar.is_string and not scalar.is_key]
    ours = [scalar for scalar in messages if language is None or scalar.path[:1] == (language,)]
    others = [scalar for scalar in messages if language is not None and scalar.path[:1] != (language,)]
    forms = PluralForms((scalar.path for scalar in ours), wanted.target)
    is_icu = has_icu(file.text)
    units = [_unit(file, scalar, forms, is_icu) for scalar in ours if scalar.text.strip()]
    left = [
        Untranslated(file.where(scalar.start), scalar.text, "it is in another language than is translated")
        for scalar in others
        if any(map(str.isalpha, scalar.text))
    ]
    left += [
        Untranslated(file.where(scalar.start), scalar.text, _SWITCH_STAYS)
        for scalar in scalars
        if not scalar.is_string and not scalar.is_key and scalar.style is None and _SWITCH.fullmatch(scalar.text)
    ]
    added: list[_Rewriting] = []
    if language is not None and wanted.target:
        code = wanted.target.replace("-", "_") if "_" in language else wanted.target
        added = [_rewriting(file, first_keys[language], code)]
    return Document(units, lambda edits: _save(file, scalars, [*edits, *added] if edits else edits), left)


@dataclass(frozen=True)
class _Scalar:
    """A key or a value that is not a list or mapping."""

    number: int
    """Number of scalars before it."""
    path: Path
    """Path to the scalar; for a key, to the mapping that it is in."""
    is_key: bool
    is_string: bool
    text: str
    style: str | None
    """`'`, `"`, `|` or `>`; None for a plain one."""
    start: int
    end: int


@dataclass
class _Collection:
    path: Path
    is_mapping: bool
    count: int = 0
    """Number of keys and values so far."""
    key: str | None = None

    @property
    def next_path(self) -> Path:
        return (*self.path, self.count if not self.is_mapping else self.key or "")

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and self.count % 2 == 0


def _scalars(file: TextFile) -> Iterator[_Scalar]:
    """Yields all scalars, in their order, except aliases: what they refer to is there once."""
    yaml, _, _ = _loader()
    opened: list[_Collection] = []
    number = 0
    for event in _events(file):
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
            yield _scalar(file, event, number, path, is_key)
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


def _events(file: TextFile) -> Iterator[Any]:
    yaml, loader, _ = _loader()
    try:
        yield from yaml.parse(file.text, Loader=loader)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        reason = " ".join(str(problem or getattr(error, "reason", None) or error).split())[:100]
        raise InputError(f"{file.name}: {where}is not YAML ({reason})") from None


def _scalar(file: TextFile, event: Any, number: int, path: Path, is_key: bool) -> _Scalar:
    start, end = event.start_mark.index, event.end_mark.index
    properties = _PROPERTIES.match(file.text, start, end)
    start = start if properties is None else properties.end()
    tag = event.tag or (_tag_of(event.value) if event.implicit[0] else _STRING)
    return _Scalar(number, path, is_key, tag in (_STRING, "!"), event.value, event.style or None, start, end)


def _unit(file: TextFile, scalar: _Scalar, forms: PluralForms, is_icu: bool) -> Unit:
    source = message_segment(scalar.text, ends_sentence if scalar.style in ("|", ">") else None, is_icu)
    escape = program_text(source, ("doubled" if "''" in scalar.text else "icu") if is_icu else "")

    def write(segment: Segment) -> list[Edit]:
        return [_rewriting(file, scalar, segment.written(escape))]

    return Unit(source, write, file.where(scalar.start), notes=forms.notes(scalar.path), id=key_of(scalar.path))


@dataclass(frozen=True, kw_only=True)
class _Rewriting(Edit):
    """A scalar that is to have another text."""

    number: int
    value: str
    in_quotes: str
    """The text in quotation marks, in which everything can be written."""


def _rewriting(file: TextFile, scalar: _Scalar, text: str) -> _Rewriting:
    raw = file.text[scalar.start : scalar.end]
    end = scalar.end
    written: str | None = None
    if scalar.style in ("|", ">"):
        written = written_like(raw, scalar.style, scalar.text, text)
        if written is None:
            end = scalar.start + len(raw.rstrip())
    elif scalar.style is None and is_plain(text):
        written = text
    elif scalar.style != '"' and text.isprintable():
        written = "'" + text.replace("'", "''") + "'"
    is_ascii = raw.isascii() and not scalar.text.isascii()
    comment = _COMMENT.match(raw) if scalar.style in ("|", ">") else None
    in_quotes = double_quoted(text, is_ascii) + (comment["comment"] if comment is not None else "")
    pieces = (written or in_quotes,)
    return _Rewriting(scalar.start, end, pieces, number=scalar.number, value=text, in_quotes=in_quotes)


def _save(file: TextFile, scalars: Sequence[_Scalar], edits: Sequence[Edit]) -> bytes:
    """Returns the file with edits made; scalars that would be read differently than meant get quotation marks."""
    wanted = [scalar.text for scalar in scalars]
    rewritings = [edit for edit in edits if isinstance(edit, _Rewriting)]
    for edit in rewritings:
        wanted[edit.number] = edit.value
    saved = file.save(rewritings)
    if rewritings and (wrong := _misread(saved, file.name, wanted)):
        for index, edit in enumerate(rewritings):
            if edit.number in wrong:
                end = edit.start + len(file.text[edit.start : edit.end].rstrip())
                rewritings[index] = replace(edit, end=end, pieces=(edit.in_quotes,))
        saved = file.save(rewritings)
        if _misread(saved, file.name, wanted):
            raise InputError(f"{file.name}: its translation cannot be written as YAML of the same structure")
    return saved


def _misread(data: bytes, name: str, wanted: Sequence[str]) -> set[int]:
    """Returns the numbers of the scalars of a file that are not what they should be."""
    try:
        texts = [scalar.text for scalar in _scalars(TextFile.read(data, name))]
    except InputError:
        texts = []
    if len(texts) != len(wanted):
        return set(range(len(wanted)))
    return {number for number, pair in enumerate(zip(texts, wanted, strict=True)) if pair[0] != pair[1]}


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOT_LITERAL = re.compile(r'[\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_NOT_ASCII = re.compile(r'[\\"\x00-\x1f\x7f-\U0010ffff]')
_NOT_IN_BLOCK = re.compile(r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SHORT_SWITCH = re.compile(r"(?i:y|n)")
_BLANKS = (" ", "\t")
_COMMENT = re.compile(r"[|>]\S*+(?P<comment>[ \t]++#[^\r\n]*+)")
"""The comment in the head of a block, and the blanks before it."""
_FOLD = re.compile(r"(?<=\S) (?=\S)")


def double_quoted(text: str, is_ascii: bool) -> str:
    """Writes a text in double quotation marks, on one line."""
    return '"' + (_NOT_ASCII if is_ascii else _NOT_LITERAL).sub(_escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    character, code = match[0], ord(match[0])
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def is_plain(text: str) -> bool:
    """Returns True if a text needs no quotation marks, in lists and mappings of either style."""
    if not text.isprintable() or _SHORT_SWITCH.fullmatch(text):
        return False
    return all(_read(f"{before}{text}{after}") == (text, True) for before, after in (("k: ", ""), ("[", "]")))


@cache
def _loader() -> Any:
    """Returns PyYAML, its fastest loader, and one that resolves the types of plain scalars."""
    yaml = require("yaml", "documents")
    return yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader("")


def _tag_of(value: str) -> str:
    yaml, _, resolver = _loader()
    return resolver.resolve(yaml.ScalarNode, value, (True, False))


def _read(text: str) -> tuple[str, bool] | None:
    """Returns the last scalar of a text, and whether it is a string; None unless it is alone, or after one key."""
    yaml, loader, _ = _loader()
    try:
        events = [event for event in yaml.parse(text, Loader=loader) if isinstance(event, yaml.NodeEvent)]
    except yaml.YAMLError:
        return None
    scalar = events[-1]
    is_same = isinstance(scalar, yaml.ScalarEvent) and len(events) == (2 if text[0] == "[" else 3)
    if not is_same or scalar.anchor or scalar.tag or not scalar.implicit[0]:
        return None
    return scalar.value, _tag_of(scalar.value) == _STRING


def written_like(raw: str, style: str, value: str, text: str) -> str | None:
    """Writes a text as a block, with the head, the indent and the last empty lines of another block.

    Args:
        raw: the other block as it is written, from its sign on.
        style: `|` or `>`.
        value: the text of the other block.
        text: the text to write.

    Returns None where a block cannot hold the text.
    """
    head, ending, body = re.match(r"([^\r\n]*+)(\r\n|\n|\r)?(.*)", raw, re.DOTALL).groups()  # type: ignore[union-attr]
    core = text.rstrip("\n")
    if not core or not ending or len(text) - len(core) != len(value) - len(value.rstrip("\n")):
        return None
    if _NOT_IN_BLOCK.search(core) or core[0] in " \t\n" or value[:1] in (" ", "\t", "\n"):
        return None
    last = body[len(body.rstrip()) :]
    lines = re.split(r"\r\n|\r|\n", body)
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    written = core if style == "|" else _folded(core, max(len(line) for line in lines) - len(indent), value, lines)
    new = ending.join(indent + line if line else "" for line in written.split("\n"))
    return head + ending + new + last


def _folded(text: str, width: int, value: str, lines: list[str]) -> str:
    """Divides the lines of a text at blanks, if those of the block were. A line that begins with a blank is not
    divided, and its ends stay as they are; any other line end is written as an empty line."""
    divides = sum(1 for line in lines if line.strip()) > sum(1 for line in value.split("\n") if line.strip())
    pieces = re.split("(\n+)", text)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            pieces[number] = _divided(piece, width) if divides and piece[:1] not in _BLANKS else piece
        elif pieces[number - 1][:1] not in _BLANKS and pieces[number + 1][:1] not in _BLANKS:
            pieces[number] = piece + "\n"
    return "".join(pieces)


def _divided(line: str, width: int) -> str:
    """Divides a line at single blanks, so that pieces are no longer than the width, unless one word is."""
    pieces, piece = [], ""
    for word in _FOLD.split(line):
        if piece and len(piece) + 1 + len(word) > width:
            pieces.append(piece)
            piece = word
        else:
            piece = f"{piece} {word}" if piece else word
    return "\n".join([*pieces, piece])
