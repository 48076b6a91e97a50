"""Messages of ICU, such as `{n, plural, one {# file} other {# files}}`, also where tags divide them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from docsegments.segment import Mark, Part, joined

DEEPEST = 20  # messages in each other's branches
_HEAD = re.compile(r"\s*+[\w.-]{1,100}+\s*+,\s*+(plural|selectordinal|select|choice)\s*+,\s*+(?:offset:\d{1,9}\s*+)?")
_SELECTOR = re.compile(r"\s*+(?:=\d{1,9}|[\w-]{1,100}+)\s*+(?=\{)")
_LIMIT = re.compile(r"\s*+(?:-?\d{1,9}(?:\.\d{1,9})?|-?∞)\s*+[#<≤]")
_BRACE = re.compile(r"'[{}]'|[{}]")  # quoted ones are text


@dataclass(frozen=True)
class _Syntax:
    """Characters of a message that are not text of a branch, or the number sign in one."""

    start: int
    end: int
    is_number: bool = False


def mark_messages(parts: Sequence[Part], escape: Callable[[str], str] = str) -> list[Part]:
    """Returns the parts with marks for the syntax of ICU's messages, which break the text: each branch is translated by
    itself. What is not such a message as a whole is left as it is."""
    parts = joined(parts)
    flat = "".join(part if isinstance(part, str) else "\x00" for part in parts)  # which is no part of the syntax
    syntax = _merged(_syntax(flat))
    if not syntax:
        return parts
    marked: list[Part] = []
    offset = number = 0
    for part in parts:
        if isinstance(part, Mark):
            marked.append(part)
            offset += 1
            continue
        end, done = offset + len(part), offset
        while number < len(syntax) and syntax[number].start < end:
            piece = syntax[number]
            raw = escape(flat[piece.start : piece.end])
            marked.append(flat[done : piece.start])
            marked.append(Mark(raw, shown="#") if piece.is_number else Mark(raw, shown=" ", breaks=True))
            done = piece.end
            number += 1
        marked.append(flat[done:end])
        offset = end
    return [part for part in marked if part != ""]


def _syntax(flat: str) -> Iterator[_Syntax]:
    """Yields the syntax of all messages, in order."""
    ends = _ends(flat)
    starts = sorted(ends)
    after = 0
    for start in starts:
        if start >= after and (message := _message(flat, start, ends, 0)):
            yield from message
            after = ends[start] + 1


def _ends(flat: str) -> dict[int, int]:
    """Maps each opening brace to the one that closes it."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(flat):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            ends[opened.pop()] = brace.start()
    return ends


def _message(flat: str, start: int, ends: dict[int, int], depth: int) -> list[_Syntax] | None:
    """Returns the syntax of the ICU message at `start` and of messages within its branches; None for other text."""
    head = _HEAD.match(flat, start + 1, ends[start])
    if head is None or depth > DEEPEST:
        return None
    read = _choices if head[1] == "choice" else _branches
    branches = read(flat, head.end(), ends[start], ends)
    if not branches:
        return None
    syntax: list[_Syntax] = []
    begin = start
    for first, last in branches:
        syntax.append(_Syntax(begin, first))
        syntax += _within(flat, first, last, ends, depth + 1, has_numbers=head[1] in ("plural", "selectordinal"))
        begin = last
    return [*syntax, _Syntax(begin, ends[start] + 1)]


def _branches(flat: str, offset: int, end: int, ends: dict[int, int]) -> list[tuple[int, int]]:
    """Returns the spans of all branches' texts; none if something else is there."""
    branches: list[tuple[int, int]] = []
    while selector := _SELECTOR.match(flat, offset, end):
        if selector.end() not in ends:
            return []
        branches.append((selector.end() + 1, ends[selector.end()]))
        offset = ends[selector.end()] + 1
    return branches if not flat[offset:end].strip() else []


def _choices(flat: str, offset: int, end: int, ends: dict[int, int]) -> list[tuple[int, int]]:
    """Returns the spans of a choice by limits: `0#no files|1#one file`."""
    branches: list[tuple[int, int]] = []
    while limit := _LIMIT.match(flat, offset, end):
        stop = limit.end()
        while stop < end and flat[stop] != "|":
            stop = ends[stop] + 1 if stop in ends else stop + 1
        branches.append((limit.end(), stop))
        offset = stop + 1
    return branches if offset > end else []


def _within(flat: str, first: int, last: int, ends: dict[int, int], depth: int, has_numbers: bool) -> Iterator[_Syntax]:
    """Yields the messages within the text of a branch, and signs for its number."""
    offset = first
    while offset < last:
        if offset in ends:
            yield from _message(flat, offset, ends, depth) or ()
            offset = ends[offset] + 1
            continue
        if flat[offset] == "#" and has_numbers:
            yield _Syntax(offset, offset + 1, is_number=True)
        offset += 1


def _merged(syntax: Iterator[_Syntax]) -> list[_Syntax]:
    """Joins pieces of syntax that have no text between them."""
    merged: list[_Syntax] = []
    for piece in syntax:
        if merged and not merged[-1].is_number and not piece.is_number and merged[-1].end == piece.start:
            piece = _Syntax(merged.pop().start, piece.end)
        merged.append(piece)
    return merged
