"""Files of messages in JSON: i18next, vue-i18n, FormatJS, Angular, Chrome's extensions; and ARB of Flutter."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from docsegments import language_codes
from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from docsegments.messages.message import (
    DEEPEST,
    Path,
    PluralForms,
    key_of,
    language_among,
    message_segment,
)
from docsegments.text.program_text import has_icu, program_text
from docsegments.user_errors import InputError

_MESSAGES = {
    "message": {"message", "description", "placeholders", "hash"},
    "defaultMessage": {"defaultMessage", "description", "id", "file", "start", "end"},
}
"""Names of the texts in formats where each message is an object, with all names that such an object may have."""
_OTHER_LANGUAGE = "it is in another language than is translated"
_TOKEN = re.compile(r'[ \t\n\r]*+([\[\]{},:"]|[^\[\]{},:"\s]++)')
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)")
_DECODER = json.JSONDecoder()
_NOT_ENCODABLE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Json:
    """A value, from its first to after its last character."""

    start: int
    end: int = 0
    text: str | None = None
    """Content of a string."""
    members: list[tuple[str, "Json", "Json"]] | None = None
    """Members of an object: each name as text and as string, and its value."""
    items: list["Json"] | None = None
    """Values of a list."""

    def get(self, name: str) -> "Json | None":
        """Returns the value of a name of an object; the last, as programs read it, where there are several."""
        return next((value for key, _, value in reversed(self.members or []) if key == name), None)

    @property
    def names(self) -> list[str]:
        """Names of an object, in their order."""
        return [name for name, _, _ in self.members or []]


def read_json(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads messages; of several languages the source's, whose key is renamed; InputError for what is not JSON."""
    file = TextFile.read(data, name)
    root = parse_json(file)
    if root.get("@@locale") is not None:
        return _read_arb(file, root, wanted)
    if root.get("sourceLanguage") is not None and root.get("strings") is not None:
        raise InputError(f"{name}: is a string catalogue of Xcode; its name must end in .xcstrings")
    if (translations := root.get("translations")) is not None and (locale := root.get("locale")) is not None:
        added = _renamed_value(file, locale, wanted)
        return _document(file, strings_of(translations, ("translations",)), added, wanted)
    is_icu = has_icu(file.text) or any(value.get("defaultMessage") for _, _, value in root.members or [])
    by_language = [(key, label, value) for key, label, value in root.members or [] if value.members is not None]
    is_by_language = len(by_language) == len(root.names)
    if is_by_language and (language := language_among([key for key, *_ in by_language], wanted, name)):
        left = _in_other_languages(file, root, language)
        label = next(label for key, label, _ in by_language if key == language)
        value = next(value for key, _, value in reversed(by_language) if key == language)
        added = _renamed(file, label, language, wanted)
        return _document(file, strings_of(value, (language,)), added, wanted, left, is_icu)
    return _document(file, _messages(root), (), wanted, is_icu=is_icu)


def read_arb(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the messages of a Flutter file; keys with @ stay, and `@@locale` becomes the target language."""
    file = TextFile.read(data, name)
    return _read_arb(file, parse_json(file), wanted)


def _read_arb(file: TextFile, root: Json, wanted: Languages) -> Document:
    if root.members is None:
        raise InputError(f"{file.name}: is no ARB file; it must be one object")
    messages = (message for key, _, value in root.members if key[:1] != "@" for message in strings_of(value, (key,)))
    return _document(file, messages, _renamed_value(file, root.get("@@locale"), wanted), wanted)


def _messages(root: Json) -> Iterator[tuple[Path, Json]]:
    """Yields the strings that are messages: all, but only the texts in formats where each message is an object."""
    members: list[tuple[str | int, Json]] = [(name, value) for name, _, value in root.members or []]
    entries = members or list(enumerate(root.items or []))
    for name, others in _MESSAGES.items():
        texts = [(key, text) for key, value in entries if (text := value.get(name)) and set(value.names) <= others]
        if entries and len(texts) == len(entries) and all(text.text is not None for _, text in texts):
            return ((path, text) for key, value in texts for path, text in strings_of(value, (key, name)))
    return strings_of(root)


def _document(
    file: TextFile,
    strings: Iterator[tuple[Path, Json]],
    added: Sequence[Edit],
    wanted: Languages,
    left: Sequence[Untranslated] = (),
    is_icu: bool = False,
) -> Document:
    messages = list(strings)
    units: list[Unit] = []
    untranslated = list(left)
    is_ascii = is_ascii_by_escapes(file)
    forms = PluralForms((path for path, _ in messages), wanted.target)
    for path, value in messages:
        text = value.text or ""
        if not is_encodable(text):
            shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            reason = "half of a character is written in it (\\ud800 to \\udfff)"
            untranslated.append(Untranslated(file.where(value.start), shown, reason))
        elif text.strip():
            encode = partial(string_like, file, value, is_ascii)
            source, notes = message_segment(text, is_icu=is_icu), forms.notes(path)
            escape = program_text(source, ("doubled" if "''" in text else "icu") if is_icu else "")
            units.append(file.unit(value.start, value.end, source, encode, escape, notes=notes, id=key_of(path)))
    return Document(units, lambda edits: file.save([*edits, *added] if edits else edits), untranslated)


def _in_other_languages(file: TextFile, root: Json, language: str) -> list[Untranslated]:
    return [
        Untranslated(file.where(value.start), value.text or "", _OTHER_LANGUAGE)
        for path, value in strings_of(root)
        if path[0] != language and is_encodable(value.text or "") and any(map(str.isalpha, value.text or ""))
    ]


def _renamed(file: TextFile, name: Json, language: str, wanted: Languages) -> list[Edit]:
    """Returns the edit that replaces a code of the source language by the target's; none where that is not known."""
    if not wanted.target:
        return []
    code = wanted.target.replace("-", "_") if "_" in language else wanted.target
    return [file.edit(name.start, name.end, string_like(file, name, is_ascii_by_escapes(file), code))]


def _renamed_value(file: TextFile, value: Json | None, wanted: Languages) -> list[Edit]:
    """Returns the edit that renames a file's language; InputError if it is not the source language."""
    if value is None or value.text is None:
        return []
    language_codes.check(file.name, "language", value.text, wanted.source)
    return _renamed(file, value, value.text, wanted)


def parse_json(file: TextFile) -> Json:
    """Returns the value that a file is; InputError for what is not JSON, or nests too deep."""
    try:
        json.loads(file.text, parse_int=len, parse_float=len, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file.name}: {file.where(error.pos)}: is not JSON ({error.msg}); comments and commas before a bracket "
            "are none of it"
        ) from None
    except RecursionError:
        raise InputError(f"{file.name}: more than {DEEPEST} lists and objects in each other") from None
    except ValueError as error:
        raise InputError(f"{file.name}: is not JSON ({error})") from None
    return _parsed(file)


def strings_of(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yields all strings in a value, in their order, except names, and objects about messages such as `@metadata`."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if value.text is not None:
            yield path, value
        elif value.members is not None:
            members = (
                (name, inner) for name, _, inner in reversed(value.members) if name[:1] != "@" or inner.members is None
            )
            waiting += [((*path, name), inner) for name, inner in members]
        elif value.items is not None:
            waiting += [((*path, number), inner) for number, inner in reversed(list(enumerate(value.items)))]


def string_like(file: TextFile, value: Json, is_ascii: bool, text: str) -> str:
    """Writes a text as a string with the escapes of another string of the file, in ASCII if the file is."""
    escapes: dict[int, str] = {}  # of characters that need none
    for match in _ESCAPE.finditer(file.text, value.start + 1, value.end - 1):
        character = json.loads(f'"{match[0]}"')
        if character.isprintable() and character.isascii() and character not in '"\\':
            escapes[ord(character)] = match[0]
    return json.dumps(text, ensure_ascii=is_ascii).translate(escapes)


def is_ascii_by_escapes(file: TextFile) -> bool:
    """Returns True if a file writes characters beyond ASCII as escapes."""
    return file.text.isascii() and "\\u" in file.text


def is_encodable(text: str) -> bool:
    """Returns True if a string has no half of a surrogate pair."""
    return _NOT_ENCODABLE.search(text) is None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _parsed(file: TextFile) -> Json:
    """Returns the value of a text that is known to be JSON, with the spans of all values in it."""
    root = Json(0)
    opened: list[Json] = []
    name: tuple[str, Json] | None = None  # of the member whose value comes next
    expects_name = False
    offset = 0
    while (token := _TOKEN.match(file.text, offset)) is not None:
        sign, start, offset = token[1], token.start(1), token.end()
        if sign in ",:":
            expects_name = sign == "," and opened[-1].members is not None
            continue
        if sign in "]}":
            opened.pop().end = offset
            expects_name = False
            continue
        value = Json(start, offset)
        if sign == '"':
            value.text, value.end = _DECODER.raw_decode(file.text, start)
            offset = value.end
        if expects_name:
            name = (value.text or "", value)
            expects_name = False
            continue
        if not opened:
            root = value
        elif (members := opened[-1].members) is not None:
            assert name is not None  # as JSON has it
            members.append((*name, value))
        elif (items := opened[-1].items) is not None:
            items.append(value)
        if sign in "[{":
            value.members, value.items = ([], None) if sign == "{" else (None, [])
            opened.append(value)
            expects_name = sign == "{"
            if len(opened) > DEEPEST:
                where = file.where(start)
                raise InputError(f"{file.name}: {where}: more than {DEEPEST} lists and objects in each other")
    return root
