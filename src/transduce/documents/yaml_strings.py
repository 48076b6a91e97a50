"""Strings as YAML writes them: plain, in quotation marks, or as blocks of lines."""

import re
from functools import cache
from typing import Any

from transduce.documents.libraries import require

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOT_LITERAL = re.compile(r'[\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_NOT_ASCII = re.compile(r'[\\"\x00-\x1f\x7f-\U0010ffff]')
_NOT_IN_BLOCK = re.compile(r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SWITCH = re.compile(r"(?i:y|n)")
_BLANKS = (" ", "\t")
_COMMENT = re.compile(r"[|>]\S*+(?P<comment>[ \t]++#[^\r\n]*+)")
_FOLD = re.compile(r"(?<=\S) (?=\S)")


def double_quoted(text: str, is_ascii: bool) -> str:
    """A text in double quotation marks, on one line."""
    return '"' + (_NOT_ASCII if is_ascii else _NOT_LITERAL).sub(_escaped, text) + '"'


def comment_of(raw: str) -> str:
    """The comment in the head of a block, and the blanks before it; "" for none."""
    found = _COMMENT.match(raw)
    return "" if found is None else found["comment"]


def _escaped(found: re.Match[str]) -> str:
    character, code = found[0], ord(found[0])
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def is_plain(text: str) -> bool:
    """Whether a text needs no quotation marks, in lists and mappings of either style."""
    if not text.isprintable() or _SWITCH.fullmatch(text):
        return False
    return all(_read(f"{before}{text}{after}") == (text, True) for before, after in (("k: ", ""), ("[", "]")))


@cache
def _loader() -> Any:
    yaml = require("yaml")
    return yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader("")


def _read(text: str) -> tuple[str, bool] | None:
    """The last scalar of a text, and whether it is a string; None where there are others than one key and it."""
    yaml, loader, resolver = _loader()
    try:
        events = [event for event in yaml.parse(text, Loader=loader) if isinstance(event, yaml.NodeEvent)]
    except yaml.YAMLError:
        return None
    found = events[-1]
    is_same = isinstance(found, yaml.ScalarEvent) and len(events) == (2 if text[0] == "[" else 3)
    if not is_same or found.anchor or found.tag or not found.implicit[0]:
        return None
    tag = resolver.resolve(yaml.ScalarNode, found.value, (True, False))
    return found.value, tag == "tag:yaml.org,2002:str"


def written_like(raw: str, style: str, value: str, text: str) -> str | None:
    """A text as a block, with the head, the indent and the last empty lines of another.

    Args:
        raw: the other block as it is written, from its sign on.
        style: `|` or `>`.
        value: what it says.
        text: what is to be said instead.

    None where that cannot be said so.
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
    """A text whose lines are divided at blanks, if those of the block were. A line that begins with a blank is not
    divided, and its ends are what they are; any other line end is written as an empty line."""
    divides = sum(1 for line in lines if line.strip()) > sum(1 for line in value.split("\n") if line.strip())
    pieces = re.split("(\n+)", text)
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            pieces[number] = _divided(piece, width) if divides and piece[:1] not in _BLANKS else piece
        elif pieces[number - 1][:1] not in _BLANKS and pieces[number + 1][:1] not in _BLANKS:
            pieces[number] = piece + "\n"
    return "".join(pieces)


def _divided(line: str, width: int) -> str:
    """A line divided at single blanks, so that no piece is longer than the width, as far as its words are not."""
    pieces, piece = [], ""
    for word in _FOLD.split(line):
        if piece and len(piece) + 1 + len(word) > width:
            pieces.append(piece)
            piece = word
        else:
            piece = f"{piece} {word}" if piece else word
    return "\n".join([*pieces, piece])
