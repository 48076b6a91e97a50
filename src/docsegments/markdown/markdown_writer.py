"""Writes translations as Markdown, and reads them again to check that they have the same marks and words."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal

from docsegments.document import Edit, TextFile
from docsegments.markdown.inline import LINED, SOFT, RunItem, items_of
from docsegments.markdown.parser import MarkdownParser, Run
from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Part, Segment, joined

Care = Literal["as the source", "usual", "all"]
"""Extent of escaping possible markup: characters that the source escapes, those that usually must be, or all."""

_USUAL = re.compile(r"[\\`\[\]<|]|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|~~|\{\{|\{%|\}\}|%\}")
_USUAL_IN_MDX = re.compile(rf"{_USUAL.pattern}|[{{}}]")
_ALL = re.compile(r"[!-/:-@\[-`{-~]")
_BACKSLASHED = frozenset("\\`*_[]()#+-.!>{}")
"""Signs that every dialect lets a backslash escape; others are written as character references."""
_BLANK = Mark("&#32;", pair=SOFT)  # keeps a mark at the beginning of a line from beginning a block
_PLAIN = re.compile(r"""[^\W_](?:[^\W_]|[ .,;?'"()/%-])*+""")
_WORDS = re.compile(r"\s+|\S(?:.*\S)?", re.DOTALL)
"""Words with the blanks between them, and the blanks before and after them."""
_MARKUP_AFTER = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCK = re.compile(
    r"""
      (?P<sign>\#{1,6} | [-+*](?=\s|\Z) | > | [=-](?=[=-]*\s*\Z) | ~(?=~~) | [!?](?=[!?]{2}) | :(?=\s|:) | =(?=={2})
             | \| | /(?=//) | \*(?=\[) | \{(?=[:\#.%{\ ]) | \[(?=[!^\[]|[ xX]\]\s|_?TOC|[^\]]*\]:) | \+(?=\+\+)
             | \$(?=\$) | %(?=%) | \^(?=\^|\w+\Z) | <(?=<<) | @(?=\[) )
    | \d{1,9}(?P<number>[.)])(?=\s|\Z)
    """,
    re.VERBOSE,
)
"""Signs that begin a block of another kind at the beginning of a line, in any dialect."""
_SCRIPT = re.compile(r"(?:im|ex)port\b")
_EMPHASIS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del", "==": "mark", "^^": "ins", "++": "ins"}
_IN_CELL = frozenset(["table", "row"])


@dataclass(frozen=True)
class _Known:
    """A mark of the source."""

    view: str
    """The mark as the parser sees it, without the signs that begin the lines of a quotation."""
    span: Span | None
    """Span in the file, if the mark is written in the same way there."""
    is_text: bool = False
    """True if the parser reads the mark as text: signs of dialects and ends of lines."""


class MarkdownWriter:
    """Writes translations of one text."""

    def __init__(
        self, parser: MarkdownParser, run: Run, items: Sequence[RunItem], file: TextFile, offset: Callable[[int], int]
    ) -> None:
        self._parser, self._run, self._file = parser, run, file
        self.head, self.tail, self.replaced = "", "", 0
        """Text that is written before and after the run, and the number of characters after it that are left out."""
        self._start, self._end = offset(0), offset(len(run.content))
        self._escaped = {
            item.part: item.escapes
            for item in items
            if isinstance(item.part, str) and len(item.part) == 1 and item.escapes and not item.part.isalnum()
        }
        self._bare = {c for item in items if isinstance(item.part, str) and not item.escapes for c in item.part}
        if "&" in self._bare:  # which a backslash does not escape in every dialect
            self._escaped.pop("&", None)
        self._known: defaultdict[str, list[_Known]] = defaultdict(list)
        self.parts: list[Part] = []
        for item in items:
            if isinstance(item.part, str):
                self.parts.append(item.part)
                continue
            view = run.content[item.start : item.end]
            is_exact = view == item.part.raw
            span = (offset(item.start), offset(item.end)) if is_exact else None
            raw = file.text[slice(*span)] if span else item.part.raw
            self.parts.append(replace(item.part, raw=raw))
            self._known[raw].append(_Known(item.part.raw, span, item.is_text))

    def escape_held(self, text: str) -> str:
        """Writes a text that is held."""
        return text if text in self._run.content else self._escape(text, "as the source")

    def write(self, segment: Segment) -> list[Edit]:
        """Returns the edit that puts a translation into the file."""
        parts = _tidied(segment.parts)
        tried: list[tuple[Care, list[Part]]] = [("as the source", parts), ("usual", parts), ("all", parts)]
        tried += [("usual", other) for other in (_respelt(parts, _stars), _respelt(parts, _tag)) if other != parts]
        if self._run.kind in LINED:
            tried.append(("usual", [_BLANK, *parts]))
        for care, candidate in tried:
            pieces, view = self._written(candidate, care)
            if self._is_right(candidate, view):
                break
        else:
            pieces, _ = self._written(parts, "usual")
        return [self._file.edit(self._start, self._end + self.replaced, self.head, *pieces, self.tail)]

    def _written(self, parts: Sequence[Part], care: Care) -> tuple[list[str | Span], str]:
        """Returns the pieces of the file, and the content that the parser will see."""
        pieces: list[str | Span] = []
        view: list[str] = []
        is_begin = self._run.kind in LINED
        for number, (part, known) in enumerate(self._with_known(parts)):
            if isinstance(part, str):
                text = part.lstrip() if not view or view[-1].endswith("\n") else part
                text = text.rstrip() if number == len(parts) - 1 else text
                written = self._escape(text, care)
                if is_begin and text:
                    written = self._without_block(written, is_first=number == 0)
                if number == len(parts) - 1 and self._run.kind == "heading":
                    written = re.sub(r"(?<!#)#++\Z", lambda signs: r"\#" * len(signs[0]), written)
                pieces.append(written)
                view.append(written.replace("\\|", "|") if self._run.kind in _IN_CELL else written)
                is_begin = is_begin and not text
            else:
                pieces.append(known.span if known is not None and known.span is not None else part.raw)
                view.append(known.view if known is not None else part.raw)
                is_begin = view[-1].endswith("\n") and self._run.kind in LINED
        return pieces, "".join(view)

    def _with_known(self, parts: Sequence[Part]) -> Iterator[tuple[Part, _Known | None]]:
        """Yields the parts, each mark with the source's mark of the same text that is not used yet."""
        waiting = {raw: list(reversed(known)) for raw, known in self._known.items()}
        for part in parts:
            same = waiting.get(part.raw) if isinstance(part, Mark) else None
            yield part, same.pop() if same else None

    def _escape(self, text: str, care: Care) -> str:
        """Writes a text so that it is not markup."""
        is_cell = self._run.kind in _IN_CELL
        bare = self._bare if care == "as the source" else frozenset()

        def written(match: re.Match[str]) -> str:
            sign = match[0]
            if sign in self._escaped:
                return self._escaped[sign]
            if sign == "|":
                return "&#124;" if care == "all" else "\\|" if is_cell else "|"
            if sign in bare and not (sign == "<" and _MARKUP_AFTER.match(text, match.start())):
                return sign
            if care == "usual" and sign == "<" and not _MARKUP_AFTER.match(text, match.start()):
                return sign
            return "".join(f"&#{ord(character)};" if care == "all" else _reference(character) for character in sign)

        pattern = _ALL if care == "all" else _USUAL_IN_MDX if self._parser.is_mdx else _USUAL
        if not self._escaped:
            return pattern.sub(written, text)
        escaped = "|".join(map(re.escape, self._escaped))
        return re.sub(f"{escaped}|{pattern.pattern}", written, text)

    def _without_block(self, written: str, is_first: bool) -> str:
        """Escapes a text at the beginning of a line so that it begins no block of another kind."""
        if is_first and self._parser.is_mdx and _SCRIPT.match(written):
            return f"&#{ord(written[0])};{written[1:]}"
        match = _BLOCK.match(written)
        if match is None:
            return written
        index = match.start("number") if match["number"] else 0
        return f"{written[:index]}{_reference(written[index])}{written[index + 1 :]}"

    def _is_right(self, parts: Sequence[Part], view: str) -> bool:
        """Returns True if the parser finds the marks and the words again."""
        if len(parts) == 1 and isinstance(parts[0], str) and _PLAIN.fullmatch(view):
            return True
        if self._is_another_block(view):
            return False
        items = items_of(self._parser.run(view, self._run.kind), as_lines=False)
        return items is not None and list(_flat(self._as_parsed(parts))) == list(_flat(item.part for item in items))

    def _is_another_block(self, view: str) -> bool:
        """Returns True if the parser would no longer read a paragraph here."""
        if self._run.kind not in LINED or (view[:1].isalpha() and "\n" not in view):
            return False
        return self._is_paragraph and not self._parser.is_paragraph(view)

    @cached_property
    def _is_paragraph(self) -> bool:
        return self._parser.is_paragraph(self._run.content)

    def _as_parsed(self, parts: Sequence[Part]) -> Iterator[Part]:
        """Yields the parts as the parser would see them."""
        for part, known in self._with_known(parts):
            if isinstance(part, Mark) and known is not None:
                yield known.view if known.is_text else replace(part, raw=known.view)
            else:
                yield part.shown if isinstance(part, Mark) and part.is_held else part


def _flat(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    """Yields words and marks, without white space."""
    for part in joined(" " if isinstance(part, Mark) and part.pair == SOFT else part for part in parts):
        if isinstance(part, Mark):
            yield "mark", part.raw
        elif part.strip():
            yield "text", " ".join(part.split())


def _reference(sign: str) -> str:
    """Writes a character so that it is not markup."""
    if sign == "<":
        return "&lt;"
    if sign == "&":
        return "&amp;"
    return f"\\{sign}" if sign in _BACKSLASHED else f"&#{ord(sign)};"


def _tidied(parts: Sequence[Part]) -> list[Part]:
    """Moves blanks at the ends of emphasis out of it, and removes emphasis about nothing."""
    tidy: list[Part] = []
    for part in chain.from_iterable(_WORDS.findall(part) if isinstance(part, str) else [part] for part in parts):
        index = len(tidy)
        if isinstance(part, str) and part.isspace():
            while index and _is_emphasis(tidy[index - 1], "open"):
                index -= 1
        elif isinstance(part, Mark) and _is_emphasis(part, "close"):
            before = tidy[-1] if tidy else ""
            if isinstance(before, Mark) and _is_emphasis(before, "open") and before.pair == part.pair:
                tidy.pop()
                continue
            index -= isinstance(before, str) and before.isspace()
        tidy.insert(index, part)
    return joined(tidy)


def _is_emphasis(part: Part, kind: str) -> bool:
    return isinstance(part, Mark) and part.kind == kind and part.raw in _EMPHASIS


def _respelt(parts: Sequence[Part], spelling: Callable[[Mark], str]) -> list[Part]:
    """Returns the parts with signs of emphasis written in another way."""
    return [
        replace(part, raw=spelling(part))
        if isinstance(part, Mark) and part.kind != "alone" and part.raw in _EMPHASIS
        else part
        for part in parts
    ]


def _stars(mark: Mark) -> str:
    """Writes a sign of emphasis with * in place of _, which is not markup within words."""
    return mark.raw.replace("_", "*")


def _tag(mark: Mark) -> str:
    """Writes a sign of emphasis as a tag of HTML, which may stand beside any character."""
    return f"<{'/' * (mark.kind == 'close')}{_EMPHASIS[mark.raw]}>"
