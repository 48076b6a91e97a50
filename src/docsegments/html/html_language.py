"""The language of a page and the direction in which it is read, as its tags say them, for its translation."""

import re
from collections.abc import Iterator, Sequence

from docsegments.document import Edit, Languages
from docsegments.html.events import INLINE
from docsegments.html.tokens import HtmlToken
from docsegments.language_codes import is_same, turn

_DOCTYPE = re.compile(r"\s*+<!doctype[^>]*+>", re.IGNORECASE)
_OF_META = frozenset(["content-language", "dc.language", "language", "og:locale"])


def label_edits(page: str, tags: Sequence[HtmlToken], languages: Languages) -> Iterator[Edit]:
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
