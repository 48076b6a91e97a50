"""What must stand in a translation exactly as in its source: placeholders, addresses, tags in plain text."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from transduce.documents.segment import Mark, Part, Segment, joined

_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"  # three deep, as ICU's plurals are
PLACEHOLDER = re.compile(
    rf"""
    \$?\{{\{{(?:(?!\{{\{{).)*?\}}\}}                         # {{{{ x }}}}
    | \{{%(?:(?!\{{%).)*?%\}} | \{{\#(?:(?!\{{\#).)*?\#\}} | <%(?:(?!<%).)*?%>  # {{% if x %}}
    | %%                                                   # a percent sign, where % begins a placeholder
    | %\([^()\s]+\)[-+ \#0]*\d*(?:\.\d+)?[a-zA-Z]          # %(name)s
    | %[A-Za-z_][\w.-]*% | %\d{{1,2}}%                      # %name%, %1%
    | %{_BRACES} | %<[A-Za-z_]\w*>[a-zA-Z]?                # %{{name}}, %<name>s, %<PRIu64>
    | (?<![\d%])%(?:\d+\$)?[-+\#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcsrap@](?![A-Za-z])
    | (?<![\d%])%[sd](?=[A-Za-z])                          # %ds
    | (?<![\d%])%(?:L?\d{{1,2}}|[nm])(?!\w)                # %1, %n
    | \$?{_BRACES}                                         # {{name}}, {{0:.2f}}, ${{name}}
    | \x1b\[[\d;]*[A-Za-z]                                 # colours of a terminal
    | \$[A-Za-z_]\w*                                       # $name
    | &(?:[A-Za-z][A-Za-z0-9]*|\#\d+|\#[xX][0-9A-Fa-f]+);  # &nbsp;
    | (?:https?|ftp)://[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}}*_]
    | \bwww\.[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}}*_]
    | (?<=[^\s|])\|(?=[^\s|])                               # between plural forms of Symfony and Laravel
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+             # mail addresses
    """,
    re.VERBOSE | re.DOTALL,
)
"""Of printf, Python, Ruby, Qt, .NET, ICU, Symfony, Jinja and their like, entities, URLs and mail addresses."""

TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(?P<alone>/)?>")
"""A tag in text that is not otherwise marked up, as in messages of PO files."""

Escape = Callable[[str], str]


def hold(parts: Iterable[Part], escape: Escape = str) -> list[Part]:
    """The parts, with a mark for each placeholder and address in a text; `escape` writes a text for the document. What
    parts plural forms (`one file|many files`) breaks the text."""
    held: list[Part] = []
    for part in joined(parts):
        if isinstance(part, Mark):
            held.append(part)
            continue
        done = 0
        for found in PLACEHOLDER.finditer(part):
            is_break = found[0] == "|"
            mark = Mark(found[0], shown=" ", breaks=True) if is_break else Mark(escape(found[0]), shown=found[0])
            held += [part[done : found.start()], mark]
            done = found.end()
        held.append(part[done:])
    return [part for part in held if part != ""]


def mark_tags(parts: Iterable[Part], escape: Escape = str) -> list[Part]:
    """The parts, with a mark for each tag that stands in a text; opening and closing ones are paired."""
    marked: list[Part] = []
    for part in joined(parts):
        if isinstance(part, Mark):
            marked.append(part)
            continue
        done = 0
        for found in TAG.finditer(part):
            marked += [part[done : found.start()], tag_mark(escape(found[0]), found)]
            done = found.end()
        marked.append(part[done:])
    return pair_tags([part for part in marked if part != ""])


def tag_mark(raw: str, tag: re.Match[str]) -> Mark:
    """The mark of a tag that `TAG` has found, to be paired by `pair_tags`."""
    if tag["alone"]:
        return Mark(raw)
    return Mark(raw, "close" if tag["close"] else "open", f"<{tag['name'].lower()}")


def mark_lines(parts: Iterable[Part], escape: Escape = str, breaks: Callable[[str], bool] | None = None) -> list[Part]:
    """The parts, with a mark for each end of a line; all of them break the text, or those of which `breaks` says so,
    given the line that ends there."""
    marked: list[Part] = []
    text = ""
    for part in parts:
        if isinstance(part, Mark):
            marked.append(part)
            text += part.shown
            continue
        for piece in re.split(r"([ \t]*(?:\r\n|\n|\r)[ \t]*)", part):
            if not re.search(r"[\r\n]", piece):
                marked.append(piece)
                text += piece
            else:
                marked.append(Mark(escape(piece), shown=" ", breaks=breaks is None or breaks(text)))
                text = ""
    return [part for part in marked if part != ""]


def pair_tags(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which marks of tags are matched: a closing one closes the last of its name that is open, and what
    that one leaves open within has no end of its own."""
    opened: list[tuple[str, int]] = []
    pairs: dict[int, str] = {}
    tags = [(n, part) for n, part in enumerate(parts) if isinstance(part, Mark) and part.pair.startswith("<")]
    for place, mark in tags:
        if mark.kind == "open":
            opened.append((mark.pair, place))
            continue
        for number in range(len(opened) - 1, -1, -1):
            if opened[number][0] == mark.pair:
                pairs[opened[number][1]] = pairs[place] = f"tag {len(pairs) // 2 + 1}"
                del opened[number:]
                break
    matched = list(parts)
    for place, mark in tags:
        matched[place] = replace(mark, pair=pairs[place]) if place in pairs else Mark(mark.raw)
    return matched


def plain_segment(text: str, escape: Escape = str) -> Segment:
    """A text that may have tags and placeholders in it."""
    return Segment.of(hold(mark_tags([text], escape), escape))
