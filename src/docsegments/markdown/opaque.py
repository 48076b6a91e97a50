"""Pieces of Markdown that its parser must not look into: template tags, formulas, addresses and signs of dialects.

The parser reads a stand-in for each of their characters, so that all offsets stay true and nothing in a piece is read
as markup. Each search takes time linear in the length of the text.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Kind = Literal["held", "hidden", "tag", "open", "close"]
"""Role of a piece in a sentence: held, a mark without text, a tag, or a half of a pair."""

MASK, HIDDEN = "\ufdd0", "\ufdd1"
"""Noncharacters, which no text has, in place of the characters of pieces."""

_PUNCTUATION = r"""[!-/:-@\[-`{-~]"""
_FENCE = re.compile(r"^[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)", re.MULTILINE)
_TEMPLATE = re.compile(
    rf"""
      \\{_PUNCTUATION} | (?P<code>`++) | (?P<jsx></?+(?=[A-Za-z>]))
    | (?P<tag>\$?\{{\{{ | \{{% | \{{\#(?=[\s-]) | <% | \{{::(?=comment|nomarkdown)) | (?P<brace>\{{)
    """,
    re.VERBOSE,
)
_TEMPLATE_ENDS = {"{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>", "{:": "{:/"}
_CODE_TAG = re.compile(
    r"\{(?:%-?+|\{<|\{%)\s*+(?P<name>highlight|codeblock|code|mermaid|plantuml|math|katex|latex|comment)\b(?!\s*+/)"
)
_ATTRIBUTE = r"""(?:[\#.][\w:.-]++ | =\w++ | [\w:-]++=(?:"[^"\n]*+"|'[^'\n]*+'|[^\s"'{}]++))"""
_INLINE = re.compile(
    rf"""
      (?P<formula>\\{{1,2}}[(\[]|\$\$?+) | \\{_PUNCTUATION} | (?P<code>`++)
    | (?P<url>(?<![\w<])(?<!\]\()(?:(?:https?|ftp)://|www\.))
    | (?P<hidden>
          \{{(?: ::?[^{{}}\n]*+ | [ ]*+{_ATTRIBUTE}(?:[ ]++{_ATTRIBUTE})*+[ ]*+ )\}}       # attributes
        | \[\^[^\[\]\s]++\]                                                            # a footnote
      )
    | (?P<held>
          (?<![^\W_]):(?=[^:\s]*[a-z]|[+-]1:)[a-z0-9_+-]{{1,64}}+:(?!\w)                 # an emoji
        | \+\+(?:[\w-]++(?:\+[\w-]++)++|ctrl|alt|cmd|del|esc|tab|shift|enter)\+\+      # keys
        | \[-?@\w[^\[\]\n]*+\]                                                         # a citation
      )
    | (?P<wiki>(?P<open>!?\[\[(?:[^\[\]|\n]++\|(?=[^\[\]\n]))?+)(?P<label>[^\[\]\n]++)(?P<close>\]\])) | !?\[\[
    | (?P<pair>==|\^\^|\+\+) | (?P<jsx></?+(?=[A-Za-z>])) | \]\(<?+
    """,
    re.VERBOSE,
)
_URL = re.compile(r"[^\s<>\"`|]++")
_BRACKET = re.compile(r"[()\[\]]")
_AFTER_URL = "?!.,:;*_~'\\"
_TEX = re.compile(r"\\[A-Za-z]|[\^=]|_\{")
_SHORT = re.compile(r"\w_\w|\A\s*+\w?\s*+\Z")
_MATH_SIGN = re.compile(r"[\\^_={}<>]")
_ARITHMETIC = re.compile(r"[+*/-]")
_WORD = re.compile(r"[^\W\d_]{3}")
_WORDS = re.compile(r"[^\W\d_]{3}\s++[^\W\d_]{3}")
_NAMESPACE = re.compile(r"</[\w-]++:|<[\w-]++:[\w-]++\s")
_IN_TAG = re.compile(r"""[^"'{}<>]++ | "[^"]*+" | '[^']*+'""", re.VERBOSE)


@dataclass(frozen=True)
class Opaque:
    """A piece, by its characters in a text."""

    start: int
    end: int
    kind: Kind = "held"
    shown: str = ""
    """Text that a translator reads for the piece."""
    pair: str = ""
    """Name that both halves of a pair share."""


def find_templates(text: str, is_mdx: bool = False) -> list[Opaque]:
    """Finds template tags and components of a file outside its code; in MDX all tags, and {expressions}."""
    return list(_templates(_Text(text), is_mdx))


def find_inline(content: str) -> list[Opaque]:
    """Finds the pieces of a paragraph that has no template tags, in their order."""
    return list(_InlinePieces(content).pieces())


def masked(text: str, pieces: Sequence[Opaque]) -> str:
    """Returns the text with `MASK` or `HIDDEN` for each character of the pieces. Halves of a pair stay."""
    done, written = 0, []
    for piece in pieces:
        if piece.kind not in ("open", "close"):
            stand_in = HIDDEN if piece.kind == "hidden" else MASK
            written += [text[done : piece.start], stand_in * (piece.end - piece.start)]
            done = piece.end
    return "".join([*written, text[done:]])


@dataclass
class _Text:
    """A text in which many searches together take linear time."""

    text: str
    _missing: dict[str, tuple[int, int]] = field(default_factory=dict)

    def find(self, sought: str, start: int, end: int) -> int:
        """Returns the start of the next occurrence before the end, or -1."""
        from_here, until = self._missing.get(sought, (-1, -1))
        if from_here <= start and end <= until:
            return -1
        index = self.text.find(sought, start, end)
        if index < 0:
            self._missing[sought] = (start, end)
        return index

    def end_of_paragraph(self, start: int) -> int:
        """Returns the start of the next blank line, or the end of the text."""
        return self._ends[bisect_right(self._ends, start, hi=len(self._ends) - 1)]

    def end_of_code(self, start: int, length: int) -> int:
        """Returns the end of the code that begins with that many backticks; `start` if they begin none."""
        starts = self._backticks.get(length, [])
        number = bisect_left(starts, start)
        if number < len(starts) and starts[number] < self.end_of_paragraph(start):
            return starts[number] + length
        return start

    @cached_property
    def _ends(self) -> list[int]:
        return [*(match.start() for match in re.finditer(r"\n(?=[ \t>]*+\n)", self.text)), len(self.text)]

    @cached_property
    def _backticks(self) -> dict[int, list[int]]:
        starts: defaultdict[int, list[int]] = defaultdict(list)
        for match in re.finditer("`++", self.text):
            starts[len(match[0])].append(match.start())
        return starts

    @cached_property
    def ends_of_braces(self) -> dict[int, int]:
        """The ends of braces by their beginnings."""
        ends, opened = {}, []
        for match in re.finditer("[{}]", self.text):
            if match[0] == "{":
                opened.append(match.start())
            elif opened:
                ends[opened.pop()] = match.end()
        return ends

    def end_of_tag(self, start: int) -> int:
        """Returns the end of a tag that begins at an offset and may have braces in it, as in JSX; -1 for none."""
        offset = start + 1
        while not self.text.startswith(">", offset):
            if self.text.startswith("{", offset):
                offset = self.ends_of_braces.get(offset, -1)
            else:
                match = _IN_TAG.match(self.text, offset)
                offset = -1 if match is None or "\n\n" in match[0] else match.end()
            if offset < 0:
                return -1
        return offset + 1


def _templates(searched: _Text, is_mdx: bool) -> Iterator[Opaque]:
    text, offset = searched.text, 0
    fence = _FENCE.search(text)
    while match := _TEMPLATE.search(text, offset):
        if fence and fence.start() < match.end():
            offset = max(offset, _end_of_fence(fence))
            fence = _FENCE.search(text, offset)
            continue
        start, offset = match.span()
        if match["code"]:
            offset = searched.end_of_code(offset, len(match["code"]))
        elif match["tag"]:
            start, end = _template_tag(searched, start, match["tag"])
            if end > 0:
                yield Opaque(start, end, shown=text[start:end])
                offset = end
        elif is_mdx and match["brace"] and (end := searched.ends_of_braces.get(start, -1)) > 0:
            shown = "" if text.startswith("{/*", start) or "\n" in text[start:end] else text[start:end]
            yield Opaque(start, end, "held" if shown else "hidden", shown)
            offset = end
        elif match["jsx"] and (is_mdx or text[offset].isupper()) and (end := searched.end_of_tag(start)) > 0:
            yield Opaque(start, end, "tag")
            offset = end


def _end_of_fence(fence: re.Match[str]) -> int:
    sign, text = fence["fence"], fence.string
    match = re.compile(rf"^[ \t>]*+{sign[0]}{{{len(sign)},}}+[ \t]*+$", re.MULTILINE).search(text, fence.end())
    return match.end() if match else len(text)


def _template_tag(searched: _Text, start: int, opening: str) -> tuple[int, int]:
    """Returns the span of the template tag that begins there, or of one in it; an end of 0 for none."""
    text = searched.text
    sign = opening[-2:] if opening[-1] != ":" else "{:"
    limit = searched.end_of_paragraph(start)
    end = searched.find(_TEMPLATE_ENDS[sign], start + len(opening), limit if sign != "{:" else len(text))
    if end < 0:
        return start, 0
    if sign == "{:":
        return start, searched.find("}", end, len(text)) + 1
    inner = text.rfind(sign, start + len(opening), end)
    if inner > 0 and "`" not in text[inner - 1 : inner]:
        start = inner
    end += 2
    while sign == "{{" and text.startswith("}", end):
        end += 1
    code = _CODE_TAG.match(text, start)
    if code is not None:
        sought = [f"{begin}{code['name']}" for begin in ("{% end", "{%- end", "{{< /", "{{% /")]
        if ends := [index for index in (searched.find(a, end, len(text)) for a in sought) if index > 0]:
            stop = searched.find("}", min(ends), len(text)) + 1
            end = stop + text.startswith("}", stop)
    return start, end


class _InlinePieces:
    def __init__(self, content: str) -> None:
        self._text = _Text(content)
        self._closing: dict[int, str] = {}  # where halves of pairs are that close them

    def pieces(self) -> Iterator[Opaque]:
        text, offset = self._text.text, 0
        while match := _INLINE.search(text, offset):
            offset = match.end()
            if match["code"]:
                offset = self._text.end_of_code(offset, len(match["code"]))
            for piece in self._pieces_of(match):
                yield piece
                offset = piece.end

    def _pieces_of(self, match: re.Match[str]) -> Iterator[Opaque]:
        kind, (start, end) = match.lastgroup, match.span()
        if kind == "held":
            yield self._held(start, end)
        elif kind == "hidden":
            yield Opaque(start, end, "hidden")
        elif kind in ("formula", "url"):
            stop = self._end_of_url(end) if kind == "url" else self._end_of_formula(start, end)
            if stop > end:
                yield self._held(start, stop)
        elif kind == "wiki" and match["open"].endswith("|"):
            yield Opaque(*match.span("open"), "open", pair=f"sign {start}")
            yield Opaque(*match.span("close"), "close", pair=f"sign {start}")
        elif kind == "wiki":
            yield Opaque(start, end, shown=match["label"])
        elif kind == "pair":
            yield from self._half(start, end)
        elif kind == "jsx":
            text, stop = self._text.text, self._text.end_of_tag(start)
            if stop > 0 and ("{" in text[start:stop] or _NAMESPACE.match(text, start)):
                yield Opaque(start, stop, "tag")

    def _held(self, start: int, end: int) -> Opaque:
        return Opaque(start, end, shown=" ".join(self._text.text[start:end].split()))

    def _end_of_formula(self, start: int, end: int) -> int:
        """Returns the end of a formula that begins at an offset, or -1."""
        text, sign = self._text.text, self._text.text[start:end]
        limit = self._text.end_of_paragraph(start)
        if sign[0] == "\\":
            closing = sign.replace("(", ")").replace("[", "]")
            stop = self._text.find(closing, end, limit)
            inside = text[end:stop]
            is_formula = stop > 0 and (is_tex(inside) or (sign[-1] == "(" and _SHORT.search(inside)))
            return stop + len(closing) if is_formula else -1
        if sign == "$$":
            stop = self._text.find("$$", end, limit)
            return stop + 2 if stop > end else -1
        before = text[start - 1 : start]
        stop = self._text.find("$", end, limit)
        while stop > 0 and text[stop - 1] == "\\":
            stop = self._text.find("$", stop + 1, limit)
        if stop <= end or before.isalnum() or text[end].isspace() or text[stop - 1].isspace():
            return -1
        if text[stop + 1 : stop + 2].isalnum() or not _is_formula(text[end:stop]):
            return -1
        return stop + 1

    def _end_of_url(self, start: int) -> int:
        """Returns the end of an address without the punctuation after it, given where its host begins."""
        match = _URL.match(self._text.text, start)
        stop = start if match is None else match.end()
        opened: list[str] = []
        for bracket in _BRACKET.finditer(self._text.text, start, stop):
            if bracket[0] in "([":
                opened.append(")" if bracket[0] == "(" else "]")
            elif not opened or opened.pop() != bracket[0]:
                stop = bracket.start()
                break
        return start + len(self._text.text[start:stop].rstrip(_AFTER_URL))

    def _half(self, start: int, end: int) -> Iterator[Opaque]:
        """Yields a half of the signs about a text: ==marked==, ^^inserted^^, ++inserted++."""
        if start in self._closing:
            yield Opaque(start, end, "close", pair=self._closing[start])
            return
        text, sign = self._text.text, self._text.text[start:end]
        before, after = text[start - 1 : start], text[end : end + 1]
        if not after or after.isspace() or after == sign[0] or before.isalnum() or before == sign[0]:
            return
        closing = self._text.find(sign, end, self._text.end_of_paragraph(start))
        if closing > end and not text[closing - 1].isspace() and not text[closing + 2 : closing + 3].isalnum():
            self._closing[closing] = f"sign {start}"
            yield Opaque(start, end, "open", pair=f"sign {start}")


def is_tex(inside: str) -> bool:
    """Returns True if the text between `\\[` and `\\]` is a formula, and no text in brackets."""
    return _TEX.search(inside) is not None and "](" not in inside


def _is_formula(inside: str) -> bool:
    """Returns True if the text between two dollars is a formula, not prices and words."""
    if inside[0] == "{" or (_WORDS.search(inside) and "\\" not in inside):
        return False
    if _MATH_SIGN.search(inside) or not any(map(str.isspace, inside)):
        return True
    return _ARITHMETIC.search(inside) is not None and _WORD.search(inside) is None
