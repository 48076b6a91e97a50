"""Reads the blocks of Markdown with markdown-it, and the offset in the file of each character of their texts."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from docsegments.extras import require
from docsegments.markdown import blocks as markdown_blocks
from docsegments.markdown.blocks import INTERRUPTING, Origins, Rule
from docsegments.markdown.opaque import HIDDEN, MASK, Opaque, find_inline, find_templates, masked
from docsegments.user_errors import InputError

DEEPEST = 80
"""Levels of the parser: a quotation is one, a list and its items are two."""

_AFTER_BRACKETS = re.compile(
    rf"\[\w++(?:[._/#:-]\w++)++\] | (?<=`\])\[\] | {HIDDEN}++ | (?P<address>\([^()]*+(?:\([^()]*+\)[^()]*+)*+\))",
    re.VERBOSE,
)
_ADDRESS = re.compile(r"[./#]\w")
_DEFINITION = re.compile(
    r"""\[(?>[^\[\]\\]|\\.)*+\]:\s*+(?><[^<>\n]*+>|\S++)(?:\s++(?P<title>"[^"]*+"|'[^']*+'|\([^()]*+\))\s*+\Z)?""",
    re.DOTALL,
)
_MASKED = re.compile(f"[{MASK}{HIDDEN}]")
_TITLE_OF_CODE = re.compile(r"""\b(?:title|fig\.cap|fig\.alt)\s?=\s?(?P<title>"[^\s"]*+\s[^"]*+"|'[^\s']*+\s[^']*+')""")
"""A title of several words; others are names of files."""
_NESTING = {"block": DEEPEST + 20, "inline": 20}  # where the parser would leave blocks out, and read brackets as text


@dataclass(frozen=True)
class Run:
    """A text with marks in it: a paragraph, a heading, a cell and the like."""

    kind: str
    """The rule of the parser that found it."""
    content: str
    """The text, without the signs that begin the lines of a quotation or a list."""
    origins: Origins
    """Pairs of offsets, in the content and in the source, from which both advance together."""
    opaque: Sequence[Opaque]
    """Pieces of the content that the parser did not look into."""
    tokens: Sequence[Any]
    """The inline tokens of the content."""

    def offset(self, index: int) -> int:
        """Returns the offset in the source of a character of the content."""
        number = bisect_right(self.origins, index, key=itemgetter(0)) - 1
        in_content, in_source = self.origins[number]
        return in_source + index - in_content


@dataclass(frozen=True)
class HtmlBlock:
    """Lines of HTML, by the first and last offset of each, without the signs that begin the lines of a quotation."""

    lines: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Title:
    """The title of a link definition: `[name]: address "title"`."""

    start: int
    end: int


Block = Run | HtmlBlock | Title | Opaque


class MarkdownParser:
    """A parser of all dialects for one document."""

    def __init__(self, name: str, is_mdx: bool) -> None:
        self.is_mdx = is_mdx
        self._name = name
        self._parser = _parser(is_mdx)
        self._env: dict[str, Any] = {}
        """Definitions that links refer to."""

    def blocks(self, text: str) -> Iterator[Block]:
        """Yields all texts in their order; before them the tags of template languages and of components.

        Raises InputError for blocks that lie too deep in each other.
        """
        templates = find_templates(text, self.is_mdx)
        tokens = self._block_tokens(masked(text, templates), self._env)
        for token in tokens:
            if token.level >= DEEPEST:
                raise InputError(
                    f"{self._name}: line {token.map[0] + 1 if token.map else '?'}: quotations and lists lie more than "
                    f"{DEEPEST // 2} deep in each other; write them less deep"
                )
        code = [token.meta["lines"] for token in tokens if token.type in ("fence", "code_block")]
        for piece in templates:
            number = bisect_right(code, piece.start, key=lambda lines: lines[-1][1])
            if number == len(code) or piece.start < code[number][0][0]:
                yield piece
        for token in tokens:
            if token.type == "html_block":
                yield HtmlBlock(token.meta["lines"])
            elif token.type == "title":
                yield Title(*token.meta["title"])
            elif token.type == "fence" and (match := _TITLE_OF_CODE.search(text, *token.meta["lines"][0])):
                yield Title(*match.span("title"))
            elif token.type == "inline" and token.content.strip():
                yield self._run(text, token, templates)

    def run(self, content: str, kind: str) -> Run:
        """Parses a text that stands alone, as this document would."""
        return self._parsed(kind, content, [(0, 0)], find_templates(content, self.is_mdx))

    def is_paragraph(self, content: str) -> bool:
        """Returns True if a text that stands alone is one paragraph and nothing else."""
        tokens = self._block_tokens(masked(content, find_templates(content, self.is_mdx)), {})
        return [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]

    def _block_tokens(self, text: str, env: dict[str, Any]) -> list[Any]:
        tokens: list[Any] = []
        self._parser.options["maxNesting"] = _NESTING["block"]
        self._parser.block.parse(text, self._parser, env, tokens)
        return tokens

    def _run(self, text: str, token: Any, templates: Sequence[Opaque]) -> Run:
        run = Run(token.meta["kind"], token.content, token.meta["origins"], (), ())
        opaque, written, done = [], [], 0
        while match := _MASKED.search(token.content, done):
            piece = templates[bisect_right(templates, run.offset(match.start()), key=attrgetter("start")) - 1]
            written += [token.content[done : match.start()], text[piece.start : piece.end]]
            done = match.start() + piece.end - piece.start
            opaque.append(replace(piece, start=match.start(), end=done))
        return self._parsed(run.kind, "".join([*written, token.content[done:]]), run.origins, opaque)

    def _parsed(self, kind: str, content: str, origins: Origins, templates: Sequence[Opaque]) -> Run:
        without = masked(content, templates)
        inline = find_inline(without)
        tokens: list[Any] = []
        self._parser.options["maxNesting"] = _NESTING["inline"]
        self._parser.inline.parse(masked(without, inline), self._parser, self._env, tokens)
        opaque = sorted(chain(templates, inline), key=attrgetter("start"))
        return Run(kind, content, origins, opaque, tokens)


def _parser(is_mdx: bool) -> Any:
    """Returns markdown-it with rules of dialects; it notes offsets of texts and keeps escaped characters apart."""
    parser = (
        require("markdown_it", "documents")
        .MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .disable("text_join")
    )
    block, inline = parser.block.ruler, parser.inline.ruler
    for name in ("held_line", "box", "formula"):
        block.before("fence", name, getattr(markdown_blocks, name), INTERRUPTING)
    block.before("list", "script", markdown_blocks.script)
    block.after("html_block", "row", markdown_blocks.row, {"alt": ["paragraph", "reference"]})
    require("mdit_py_plugins.deflist", "documents").deflist_plugin(parser)
    footnotes = require("mdit_py_plugins.footnote.index", "documents")
    block.before("reference", "footnote_def", footnotes.footnote_def, {"alt": ["paragraph", "reference"]})
    if is_mdx:
        parser.disable(["code", "html_block", "autolink"])
    inline.after("link", "bracketed", _bracketed)
    for rule in list(block.__rules__):
        block.at(rule.name, _noting_origins(rule.name, rule.fn), {"alt": rule.alt})
    for rule in list(inline.__rules__):
        inline.at(rule.name, rule.fn if rule.name == "text" else _noting_end(rule.fn), {"alt": rule.alt})
    return parser


def _noting_origins(name: str, rule: Rule) -> Rule:
    """Wraps the rule of a block so that it notes where in the source each text is."""

    def noted(state: Any, line: int, end: int, silent: bool) -> bool:
        count = len(state.tokens)
        if not rule(state, line, end, silent):
            return False
        if silent:
            return True
        for token in state.tokens[count:]:
            if token.type in ("html_block", "fence", "code_block") and "lines" not in token.meta:
                token.meta["lines"] = [(state.bMarks[n], state.eMarks[n]) for n in range(*token.map)]
                token.meta["lines"][0] = (state.bMarks[line] + state.tShift[line], state.eMarks[line])
            elif token.type == "inline" and "kind" not in token.meta:
                token.meta["kind"] = name
                if "origins" not in token.meta:
                    token.meta["origins"] = _origins(state, token, name)
        if name == "table":
            _note_cells(state, state.tokens[count:])
        elif name == "reference":
            _note_title(state, line)
        return True

    return noted


def _origins(state: Any, token: Any, name: str) -> Origins:
    """Returns the origins of the lines of a text, which end where the file's lines do, except for blanks."""
    origins, size = [], 0
    for number, content in enumerate(token.content.split("\n"), token.map[0]):
        begin = state.bMarks[number] + state.tShift[number]
        if name == "heading":
            while begin < state.eMarks[number] and state.src[begin] in "# \t":
                begin += 1
        stripped = content.lstrip(" \t")
        index = state.src.find(stripped, begin, state.eMarks[number])
        blanks = len(content) - len(stripped)
        origins.append((size + blanks if number > token.map[0] else size, max(index, begin)))
        size += len(content) + 1
    return origins


def _note_cells(state: Any, tokens: Sequence[Any]) -> None:
    """Notes where the cells of a table are: the parser takes away the backslashes before their bars."""
    row: Iterator[tuple[str, Origins]] = iter(())
    for token in tokens:
        if token.type == "tr_open":
            line = token.map[0]
            begin = state.bMarks[line] + state.tShift[line]
            row = iter(markdown_blocks.cells(state.src[begin : state.eMarks[line]].rstrip(" \t"), begin))
        elif token.type == "inline":
            token.content, token.meta["origins"] = next(row, ("", []))


def _note_title(state: Any, line: int) -> None:
    """Adds a token for the title of a link definition."""
    start = state.bMarks[line] + state.tShift[line]
    match = _DEFINITION.match(state.src, start, state.eMarks[state.line - 1])
    if match is not None and match["title"] is not None:
        token = state.push("title", "", 0)
        token.map, token.meta["title"] = [line, state.line], match.span("title")


def _noting_end(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    """Wraps the rule of a token so that it notes where the token ends."""

    def noted(state: Any, silent: bool) -> bool:
        count = len(state.tokens)
        is_made = rule(state, silent)
        if is_made and not silent and len(state.tokens) > count:
            state.tokens[-1].meta.setdefault("end", state.pos)
        return is_made

    return noted


def _bracketed(state: Any, silent: bool) -> bool:
    """Reads text in brackets with markup of a dialect: `^[note]`, `[text]{.class}`, `[text][a.name]` without a
    definition, `[text](an address.html)` with blanks."""
    is_note = state.src.startswith("^[", state.pos)
    start = state.pos + is_note
    if silent or state.src[start] != "[":
        return False
    end = state.md.helpers.parseLinkLabel(state, start, not is_note)
    if end < 0:
        return False
    after = _AFTER_BRACKETS.match(state.src, end + 1, state.posMax)
    if not is_note and (after is None or (after["address"] and not _ADDRESS.search(after["address"]))):
        return False
    last, state.pos, state.posMax = state.posMax, start + 1, end
    state.push("bracketed_open", "span", 1).markup = "^[" if is_note else "["
    state.md.inline.tokenize(state)
    state.push("bracketed_close", "span", -1)
    state.pos, state.posMax = end + 1 if is_note or after is None else after.end(), last
    return True
