"""Elements that stand for breaks or notes between words, whichever format writes them: HTML, XLIFF or TMX."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from docsegments.segment import Mark, Part, partners

Item = TypeVar("Item")
_BLOCKS = (
    "address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu "
    "nav ol optgroup option p plaintext pre search section summary table tbody td tfoot th thead title tr ul xmp"
)
BLOCKS = frozenset(_BLOCKS.split())
"""Elements of HTML between which there is no sentence: those displayed as blocks, items and cells, and line breaks
(HTML standard, section 15.3)."""
ALONE = frozenset(["br", "dd", "dt", "hr", "li", "p", "td", "th", "tr"])
"""Elements of HTML that may have no end tag."""
BETWEEN = frozenset(["", "embed", "image", "img", "input"])
"""Elements that are something between two words, and comments, which have no name."""
_OF_ANGULAR = "paragraph list_item ordered_list unordered_list horizontal_rule line_break cell header_cell row heading"
_CODED = BLOCKS | {"lb", "pb", *_OF_ANGULAR.split()}
_CODE = re.compile(r"(?:x-|xlf:|html[-:]|start_|close_|tag_)*+([a-z0-9_]+?)(?:_level[1-6])?+(?:_\d++)?+\Z")
_TAG = re.compile(r"\s*+</?+([A-Za-z][A-Za-z0-9]*+)(?=[\s/>])")
_NOTE = re.compile(r"(?:<|&lt;)sup\b", re.IGNORECASE)
_LINK = re.compile(r"(?:<|&lt;)a\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]{2}")
_REFERENCE = re.compile(r"\s*+(?:\[[\d\s,;*†‡-]++\]|[*†‡¹²³⁰-⁹]++)\s*+")
_LONGEST_NOTE = 8  # parts
_TRADE_MARKS = frozenset(["TM", "SM", "MC", "MD"])


def is_break(code: str) -> bool:
    """Returns True if a code of XLIFF or TMX means a break: a type such as `lb`, `x-html-br` or `xlf:lb`, a name of
    Angular such as `LINE_BREAK` or `START_PARAGRAPH`, or a tag of HTML."""
    if tag := _TAG.match(code):
        return tag[1].lower() in BLOCKS
    name = _CODE.match(code.lower())
    return name is not None and name[1] in _CODED


def parts_words(name: str, before: object, after: object) -> bool:
    """Returns True if an element is something between two words, given the parts beside it."""
    if name not in BETWEEN or not isinstance(before, str) or not isinstance(after, str):
        return False
    return before[-1:].isalnum() and after[:1].isalnum()


def with_notes(items: Sequence[Item], parts: Sequence[Part], joined: Callable[[Sequence[Item]], Item]) -> list[Item]:
    """Returns items, of which each has a part, with one for each note of a word, as `joined` makes it of several.

    An element is a note if it belongs to the word before it and is not a part of it: `<sup>1</sup>`,
    `<sup><a href="#n">[a]</a></sup>`, `<a href="#n">[1]</a>`, but not the element of `1<sup>st</sup>`.
    """
    merged: list[Item] = []
    done = 0
    for first, last in _notes(parts):
        merged += [*items[done:first], joined(items[first : last + 1])]
        done = last + 1
    return [*merged, *items[done:]]


def _notes(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """Yields the first and the last index of each note."""
    done = -1
    for first, last in sorted(partners(parts).items()):
        if not done < first < last <= first + _LONGEST_NOTE:
            continue
        opening, *marks = (part for part in parts[first:last] if isinstance(part, Mark))
        text = "".join(part for part in parts[first:last] if isinstance(part, str))
        has_link = any(_LINK.match(mark.raw) for mark in marks)
        is_note = not (_WORDS.search(text) if has_link else any(map(str.isalpha, text))) or text in _TRADE_MARKS
        is_raised = _NOTE.match(opening.raw) is not None and is_note
        is_reference = _LINK.match(opening.raw) is not None and _REFERENCE.fullmatch(text) is not None
        if text.strip() and (is_raised or is_reference) and not any(mark.is_held or mark.breaks for mark in marks):
            yield first, last
            done = last
