"""Layout by white space: line ends, tabs and runs of blanks in a text become marks, which stay where they belong."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from docsegments.segment import Mark, Part, joined
from docsegments.sentences import WINDOW, ends_sentence

COLUMN = 3
"""Blanks in a row that set the text after them apart, as a tab does; two are a typing error, or follow a sentence."""
_BLANKS = re.compile(r"(\A\s++|[^\S ]\s*+| \s++| \Z)")  # except single blanks between words
_LINE_END = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def mark_layout(
    parts: Iterable[Part], escape: Callable[[str], str] = str, breaks: Callable[[str], bool] | None = None
) -> list[Part]:
    """Returns the parts with a mark for all white space that lays out the text; single blanks stay text.

    The texts before and after a mark are translated apart at tabs, columns and empty lines; at a single line end only
    if `breaks` returns True, or is not given.

    Args:
        parts: texts and marks. Marks that are shown as white space and are not tags (`&#10;`) belong to the layout.
        escape: writes white space for the document.
        breaks: returns True if a line ends the text that it is part of, given the last characters of that line.
    """
    marked: list[Part] = []
    line = ""  # the last characters before the next part
    for is_layout, group in groupby(_pieces(parts), _is_blank):
        for part in [_blank(list(group), escape, breaks, line)] if is_layout else group:
            marked.append(part)
            line = (line + (part if isinstance(part, str) else part.shown))[-WINDOW:]
            if isinstance(part, Mark) and part.breaks:
                line = ""
    return joined(marked)


def _pieces(parts: Iterable[Part]) -> Iterator[Part]:
    """Yields the parts, each text either white space or without any but single blanks between words."""
    for part in parts:
        if isinstance(part, Mark):
            yield part
        else:
            yield from filter(None, _BLANKS.split(part))


def _is_blank(part: Part) -> bool:
    if isinstance(part, str):
        return part.isspace()
    return part.shown.isspace() and part.kind == "alone" and not part.raw.startswith("<")


def _blank(
    parts: Sequence[Part], escape: Callable[[str], str], breaks: Callable[[str], bool] | None, line: str
) -> Part:
    """Returns white space as one mark, or as text if it is a single blank."""
    shown = "".join(part if isinstance(part, str) else part.shown for part in parts)
    ends = len(_LINE_END.findall(shown))
    if len(parts) == 1 and parts[0] == shown and len(shown) == 1 and not ends and shown != "\t":
        return shown
    if any(isinstance(part, Mark) and part.breaks for part in parts):
        is_break = True
    elif ends == 1:
        is_break = breaks is None or breaks(line)
    else:
        is_break = ends > 1 or "\t" in shown or len(shown) >= COLUMN or (len(shown) > 1 and ends_sentence(line))
    raw = "".join(escape(part) if isinstance(part, str) else part.raw for part in parts)
    return Mark(raw, shown=" ", breaks=is_break)
