"""Blocks of Markdown's dialects for markdown-it: lines that stay as they are, titles, boxes, formulas, rows of tables.

A text that is to be translated becomes an `inline` token with the places of its characters (`origins`); all else
becomes a `held` token.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from transduce.documents.markdown.opaque import HIDDEN, MASK, is_tex

Rule = Callable[[Any, int, int, bool], bool]
"""A rule of markdown-it: state, first line, last line, and whether it is only to tell if the block is one."""

Origins = list[tuple[int, int]]
"""Offsets in a content and in the source from which both go on in step."""

INTERRUPTING = {"alt": ["paragraph", "reference", "blockquote", "list"]}

_HELD_LINE = re.compile(
    rf"""
      \{{::?[^{{}}]*+\}}\s*+                                   # kramdown: {{: .note }}, {{:toc}}, {{::options /}}
    | \{{[ ]*+[\#.][^{{}}]*+\}}\s*+                            # Python-Markdown: {{ .note #id }}
    | \[{{1,2}}_?TOC_?\]{{1,2}}\s*+ | \[\[_TOC_\]\]\s*+        # a table of contents
    | ;?-{{1,4}}8<-{{1,4}}.*+ | <<<\s.*+ | @\[[\w-]*+\]\(.*+   # other files
    | \\(?:newpage|pagebreak|tableofcontents|toc|include)\b.*+
    | \^[\w-]++\s*+                                            # Obsidian: the name of a block
    | [{MASK}{HIDDEN}]++(?:\s++[{MASK}{HIDDEN}]++)*+\s*+                         # template tags alone
    | :{{3,}}\s*+ | /{{3,}}\s*+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FIRST_OF_HELD = f"{{[;-<@\\^:/{MASK}{HIDDEN}"
_TITLED_LINE = re.compile(
    r"""
      :{3,}+\s*+\{?[\w-]++\}?\[(?P<bracketed>.*)\](?:\{[^{}]*+\})?             # Docusaurus: :::tip[Title]
    | :{3,}+\s*+(?:\{[^{}]*+\}\s*+:*+|[^\s\[\]{}.]*+[.][^\s\[\]{}]*+)          # Pandoc, mkdocstrings
    | :{3,}+\s*+(?:\{[\w-]++\}|[\w-]++)(?:\s++(?P<plain>[^\s{].*+)|\s*+\{.*+)?  # VitePress: ::: tip Title
    | /{3,}+\s*+[\w-]++(?:\s*+\|\s*+(?P<blocks>\S.*+))?                        # PyMdown: /// note | Title
    | \*\[[^\]]++\]:\s*+(?P<abbreviation>.*+)
    | \[![\w-]++\][+-]?(?:\s++(?P<callout>\S.*+))?                             # GitHub, Obsidian: [!note] Title
    """,
    re.VERBOSE,
)
_BOX = re.compile(
    r"""(?:!!!|\?\?\?\+?)\s?(?:[\w-]++(?:\s++[\w-]++)*+)?\s*+(?:"(?P<title>.*?)")?\s*+
    | ={3}[!+]?\s++"(?P<tab>.*?)"\s*+""",
    re.VERBOSE,
)
_SCRIPT = re.compile(
    rf"""import\s++(?:[\w*{{][^'";]*?\sfrom\s*+)?["'][^"']++["']\s*+;?
    | export\s++(?:
          default\s++(?:[\w.]++\s*+;?|(?:async\s++)?(?:function|class)\b.*+|.*[{{({MASK}].*+)
        | (?:const|let|var)\s++[\w{{\[{MASK}].*=.*+ | (?:async\s++)?(?:function|class)\b\*?\s*+\w++.*+
        | [{{*{MASK}].*\sfrom\s.*+ | {MASK}++\s*+;?
      )""",
    re.VERBOSE,
)
_MARKDOWN_TAG = re.compile(
    r"""<[A-Za-z][\w-]*+(?=\s)(?>[^"'<>]|"[^"]*+"|'[^']*+')*?\smarkdown(?:=(?>"[^"]*+"|'[^']*+'|[^\s"'>]++))?(?=[\s>])[^<>]*+>"""
)
_FORMULA = re.compile(r"(?P<dollars>\$\$)|\\?\\\[|\\begin\{(?P<name>[A-Za-z]{1,20}\*?)\}")
_LABEL = re.compile(r"\A\s*+(?:\([^()]*+\)|\{[^{}]*+\})")
_BOX_INDENT = 4


def held_line(state: Any, line: int, end: int, silent: bool) -> bool:
    """A line that is no text."""
    found = _matched(state, line, _FIRST_OF_HELD, _HELD_LINE.fullmatch)
    return found is not None and (silent or _hold(state, line, line + 1))


def titled_line(state: Any, line: int, end: int, silent: bool) -> bool:
    """A line of its own with a title in it: of a container, an alert, an abbreviation."""
    found = _matched(state, line, ":/*[", _TITLED_LINE.fullmatch)
    return found is not None and (silent or _hold(state, line, line + 1, *_group(state, line, found)))


def box(state: Any, line: int, end: int, silent: bool) -> bool:
    """MkDocs: a note or a tab, whose text is indented by four blanks."""
    found = _matched(state, line, "!?=", _BOX.fullmatch)
    if found is None or silent:
        return found is not None
    stop = line + 1
    while stop < end and (state.isEmpty(stop) or state.sCount[stop] >= state.blkIndent + _BOX_INDENT):
        stop += 1
    state.push("box_open", "div", 1).map = [line, stop]
    _hold(state, line, line + 1, *_group(state, line, found))
    before = state.parentType, state.lineMax
    state.parentType, state.lineMax = "box", stop
    state.blkIndent += _BOX_INDENT
    state.md.block.tokenize(state, line + 1, stop)
    state.blkIndent -= _BOX_INDENT
    state.parentType, state.lineMax = before
    state.push("box_close", "div", -1)
    state.line = stop
    return True


def markdown_in_html(state: Any, line: int, end: int, silent: bool) -> bool:
    """The start tag of an element of HTML whose content is Markdown: <div markdown="1">."""
    found = _matched(state, line, "<", _MARKDOWN_TAG.match)
    if found is None:
        return False
    rest = found.string[found.end() :].lstrip()
    begin = _begin(state, line) + len(found.string) - len(rest)
    return silent or _hold(state, line, line + 1, *([(rest, [(0, begin)])] if rest else []))


def script(state: Any, line: int, end: int, silent: bool) -> bool:
    """MDX: imports and exports, to the next blank line."""
    if silent or state.blkIndent or _matched(state, line, "ie", _SCRIPT.fullmatch) is None:
        return False
    stop = line + 1
    while stop < end and not state.isEmpty(stop):
        stop += 1
    return _hold(state, line, stop)


def formula(state: Any, line: int, end: int, silent: bool) -> bool:
    """A formula of several lines, or on a line of its own."""
    found = _matched(state, line, "$\\", _FORMULA.match)
    if found is None:
        return False
    opening = found[0]
    closing = (
        opening.replace("begin", "end") if found["name"] else "$$" if found["dollars"] else opening.replace("[", "]")
    )
    known = state.env.setdefault("unended", {})
    if closing in known and known[closing][0] <= line < known[closing][1]:
        return False
    stop, rest = line, found.string[found.end() :]
    inside = []
    while closing not in rest:
        inside.append(rest)
        stop += 1
        if stop >= end or state.isEmpty(stop) or state.sCount[stop] < state.blkIndent:
            known[closing] = (line, stop)
            return False
        rest = _text(state, stop)
    last, _, after = rest.rpartition(closing)
    if found["dollars"]:
        after = _LABEL.sub("", after)
    if after.strip(" \t.,;") or (opening.endswith("[") and not is_tex("".join([*inside, last]))):
        return False
    return silent or _hold(state, line, stop + 1)


def row(state: Any, line: int, end: int, silent: bool) -> bool:
    """A line of cells that are no table of GitHub's: kramdown's tables have no need of a head."""
    if not _begins_with(state, line, "|"):
        return False
    return silent or _hold(state, line, line + 1, *cells(_text(state, line), _begin(state, line)))


def cells(text: str, begin: int) -> list[tuple[str, Origins]]:
    """The cells of a row, without blanks about them and without the backslashes before their bars."""
    found: list[tuple[str, Origins]] = []
    start, bars = 0, [place for place, character in enumerate(text) if character == "|"]
    for bar in [*bars, len(text)]:
        if bar < len(text) and text[bar - 1 : bar] == "\\":
            continue
        found.append(_cell(text, start, bar, begin))
        start = bar + 1
    first, last = 0, len(found)
    if text[:1] == "|":
        first = 1
    if last > first and not found[-1][0]:
        last -= 1
    return found[first:last]


def _cell(text: str, start: int, end: int, begin: int) -> tuple[str, Origins]:
    while start < end and text[start] in " \t":
        start += 1
    while end > start and text[end - 1] in " \t":
        end -= 1
    pieces, origins = [], [(0, begin + start)]
    size, done = 0, start
    for bar in re.compile(r"\\\|").finditer(text, start, end):
        pieces += [text[done : bar.start()], "|"]
        size += bar.start() - done
        done = bar.end()
        origins += [(size, begin + bar.start()), (size + 1, begin + done)]
        size += 1
    return "".join([*pieces, text[done:end]]), origins


def _begins_with(state: Any, line: int, signs: str) -> bool:
    """Returns True if a line is no code and begins with one of some signs."""
    return state.src[_begin(state, line) : _begin(state, line) + 1] in signs and not state.is_code_block(line)


def _matched(state: Any, line: int, signs: str, match: Callable[[str], re.Match[str] | None]) -> re.Match[str] | None:
    """What a pattern finds in a line that is no code and begins with one of some signs."""
    return match(_text(state, line)) if _begins_with(state, line, signs) else None


def _text(state: Any, line: int) -> str:
    text: str = state.src[_begin(state, line) : state.eMarks[line]]
    return text.rstrip()


def _begin(state: Any, line: int) -> int:
    begin: int = state.bMarks[line] + state.tShift[line]
    return begin


def _group(state: Any, line: int, found: re.Match[str]) -> Sequence[tuple[str, Origins]]:
    """The title that was found in a line."""
    name = found.lastgroup
    return [(found[name], [(0, _begin(state, line) + found.start(name))])] if name and found[name].strip() else []


def _hold(state: Any, line: int, stop: int, *texts: tuple[str, Origins]) -> bool:
    """Makes a block of lines that are held, but for some texts."""
    state.push("held", "", 0).map = [line, stop]
    for content, origins in texts:
        token = state.push("inline", "", 0)
        token.content, token.children, token.map = content, [], [line, stop]
        token.meta["origins"] = origins
    state.line = stop
    return True
