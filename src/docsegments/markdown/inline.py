"""The inline tokens of Markdown as parts of a segment, with their spans in the content."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from docsegments.html.events import CODE, INLINE, INLINE_VOID
from docsegments.markdown.opaque import Opaque
from docsegments.markdown.parser import Run
from docsegments.segment import Mark, Part, Segment, is_text, partners
from docsegments.text.placeholders import hold, pair_tags

LINED = frozenset(["paragraph", "lheading", "deflist"])
"""The kinds of texts that begin a line of the file."""

SOFT = "soft"
"""The pair of a mark that is the end of a line within a text."""

_TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*+|(?=>))(?P<rest>[^>]*+(?:>[^>]+)*+)>\Z", re.DOTALL)
_TEMPLATE_SIGNS = ("{{", "{%", "<%")
_CODE_ALONE = re.compile(r"(`++)[^`]++\1")
_NOT_TRANSLATED = re.compile(r"""\btranslate=["']?no\b|\bclass=(?:"[^"]*\bnotranslate\b|'[^']*\bnotranslate\b)""")
_DEFINITION = re.compile(r"""\[[^\[\]]++\]:[ \t]++<?\S*[./#]\w\S*(?:[ \t]++(?:"[^"]*+"|'[^']*+'))?[ \t]*+""")
_SIGN = re.compile(
    r"""
      (?P<box>\[[ xX]\](?=\s))                                   # of a task
    | (?P<dialect>                                             # signs that begin a block in a dialect
          (?P<first>[!?:;%^~=+/\\|$&])(?:(?P=first)++(?![\w~])|(?=\s))\s*+
        | \#{1,6}(?=[^\W\d])                                   # a heading, except its blank
        | (?:[|+][\s|:+=-]*+)\Z                                # a line of a table
      )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class RunItem:
    """A part of a text and its span in the content."""

    part: Part
    start: int
    end: int
    escapes: str = ""
    """Escaped form of a single character that would otherwise be markup."""
    token: Any = None
    """The parser's token of an image or a link."""
    is_text: bool = False
    """True if the parser reads a mark as text: the sign of a dialect, or the end of a line."""


def items_of(run: Run, as_lines: bool = True) -> list[RunItem] | None:
    """Returns the parts of a text, line ends as marks if asked; None if the parser's tokens leave characters out."""
    items = _Reader(run).items()
    if items is None:
        return None
    paired = pair_tags([item.part for item in items])
    items = [replace(item, part=part) for item, part in zip(items, paired, strict=True)]
    items = _with_held_elements(run, _with_attributes(items))
    return _with_lines(run.content, items) if as_lines and run.kind in LINED else items


class _Reader:
    def __init__(self, run: Run) -> None:
        self._tokens, self._content = run.tokens, run.content
        self._opaque = [*run.opaque, Opaque(len(run.content), len(run.content))]
        self._opened: list[tuple[str, int]] = []
        self._pairs = 0

    def items(self) -> list[RunItem] | None:
        items: list[RunItem] = []
        offset = 0
        tokens = iter(self._tokens)
        for token in tokens:
            if token.type == "link_open" and token.info == "auto":
                shown = next(tokens).content
                end = next(tokens).meta["end"]
                items.append(RunItem(Mark(self._content[offset:end], shown=shown), offset, end))
                offset = end
                continue
            stop = self._end_of(token, offset)
            if stop is None:
                return None
            if token.type == "text":
                items += self._texts(offset, stop)
            else:
                items.append(self._item(token, offset, stop))
            offset = stop
        return items if offset == len(self._content) else None

    def _end_of(self, token: Any, offset: int) -> int | None:
        """Returns the end of a token that begins at an offset; None if something else is there."""
        if token.type in ("text", "link_open", "bracketed_open") or token.type.split("_")[0] in ("em", "strong", "s"):
            end = offset + len(token.content if token.type == "text" else token.markup or "[")
        else:
            end = token.meta.get("end", -1)
        return end if offset <= end <= len(self._content) else None

    def _texts(self, offset: int, end: int) -> Iterator[RunItem]:
        """Yields texts, with marks for the pieces that the parser did not look into."""
        while offset < end:
            piece = self._opaque[bisect_right(self._opaque, offset, key=attrgetter("end"))]
            if piece.start <= offset:
                stop = min(piece.end, end)
                yield RunItem(self._mark(piece), offset, stop)
            else:
                stop = min(piece.start, end)
                yield RunItem(self._content[offset:stop], offset, stop)
            offset = stop

    def _mark(self, piece: Opaque) -> Mark:
        raw = self._content[piece.start : piece.end]
        if piece.kind in ("open", "close"):
            return Mark(raw, "open" if piece.kind == "open" else "close", piece.pair)
        if piece.kind == "tag":
            return _tag_mark(raw)
        if raw.startswith(_TEMPLATE_SIGNS):  # of which some divide sentences
            held = hold([raw])
            if len(held) == 1 and isinstance(held[0], Mark):
                return held[0]
        is_apart = raw.startswith("{") and self._content[piece.start - 1 : piece.start].isspace()
        is_text = piece.kind == "hidden" and is_apart and not _is_line_end(self._content, piece.end)
        return Mark(raw, shown=raw if is_text else piece.shown)

    def _item(self, token: Any, start: int, end: int) -> RunItem:
        raw = self._content[start:end]
        if token.type == "text_special":
            return RunItem(token.content, start, end, raw if raw != token.content else "")
        if token.type == "softbreak":
            return RunItem(Mark(raw, pair=SOFT, shown=" "), start, end)
        if token.type == "hardbreak":
            return RunItem(Mark(raw, shown=" ", breaks=True), start, end)
        if token.type == "code_inline":
            size = len(token.markup)
            return RunItem(Mark(raw, shown=" ".join(raw[size:-size].split()) or raw), start, end)
        if token.type == "html_inline":
            return RunItem(_tag_mark(raw), start, end)
        if token.nesting == 1:
            self._pairs += 1
            self._opened.append((f"mark {self._pairs}", end))
            return RunItem(Mark(raw, "open", self._opened[-1][0]), start, end)
        if token.nesting == -1:
            pair, label = self._opened.pop()
            name = self._content[label:start]
            if token.type == "link_close" and raw in ("]", "][]") and not _CODE_ALONE.fullmatch(name):
                raw = f"][{' '.join(name.split())}]"  # its text is the name of its definition
            return RunItem(Mark(raw, "close", pair), start, end, token=token)
        return RunItem(Mark(raw), start, end, token=token)


def _is_line_end(content: str, offset: int) -> bool:
    rest = content[offset : offset + 200].lstrip(" \t")
    return not rest or rest[0] in "\n#"


def _tag_mark(raw: str) -> Mark:
    """Returns the mark of a tag, or of a comment, to be paired by `pair_tags`."""
    tag = _TAG.match(raw)
    if tag is None:
        return Mark(raw)
    name = tag["name"]
    if name.lower() == "br":
        return Mark(raw, shown=" ", breaks=True)
    if name[:1].islower() and name.lower() not in INLINE | INLINE_VOID | CODE:
        return Mark(raw, shown=" ", breaks=True)
    if name.lower() in INLINE_VOID or tag["rest"].endswith("/"):
        return Mark(raw)
    return Mark(raw, "close" if tag["close"] else "open", f"<{name}")


def _with_attributes(items: Sequence[RunItem]) -> list[RunItem]:
    """Joins each list of attributes to the mark that it directly follows."""
    merged: list[RunItem] = []
    for item in items:
        before = merged[-1] if merged else item
        mark, part = before.part, item.part
        if (
            isinstance(mark, Mark)
            and isinstance(part, Mark)
            and (part.raw.startswith("{") and not part.shown and before.end == item.start)
            and (mark.kind != "open" and not mark.breaks and mark.pair != SOFT)
        ):
            merged[-1] = replace(before, part=replace(mark, raw=mark.raw + part.raw), end=item.end)
        else:
            merged.append(item)
    return merged


def _with_held_elements(run: Run, items: Sequence[RunItem]) -> list[RunItem]:
    """Returns the items, with one mark for each element whose text is held."""
    partner = partners([item.part for item in items])
    merged: list[RunItem] = []
    number = 0
    while number < len(items):
        item, last = items[number], partner.get(number, -1)
        if last > number and isinstance(item.part, Mark) and _is_held(item.part.raw):
            inside = Segment(tuple(inner.part for inner in items[number + 1 : last])).text
            start, end = item.start, items[last].end
            item = RunItem(Mark(run.content[start:end], shown=" ".join(inside.split())), start, end)
            number = last
        merged.append(item)
        number += 1
    return merged


def _is_held(raw: str) -> bool:
    tag = _TAG.match(raw)
    return tag is not None and (tag["name"].lower() in CODE or _NOT_TRANSLATED.search(tag["rest"]) is not None)


def _with_lines(content: str, items: Sequence[RunItem]) -> list[RunItem]:
    """Joins the lines of a paragraph to one text, except for lines that may be markup of a dialect."""
    lines: list[list[RunItem]] = [[]]
    ends: list[RunItem] = []
    for item in items:
        part = item.part
        if isinstance(part, Mark) and (part.pair == SOFT or (part.breaks and part.raw.endswith("\n"))):
            ends.append(item)
            lines.append([])
        else:
            lines[-1].append(item)
    for line in lines:
        if line and _DEFINITION.fullmatch(content, line[0].start, line[-1].end):
            start, end = line[0].start, line[-1].end
            held = Mark(content[start:end], shown=" ".join(content[start:end].split()))
            line[:] = [RunItem(held, start, end, is_text=True)]
    signs = [_sign(line, is_first=number == 0) for number, line in enumerate(lines)]
    is_list = any(sign is not None and sign["dialect"] is not None and sign["dialect"][0] in ":|+" for sign in signs)
    are_apart = [is_list or _is_apart(line, sign) for line, sign in zip(lines, signs, strict=True)]
    merged: list[RunItem] = []
    for number, (line, sign) in enumerate(zip(lines, signs, strict=True)):
        if number:
            end_of_line = ends[number - 1]
            is_apart = are_apart[number] or are_apart[number - 1]
            assert isinstance(end_of_line.part, Mark)
            if end_of_line.part.pair == SOFT:
                mark = Mark(end_of_line.part.raw, shown=" ", breaks=True)
                end_of_line = replace(end_of_line, part=mark if is_apart else " ", is_text=True)
            merged.append(end_of_line)
        if sign is not None:
            first = line[0]
            stop = first.start + sign.end()
            assert isinstance(first.part, str)
            merged.append(RunItem(Mark(sign[0]), first.start, stop, is_text=True))
            line = [RunItem(first.part[sign.end() :], stop, first.end), *line[1:]]
        merged += line
    return [item for item in merged if item.part != ""]


def _sign(line: Sequence[RunItem], is_first: bool) -> re.Match[str] | None:
    if not line or not isinstance(line[0].part, str) or line[0].escapes:
        return None
    match = _SIGN.match(line[0].part)
    return None if match is None or (match["box"] and not is_first) else match


def _is_apart(line: Sequence[RunItem], sign: re.Match[str] | None) -> bool:
    """Returns True if a line is not a part of the sentence about it: it begins with a dialect's sign, or has no
    text."""
    if any(item.is_text for item in line):
        return True
    return (sign is not None and sign["dialect"] is not None) or not any(is_text(item.part) for item in line)
