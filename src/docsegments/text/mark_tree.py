"""The marks of a segment as they nest."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Part

BEYOND = Mark("", "alone")
"""Half of a pair whose other half is beyond a break."""


def is_fixed(mark: Mark) -> bool:
    """Returns True if a mark's position in a translation is known before the others': see `place_marks`."""
    return mark.is_held or mark.breaks


@dataclass
class Node:
    """A pair of marks or a single one, by its span in the source's text."""

    order: int
    opening: Mark
    start: int
    end: int
    closing: Mark | None = None
    inside: list["Node"] = field(default_factory=list)
    place: Span = (0, 0)
    """Span in the translation."""


def mark_tree(parts: Sequence[Part], opened: int, crossing: set[str]) -> tuple[list[Node], list[Span]]:
    """Returns marks as they nest, pairs that cross others taken apart; and the spans of the fixed marks in the text."""
    roots: list[Node] = []
    stack: list[Node] = []

    def begin(order: int, mark: Mark, start: int, end: int) -> Node:
        node = Node(order, mark, start, end)
        (stack[-1].inside if stack else roots).append(node)
        return node

    for order in range(opened):
        stack.append(begin(order - opened, BEYOND, 0, 0))
    fixed: list[Span] = []
    offset = 0
    for order, part in enumerate(parts):
        if isinstance(part, str):
            offset += len(part)
            continue
        end = offset + len(part.shown)
        if is_fixed(part):
            fixed.append((offset, end))
        elif part.kind == "close" and part.pair not in crossing:
            node = stack.pop()
            node.closing, node.end = part, offset
        else:
            node = begin(order, part, offset, end)
            if part.kind == "open" and part.pair not in crossing:
                stack.append(node)
        offset = end
    for node in stack:
        node.closing, node.end = BEYOND, offset
    return roots, fixed


def crossing_pairs(marks: Sequence[Mark]) -> set[str]:
    """Returns the crossing pairs whose removal leaves only nested pairs."""
    crossing: set[str] = set()
    opened: list[str] = []
    is_open: set[str] = set()
    for mark in marks:
        if mark.kind == "open":
            opened.append(mark.pair)
            is_open.add(mark.pair)
        elif mark.kind == "close" and mark.pair in is_open:
            is_open.remove(mark.pair)
            while opened and opened[-1] not in is_open and opened[-1] != mark.pair:
                opened.pop()  # closed out of turn
            if opened[-1] != mark.pair:
                crossing.add(mark.pair)
            else:
                opened.pop()
    return crossing
