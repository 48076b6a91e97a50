"""A message as a segment, for all files of messages (JSON, YAML, .properties, .strings, strings.xml)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from docsegments import language_codes
from docsegments.document import Languages
from docsegments.messages.no_text import kind_of_no_text
from docsegments.segment import Mark, Segment
from docsegments.text.layout import mark_layout
from docsegments.text.placeholder_families import MESSAGES
from docsegments.text.placeholders import hold, mark_tags
from docsegments.user_errors import InputError

Path = tuple[str | int, ...]
"""Names and numbers that lead to a message."""

DEEPEST = 200
"""Greatest depth of lists and mappings."""

_MORE_FORMS = {
    "few many": "be cs lt mt pl ru sk uk",
    "few": "bs hr ro sh sr",
    "two few": "dsb gd hsb sl",
    "two": "he iu iw kw naq se smn",
    "zero": "lv",
    "two few many": "br ga gv",
    "zero two few many": "ar cy",
}
"""Languages by their plural forms beside `one` and `other` (CLDR), except those of fractions and millions."""
PLURAL_FORMS = frozenset(["zero", "one", "two", "few", "many", "other"])
"""Categories of plurals in CLDR."""


def message_segment(text: str, breaks: Callable[[str], bool] | None = None, is_icu: bool = False) -> Segment:
    """Returns a message with its tags, placeholders and lines; one that is not text is held as a whole.

    Args:
        text: the message without the escapes of its file.
        breaks: returns True if a line ends the text that it is part of (default: every line does).
        is_icu: True if ICU reads it, in which apostrophes quote braces, and two are one.
    """
    if kind_of_no_text(text):
        return Segment((Mark(text, shown=text),))
    families = (*MESSAGES, "quotes") if is_icu else MESSAGES
    text = text.replace("''", "'") if is_icu else text
    return Segment.of(mark_layout(hold(mark_tags([text]), str, families), str, breaks), families)


def in_ascii(text: str, sign: str = "\\u") -> str:
    """Writes each character beyond ASCII as an escape such as `\\u00e4`, or as two of them."""

    def escaped(character: str) -> str:
        units = character.encode("utf-16-be")
        return "".join(f"{sign}{int.from_bytes(units[n : n + 2]):04x}" for n in range(0, len(units), 2))

    return "".join(character if character.isascii() else escaped(character) for character in text)


def joined_halves(text: str) -> str:
    """Joins two halves of a character (surrogates) to that character; UnicodeDecodeError for only one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


@dataclass(frozen=True)
class Message:
    """A message of a file, by the characters of its value."""

    key: str
    value: str
    """Text of the message, without the escapes of its file."""
    start: int
    end: int


def plural_notes(form: str, forms: Collection[str], language: str) -> tuple[str, ...]:
    """Returns notes for a person on a plural form of a message that has these forms."""
    if form != "other" or "one" not in forms:
        return ()
    code = language_codes.primary(language)
    wanted = next((more for more, codes in _MORE_FORMS.items() if code in codes.split()), "")
    lacking = [category for category in wanted.split() if category not in forms]
    return (f"{language} has further plural forms, which the file lacks: {', '.join(lacking)}",) if lacking else ()


def key_of(path: Path) -> str:
    """Writes a path as programs name it: `home.items[0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


class PluralForms:
    """Plural forms beside each other: `dogs_one` and `dogs_other` of i18next, or names in a message's own mapping."""

    def __init__(self, paths: Iterable[Path], language: str) -> None:
        """Collects all messages of a file that is translated into a language."""
        self.language = language
        self.forms: dict[Path, set[str]] = {}
        for path in paths:
            message, form = _split_form(path)
            if form:
                self.forms.setdefault(message, set()).add(form)

    def notes(self, path: Path) -> tuple[str, ...]:
        """Returns notes for a person on a message, which may be a plural form."""
        message, form = _split_form(path)
        return plural_notes(form, self.forms[message], self.language) if form else ()


def language_among(keys: Sequence[str], wanted: Languages, name: str) -> str | None:
    """Returns which of a file's first keys is the source language; None where they are not languages.

    Raises InputError where the source language is not among them, or the target language is.
    """
    if not keys or not all(map(language_codes.is_code, keys)):
        return None
    language = language_codes.find([(key, key) for key in keys], wanted.source) if wanted.source else keys[0]
    if language is None:
        language_codes.check(name, "language (its first key)", keys[0], wanted.source)
        return None
    others = [(key, key) for key in keys if key != language]
    if wanted.target and (other := language_codes.find(others, wanted.target)) is not None:
        raise InputError(f"{name}: has messages in {language!r} and in {other!r}; keep one language in a file")
    return language


def _split_form(path: Path) -> tuple[Path, str]:
    last = str(path[-1]) if path else ""
    if last in PLURAL_FORMS:
        return path[:-1], last
    name, _, form = last.rpartition("_")
    return ((*path[:-1], name), form) if form in PLURAL_FORMS else (path, "")
