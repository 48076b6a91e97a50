"""XML inside a request, a whole file or a piece of one, whose elements divide sentences or are marks in them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from docsegments.document import Document, Edit, TextFile, Unit
from docsegments.inline_xml import InlineKind, segment_of
from docsegments.segment import Segment
from docsegments.sentences import ends_sentence
from docsegments.text.elements import BLOCKS
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold, mark_tags
from docsegments.user_errors import InputError
from docsegments.xml import Element, element_of, text_unit, tokens_of

ROOT = "text"
"""The element put around a text, which may have several elements, or text beside them."""
_DECLARATIONS = re.compile(r"\s*+(?:<\?xml\s[^>]*+>\s*+)?(?:<!DOCTYPE\s[^>\[]*+>)?")


@dataclass(frozen=True)
class Tags:
    """Settings for the elements of a text; names are as the text writes them, with their prefixes."""

    splitting: tuple[str, ...] = ()
    """Elements whose text is always translated apart from the text about them."""
    non_splitting: tuple[str, ...] = ()
    """Elements that never divide a text."""
    ignored: tuple[str, ...] = ()
    """Elements whose text stays as it is."""
    finds_outline: bool = True
    """True if elements with no text beside them are translated apart."""
    splits_lines: bool = True
    """True if each line end divides a text; else only one after a sentence does."""
    is_strict: bool = False
    """True if text that is not well-formed is an error; else its tags are marks, and the rest is plain text."""


def read_tagged(data: bytes, name: str, tags: Tags) -> Document:
    """Reads the texts of XML in UTF-8; InputError for what is not well-formed, if the settings are strict."""
    text = data.decode()
    declarations = _DECLARATIONS.match(text)
    before = declarations[0] if declarations else ""
    opening, closing = f"{before}<{ROOT}>", f"</{ROOT}>"
    file = TextFile(name, f"{opening}{text[len(before) :]}{closing}")
    try:
        tokens = tokens_of(file)
        root = element_of(next(token for token in tokens if token.kind == "start"), tokens)
        list(tokens)  # what follows the root: nothing, or the text closes the root itself
    except InputError:
        if tags.is_strict:
            raise
        return _plain(text, name, tags)
    units = [_unit(element, file, tags) for element in _containers(root, tags)]

    def save(edits: Sequence[Edit]) -> bytes:
        saved = file.save(edits).decode()
        return f"{before}{saved[len(opening) : len(saved) - len(closing)]}".encode()

    return Document(units, save)


def _plain(text: str, name: str, tags: Tags) -> Document:
    """Returns a text with tags that are not well-formed XML."""
    file = TextFile(name, text)
    source = Segment.of(mark_layout(hold(mark_tags([text])), str, _breaks(tags)))
    return Document([file.unit(0, len(text), source)], file.save)


def _containers(root: Element, tags: Tags) -> Iterator[Element]:
    """Yields the elements whose content is a segment: those with text of their own, in none of the same kind."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag in tags.ignored:
            continue
        if not tags.finds_outline or _has_own_text(element, tags):
            yield element
        else:
            waiting += reversed(element.elements)


def _has_own_text(element: Element, tags: Tags) -> bool:
    """Returns True for text directly within an element, or within elements there that divide none."""
    waiting = [element]
    while waiting:
        inner = waiting.pop()
        if inner.own_text.strip():
            return True
        waiting += [child for child in inner.elements if child.tag in tags.non_splitting]
    return False


def _unit(element: Element, file: TextFile, tags: Tags) -> Unit:
    return text_unit(element, file, segment_of(element, file, partial(_kind, tags), _breaks(tags)))


def _breaks(tags: Tags) -> Callable[[str], bool] | None:
    return None if tags.splits_lines else ends_sentence


def _kind(tags: Tags, element: Element) -> tuple[InlineKind, str]:
    if element.tag in tags.ignored:
        return "held", element.tag
    is_apart = element.tag in tags.splitting or (
        element.name.lower() in BLOCKS and element.tag not in tags.non_splitting
    )
    return ("apart" if is_apart else "pair"), element.tag
