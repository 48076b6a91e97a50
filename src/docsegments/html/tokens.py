"""Divides a page into tags, comments and text as the HTML standard does, in time linear in its length.

Code that a server replaces before a browser reads the page (`<?php ... ?>`, `<% ... %>`) is one token.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

_SPACE = r"\t\n\f\r "
_MARKUP = re.compile(r"<(?=[A-Za-z!?/%])")
_LETTER = re.compile(r"[A-Za-z]")
_NAME = re.compile(rf"[^{_SPACE}/>]*+")
_BETWEEN_ATTRIBUTES = re.compile(rf"[{_SPACE}/]*+")
_BLANKS = re.compile(rf"[{_SPACE}]*+")
_ATTRIBUTE_NAME = re.compile(rf"=?+[^{_SPACE}/>=]*+")
_UNQUOTED = re.compile(rf"[^{_SPACE}>]*+")
_COMMENT_END = re.compile("--!?>")
_SUBSET = re.compile(r"[^\[>]*+\[")
_SUBSET_END = re.compile(r"\]\s*+>")
_SCRIPT = re.compile(rf"<!--|-->|</?script(?=[{_SPACE}/>])", re.IGNORECASE)
_PHP = re.compile(r"<\?(?:php(?![A-Za-z0-9_-])|=|\s)", re.IGNORECASE)
_SERVER = re.compile(r"<\?(?:php(?![A-Za-z0-9_-])|=|\s)|<%|\{\{|\{%", re.IGNORECASE)
_BRACES = re.compile(r"\{(?:\{[^<>{}=\n]{0,500}+\}|%[^<>{}=\n]{0,500}+)\}")

Kind = Literal["text", "cdata", "start", "end", "comment", "server"]


@dataclass(frozen=True)
class Attribute:
    """An attribute of a tag, by the characters of its value without quotes."""

    name: str
    start: int
    end: int
    quote: str
    """The quote about the value; "" for none."""


@dataclass(frozen=True)
class HtmlToken:
    """A span of a page that is one tag, comment or text."""

    kind: Kind
    start: int
    end: int
    name: str = ""
    """The name of a tag, in small letters."""
    attributes: tuple[Attribute, ...] = ()
    is_self_closing: bool = False


@dataclass
class HtmlTokenizer:
    """Reads the tokens of a page one after another; the caller says where its elements change how text is read."""

    page: str
    is_xml: bool = False
    _missing: dict[str, int] = field(default_factory=dict)
    _has_declaration: bool = False

    def token_at(self, start: int, takes_cdata: bool = False) -> HtmlToken:
        """Reads the token that begins at an offset, which lies within the page."""
        page, size = self.page, len(self.page)
        markup = self._next_markup(start)
        if markup > start:
            return HtmlToken("text", start, markup)
        following = page[start + 1]
        if following == "%":
            return HtmlToken("server", start, self._find("%>", start) + 2)
        if following == "?":
            return self._instruction(start)
        if page.startswith("<!--", start):
            return HtmlToken("comment", start, self._end_of_comment(start))
        if following == "!":
            if takes_cdata and page.startswith("<![CDATA[", start):
                end = self._find("]]>", start)
                return HtmlToken("cdata", start, size if end < 0 else end + 3)
            return HtmlToken("comment", start, self._end_of_declaration(start))
        if following == "/" and not _LETTER.match(page, start + 2):
            return HtmlToken("comment", start, self._after(">", start + 2))
        return self._tag(start)

    def end_of_raw_text(self, name: str, start: int) -> int:
        """Finds where the text of an element ends that holds no tags, such as a title; its end tag begins there."""
        if name == "plaintext":
            return len(self.page)
        if name == "script":
            return self._end_of_script(start)
        match = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(self.page, start)
        return match.start() if match else len(self.page)

    def _next_markup(self, start: int) -> int:
        """Returns the offset of the next markup, or the end of the page."""
        page, offset = self.page, start
        while match := _MARKUP.search(page, offset):
            begin, following = match.start(), page[match.start() + 1]
            is_last = following == "/" and begin + 2 == len(page)
            if not is_last and not (following == "%" and self._find("%>", begin) < 0):
                return begin
            offset = begin + 1
        return len(page)

    def _instruction(self, start: int) -> HtmlToken:
        if _PHP.match(self.page, start):
            return HtmlToken("server", start, self._after("?>", start))
        return HtmlToken("comment", start, self._after("?>" if self.is_xml else ">", start))

    def _end_of_comment(self, start: int) -> int:
        for abrupt in ("<!-->", "<!--->"):
            if not self.is_xml and self.page.startswith(abrupt, start):
                return start + len(abrupt)
        match = _COMMENT_END.search(self.page, start + 4)
        return match.end() if match else len(self.page)

    def _end_of_declaration(self, start: int) -> int:
        if self.is_xml and not self._has_declaration:
            self._has_declaration = True
            subset = _SUBSET.match(self.page, start)
            if subset and (match := _SUBSET_END.search(self.page, subset.end())):
                return match.end()
        return self._after(">", start)

    def _end_of_script(self, start: int) -> int:
        """Returns the end of a script, whose comments may hold scripts (13.2.5.26 of the HTML standard)."""
        in_comment = in_inner = False
        for match in _SCRIPT.finditer(self.page, start):
            sign = match[0].lower()
            if sign == "<!--":
                in_comment = not self.page.startswith((">", "->"), match.end())
            elif sign == "-->":
                in_comment = in_inner = False
            elif sign == "<script":
                in_inner = in_comment
            elif not in_inner:
                return match.start()
            else:
                in_inner = False
        return len(self.page)

    def _tag(self, start: int) -> HtmlToken:
        """Reads a tag; one that does not end is read as a comment, since no browser shows anything of it."""
        page, size = self.page, len(self.page)
        is_end = page[start + 1] == "/"
        match = _NAME.match(page, start + 1 + is_end)
        assert match is not None
        name, offset = match[0].lower(), match.end()
        attributes: list[Attribute] = []
        while True:
            begin, offset = offset, _skip(_BETWEEN_ATTRIBUTES, page, offset)
            if offset >= size:
                return HtmlToken("comment", start, size)
            if page[offset] == ">":
                is_self_closing = offset > begin and page[offset - 1] == "/"
                kind: Kind = "end" if is_end else "start"
                return HtmlToken(kind, start, offset + 1, name, tuple(attributes), is_self_closing)
            if (after := self._after_server_code(offset)) > offset:
                offset = after
                continue
            attribute, offset = self._attribute(offset)
            if attribute is None:
                return HtmlToken("comment", start, size)
            attributes.append(attribute)

    def _attribute(self, start: int) -> tuple[Attribute | None, int]:
        """Reads an attribute; returns it and the offset after it, or None where its value does not end."""
        page, size = self.page, len(self.page)
        offset = _skip(_ATTRIBUTE_NAME, page, start)
        name = page[start:offset].lower()
        equals = _skip(_BLANKS, page, offset)
        if page[equals : equals + 1] != "=":
            return Attribute(name, offset, offset, ""), offset
        offset = _skip(_BLANKS, page, equals + 1)
        quote = page[offset : offset + 1]
        if quote not in ('"', "'"):
            end = _skip(_UNQUOTED, page, self._after_server_code(offset))
            return Attribute(name, offset, end, ""), end
        end = self._end_of_value(quote, offset + 1)
        return (None, size) if end < 0 else (Attribute(name, offset + 1, end, quote), end + 1)

    def _end_of_value(self, quote: str, start: int) -> int:
        """Returns the offset of the next quote that is not within code of a server; -1 for none."""
        end = self.page.find(quote, start)
        offset = start
        while end >= 0 and (match := _SERVER.search(self.page, offset, end)):
            offset = max(self._after_server_code(match.start()), match.start() + 2)
            if offset > end:
                end = self.page.find(quote, offset)
        return end

    def _after_server_code(self, offset: int) -> int:
        """Returns the end of a server's code that begins at an offset; the offset where none begins."""
        page = self.page
        if page.startswith("<", offset):
            if _PHP.match(page, offset):
                return self._after("?>", offset)
            if page.startswith("<%", offset) and (end := self._find("%>", offset)) >= 0:
                return end + 2
        elif page.startswith("{", offset) and (braces := _BRACES.match(page, offset)):
            return braces.end()
        return offset

    def _after(self, sign: str, start: int) -> int:
        """Returns the offset after a sign, or the end of the page where there is none."""
        index = self._find(sign, start)
        return len(self.page) if index < 0 else index + len(sign)

    def _find(self, sign: str, start: int) -> int:
        """Returns what `str.find` does, but never searches again for a sign that the rest of the page lacks."""
        if start >= self._missing.get(sign, len(self.page) + 1):
            return -1
        index = self.page.find(sign, start)
        if index < 0:
            self._missing[sign] = start
        return index


def _skip(pattern: re.Pattern[str], page: str, start: int) -> int:
    """Returns the end of a match that may be empty."""
    match = pattern.match(page, start)
    assert match is not None
    return match.end()
