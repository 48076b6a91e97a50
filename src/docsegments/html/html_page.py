"""HTML and XHTML: every text that a browser shows, and the attributes that readers see; only their characters change.

`tokens` divides a page, `tree` tracks the open elements, `events` gives tags their roles in sentences, and
`html_segments` makes segments of it. Each takes time linear in the length of any page.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

from docsegments.document import NO_LANGUAGES, Document, Edit, Languages, TextFile, Unit, Untranslated, Write
from docsegments.html.character_references import WrittenText, escape_attribute, escape_text, read_text
from docsegments.html.events import INLINE, Events, settle_pairs
from docsegments.html.html_segments import HtmlItem, attribute_segment, find_segments
from docsegments.html.tokens import Attribute, HtmlToken, HtmlTokenizer
from docsegments.language_codes import is_same, turn
from docsegments.orthography.characters import Span
from docsegments.segment import Mark, Segment
from docsegments.text.placeholders import Escape
from docsegments.user_errors import InputError

DEEPEST_PAGE = 3  # pages within the attributes of others
DEEPEST_MARK = 4  # elements within each other that are marks of a sentence as a whole
_PAGE_STAYS = f"a page within {DEEPEST_PAGE} others (srcdoc), or in an attribute without quotes"
FROM_RIGHT_STAYS = "the text is read from right to left, which nothing about it says (dir)"
SENT = "a form sends it (value)"
_LONGEST_TAG = 1000  # characters of the start tag of an <option>
_OPTION = re.compile(r"<option[\s/>]", re.IGNORECASE)
_OPTION_END = re.compile(r"</?(?:option|optgroup|select|datalist)\b", re.IGNORECASE)
_DOCTYPE = re.compile(r"\s*+<!doctype[^>]*+>", re.IGNORECASE)
_OF_META = frozenset(["content-language", "dc.language", "language", "og:locale"])
_TAG = re.compile(r"<[^<>]*+>")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"""<meta(?:(?!<meta)[^>])*?charset\s*+=\s*+["']?\s*+([\w.:-]++)""", re.IGNORECASE)
_XML = re.compile(rb"""\s*+<\?xml\s[^>]*?encoding\s*+=\s*+["']([\w.:-]++)""")
_AS_BROWSERS_READ = {  # https://encoding.spec.whatwg.org: labels of pages that mean more than their names say
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "ascii", "us-ascii"), "windows-1252"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "windows-1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620"), "windows-874"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601"), "cp949"),
    "big5": "big5hkscs",
}


def read_html(data: bytes, name: str, wanted: Languages, held: Collection[str] = ()) -> Document:
    """Reads the texts of a page or a part of one: a segment for each paragraph, heading, cell and attribute.

    The text of elements whose names are in `held` stays as it is.
    """
    file = replace(TextFile.read(data, name, _encoding(data)), errors="xmlcharrefreplace")
    if "\0" in file.text:
        raise InputError(f"{name}: is no HTML; it holds zero bytes")
    is_xml = name.lower().endswith((".xhtml", ".xht"))
    page = HtmlPage(file.text, is_xml, held=frozenset(element.lower() for element in held), languages=wanted)
    units = [text.unit(file) for text in page.texts]
    left = [Untranslated(file.where(start), text, reason) for start, text, reason in page.untranslated]
    if turn(wanted.source, wanted.target) == "rtl" and not page.labels and units:
        units[0] = replace(units[0], notes=(*units[0].notes, FROM_RIGHT_STAYS))
    return Document(units, lambda edits: file.save([*edits, *page.labels] if edits else edits), left)


def _encoding(data: bytes) -> str | None:
    """Returns the encoding that a page names, as browsers understand it."""
    head = data[:1024]
    match = _XML.match(head) or _META.search(_COMMENT.sub(b"", head))
    if match is None:
        return None
    encoding = match[1].decode().lower()
    if encoding.startswith("utf-16"):
        return None  # as in the standard: a page that can be read as ASCII is not UTF-16
    return _AS_BROWSERS_READ.get(encoding, encoding)


@dataclass(frozen=True)
class HtmlText:
    """A segment of a page."""

    start: int
    place: str
    """Name of the attribute, for a person, to be shown after the line."""
    source: Segment
    write: Write
    notes: tuple[str, ...] = ()
    """Notes for a person."""

    def unit(self, file: TextFile) -> Unit:
        """Returns the unit of a file that has the segment at these offsets."""
        return Unit(self.source, self.write, file.where(self.start) + self.place, notes=self.notes)

    def within(self, value: WrittenText, escape: Escape, where: str = "") -> "HtmlText":
        """Returns the same segment in a text that has a page in it: an attribute's value, a block of Markdown.

        Args:
            value: the page, and the offset in the text of each of its characters.
            escape: writes characters of the page for the text.
            where: for a person, where in the text the page is.
        """

        def write(segment: Segment) -> list[Edit]:
            return edits_within(self.write(segment), value, escape)

        return replace(self, start=value.offsets[self.start], place=where + self.place, write=write)


def edits_within(edits: Sequence[Edit], value: WrittenText, escape: Escape) -> list[Edit]:
    """Returns the edits of a page as edits of the text that holds the page, such as the `srcdoc` of a frame."""

    def moved(piece: str | Span) -> str | Span:
        return escape(piece) if isinstance(piece, str) else (value.offsets[piece[0]], value.offsets[piece[1]])

    return [Edit(value.offsets[e.start], value.offsets[e.end], tuple(map(moved, e.pieces))) for e in edits]


class HtmlPage:
    """The texts of a page, and of the pages in its attributes, in their order; and untranslated texts, with reasons."""

    def __init__(
        self,
        page: str,
        is_xml: bool = False,
        depth: int = 0,
        held: frozenset[str] = frozenset(),
        languages: Languages = NO_LANGUAGES,
    ) -> None:
        self.texts: list[HtmlText] = []
        self._page, self._depth, self._held, self._languages = page, depth, held, languages
        parsed = Events(page, is_xml, held)
        settle_pairs(parsed.events, DEEPEST_MARK)
        segments, left = find_segments(page, parsed.events)
        self.untranslated = [*left, *parsed.left]
        self.labels = list(_label_edits(page, parsed.tags, languages))
        """Edits by which the page says in which language and direction it is."""
        for items in segments:
            self._add(items, "", escape_text)
        for attribute in parsed.attributes:
            self._read_attribute(attribute, (SENT,) if attribute.start in parsed.sent else ())
        self.texts.sort(key=attrgetter("start"))
        self.untranslated.sort()

    def _add(
        self, items: Sequence[HtmlItem], where: str, escape: Escape, quote: str = "", notes: tuple[str, ...] = ()
    ) -> None:
        source, more = Segment.of(item.part for item in items), [] if where else _kept_value(self._page, items[0].start)
        write = partial(_write, items, escape, quote, more)
        self.texts.append(HtmlText(items[0].start, where, source, write, notes))

    def _read_attribute(self, attribute: Attribute, notes: tuple[str, ...]) -> None:
        value = read_text(self._page, attribute.start, attribute.end, is_attribute=True)
        quote = attribute.quote or '"'
        escape = partial(escape_attribute, quote=quote)
        if attribute.name == "srcdoc":
            self._read_page(attribute, value, escape)
        elif (items := attribute_segment(self._page, value, attribute.quote != "", escape)) is not None:
            self._add(items, f", {attribute.name}", escape, "" if attribute.quote else quote, notes)

    def _read_page(self, attribute: Attribute, value: WrittenText, escape: Escape) -> None:
        """Adds the texts of a page that is the value of an attribute."""
        if self._depth == DEEPEST_PAGE or not attribute.quote:
            self.untranslated.append((attribute.start, value.text, _PAGE_STAYS))
            return
        inner = HtmlPage(value.text, depth=self._depth + 1, held=self._held, languages=self._languages)
        self.labels += edits_within(inner.labels, value, escape)
        self.texts += [text.within(value, escape, ", srcdoc") for text in inner.texts]
        self.untranslated += [(value.offsets[start], text, reason) for start, text, reason in inner.untranslated]


def _kept_value(page: str, start: int) -> list[Edit]:
    """Returns the edit that makes the text of an <option> its value, if a segment begins one that has no value.

    A form sends the value, and without it the text.
    """
    begin = page.rfind("<", max(0, start - _LONGEST_TAG), start)
    if not _OPTION.match(page, begin, start):
        return []
    token = HtmlTokenizer(page).token_at(begin)
    if token.end > start or any(attribute.name == "value" for attribute in token.attributes):
        return []
    at, stop = token.end - 1 - token.is_self_closing, _OPTION_END.search(page, token.end)
    inside = _TAG.sub("", page[token.end : stop.start() if stop else len(page)])
    text = " ".join(filter(None, re.split(r"[\t\n\f\r ]+", read_text(inside, 0, len(inside)).text)))
    return [Edit(at, at, (f' value="{escape_attribute(text, chr(34))}"',))]


def _write(items: Sequence[HtmlItem], escape: Escape, quote: str, more: Sequence[Edit], segment: Segment) -> list[Edit]:
    """Returns the edit for a translation: marks are pieces of the page, and unquoted attribute values get quotes.

    `more` are edits that are needed besides.
    """
    written: defaultdict[str, list[HtmlItem]] = defaultdict(list)
    for item in reversed(items):
        if isinstance(item.part, Mark):
            written[item.part.raw].append(item)
    pieces: list[str | Span] = [quote]
    for part in segment.parts:
        if isinstance(part, str):
            pieces.append(escape(part))
        elif (same := written[part.raw]) and same[-1].is_exact:
            item = same.pop()
            pieces += [(item.start, item.end), item.more]
        else:
            pieces.append(part.raw)
    return [Edit(items[0].start, items[-1].end, (*pieces, quote)), *more]


def _label_edits(page: str, tags: Sequence[HtmlToken], languages: Languages) -> Iterator[Edit]:
    """Yields the edits after which a page says that it is in the target language, and in which direction that is read.

    Elements in other languages than the source stay as they are; `dir` is added only where it is needed.

    Args:
        page: the page.
        tags: its start tags with `lang` or `dir`, and those of <html>, <body> and <meta>.
        languages: those of its source and its translation.
    """
    if not languages.target:
        return
    source, target = languages.source, languages.target
    direction = turn(source, target)
    roots = [tag for tag in tags if tag.name in ("html", "body")]
    for tag in tags:
        named = {attribute.name: attribute for attribute in reversed(tag.attributes)}
        values = {name: page[attribute.start : attribute.end] for name, attribute in named.items()}
        is_translated = False
        for name in ("lang", "xml:lang"):
            code = values.get(name, "")
            if code and (is_same(code, source) or (not source and tag in roots)):
                is_translated = True
                yield Edit(named[name].start, named[name].end, (target,))
        names = {values.get(name, "").lower() for name in ("name", "property", "http-equiv")}
        if tag.name == "meta" and names & _OF_META and is_same(values.get("content", ""), source):
            code = target.replace("-", "_") if "og:locale" in names else target
            yield Edit(named["content"].start, named["content"].end, (code,))
        is_turned = direction and values.get("dir", "").lower() not in ("auto", direction)
        if is_turned and "dir" in values and (is_translated or tag.name not in INLINE | {"input", "textarea"}):
            yield Edit(named["dir"].start, named["dir"].end, (direction,))
        elif is_turned and direction == "rtl" and tag is roots[0]:
            at = tag.end - 1 - tag.is_self_closing
            yield Edit(at, at, (' dir="rtl"',))
    if direction == "rtl" and not roots and (doctype := _DOCTYPE.match(page)):
        yield Edit(doctype.end(), doctype.end(), (f'<html lang="{target}" dir="rtl">',))
