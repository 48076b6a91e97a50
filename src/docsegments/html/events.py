"""Contents of a page in order: texts, paired tags, and attributes that readers see."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from docsegments.html.character_references import WrittenText, read_text
from docsegments.html.tokens import Attribute, HtmlToken, HtmlTokenizer
from docsegments.html.tree import (
    MATH_HOLDS_HTML,
    RAW,
    READINGS,
    SVG_HOLDS_HTML,
    VOID,
    Decision,
    HtmlElement,
    OpenElements,
)
from docsegments.text.placeholders import is_block

_INLINE = (
    "a abbr acronym b bdi bdo big cite data del dfn em font i ins label mark nobr picture q rb ruby s small "
    "span strike strong sub sup time u"
)
INLINE = frozenset(_INLINE.split())
"""Elements within a sentence; most others end it."""
INLINE_VOID = frozenset(["image", "img", "source", "wbr"])
"""Elements without content within a sentence."""
CODE = frozenset(["code", "kbd", "samp", "tt", "var"])
"""Elements of a sentence whose text is held."""
HELD = frozenset(["listing", "plaintext", "pre", "textarea", "xmp"])
"""Elements whose text is held, and that end a sentence."""
HIDDEN = {
    "html": frozenset(["iframe", "noembed", "noframes", "script", "style"]),
    "svg": frozenset(["metadata", "script", "style"]),
    "math": frozenset(["annotation", "annotation-xml", "script", "style"]),
}
"""Elements whose text no browser shows."""
_INLINE_SVG = frozenset(["a", "textpath", "tspan"])
_LINE_OF_SVG = frozenset(["x", "y", "dy"])  # attributes that put a tspan elsewhere

_OF_ARIA = ("braillelabel", "description", "label", "placeholder", "roledescription", "valuetext")
_ATTRIBUTES: dict[str, frozenset[str] | None] = {  # by the elements on which readers see them; None for all
    "abbr": frozenset(["th"]),
    "alt": frozenset(["applet", "area", "image", "img", "input"]),
    "label": frozenset(["optgroup", "option", "track", "menuitem"]),
    "placeholder": frozenset(["input", "textarea"]),
    "srcdoc": frozenset(["iframe"]),
    "standby": frozenset(["object"]),
    "summary": frozenset(["table"]),
    **dict.fromkeys(("title", *(f"aria-{name}" for name in _OF_ARIA))),
}
_BUTTONS = frozenset(["button", "reset", "submit"])
_FIELDS = frozenset(["", "search", "text"])
FORM_SENDS = "a form sends it"
OUTLOOK_SHOWS = "Outlook shows it, and browsers read it as a comment"
_CONDITIONAL = re.compile(r"<!--\[if\s")
_TAGS = re.compile(
    r"<(?P<raw>style|script|xml)\b.*?(?:</(?P=raw)\s*+>|\Z)|<!(?:--)?\[[^>]*+(?:>|\Z)|<[^<>]*+>",
    re.DOTALL | re.IGNORECASE,
)
_META = frozenset(f"{site}{name}" for site in ("", "og:", "twitter:") for name in ("description", "image:alt", "title"))
_TEMPLATES = (("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("<?", "?>"))
_LONGEST_SHOWN = 200  # characters of a server's code that a translator reads in the sentence

Role = Literal["text", "cdata", "open", "close", "mark", "break", "end"]
"""Role of an event in a sentence; `end` ends the sentence."""


@dataclass(slots=True)
class Event:
    """A text or a tag."""

    role: Role
    start: int
    end: int
    name: str = ""
    partner: int = -1
    """The number of the other tag of a pair, or -1."""
    is_whole: bool = False
    """True if the element, with all in it, is a mark of the sentence about it."""
    decision: Decision = "translated"
    written: WrittenText | None = None
    shown: str = ""
    """Text that a translator reads for the mark."""
    holder: int = -1
    """The number of the tag because of which a text is held, such as `<code>`; -1 for none."""
    holds: bool = False
    """True if text within the tag is held by its nature."""
    is_closed: bool = False
    """True if the element is closed by an end tag."""


@dataclass
class Events:
    """The events of a page, and its attributes."""

    page: str
    is_xml: bool = False
    held: frozenset[str] = frozenset()
    """More elements whose text is held."""
    events: list[Event] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    left: list[tuple[int, str, str]] = field(default_factory=list)
    """Offsets, texts and reasons of what a form sends, and which stays."""
    sent: set[int] = field(default_factory=set)
    """Offsets of attributes that a form sends, and which are translated."""
    tags: list[HtmlToken] = field(default_factory=list)
    """Start tags that may say which language the page is in, or in which direction it is read."""

    def __post_init__(self) -> None:
        self._elements = OpenElements(self.is_xml)
        tokenizer = HtmlTokenizer(self.page, self.is_xml)
        offset = 0
        while offset < len(self.page):
            token = tokenizer.token_at(offset, self.is_xml or self._elements.is_foreign)
            offset = token.end
            if token.kind == "start":
                raw = self._start(token)
                if raw is not None:
                    offset = tokenizer.end_of_raw_text(raw, token.end)
                    if raw in ("title", "textarea"):
                        self._text(token.end, offset)
            elif token.kind == "end":
                self._end(token)
            elif token.kind == "text":
                self._text(token.start, token.end)
            elif self._elements.decision != "hidden":
                self._other(token)

    def _text(self, start: int, end: int) -> None:
        decision = self._elements.decision
        if decision == "hidden" or start == end:
            return
        written, deciding = read_text(self.page, start, end), self._elements.deciding
        holder = deciding.event if deciding is not None and self.events[deciding.event].holds else -1
        if holder >= 0 and self.events[holder].name == "textarea":
            self._leave(start, written.text)
        is_in_lines = decision == "translated" and any(map(self._elements.has_open, ("pre", "listing", "textarea")))
        if not is_in_lines:
            self.events.append(Event("text", start, end, decision=decision, written=written, holder=holder))
            return
        done = 0
        for line in written.text.splitlines(keepends=True):
            part = WrittenText(line, written.offsets[done : done + len(line) + 1])
            done += len(line)
            self.events.append(Event("text", part.offsets[0], part.offsets[-1], written=part))
            self.events.append(Event("end", part.offsets[-1], part.offsets[-1]))

    def _other(self, token: HtmlToken) -> None:
        """Adds the event of a comment, code of a server, or a CDATA section."""
        start, end, decision = token.start, token.end, self._elements.decision
        if token.kind == "cdata":
            last = end - 3 if self.page.endswith("]]>", start, end) else end
            inside = range(start + len("<![CDATA["), last)
            written = WrittenText(self.page[inside.start : inside.stop], [start, *inside[1:], end])
            if written.text:
                self.events.append(Event("cdata", start, end, decision=decision, written=written))
                return
        if _CONDITIONAL.match(self.page, start, end):
            text = _TAGS.sub(" ", self.page[start:end])
            self._leave(start, " ".join(read_text(text, 0, len(text)).text.split()), OUTLOOK_SHOWS)
        code = self.page[start:end] if token.kind == "server" else ""
        is_statement = is_block(code)
        is_shown = not is_statement and len(code) <= _LONGEST_SHOWN and not code.startswith(("<%#", "<%--"))
        shown = code if is_shown else ""
        self.events.append(Event("break" if is_statement else "mark", start, end, shown=shown, decision=decision))

    def _start(self, token: HtmlToken) -> str | None:
        """Takes a start tag; the name of an element that holds no tags, None for others."""
        name = token.name.rpartition(":")[2] if self.is_xml else token.name
        given = {attribute.name: attribute for attribute in reversed(token.attributes)}
        namespace = self._elements.start(
            name, name == "font" and not given.keys().isdisjoint(("color", "face", "size"))
        )
        self._close_readings(token.start)
        if namespace == "html" and name in ("svg", "math"):
            namespace = "svg" if name == "svg" else "math"
        before = self._elements.decision
        wanted = self._wanted(given, before)
        if name in ("html", "body", "meta") or not given.keys().isdisjoint(("lang", "xml:lang", "dir")):
            self.tags.append(token)
        decision = wanted or self._by_nature(name, namespace, before)
        self._read_attributes(name, given, wanted, before)
        role, is_whole = self._role(name, namespace, given, before, decision)
        is_void = token.is_self_closing if self.is_xml or namespace != "html" else name in VOID
        if is_void:
            role = "mark" if role == "open" else role
            self.events.append(Event(role, token.start, token.end, name, decision=before))
            return None
        holds_html = name in {"html": (), "svg": SVG_HOLDS_HTML, "math": MATH_HOLDS_HTML}[namespace]
        event = len(self.events)
        opening = Event(role, token.start, token.end, name, is_whole=is_whole, decision=before)
        opening.holds = wanted is None and decision == "held"
        self.events.append(opening)
        self._elements.push(HtmlElement(name, namespace, event, decision, self._elements.disorders, holds_html))
        return name if name in RAW and namespace == "html" and not self.is_xml else None

    def _end(self, token: HtmlToken) -> None:
        name = token.name.rpartition(":")[2] if self.is_xml else token.name
        element, is_orderly = self._elements.end(name)
        self._close_readings(token.start)
        number = len(self.events)
        closing = Event("end", token.start, token.end, name)
        self.events.append(closing)
        if element is None:
            if name == "br":
                closing.role = "break"
            return
        opening = self.events[element.event]
        opening.is_closed = True
        if opening.role == "break":  # in XML
            closing.role = "mark"
        elif opening.role == "open" and (is_orderly or not opening.is_whole):
            closing.role, closing.partner, opening.partner = "close", element.event, number
            closing.is_whole = opening.is_whole

    def _close_readings(self, offset: int) -> None:
        """Adds the ends of ruby's readings that have no end tag."""
        for element in self._elements.left_out:
            opening = self.events[element.event]
            opening.is_closed = True
            if opening.role == "open":
                opening.partner = len(self.events)
                closing = Event("close", offset, offset, element.name, element.event, opening.is_whole)
                self.events.append(closing)
        self._elements.left_out.clear()

    def _wanted(self, given: dict[str, Attribute], before: Decision) -> Decision | None:
        """Returns the fate of an element's text by its attributes; None if they do not say."""
        if before == "hidden":
            return None
        translate = self._value(given, "translate").strip().lower()
        if translate == "no" or "notranslate" in self._value(given, "class").split():
            return "held"
        return "translated" if translate == "yes" or ("translate" in given and not translate) else None

    def _by_nature(self, name: str, namespace: str, before: Decision) -> Decision | None:
        """Returns the fate of an element's text unless its attributes say otherwise."""
        if name in HIDDEN[namespace]:
            return "hidden"
        if before == "translated" and (
            name == "math"
            or name in self.held
            or (namespace == "html" and (name in CODE or name in HELD or name in READINGS))
        ):
            return "held"
        return None

    def _role(
        self, name: str, namespace: str, given: dict[str, Attribute], before: Decision, decision: Decision | None
    ) -> tuple[Role, bool]:
        """Returns the role of a start tag in the sentence, and whether its element is a mark as a whole."""
        if before != "translated" and decision == "translated":
            return "end", False
        if name == "br" and namespace == "html":
            return "break", False
        if name in ("svg", "math"):
            return "open", True
        if namespace == "html":
            if name in CODE or name in READINGS:
                return "open", True
            if name in INLINE or name in INLINE_VOID:
                return "open", decision == "held"
            return "end", False
        is_inline = namespace == "math" or (name in _INLINE_SVG and given.keys().isdisjoint(_LINE_OF_SVG))
        return ("open" if is_inline else "end"), False

    def _read_attributes(
        self, name: str, given: dict[str, Attribute], wanted: Decision | None, before: Decision
    ) -> None:
        """Adds the attributes that are translated."""
        if before == "hidden" or (wanted or before) == "held":
            return
        for attribute in given.values():
            if attribute.start < attribute.end and self._is_shown(name, attribute.name, given):
                value = self.page[attribute.start : attribute.end]
                if all(value.count(opening) <= value.count(closing) for opening, closing in _TEMPLATES):
                    self.attributes.append(attribute)
                    if attribute.name == "value" and "name" in given:
                        self.sent.add(attribute.start)
            elif name == "input" and attribute.name == "value" and self._value(given, "type").lower() in _FIELDS:
                self._leave(attribute.start, self._value(given, "value"))

    def _leave(self, start: int, text: str, reason: str = FORM_SENDS) -> None:
        """Names a text that stays."""
        if any(map(str.isalpha, text)):
            self.left.append((start, text, reason))

    def _is_shown(self, tag: str, attribute: str, given: dict[str, Attribute]) -> bool:
        """Returns True if readers see or hear an attribute."""
        if attribute == "value":
            return tag == "input" and self._value(given, "type").strip().lower() in _BUTTONS
        if attribute == "content":
            names = (self._value(given, "name"), self._value(given, "property"))
            return tag == "meta" and any(name.strip().lower() in _META for name in names)
        if attribute not in _ATTRIBUTES or (attribute == "title" and tag in ("link", "style")):  # names of style sheets
            return False
        tags = _ATTRIBUTES[attribute]
        return tags is None or tag in tags

    def _value(self, given: dict[str, Attribute], name: str) -> str:
        attribute = given.get(name)
        return "" if attribute is None else read_text(self.page, attribute.start, attribute.end, True).text


def settle_pairs(events: Sequence[Event], deepest: int) -> None:
    """Turns tags without a partner in their sentence, and elements nested deeper than `deepest`, into ends."""
    ends = [0]  # the ends of sentences so far, in each element that is a mark
    opened: dict[int, tuple[int, int]] = {}
    for number, event in enumerate(events):
        if event.holder >= 0 and not (holder := events[event.holder]).is_closed and holder.name in CODE:
            event.decision = "translated"  # code that does not end would be the rest of the page
        if event.role in ("open", "close") and event.partner < 0:
            event.role = "end"
        if event.role == "end":
            ends[-1] += 1
        elif event.role == "open" and event.is_whole:
            if len(ends) > deepest:
                event.role = events[event.partner].role = "end"
                ends[-1] += 1
            else:
                ends.append(0)
        elif event.role == "close" and event.is_whole:
            ends.pop()
        elif event.role == "open":
            opened[number] = len(ends), ends[-1]
        elif event.role == "close" and opened.get(event.partner) != (len(ends), ends[-1]):
            event.role = events[event.partner].role = "end"
            ends[-1] += 1
