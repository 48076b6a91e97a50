"""Blocks of Markdown's dialects for markdown-it: lines that stay as they are, titles, boxes, formulas, rows of tables.

A text to be translated becomes an `inline` token with the offsets of its characters (`origins`); all else becomes a
`held` token.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from docsegments.markdown.opaque import HIDDEN, MASK, is_tex

Rule = Callable[[Any, int, int, bool], bool]
"""A rule of markdown-it: takes state, first line, line after the last, and True to test only if the block matches."""

Origins = list[tuple[int, int]]
"""Pairs of offsets, in a content and in the source, from which both advance together."""

INTERRUPTING = {"alt": ["paragraph", "reference", "blockquote", "list"]}

_HELD_LINE = re.compile(
    rf"""
      \{{::?[^{{}}]*+\}}\s*+                                   # kramdown: {{: .note }}, {{:toc}}, {{::options /}}
    | \{{[ ]*+[\#.][^{{}}]*+\}}\s*+                            # Python-Markdown: {{ .note #id }}
    | \[{{1,2}}_?(?i:TOC)_?\]{{1,2}}\s*+                       # a table of contents
    | ;?-{{1,4}}8<-{{1,4}}.*+ | <<<\s.*+ | @\[[\w-]*+\]\(.*+   # other files
    | \\(?i:newpage|pagebreak|tableofcontents|toc|include)\b.*+
    | \^[\w-]++\s*+                                            # Obsidian: the name of a block
    | [{MASK}{HIDDEN}]++(?:\s++[{MASK}{HIDDEN}]++)*+\s*+       # template tags alone
    | :{{3,}}\s*+ | /{{3,}}\s*+
    | :{{3,}}+\s*+\{{?[\w-]++\}}?\[(?P<bracketed>.*)\](?:\{{[^{{}}]*+\}})?                # Docusaurus: :::tip[Title]
    | :{{3,}}+\s*+(?:\{{[^{{}}]*+\}}\s*+:*+|[^\s\[\]{{}}.]*+[.][^\s\[\]{{}}]*+)           # Pandoc, mkdocstrings
    | :{{3,}}+\s*+(?:\{{[\w-]++\}}|[\w-]++)(?:\s++(?P<plain>[^\s{{].*+)|\s*+\{{.*+)?      # VitePress: ::: tip Title
    | /{{3,}}+\s*+[\w-]++(?:\s*+\|\s*+(?P<blocks>\S.*+))?                             # PyMdown: /// note | Title
    | \*\[[^\]]++\]:\s*+(?P<abbreviation>.*+)
    | \[![\w-]++\][+-]?(?:\s++(?P<callout>\S.*+))?                                    # GitHub, Obsidian: [!note] Title
    | <[A-Za-z][\w-]*+(?=\s)(?>[^"'<>]|"[^"]*+"|'[^']*+')*?\smarkdown                 # <div markdown="1">
      (?:=(?>"[^"]*+"|'[^']*+'|[^\s"'>]++))?(?=[\s>])[^<>]*+>\s*+(?P<element>.*+)
    """,
    re.VERBOSE,
)
"""A line that is not text, but may have a title in it."""
_BOX = re.compile(
    r"""(?:!!!|\?\?\?\+?)\s?(?:[\w-]++(?:\s++[\w-]++)*+)?\s*+(?:"(?P<title>.*?)")?\s*+
    | ={3}[!+]?\s++"(?P<tab>.*?)"\s*+""",
    re.VERBOSE,
)
_SCRIPT = re.compile(
    rf"""import\s++(?:[\w*{{][^'";]*?\sfrom\s*+)?["'][^"']++["']\s*+;?
    | export\s++(?:
          default\s++(?:[\w.]++\s*+;?|(?:async\s++)?(?:function|class)\b.*+|[^{{({MASK}\n]*+[{{({MASK}].*+)
        | (?:const|let|var)\s++[\w{{\[{MASK}][^=\n]*+=.*+ | (?:async\s++)?(?:function|class)\b\*?\s*+\w++.*+
        | [{{*{MASK}](?>.*?\sfrom\s).*+ | {MASK}++\s*+;?
      )""",
    re.VERBOSE,
)
_FORMULA = re.compile(r"(?P<dollars>\$\$)|\\?\\\[|\\begin\{(?P<name>[A-Za-z]{1,20}\*?)\}")
_LABEL = re.compile(r"\A\s*+(?:\([^()]*+\)|\{[^{}]*+\})")
_ROW = re.compile(r"\|")
_CELL = re.compile(r"(?P<text>(?:[^|]|(?<=\\)\|)*+)(?:\||\Z)")
_ESCAPED_BAR = re.compile(r"\\\|")
_BOX_INDENT = 4


def held_line(state: Any, line: int, end: int, silent: bool) -> bool:
    """Holds a line that is not text, except for a title in it, such as that of a container or an abbreviation."""
    match = _matched(state, line, _HELD_LINE.fullmatch)
    return match is not None and (silent or _hold(state, line, line + 1, *_group(state, line, match)))


def box(state: Any, line: int, end: int, silent: bool) -> bool:
    """Reads a note or a tab of MkDocs, whose text is indented by four blanks."""
    match = _matched(state, line, _BOX.fullmatch)
    if match is None or silent:
        return match is not None
    stop = line + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= state.blkIndent + _BOX_INDENT):
        stop += 1
    state.push("box_open", "div", 1).map = [line, stop]
    _hold(state, line, line + 1, *_group(state, line, match))
    before = state.parentType, state.lineMax
    state.parentType, state.lineMax = "box", stop
    state.blkIndent += _BOX_INDENT
    state.md.block.tokenize(state, line + 1, stop)
    state.blkIndent -= _BOX_INDENT
    state.parentType, state.lineMax = before
    state.push("box_close", "div", -1)
    state.line = stop
    return True


def script(state: Any, line: int, end: int, silent: bool) -> bool:
    """Holds imports and exports of MDX, to the next blank line."""
    if silent or state.blkIndent or _matched(state, line, _SCRIPT.fullmatch) is None:
        return False
    stop = line + 1
    while stop < end and not state.isEmpty(stop):
        stop += 1
    return _hold(state, line, stop)


def formula(state: Any, line: int, end: int, silent: bool) -> bool:
    """Holds a formula of several lines, or on a line of its own."""
    match = _matched(state, line, _FORMULA.match)
    if match is None:
        return False
    opening = match[0]
    closing = (
        opening.replace("begin", "end") if match["name"] else "$$" if match["dollars"] else opening.replace("[", "]")
    )
    known = state.env.setdefault("unended", {})
    if closing in known and known[closing][0] <= line < known[closing][1]:
        return False
    stop, rest = line, match.string[match.end() :]
    inside = []
    while closing not in rest:
        inside.append(rest)
        stop += 1
        if stop >= end or state.isEmpty(stop) or state.sCount[stop] < state.blkIndent:
            known[closing] = (line, stop)
            return False
        rest = _text(state, stop)
    last, _, after = rest.rpartition(closing)
    if match["dollars"]:
        after = _LABEL.sub("", after)
    if after.strip(" \t.,;") or (opening.endswith("[") and not is_tex("".join([*inside, last]))):
        return False
    return silent or _hold(state, line, stop + 1)


def row(state: Any, line: int, end: int, silent: bool) -> bool:
    """Reads a line of cells that is not a table of GitHub's: kramdown's tables need no head."""
    match = _matched(state, line, _ROW.match)
    return match is not None and (silent or _hold(state, line, line + 1, *cells(match.string, _begin(state, line))))


def cells(text: str, begin: int) -> list[tuple[str, Origins]]:
    """Returns the cells of a row without blanks about them, and without the backslashes before their bars."""
    row_cells = [_cell(cell["text"], begin + cell.start()) for cell in _CELL.finditer(text)]
    return row_cells[text[:1] == "|" : -1]


def _cell(text: str, begin: int) -> tuple[str, Origins]:
    begin += len(text) - len(text.lstrip(" \t"))
    text = text.strip(" \t")
    origins = [(0, begin)]
    for number, bar in enumerate(_ESCAPED_BAR.finditer(text)):
        index = bar.start() - number
        origins += [(index, begin + bar.start()), (index + 1, begin + bar.end())]
    return _ESCAPED_BAR.sub("|", text), origins


def _matched(state: Any, line: int, match: Callable[[str], re.Match[str] | None]) -> re.Match[str] | None:
    """Returns the match of a pattern in a line; None in code."""
    return None if state.is_code_block(line) else match(_text(state, line))


def _text(state: Any, line: int) -> str:
    text: str = state.src[_begin(state, line) : state.eMarks[line]]
    return text.rstrip()


def _begin(state: Any, line: int) -> int:
    begin: int = state.bMarks[line] + state.tShift[line]
    return begin


def _group(state: Any, line: int, match: re.Match[str]) -> Sequence[tuple[str, Origins]]:
    """Returns the title that a pattern has matched in a line."""
    name = match.lastgroup
    return [(match[name], [(0, _begin(state, line) + match.start(name))])] if name and match[name].strip() else []


def _hold(state: Any, line: int, stop: int, *texts: tuple[str, Origins]) -> bool:
    """Makes a block of held lines, with some texts in them to translate."""
    state.push("held", "", 0).map = [line, stop]
    for content, origins in texts:
        token = state.push("inline", "", 0)
        token.content, token.children, token.map = content, [], [line, stop]
        token.meta["origins"] = origins
    state.line = stop
    return True
