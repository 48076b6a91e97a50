"""The front matter of Markdown: titles and descriptions in YAML between `---`, TOML between `+++`, or header lines."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_KEYS = "title description summary subtitle linkTitle sidebar_label nav_title pagination_label excerpt tagline lead"
KEYS = frozenset(_KEYS.split())
"""Keys of values that readers of a page see."""

_LINES = re.compile(
    r"\A(?P<sign>---|\+\+\+)[ \t]*+\n(?P<body>.*?)^(?:(?P=sign)|\.\.\.)[ \t]*+(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIRST = re.compile(r"\s*+(?:#[^\n]*+\n\s*+)*+(?:[\w.\"'-]++\s*+[:=]|\[|- |\{|\Z)")
_HEADER = re.compile(r"(?:[A-Za-z][\w-]{0,30}+:(?:[ \t][^\n]*+)?+\n){2,}+(?=[ \t]*+(?:\n|\Z))")
_OF_HEADER = re.compile(r"^(?:title|date|author)s?:", re.MULTILINE | re.IGNORECASE)
_IN_HEADER = re.compile(r"^(?P<key>[\w-]++):[ \t]++(?P<value>\S[^\n]*+)$", re.MULTILINE)
_KEY = re.compile(
    r"^(?P<indent>[ ]*+(?:-[ ]++)?)(?P<key>[\w-]++)[ \t]*+(?P<sign>[:=])(?P<value>[ \t][^\n]*+)?+$", re.MULTILINE
)
_SEVERAL_LINES = "a value of several lines; write it in one, or after | or >"
_CONSTANTS = frozenset(["", "true", "false", "yes", "no", "on", "off", "null", "~"])
_NO_PLAIN = re.compile(r"""\A(?:[-?:](?:\s|\Z)|[,\[\]{}#&*!|>'"%@`]|[\d.+-]*\Z)|: |:\Z| \#|[\n\t]""")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<inside>.*)(?P=quote)\s*+(?:\#.*+)?""", re.DOTALL)


@dataclass(frozen=True)
class Scalar:
    """A value to translate, by its characters in the file."""

    key: str
    start: int
    end: int
    text: str
    escape: Callable[[str], str] = str
    """Escapes a text that replaces the value."""
    reason: str = ""
    """Reason for leaving the value as it is; "" for one that is translated."""


def front_matter(text: str) -> tuple[int, list[Scalar]]:
    """Returns where the text after the front matter begins, and the values in it that readers see."""
    match = _LINES.match(text)
    if match is None or not _FIRST.match(match["body"]):
        return _header(text)
    return match.end(), list(_values(text, *match.span("body"), is_toml=match["sign"] == "+++"))


def _header(text: str) -> tuple[int, list[Scalar]]:
    """Reads lines such as `Title: The dog` to the first blank one, as Pelican and MultiMarkdown have them."""
    match = _HEADER.match(text)
    if match is None or not _OF_HEADER.search(match[0]):
        return 0, []
    values = [line for line in _IN_HEADER.finditer(match[0]) if line["key"].lower() in KEYS]
    return match.end(), [Scalar(line["key"], *line.span("value"), line["value"]) for line in values]


def _values(text: str, start: int, end: int, is_toml: bool) -> Iterator[Scalar]:
    for match in _KEY.finditer(text, start, end):
        if match["key"] not in KEYS or (match["sign"] == "=") != is_toml:
            continue
        value = (match["value"] or "").strip()
        begin = match.end() - len((match["value"] or "").lstrip())
        block = _block(text, match.end(), end, len(match["indent"]))
        if value[:1] in ("|", ">") and not is_toml:
            yield from _lines(text, match["key"], *block, is_folded=value[0] == ">")
        elif quoted := _QUOTED.fullmatch(value):
            yield _quoted(match["key"], begin, quoted, is_toml)
        elif is_toml or value[:1] in tuple("[{&*!\"'") or block[0] < block[1]:
            whole = text[begin : max(begin + len(value), block[1])].strip()
            is_text = any(map(str.isalpha, whole)) and not value.startswith(tuple("[{&*!"))
            if is_text and not (is_toml and value in ("true", "false")):
                yield Scalar(match["key"], begin, begin, whole, reason=_SEVERAL_LINES)
        else:
            plain = re.split(r"\s#", value, maxsplit=1)[0].rstrip()
            if plain.lower() not in _CONSTANTS:
                yield Scalar(match["key"], begin, begin + len(plain), plain, _plain)


def _block(text: str, start: int, end: int, indent: int) -> tuple[int, int]:
    """Returns the span of the lines after a key that are indented deeper than it."""
    deeper = rf"\n {{{indent + 1}}}(?=[^\n]*?\S)[^\n]*+"
    lines = re.compile(rf"(?:(?:\n[^\S\n]*+(?=\n))*+{deeper})*+").match(text, start, end)
    return start + 1, max(start + 1, lines.end() if lines else start)


def _lines(text: str, key: str, start: int, end: int, is_folded: bool) -> Iterator[Scalar]:
    """Yields the lines of a value after `|`, or the paragraphs of one after `>`."""
    pattern = r"\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+" if is_folded else r"\S[^\n]*+"
    for match in re.compile(pattern).finditer(text, start, end):
        begin = match.start()
        written = match[0].rstrip()
        yield Scalar(key, begin, begin + len(written), " ".join(written.split()))


def _quoted(key: str, begin: int, match: re.Match[str], is_toml: bool) -> Scalar:
    start, end = begin + match.start("inside"), begin + match.end("inside")
    if match["quote"] == "'":
        inside = match["inside"] if is_toml else match["inside"].replace("''", "'")
        return Scalar(key, start, end, inside, (lambda text: text.replace("'", "\u2019")) if is_toml else _single)
    try:
        return Scalar(key, start, end, json.loads(f'"{match["inside"]}"'), _double)
    except ValueError:
        return Scalar(key, begin, end, match["inside"], reason="its escapes cannot be read")


def _plain(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if _NO_PLAIN.search(text) or text.lower() in _CONSTANTS else text


def _single(text: str) -> str:
    return text.replace("'", "''")


def _double(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
