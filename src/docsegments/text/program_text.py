"""Writes what a translation brings in as the program reads it that fills in the placeholders of the source."""

import re
from typing import Literal

from docsegments.segment import Mark, Segment
from docsegments.text.placeholder_families import pattern_of
from docsegments.text.placeholders import Escape

_PRINTF = pattern_of(("printf", "python", "apple"))
_PERCENT = re.compile(r"(?<!%)%(?!%)")
_CONVERSION = re.compile(
    r"(?<!%)%(?!%)(?=[-+ #0']{0,5}+\d{0,9}+(?:\.\d{0,9}+)?+(?:hh?|ll?|[Lqjzt])?+[diouxXeEfFgGaAcsp@])"
)
_QUOTE = re.compile(r"'(?=[{}]|\Z)")
_ENTITY = re.compile(r"&#?\w++;")
_ICU = re.compile(r"\{\s*+[\w.-]++\s*+,\s*+(?:plural|selectordinal|select)\s*+,")


def has_icu(text: str) -> bool:
    """Returns True if a file's messages are ICU's, since one of them has forms."""
    return _ICU.search(text) is not None


def program_text(
    source: Segment, quoting: Literal["", "icu", "doubled"] = "", is_xml: bool = False, escape: Escape = str
) -> Escape:
    """Returns a function that writes the texts between the marks of a translation of a message for its file.

    Args:
        source: the message.
        quoting: `icu` if ICU reads it, for which an apostrophe before a brace or a tag begins a quotation; `doubled` if
            each apostrophe is written twice; "" if that is not known.
        is_xml: True if tags in the message's text are written with `&lt;`.
        escape: writes characters for the file.
    """
    texts = [part for part in source.parts if isinstance(part, str)]
    free = "\0".join(texts)
    marks = source.marks
    changes: list[tuple[re.Pattern[str], str]] = []
    is_flagged = any(name.endswith("-format") for name in source.families)
    if not is_flagged and any(_PRINTF.fullmatch(mark.shown) and mark.shown != "%n" for mark in marks):
        if _PERCENT.search(free) is None:
            changes.append((_PERCENT, "%%"))
        elif _CONVERSION.search(free) is None:
            changes.append((_CONVERSION, "%%"))
    if not quoting and any(_ENTITY.fullmatch(mark.shown) or _is_tag(mark, is_xml) for mark in marks):
        changes += [(re.compile(sign), name) for sign, name in (("&", "&amp;"), ("<", "&lt;")) if sign not in free]
    if quoting:
        changes.append((re.compile("'" if quoting == "doubled" else r"'(?=[{}<>#|]|\Z)"), "''"))
        if "<" not in free and any(_is_tag(mark, is_xml) for mark in marks):
            changes.append((re.compile("<(?=[A-Za-z/])"), "'<'"))
    elif any(map(_is_argument, marks)) and not (is_flagged or any(map(_QUOTE.search, texts))):
        changes.append((_QUOTE, "’"))

    def write(text: str) -> str:
        for pattern, written in changes:
            text = pattern.sub(written, text)
        return escape(text)

    return write


def _is_argument(mark: Mark) -> bool:
    return mark.raw.startswith(("{", "}")) and not mark.raw.startswith("{{")


def _is_tag(mark: Mark, is_xml: bool) -> bool:
    return mark.raw.startswith("&lt;" if is_xml else "<") and not mark.is_held
