"""The inline tokens of Markdown as parts of a segment, with their places in the content."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transduce.documents.html.events import CODE, INLINE, INLINE_VOID
from transduce.documents.markdown.opaque import Opaque
from transduce.documents.markdown.parser import Run
from transduce.documents.segment import Mark, Part, Segment, is_text, partners
from transduce.documents.text.placeholders import hold, pair_tags

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
    | (?P<own>                                                 # what a dialect may begin a block with
          (?P<first>[!?:;%^~=+/\\|$&])(?:(?P=first)++(?![\w~])|(?=\s))\s*+
        | \#{1,6}(?=[^\W\d])                                   # a heading, but for its blank
        | (?:[|+][\s|:+=-]*+)\Z                                # a line of a table
      )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class RunItem:
    """A part of a text and its place in the content."""

    part: Part
    start: int
    end: int
    escapes: str = ""
    """Escaped form of a text of one character that would else be markup."""
    token: Any = None
    """The parser's token of an image or a link."""
    is_text: bool = False
    """True if the parser takes a mark for text: the sign of a dialect, or the end of a line."""


def items_of(run: Run, as_lines: bool = True) -> list[RunItem] | None:
    """Parts of a text, with line ends as marks if asked; None if the parser's tokens are not all of its characters."""
    items = _Reader(run).items()
    if items is None:
        return None
    paired = pair_tags([item.part for item in items])
    items = [replace(item, part=part) for item, part in zip(items, paired, strict=True)]
    items = _with_held_elements(run, _with_attributes(items))
    return _with_lines(run.content, items) if as_lines and run.kind in LINED else items


class _Reader:
    def __init__(self, run: Run) -> None:
        self._run, self._content = run, run.content
        self._opaque = [*run.opaque, Opaque(len(run.content), len(run.content))]
        self._next = 0  # of the opaque pieces
        self._opened: list[tuple[str, int]] = []
        self._pairs = 0

    def items(self) -> list[RunItem] | None:
        items: list[RunItem] = []
        place = 0
        tokens = iter(self._run.tokens)
        for token in tokens:
            if token.type == "link_open" and token.info == "auto":
                shown = next(tokens).content
                end = next(tokens).meta["end"]
                items.append(RunItem(Mark(self._content[place:end], shown=shown), place, end))
                place = end
                continue
            stop = self._end_of(token, place)
            if stop is None:
                return None
            if token.type == "text":
                items += self._texts(place, stop)
            else:
                items.append(self._item(token, place, stop))
            place = stop
        return items if place == len(self._content) else None

    def _end_of(self, token: Any, place: int) -> int | None:
        """End of a token that begins at a place; None if something else is there."""
        if token.type in ("text", "link_open", "bracketed_open") or token.type.split("_")[0] in ("em", "strong", "s"):
            end = place + len(token.content if token.type == "text" else token.markup or "[")
        else:
            end = token.meta.get("end", -1)
        return end if place <= end <= len(self._content) else None

    def _texts(self, place: int, end: int) -> Iterator[RunItem]:
        """Text, with marks for the pieces that the parser did not look into."""
        while place < end:
            while self._opaque[self._next].end <= place and self._next < len(self._opaque) - 1:
                self._next += 1
            piece = self._opaque[self._next]
            if piece.start <= place < piece.end:
                stop = min(piece.end, end)
                yield RunItem(self._mark(piece), place, stop)
            else:
                stop = min(piece.start, end) if piece.start > place else end
                yield RunItem(self._content[place:stop], place, stop)
            place = stop

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
                raw = f"][{' '.join(name.split())}]"  # its text is the name of what it links to
            return RunItem(Mark(raw, "close", pair), start, end, token=token)
        return RunItem(Mark(raw), start, end, token=token)


def _is_line_end(content: str, place: int) -> bool:
    rest = content[place : place + 200].lstrip(" \t")
    return not rest or rest[0] in "\n#"


def _tag_mark(raw: str) -> Mark:
    """The mark of a tag, or of a comment, to be paired by `pair_tags`."""
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
    """The items, in which a list of attributes belongs to the mark that it follows at once."""
    found: list[RunItem] = []
    for item in items:
        before = found[-1] if found else None
        mark = before.part if before is not None else None
        if before is None or not isinstance(mark, Mark) or not isinstance(item.part, Mark):
            found.append(item)
            continue
        is_list = item.part.raw.startswith("{") and not item.part.shown and before.end == item.start
        if is_list and mark.kind != "open" and not mark.breaks and mark.pair != SOFT:
            found[-1] = replace(before, part=replace(mark, raw=mark.raw + item.part.raw), end=item.end)
        else:
            found.append(item)
    return found


def _with_held_elements(run: Run, items: Sequence[RunItem]) -> list[RunItem]:
    """The items, with one mark for each element whose text is held."""
    partner = partners([item.part for item in items])
    found: list[RunItem] = []
    number = 0
    while number < len(items):
        item, last = items[number], partner.get(number, -1)
        if last > number and isinstance(item.part, Mark) and _is_held(item.part.raw):
            inside = Segment(tuple(one.part for one in items[number + 1 : last])).text
            start, end = item.start, items[last].end
            item = RunItem(Mark(run.content[start:end], shown=" ".join(inside.split())), start, end)
            number = last
        found.append(item)
        number += 1
    return found


def _is_held(raw: str) -> bool:
    tag = _TAG.match(raw)
    return tag is not None and (tag["name"].lower() in CODE or _NOT_TRANSLATED.search(tag["rest"]) is not None)


def _with_lines(content: str, items: Sequence[RunItem]) -> list[RunItem]:
    """The items, in which the lines of a paragraph are one text, but for lines that may be something of a dialect."""
    lines: list[list[RunItem]] = [[]]
    for item in items:
        if isinstance(item.part, Mark) and (
            item.part.pair == SOFT or (item.part.breaks and item.part.raw.endswith("\n"))
        ):
            lines.append([item])
        else:
            lines[-1].append(item)
    for number, line in enumerate(lines):
        skipped = 1 if number else 0
        if len(line) > skipped and _DEFINITION.fullmatch(content, line[skipped].start, line[-1].end):
            start, end = line[skipped].start, line[-1].end
            held = Mark(content[start:end], shown=" ".join(content[start:end].split()))
            line[skipped:] = [RunItem(held, start, end, is_text=True)]
    signs = [_sign(line, number) for number, line in enumerate(lines)]
    is_list = any(sign is not None and sign["own"] is not None and sign["own"][0] in ":|+" for sign in signs)
    is_own = [is_list or _is_own(line, sign) for line, sign in zip(lines, signs, strict=True)]
    found: list[RunItem] = []
    for number, (line, sign) in enumerate(zip(lines, signs, strict=True)):
        if number:
            soft, *line = line
            is_apart = is_own[number] or is_own[number - 1]
            assert isinstance(soft.part, Mark)
            if soft.part.pair != SOFT:
                found.append(soft)
            else:
                part = Mark(soft.part.raw, shown=" ", breaks=True) if is_apart else " "
                found.append(RunItem(part, soft.start, soft.end, is_text=True))
        if sign is not None:
            first = line[0]
            stop = first.start + sign.end()
            assert isinstance(first.part, str)
            found.append(RunItem(Mark(sign[0]), first.start, stop, is_text=True))
            line = [RunItem(first.part[sign.end() :], stop, first.end), *line[1:]]
        found += line
    return [item for item in found if item.part != ""]


def _sign(line: Sequence[RunItem], number: int) -> re.Match[str] | None:
    first = line[1 if number else 0] if len(line) > (1 if number else 0) else None
    if first is None or not isinstance(first.part, str) or first.escapes:
        return None
    found = _SIGN.match(first.part)
    return None if found is None or (number and found["box"]) else found


def _is_own(line: Sequence[RunItem], sign: re.Match[str] | None) -> bool:
    """Returns True if a line is no part of the sentence about it: it begins as no text does, or has no text."""
    if any(item.is_text for item in line):
        return True
    return (sign is not None and sign["own"] is not None) or not any(is_text(item.part) for item in line)
