"""HTML and XHTML: every text that a browser shows, and the attributes that readers see; only their characters change.

`html_tokens` divides a page, `html_tree` knows which elements are open, `html_events` says what tags are to a sentence,
and `html_segments` makes segments of it. Each takes time linear in the length of the page, whatever is in it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from transduce.documents.document import Document, Languages, TextFile, Unit, Untranslated
from transduce.documents.html_edits import Write, without_inner, write_within, writer
from transduce.documents.html_events import Events, settle_pairs
from transduce.documents.html_segments import Item, attribute_segment, find_segments
from transduce.documents.html_text import Written, escape_attribute, escape_text, read_text
from transduce.documents.html_tokens import Attribute
from transduce.documents.placeholders import Escape
from transduce.documents.segment import Segment
from transduce.errors import InputError

DEEPEST_PAGE = 3  # pages within the attributes of others
DEEPEST_MARK = 4  # elements within each other that are marks of a sentence as a whole
_PAGE_STAYS = f"a page within {DEEPEST_PAGE} others (srcdoc), or in an attribute without quotes"
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


def read_html(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of a page or of a part of one: a segment for each paragraph, heading, cell, attribute and the like."""
    file = TextFile.read(data, name, _encoding(data))
    file = TextFile(name, file.text, file.encoding, file.mark, lambda character: f"&#{ord(character)};")
    if "\0" in file.text:
        raise InputError(f"{name}: is no HTML; it holds zero bytes")
    page = _Page(file.text, is_xml=name.lower().endswith((".xhtml", ".xht")))
    units = [
        Unit(one.source, one.write, f"line {file.line_of(one.start)}{one.place}")
        for one in sorted(page.texts, key=attrgetter("start"))
    ]
    untranslated = [
        Untranslated(f"line {file.line_of(start)}", text, reason) for start, text, reason in sorted(page.untranslated)
    ]
    return Document(units, lambda edits: file.save(without_inner(file.text, edits)), untranslated)


def _encoding(data: bytes) -> str | None:
    """The encoding that a page names, as browsers take it."""
    head = data[:1024]
    found = _XML.match(head) or _META.search(_COMMENT.sub(b"", head))
    if found is None:
        return None
    encoding = found[1].decode().lower()
    if encoding.startswith("utf-16"):
        return None  # as the standard has it: what can be read as ASCII is not
    return _AS_BROWSERS_READ.get(encoding, encoding)


@dataclass(frozen=True)
class _Text:
    """A segment of a page."""

    start: int
    place: str
    """For a person, beside the line: the name of an attribute."""
    source: Segment
    write: Write


class _Page:
    """The texts of a page, and of the pages in its attributes."""

    def __init__(self, page: str, is_xml: bool = False, depth: int = 0) -> None:
        self.texts: list[_Text] = []
        self._page, self._depth = page, depth
        found = Events(page, is_xml)
        settle_pairs(found.events, DEEPEST_MARK)
        segments, self.untranslated = find_segments(page, found.events)
        for items in segments:
            self._add(items, "", writer(page, items, escape_text))
        for attribute in found.attributes:
            self._read_attribute(attribute)

    def _add(self, items: Sequence[Item], place: str, write: Write) -> None:
        self.texts.append(_Text(items[0].start, place, Segment.of(one.part for one in items), write))

    def _read_attribute(self, attribute: Attribute) -> None:
        value = read_text(self._page, attribute.start, attribute.end, is_attribute=True)
        quote = attribute.quote or '"'
        escape = partial(escape_attribute, quote=quote)
        if attribute.name == "srcdoc":
            self._read_page(attribute, value, escape)
            return
        items = attribute_segment(self._page, value, attribute.quote != "", escape)
        if items is not None:
            self._add(items, f", {attribute.name}", writer(self._page, items, escape, "" if attribute.quote else quote))

    def _read_page(self, attribute: Attribute, value: Written, escape: Escape) -> None:
        """Adds the texts of a page that is the value of an attribute."""
        if self._depth == DEEPEST_PAGE or not attribute.quote:
            self.untranslated.append((attribute.start, value.text, _PAGE_STAYS))
            return
        inner = _Page(value.text, depth=self._depth + 1)
        for one in inner.texts:
            write = write_within(self._page, one.write, value, escape)
            self.texts.append(_Text(value.offsets[one.start], f", srcdoc{one.place}", one.source, write))
        self.untranslated += [(value.offsets[start], text, reason) for start, text, reason in inner.untranslated]
