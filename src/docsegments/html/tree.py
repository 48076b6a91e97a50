"""The elements that are open at an offset of a page, by the HTML standard's rules for omitted end tags.

It tracks only how text is read: which element a tag closes, whether text is held, and where SVG and MathML begin and
end. Each tag takes constant time on average, at any depth.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

Decision = Literal["translated", "held", "hidden"]
"""Fate of a text: `hidden` is text that no browser shows, such as a script."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
RAW = _names("iframe noembed noframes plaintext script style textarea title xmp")
"""Elements of HTML that hold no tags."""
READINGS = _names("rp rt rtc")
"""Elements of ruby beside the words that they are about."""
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_TABLE_PARTS = _names("td th tr tbody thead tfoot caption colgroup col")
_CLOSES = {
    start: (_names(closed), within.split())
    for starts, closed, within in (
        ("td th", "td th caption", "table template"),
        ("tr", "tr td th caption colgroup", "table template"),
        ("tbody thead tfoot caption colgroup col", "tbody thead tfoot tr td th caption colgroup", "table template"),
        ("li", "li", "#ends-item"),
        ("dd dt", "dd dt", "#ends-item"),
        ("rb rtc", "rb rt rtc rp", "#barrier ruby"),
        ("rt rp", "rb rt rp", "#barrier ruby"),
        ("a", "a", "#barrier"),
        ("nobr", "nobr", "#barrier"),
        ("button", "button", "#barrier"),
    )
    for start in starts.split()
}
"""Elements without end tag that each start tag closes, and elements or groups through which it closes nothing."""
_CLOSES_PARAGRAPH = _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp"
)
_BARRIERS = _names("applet caption html marquee object table td template th")
_SCOPES = {"p": ("#barrier", "button"), "li": ("#barrier", "ol", "ul"), "template": ()}
"""Elements or groups through which an end tag closes nothing."""
_SPECIAL = _names(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd "
    "details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript "
    "object ol p param plaintext pre script search section select source style summary table tbody td template "
    "textarea tfoot th thead title tr track ul wbr xmp"
)
_HEAD = _names("base basefont bgsound link meta noframes noscript script style template title")
_LEAVES_FOREIGN = _names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
SVG_HOLDS_HTML = _names("foreignobject desc title")
MATH_HOLDS_HTML = _names("mi mo mn ms mtext")


@dataclass(eq=False, slots=True)
class HtmlElement:
    """An element that has been opened."""

    name: str
    namespace: Literal["html", "svg", "math"]
    event: int
    """The number of its start tag among the events of the page."""
    decision: Decision | None
    """Fate of the text in the element; None for that of the text about it."""
    disorders: int
    """Number of disorders before the element, see `OpenElements`."""
    holds_html: bool = False
    is_open: bool = True


@dataclass
class OpenElements:
    """The elements that are open, the innermost last."""

    is_xml: bool = False
    disorders: int = 0
    """Number of elements closed without a required end tag, and of end tags that closed no element."""
    left_out: list[HtmlElement] = field(default_factory=list)
    """The readings of ruby whose end tag was left out before the last tag, to be emptied by the caller."""
    _stack: list[HtmlElement] = field(default_factory=list)
    _deciding: list[HtmlElement] = field(default_factory=list)
    _lists: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Offsets in the stack by the element's name, and by `#` and a group's name."""

    @property
    def top(self) -> HtmlElement | None:
        """The innermost element."""
        while self._stack and not self._stack[-1].is_open:
            self._pop()
        return self._stack[-1] if self._stack else None

    @property
    def deciding(self) -> HtmlElement | None:
        """The innermost element that decides the fate of text here."""
        while self._deciding and not self._deciding[-1].is_open:
            self._deciding.pop()
        return self._deciding[-1] if self._deciding else None

    @property
    def decision(self) -> Decision:
        """Fate of text here."""
        return (self.deciding is not None and self.deciding.decision) or "translated"

    @property
    def is_foreign(self) -> bool:
        """True inside SVG and MathML, whose tags are read by their own rules."""
        return self.top is not None and self.top.namespace != "html"

    def has_open(self, name: str) -> bool:
        """Returns True if an element of HTML of this name is open."""
        return bool(self._lists.get(name))

    def start(self, name: str, leaves_foreign: bool) -> Literal["html", "svg", "math"]:
        """Closes what a start tag closes; returns the language of the tag."""
        top = self.top
        if self.is_xml:
            return "html" if top is None or top.holds_html else top.namespace
        if top is not None and top.namespace != "html" and not top.holds_html:
            if not leaves_foreign and name not in _LEAVES_FOREIGN:
                return top.namespace
            while (top := self.top) is not None and top.namespace != "html" and not top.holds_html:
                self._close_through(len(self._stack) - 1)
        if name not in _HEAD and top is not None and top.name == "head":
            self._close_through(len(self._stack) - 1)
        self._close_left_out(name)
        return "html"

    def push(self, element: HtmlElement) -> None:
        """Opens an element."""
        index = len(self._stack)
        if element.name in ("html", "body") and self._lists[element.name]:
            return  # a second one adds attributes to the first, no more
        self._stack.append(element)
        for group in self._groups_of(element):
            self._lists[group].append(index)
        if element.decision is not None:
            self._deciding.append(element)

    def end(self, name: str) -> tuple[HtmlElement | None, bool]:
        """Closes what an end tag closes; returns its element, None for none, and True if nothing else was closed."""
        index = self._closed_by(name)
        if index is None:
            self.disorders += 1
            return None, False
        element = self._stack[index]
        if name in FORMATTING and element.namespace == "html" and self._last("#special") > index:
            element.is_open = False
            self.disorders += 1
            self._lists[name].pop()
            return element, False
        is_orderly = self.top is element
        self._close_through(index, has_end_tag=True)
        return element, is_orderly and self.disorders == element.disorders

    def _closed_by(self, name: str) -> int | None:
        """Returns the index of the element that an end tag closes."""
        if self.is_xml:
            return self._open(name, -1)
        if self.is_foreign and (index := self._open(f"#foreign {name}", self._last("#html"))) is not None:
            return index
        if name in ("html", "body"):
            return None  # text after it belongs to the body too
        if name in _HEADINGS:
            return self._open("#heading", self._last("#barrier"))
        if name in _SCOPES:
            return self._open(name, max(map(self._last, _SCOPES[name]), default=-1))
        if name == "table" or name in _TABLE_PARTS:
            return self._open(name, max(self._last("template"), self._last("table") - (name == "table")))
        if name in FORMATTING or name in _SPECIAL:
            return self._open(name, self._last("#barrier") - (name in _BARRIERS))
        return self._open(name, self._last("#special"))

    def _close_left_out(self, name: str) -> None:
        """Closes the elements whose end tags may be left out before a start tag."""
        if name in ("option", "optgroup"):
            while (top := self.top) is not None and top.name in ("option", name):
                self._close_through(len(self._stack) - 1)
        barrier = self._last("#barrier")
        if name in _CLOSES:
            names, within = _CLOSES[name]
            self._close_first(names, max(map(self._last, within)))
        if name in _CLOSES_PARAGRAPH:
            self._close_first({"p"}, max(barrier, self._last("button")))
        if name in _HEADINGS and (top := self.top) is not None and top.name in _HEADINGS:
            self._close_through(len(self._stack) - 1)

    def _close_first(self, names: frozenset[str] | set[str], after: int) -> None:
        """Closes the outermost open element of some names within another, and all in it."""
        indices = [index for name in names if (index := self._first(name, after)) is not None]
        if indices:
            self._close_through(min(indices))

    def _first(self, name: str, after: int) -> int | None:
        """Returns the index of the outermost element of a name within another; few of a name are open at once."""
        indices = list(takewhile(lambda index: index > after, reversed(self._lists[name])))
        return indices[-1] if indices else None

    def _open(self, name: str, after: int) -> int | None:
        """Returns the index of the innermost element of a name, if it is within another."""
        index = self._last(name)
        return index if index > max(after, -1) else None

    def _last(self, group: str) -> int:
        indices = self._lists.get(group)
        return indices[-1] if indices else -1

    def _close_through(self, index: int, has_end_tag: bool = False) -> None:
        while len(self._stack) > index:
            element = self._stack[-1]
            if element.is_open and not (has_end_tag and len(self._stack) == index + 1):
                if element.name in READINGS and element.disorders == self.disorders:
                    self.left_out.append(element)
                else:
                    self.disorders += 1
            self._pop()

    def _pop(self) -> None:
        element = self._stack.pop()
        for group in self._groups_of(element):
            indices = self._lists[group]
            if indices and indices[-1] == len(self._stack):
                indices.pop()
        element.is_open = False

    def _groups_of(self, element: HtmlElement) -> list[str]:
        """Returns the names of the lists that an element is in."""
        name = element.name
        if self.is_xml:
            return [name]
        if element.namespace != "html":
            return [f"#foreign {name}", *(["#barrier", "#special", "#ends-item"] if element.holds_html else [])]
        groups = [name, "#html"]
        if name in _BARRIERS and (name not in ("td", "th", "caption") or self._lists["table"]):
            groups.append("#barrier")
        if name in _SPECIAL:
            groups.append("#special")
            if name not in ("address", "div", "p", "li", "dd", "dt"):
                groups.append("#ends-item")
        if name in _HEADINGS:
            groups.append("#heading")
        return groups
