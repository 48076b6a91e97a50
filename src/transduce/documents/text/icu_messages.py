"""Messages of ICU: `{n, plural, one {# file} other {# files}}`, also where tags divide them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from transduce.documents.segment import Mark, Part, joined

DEEPEST = 20  # messages in each other's branches
_HEAD = re.compile(r"\s*+[\w.-]{1,100}+\s*+,\s*+(plural|selectordinal|select|choice)\s*+,\s*+(?:offset:\d{1,9}\s*+)?")
_SELECTOR = re.compile(r"\s*+(?:=\d{1,9}|[\w-]{1,100}+)\s*+(?=\{)")
_LIMIT = re.compile(r"\s*+(?:-?\d{1,9}(?:\.\d{1,9})?|-?∞)\s*+[#<≤]")
_BRACE = re.compile(r"'[{}]'|[{}]")  # quoted ones are text


@dataclass(frozen=True)
class _Syntax:
    """Characters of a message that are no text of a branch, or the number sign in one."""

    start: int
    end: int
    is_number: bool = False


def mark_messages(parts: Sequence[Part], escape: Callable[[str], str] = str) -> list[Part]:
    """The parts, with marks for the syntax of ICU's messages, which break the text: each branch is translated by
    itself. What is not such a message as a whole is left as it is."""
    parts = joined(parts)
    flat = "".join(part if isinstance(part, str) else "\x00" for part in parts)  # which is no part of the syntax
    syntax = _merged(_syntax(flat))
    if not syntax:
        return parts
    marked: list[Part] = []
    place = number = 0
    for part in parts:
        if isinstance(part, Mark):
            marked.append(part)
            place += 1
            continue
        end, done = place + len(part), place
        while number < len(syntax) and syntax[number].start < end:
            one = syntax[number]
            raw = flat[one.start : one.end]
            marked.append(flat[done : one.start])
            marked.append(Mark(escape(raw), shown="#") if one.is_number else Mark(escape(raw), shown=" ", breaks=True))
            done = one.end
            number += 1
        marked.append(flat[done:end])
        place = end
    return [part for part in marked if part != ""]


def _syntax(flat: str) -> Iterator[_Syntax]:
    """The syntax of all messages, in order."""
    ends = _ends(flat)
    starts = sorted(ends)
    after = 0
    for start in starts:
        if start >= after and (found := _message(flat, start, ends, 0)):
            yield from found
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
    """The syntax of a message that begins there, those within its branches included; None if it is none."""
    head = _HEAD.match(flat, start + 1, ends[start])
    if head is None or depth > DEEPEST:
        return None
    read = _choices if head[1] == "choice" else _branches
    branches = read(flat, head.end(), ends[start], ends)
    if not branches:
        return None
    found: list[_Syntax] = []
    begin = start
    for first, last in branches:
        found.append(_Syntax(begin, first))
        found += _within(flat, first, last, ends, depth + 1, has_numbers=head[1] in ("plural", "selectordinal"))
        begin = last
    return [*found, _Syntax(begin, ends[start] + 1)]


def _branches(flat: str, place: int, end: int, ends: dict[int, int]) -> list[tuple[int, int]]:
    """Spans of all branches' texts; none if something else is there."""
    branches: list[tuple[int, int]] = []
    while selector := _SELECTOR.match(flat, place, end):
        if selector.end() not in ends:
            return []
        branches.append((selector.end() + 1, ends[selector.end()]))
        place = ends[selector.end()] + 1
    return branches if not flat[place:end].strip() else []


def _choices(flat: str, place: int, end: int, ends: dict[int, int]) -> list[tuple[int, int]]:
    """The same of a choice by limits: `0#no files|1#one file`."""
    branches: list[tuple[int, int]] = []
    while limit := _LIMIT.match(flat, place, end):
        stop = limit.end()
        while stop < end and flat[stop] != "|":
            stop = ends[stop] + 1 if stop in ends else stop + 1
        branches.append((limit.end(), stop))
        place = stop + 1
    return branches if place > end else []


def _within(flat: str, first: int, last: int, ends: dict[int, int], depth: int, has_numbers: bool) -> Iterator[_Syntax]:
    """The messages within the text of a branch, and signs for its number."""
    place = first
    while place < last:
        if place in ends:
            yield from _message(flat, place, ends, depth) or ()
            place = ends[place] + 1
            continue
        if flat[place] == "#" and has_numbers:
            yield _Syntax(place, place + 1, is_number=True)
        place += 1


def _merged(syntax: Iterator[_Syntax]) -> list[_Syntax]:
    """Joins pieces of syntax that have no text between them."""
    merged: list[_Syntax] = []
    for one in syntax:
        if merged and not merged[-1].is_number and not one.is_number and merged[-1].end == one.start:
            one = _Syntax(merged.pop().start, one.end)
        merged.append(one)
    return merged
