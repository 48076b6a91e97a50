"""Text as HTML writes it: character references, and where in the page each character of a text is written."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from html.entities import html5

_REFERENCE = re.compile(
    r"&(?:#[xX](?P<hex>[0-9A-Fa-f]++)|#(?P<decimal>[0-9]++)|(?P<name>[A-Za-z][A-Za-z0-9]*+))(?P<end>;?)"
)
_LONGEST_NAME = max(map(len, html5))
_LONGEST_NUMBER = 7  # digits of the last character of Unicode, in decimal
_REPLACEMENT = "\ufffd"
_ATTRIBUTE_ESCAPES = {
    quote: str.maketrans({"&": "&amp;", "<": "&lt;", quote: written})
    for quote, written in (('"', "&quot;"), ("'", "&#39;"))
}


@dataclass(frozen=True)
class WrittenText:
    """A text without character references, and the offset in the page of each of its characters and of its end."""

    text: str
    offsets: Sequence[int]


def read_text(page: str, start: int, end: int, is_attribute: bool = False) -> WrittenText:
    """Reads characters of a page as text, decoding its character references as the HTML standard says."""
    if "&" not in (written := page[start:end]):
        return WrittenText(written, range(start, end + 1))
    pieces: list[str] = []
    offsets: list[int] = []
    done = start
    for match in _REFERENCE.finditer(page, start, end):
        decoded, stop = _decode(match, page[match.end() : match.end() + 1], is_attribute)
        if decoded:
            pieces += [page[done : match.start()], decoded]
            offsets += [*range(done, match.start()), *[match.start()] * len(decoded)]
            done = stop
    return WrittenText("".join([*pieces, page[done:end]]), [*offsets, *range(done, end + 1)])


def escape_text(text: str) -> str:
    """Writes a text between tags."""
    return escape(text, quote=False)


def escape_attribute(text: str, quote: str) -> str:
    """Writes a text between two quotes of this kind."""
    return text.translate(_ATTRIBUTE_ESCAPES[quote])


def _decode(match: re.Match[str], following: str, is_attribute: bool) -> tuple[str, int]:
    """Returns the characters of a reference and its end; no characters if it is none."""
    if (name := match["name"]) is None:
        digits, base = (match["hex"], 16) if match["hex"] else (match["decimal"], 10)
        digits = digits.lstrip("0")
        return _character(int(digits or "0", base) if len(digits) <= _LONGEST_NUMBER else 0), match.end()
    if match["end"] and len(name) < _LONGEST_NAME and f"{name};" in html5:
        return html5[f"{name};"], match.end()
    for length in range(min(len(name), _LONGEST_NAME), 1, -1):
        if (characters := html5.get(name[:length])) is not None:
            is_whole = length == len(name)
            next_character = (match["end"] or following) if is_whole else name[length]
            if is_attribute and (next_character == "=" or next_character.isalnum()):
                return "", match.start()
            return characters, match.start() + 1 + length
    return "", match.start()


def _character(number: int) -> str:
    if 0x80 <= number <= 0x9F:  # which browsers read as Windows-1252
        return bytes([number]).decode("cp1252", "ignore") or chr(number)
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return _REPLACEMENT
    return chr(number)
