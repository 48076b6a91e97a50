"""Files of messages in JSON: i18next, vue-i18n, FormatJS, Angular, Chrome's extensions; and ARB of Flutter."""

from collections.abc import Callable, Iterator, Sequence

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.json_tree import Encoder, Json, is_ascii_by_escapes, is_encodable, parse_json, strings_of
from transduce.documents.message_files import Path, PluralForms, key_of, language_among, message_unit
from transduce.errors import InputError

_MESSAGE = {"message": {"message", "description", "placeholders", "hash"}}
_DEFAULT_MESSAGE = {"defaultMessage": {"defaultMessage", "description", "id", "file", "start", "end"}}
_OTHER_LANGUAGE = "it is in another language than is translated"


def read_json(data: bytes, name: str, wanted: Languages) -> Document:
    """The strings that are messages. Where the first keys are languages, those of the source language, whose key
    becomes the target language's. InputError for what is no JSON, or is in other languages."""
    file = TextFile.read(data, name)
    root = parse_json(file)
    if root.get("@@locale") is not None:
        return _read_arb(file, root, wanted)
    if root.get("sourceLanguage") is not None and root.get("strings") is not None:
        raise InputError(f"{name}: is a string catalogue of Xcode; its name must end in .xcstrings")
    if (translations := root.get("translations")) is not None and (locale := root.get("locale")) is not None:
        added = _renamed_value(file, locale, wanted, name)
        return _document(file, strings_of(translations, ("translations",)), added, wanted)
    languages_of_file = [key for key, _, value in root.members or [] if value.members is not None]
    if len(languages_of_file) == len(root.names) and (found := language_among(languages_of_file, wanted, name)):
        left = _in_other_languages(file, root, found)
        value = root.get(found)
        assert value is not None  # it is one of the names
        place = next(place for key, place, _ in root.members or [] if key == found)
        added = _renamed(file, place, found, wanted)
        return _document(file, strings_of(value, (found,)), added, wanted, left)
    return _document(file, _messages(root), (), wanted)


def read_arb(data: bytes, name: str, wanted: Languages) -> Document:
    """The messages of Flutter's application resources; what their keys with @ tell of them stays, and `@@locale`
    becomes the target language."""
    file = TextFile.read(data, name)
    return _read_arb(file, parse_json(file), wanted)


def _read_arb(file: TextFile, root: Json, wanted: Languages) -> Document:
    if root.members is None:
        raise InputError(f"{file.name}: is no ARB file; it must be one object")
    messages = (found for key, _, value in root.members if key[:1] != "@" for found in strings_of(value, (key,)))
    locale = root.get("@@locale")
    added = () if locale is None else _renamed_value(file, locale, wanted, file.name)
    return _document(file, messages, added, wanted)


def _messages(root: Json) -> Iterator[tuple[Path, Json]]:
    """The strings that are messages: all, but for those beside a message in formats where each is an object."""
    members: list[tuple[str | int, Json]] = [(name, value) for name, _, value in root.members or []]
    entries = members or list(enumerate(root.items or []))
    for known in (_MESSAGE, _DEFAULT_MESSAGE):
        for name, others in known.items():
            if entries and all(_is_entry(value, name, others) for _, value in entries):
                for key, value in entries:
                    text = value.get(name)
                    assert text is not None  # it is such an entry
                    yield from strings_of(text, (key, name))
                return
    yield from strings_of(root)


def _is_entry(value: Json, name: str, others: set[str]) -> bool:
    text = value.get(name)
    return text is not None and text.text is not None and set(value.names) <= others


def _document(
    file: TextFile,
    strings: Iterator[tuple[Path, Json]],
    added: Sequence[Edit],
    wanted: Languages,
    left: Sequence[Untranslated] = (),
) -> Document:
    found = list(strings)
    units: list[Unit] = []
    untranslated = list(left)
    is_ascii = is_ascii_by_escapes(file)
    forms = PluralForms((path for path, _ in found), wanted.target)
    for path, value in found:
        text = value.text or ""
        if not is_encodable(text):
            shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            reason = "half of a character is written in it (\\ud800 to \\udfff)"
            untranslated.append(Untranslated(f"line {file.line_of(value.start)}", shown, reason))
        elif text.strip():
            encode: Callable[[str], str] = Encoder.like(file, value, is_ascii).encode
            units.append(message_unit(file, value.start, value.end, text, encode, key_of(path), forms.notes(path)))
    return Document(units, lambda edits: file.save([*edits, *added] if edits else edits), untranslated)


def _in_other_languages(file: TextFile, root: Json, language: str) -> list[Untranslated]:
    return [
        Untranslated(f"line {file.line_of(value.start)}", value.text or "", _OTHER_LANGUAGE)
        for path, value in strings_of(root)
        if path[0] != language and is_encodable(value.text or "") and any(map(str.isalpha, value.text or ""))
    ]


def _renamed(file: TextFile, name: Json, found: str, wanted: Languages) -> list[Edit]:
    """The edit that gives a string, which is a language's code, the target language; none where that is not known."""
    if not wanted.target:
        return []
    code = wanted.target.replace("-", "_") if "_" in found else wanted.target
    return [Edit(name.start, name.end, Encoder.like(file, name, is_ascii_by_escapes(file)).encode(code))]


def _renamed_value(file: TextFile, value: Json, wanted: Languages, name: str) -> list[Edit]:
    """The same of a language that a file says it is in; InputError if that is another one than the source language."""
    if value.text is None:
        return []
    languages.check(name, "language", value.text, wanted.source)
    return _renamed(file, value, value.text, wanted)
