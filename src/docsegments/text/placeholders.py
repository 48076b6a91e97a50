"""Texts that must be in a translation exactly as in its source: placeholders, addresses, tags in plain text."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from docsegments.segment import Mark, Part, Segment, divided_by, joined
from docsegments.text.elements import ALONE, BLOCKS, parts_words, with_notes
from docsegments.text.icu_messages import mark_messages
from docsegments.text.placeholder_families import GENERAL, STRICT_TAG, group_of, pattern_of

_NAMES = (
    "a abbr acronym area audio b base bdi bdo big button c canvas cite code data del dfn em embed font frame i "
    "iframe img input ins kbd label lang link map mark meta meter nobr object output param picture progress q rb rp "
    "rt ruby s samp script select small source span strike strong style sub sup svg template textarea time track tt "
    "u v var video wbr"
)
_ELEMENTS = BLOCKS.union(_NAMES.split())
"""Elements of HTML and WebVTT, whose tags are markup even without a partner."""
_OF_VOICES = r"<(?:v|lang|c)(?:\.[\w.-]{1,100}+)?[ \t][^<>\"=]{1,200}+>"
_IN_TEXT = re.compile(
    rf"<!--(?:(?!<!--|-->).)*+--> | <![A-Za-z][^<>]*+> | {STRICT_TAG} | {_OF_VOICES}", re.VERBOSE | re.DOTALL
)
"""Tags and comments of HTML, and tags of WebVTT, such as `<lang en>`."""

_WORDS = (
    "if|elif|elsif|elseif|else|ifchanged|unless|for|foreach|each|case|when|switch|with|block|filter|macro|call|raw|"
    "verbatim|autoescape|spaceless|while|range|define|blocktrans|blocktranslate|plural"
)
_BLOCK = re.compile(
    rf"""\{{%[-+~]?\s*+(?:end\w*+|(?:{_WORDS})\b) | \{{\{{[-~]?\s*+(?:[\#^/]|else\b|end\b|(?:{_WORDS})\s)
    | <%-?\s*+(?![=\-\#@!\s]) | <\?(?:php\b)?+\s*+(?!=|echo\b|print\b|\?>) | \{{(?:/|[\#:])\w | </?\#\w
    | \{{(?:if|elseif|foreach|for|while|section|capture)\s | \{{(?:else|elseif|foreachelse|literal|strip|t)\}}
    | (?:\}}\s*+)?+@.*\{{\Z | @(?:else\b|end[a-z]|let\s)
    | @(?:if|elseif|unless|isset|empty|for\w*+|while|switch|case)\s*+\(
    | \#(?:if|elseif|foreach|else|end|set|macro|\{{(?:else|end)\}})
    | \[%-?\s*+(?:END|IF|UNLESS|ELSE|ELSIF|FOREACH|WHILE)\b | \*\|(?:END|IF|IFNOT|ELSE|ELSEIF)\b""",
    re.VERBOSE,
)
"""Tags of templates about the text after them, such as `{% if x %}`."""

_FIRST = re.compile(r"\$1(?!\d|[.,]\d)")
_LABELLED = re.compile(r"(\[\[[^\[\]|]++\|)([^\[\]|]++)\]\]")
"""A link of MediaWiki, whose label is text."""
_FORMS = re.compile(r"\{\{(?:PLURAL|GENDER):[^{}|]*+\|[^{}\[\]]*+\}\}", re.IGNORECASE)
"""Forms of MediaWiki, which are translated apart."""
_FORM = re.compile(r"(\{\{[^{|}]*+\|(?:\d++=)?+|\|(?:\d++=)?+|\}\})([^|{}]*+)")

_QUOTES: dict[str, Literal["open", "close"]] = {"%<": "open", "%>": "close"}  # quotation marks of GCC

Escape = Callable[[str], str]


def hold(parts: Iterable[Part], escape: Escape = str, families: tuple[str, ...] = GENERAL) -> list[Part]:
    """Returns the parts with a mark for each placeholder and address in a text.

    Args:
        parts: texts and marks; texts are as people read them.
        escape: writes a text for the document.
        families: names of the rules to hold by, see `docsegments.text.placeholder_families`.

    The signs between plural forms (`one file|many files`), branches of a message of ICU or blocks of a template break
    the text.
    """
    parts = list(parts)
    if "dollar numbers" in families and not any(isinstance(part, str) and _FIRST.search(part) for part in parts):
        families = tuple(name for name in families if name != "dollar numbers")  # amounts of money
    held: list[Part] = []
    pattern = pattern_of(families)
    has_quotes = any(name in families for name in ("gcc-internal-format", "gfc-internal-format"))
    opened = 0  # blocks that a brace closes
    for piece in _divided(pattern, mark_messages(parts, escape) if "icu" in families else joined(parts)):
        if not isinstance(piece, re.Match):
            held.append(piece)
            continue
        text = piece[0]
        is_end = text == "}" and opened > 0
        opened += (text.endswith("{") and len(text) > 1) - is_end
        if has_quotes and text in _QUOTES:
            held.append(Mark(escape(text), _QUOTES[text], "<quotation"))
        elif link := _LABELLED.fullmatch(text):
            pair = f"link {len(held)}"
            held.append(Mark(escape(link[1]), "open", pair))
            held += [*hold([link[2]], escape, families), Mark(escape("]]"), "close", pair)]
        elif forms := _FORMS.fullmatch(text):
            for sign, form in _FORM.findall(forms[0]):
                held += [Mark(escape(sign), shown=" ", breaks=True), *hold([form], escape, families)]
        elif is_end or piece.lastgroup in (group_of("plural forms"), "bars") or is_block(text):
            held.append(Mark(escape(text), shown=" ", breaks=True))
        else:
            held.append(Mark(escape(text), shown=text))
    return pair_tags(held) if has_quotes else held


def _divided(pattern: re.Pattern[str], parts: Iterable[Part]) -> Iterator[Part | re.Match[str]]:
    """Yields marks, matches of a pattern in the texts beside them, and the texts between."""
    for part in parts:
        yield from [part] if isinstance(part, Mark) else divided_by(pattern, part)


def is_block(placeholder: str) -> bool:
    """Returns True for a tag of a template about the text after it, which is translated apart from the text before."""
    return _BLOCK.match(placeholder) is not None


def mark_tags(parts: Iterable[Part], escape: Escape = str) -> list[Part]:
    """Returns the parts with a mark for each tag in a text; opening and closing ones are paired.

    A name in angle brackets that is not an element of HTML and is never closed, such as `<file>`, is text (to be held).
    """
    marked: list[Part] = []
    tags: dict[int, tuple[str, str]] = {}  # texts and names of the tags, by their indices
    for piece in _divided(_IN_TEXT, joined(parts)):
        if not isinstance(piece, re.Match):
            marked.append(piece)
            continue
        text = piece[0]
        name = "" if text[1] == "!" else text.strip("</>").split(None, 1)[0].rstrip("/>").lower()
        tags[len(marked)] = text, name
        if not name or (text[1] != "/" and text.endswith("/>")):
            marked.append(Mark(escape(text)))
        else:
            marked.append(Mark(escape(text), "close" if text[1] == "/" else "open", f"<{name}"))
    paired = pair_tags(marked)
    for index, (text, name) in tags.items():
        is_paired = paired[index] != Mark(escape(text))
        before, after = (paired[n] if 0 <= n < len(paired) else "" for n in (index - 1, index + 1))
        if parts_words(name, before, after) or (name in BLOCKS and (is_paired or name in ALONE)):
            paired[index] = Mark(escape(text), shown=" ", breaks=True)
        elif name and not is_paired and name not in _ELEMENTS and not (text[1] != "/" and text.endswith("/>")):
            paired[index] = text
    paired = joined(paired)
    return with_notes(paired, paired, lambda note: Mark(Segment(tuple(note)).written(escape)))


def pair_tags(parts: Sequence[Part]) -> list[Part]:
    """Pairs the marks of tags; a closing one closes the last of its name, and tags left open within it become
    single."""
    opened: list[int] = []
    open_by_name: defaultdict[str, list[int]] = defaultdict(list)  # how many were open before
    pairs: dict[int, str] = {}
    tags = {n: part for n, part in enumerate(parts) if isinstance(part, Mark) and part.pair.startswith("<")}
    for index, mark in tags.items():
        if mark.kind == "open":
            open_by_name[mark.pair].append(len(opened))
            opened.append(index)
        elif depths := open_by_name[mark.pair]:
            depth = depths[-1]
            pairs[opened[depth]] = pairs[index] = f"tag {len(pairs) // 2 + 1}"
            while len(opened) > depth:
                open_by_name[tags[opened.pop()].pair].pop()
    for index, mark in tags.items():
        tags[index] = replace(mark, pair=pairs[index]) if index in pairs else Mark(mark.raw)
    return [tags.get(index, part) for index, part in enumerate(parts)]


def plain_segment(text: str, escape: Escape = str) -> Segment:
    """Returns the segment of a text that may have tags and placeholders in it."""
    return Segment.of(hold(mark_tags([text], escape), escape))
