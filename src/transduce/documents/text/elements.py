"""Elements that stand for breaks or notes between words, whichever format writes them: HTML, XLIFF or TMX."""

import re
from collections.abc import Iterator, Sequence

from transduce.documents.segment import Mark, Part, partners

_BLOCKS = (
    "address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu "
    "nav ol optgroup option p plaintext pre search section summary table tbody td tfoot th thead title tr ul xmp"
)
BLOCKS = frozenset(_BLOCKS.split())
"""Elements of HTML between which there is no sentence: those displayed as blocks, items and cells, and line breaks
(HTML standard, section 15.3)."""
ALONE = frozenset(["br", "dd", "dt", "hr", "li", "p", "td", "th", "tr"])
"""Those of the elements that need no end tag."""
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
_TRADE_MARKS = frozenset(["TM", "SM", "MC", "MD"])


def is_break(code: str) -> bool:
    """Returns True if a code of XLIFF or TMX means a break: a type such as `lb`, `x-html-br` or `xlf:lb`, a name of
    Angular such as `LINE_BREAK` or `START_PARAGRAPH`, or a tag of HTML."""
    if tag := _TAG.match(code):
        return tag[1].lower() in BLOCKS
    name = _CODE.match(code.lower())
    return name is not None and name[1] in _CODED


def notes(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """Yields the first and the last index of each element that is a note of the word before it and not a part of it:
    `<sup>1</sup>`, `<sup><a href="#n">[a]</a></sup>`, `<a href="#n">[1]</a>`, but not that of `1<sup>st</sup>`."""
    done = -1
    partner = partners(parts)
    for first, last in sorted((first, last) for first, last in partner.items() if first < last):
        opening = parts[first]
        assert isinstance(opening, Mark)
        inside = parts[first + 1 : last]
        if first <= done or any(isinstance(part, Mark) and (part.is_held or part.breaks) for part in inside):
            continue
        text = "".join(part for part in inside if isinstance(part, str))
        has_link = any(isinstance(part, Mark) and _LINK.match(part.raw) for part in inside)
        is_note = not (_WORDS.search(text) if has_link else any(map(str.isalpha, text))) or text in _TRADE_MARKS
        if text.strip() and (
            (_NOTE.match(opening.raw) and is_note) or (_LINK.match(opening.raw) and _REFERENCE.fullmatch(text))
        ):
            yield first, last
            done = last
