"""Markdown: markdown-it tells which lines are text and how it is marked up; only characters of texts are changed."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.libraries import require
from transduce.documents.placeholders import TAG, hold, pair_tags, tag_mark
from transduce.documents.segment import Mark, Part, Segment
from transduce.errors import InputError

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_SPECIAL = re.compile(r"[\\`\[\]<|]|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|~~")
_BLOCK = re.compile(r"\A(?:#{1,6}(?=\s)|[-+*](?=\s)|>|=+\s*\Z|-+\s*\Z|~~~|\d+(?=[.)](?:\s|\Z)))")
"""What would begin a block of another kind at the beginning of a line."""

_LINE = re.compile(r"(?P<own>\[![A-Z]+\]\s*\Z|:{3,}.*)|(?P<first>\[\^[^\]\s]+\]:\s*)|\[[ xX]\](?=\s)")
"""What the beginning of a line says in extensions: an alert or a container, which have a line of their own, the text of
a footnote, which begins one, and the box of a task."""
_INLINE = re.compile(r"\[\^[^\]\s]+\]|\[\[[^\[\]]+\]\]")
"""Of a footnote, and of a link in a wiki."""
_SOFT = "soft"  # the end of a line that does not end the text


def read_markdown(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs, headings, cells and items of a text; code, blocks of HTML, front matter and definitions of links
    stay."""
    file = TextFile.read(data, name)
    if "\0" in file.text:
        raise InputError(f"{name}: is no Markdown; it holds zero bytes")
    return Document([_unit(file, text) for text in _texts(file.text)], file.save)


@dataclass(frozen=True)
class _Text:
    """A text with marks in it."""

    content: str
    """As the parser has it: without what begins the lines of a quotation or a list."""
    places: Sequence[int]
    """Where in the file each of its characters stands, and where the text ends."""
    tokens: Sequence[Any]
    """What it is made of."""


def _unit(file: TextFile, text: _Text) -> Unit:
    def write(segment: Segment) -> list[Edit]:
        written = "".join(part.raw if isinstance(part, Mark) else _escape(part) for part in segment.parts)
        begin = _BLOCK.match(written)
        if begin is not None:
            written = f"{written[: begin.end()]}\\{written[begin.end() :]}" if begin[0].isdigit() else f"\\{written}"
        return [Edit(text.places[0], text.places[-1], written)]

    parts = pair_tags(hold(_parts(file, text), lambda held: held if "://" in held else _escape(held)))
    return Unit(Segment.of(parts), write, f"line {file.line_of(text.places[0])}")


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", text)


def _texts(text: str) -> Iterator[_Text]:
    """All texts of a file, but for those that cannot be found again as the parser has them."""
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    lines = [begin, *(begin + found.end() for found in re.finditer(r"\r\n|\n|\r", text[begin:])), len(text)]
    searched = begin
    for token in _parser().parse(text[begin:]):
        if token.type != "inline" or not token.content.strip() or token.map is None:
            continue
        first, last = lines[token.map[0]], lines[min(token.map[1], len(lines) - 1)]
        places = _places(text, token.content, max(first, searched), last)
        if places is None:
            continue
        found = _Text(token.content, places, token.children)
        searched = places[-1]
        if _spans(found) is not None:
            yield found


def _places(text: str, content: str, start: int, end: int) -> list[int] | None:
    """Where the characters of a text stand, each of whose lines is a part of the file's; None if it is not there."""
    places: list[int] = []
    place = start
    for number, line in enumerate(content.split("\n")):
        if number:
            places.append(place)  # the line's end, and what the next begins with
            found = re.compile(r"\r\n|\n|\r").search(text, place, end)
            if found is None:
                return None
            place = found.end()
        stop = re.compile(r"[^\r\n]*").match(text, place)
        place = text.find(line, place, end if stop is None else stop.end())
        if place < 0:
            return None
        places += range(place, place + len(line))
        place += len(line)
    return [*places, place]


def _parts(file: TextFile, text: _Text) -> list[Part]:
    spans = _spans(text)
    assert spans is not None  # see _texts
    parts: list[Part] = []
    opened: list[str] = []
    pairs = label = 0
    is_text = False
    for token, (start, end) in zip(text.tokens, spans, strict=True):
        raw = file.text[text.places[start] : text.places[end]]
        was_text, is_text = is_text, token.type == "text"
        if is_text and was_text:
            parts[-1] += token.content
        elif token.type in ("text", "text_special"):
            parts.append(token.content)
        elif token.type == "softbreak":
            parts.append(Mark(raw, pair=_SOFT, shown=" "))
        elif token.type == "hardbreak":
            parts.append(Mark(raw, shown=" ", breaks=True))
        elif token.type == "code_inline":
            parts.append(Mark(raw, shown=token.content))
        elif token.type == "html_inline":
            tag = TAG.fullmatch(raw)
            parts.append(tag_mark(raw, tag) if tag else Mark(raw))
        elif token.nesting == 1:
            pairs, label = pairs + 1, end
            opened.append(f"mark {pairs}")
            parts.append(Mark(raw, "open", opened[-1]))
        elif token.nesting == -1:
            if token.type == "link_close" and raw in ("]", "][]"):  # its text is the name of what it links to
                raw = f"][{text.content[label:start]}]"
            parts.append(Mark(raw, "close", opened.pop()))
        else:
            parts.append(Mark(raw))
    return list(_with_signs(parts))


def _with_signs(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, with marks for what extensions of Markdown write in brackets; lines of one paragraph are one text, but
    where such a sign needs a line of its own."""
    is_begin, needs_line = True, False
    for place, part in enumerate(parts):
        if isinstance(part, Mark) and part.pair == _SOFT:
            following = parts[place + 1] if place + 1 < len(parts) else ""
            sign = _LINE.match(following) if isinstance(following, str) else None
            is_apart = needs_line or (sign is not None and sign.lastgroup is not None)
            yield Mark(part.raw, shown=" ", breaks=True) if is_apart else " "
            is_begin, needs_line = True, False
            continue
        if isinstance(part, Mark):
            yield part
        else:
            sign = _LINE.match(part) if is_begin else None
            if sign is not None:
                yield Mark(sign[0])
                part, needs_line = part[sign.end() :], sign["own"] is not None
            done = 0
            for found in _INLINE.finditer(part):
                yield from (part[done : found.start()], Mark(found[0]))
                done = found.end()
            yield part[done:]
        is_begin = False


def _spans(text: _Text) -> list[tuple[int, int]] | None:
    """The characters of the content that each token was made of; None if they are not all of them, in order."""
    spans: list[tuple[int, int]] = []
    place = 0
    for token in text.tokens:
        end = _end_of(token, text.content, place)
        if end is None:
            return None
        spans.append((place, end))
        place = end
    return spans if place == len(text.content) else None


def _end_of(token: Any, content: str, place: int) -> int | None:
    """Where a token ends that begins there; None if what stands there is another."""
    if token.type in ("code_inline", "image", "link_close") and "end" in token.meta:
        end: int = token.meta["end"]
        return end if end >= place else None
    if token.type in ("softbreak", "hardbreak"):
        found = re.compile(r" *\\?\n *").match(content, place)
        return found.end() if found else None
    if token.type == "link_open":
        written = "<" if token.info == "auto" else "["
    elif token.type == "link_close":
        written = ">"
    else:
        written = token.content if token.type in ("text", "html_inline") else token.markup
    return place + len(written) if content.startswith(written, place) else None


def _parser() -> Any:
    """A parser that notes of links, images and code where they end, and leaves what is escaped apart from the text."""
    parser = require("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    rules = require("markdown_it.rules_inline")
    for name, rule in (("link", rules.link), ("image", rules.image), ("backticks", rules.backtick)):
        parser.inline.ruler.at(name, _noting(rule))
    parser.block.ruler.at("reference", _without_footnotes(require("markdown_it.rules_block").reference))
    return parser


def _noting(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    def noted(state: Any, silent: bool) -> bool:
        is_made = rule(state, silent)
        if is_made and not silent and state.tokens:
            state.tokens[-1].meta.setdefault("end", state.pos)
        return is_made

    return noted


def _without_footnotes(rule: Callable[[Any, int, int, bool], bool]) -> Callable[[Any, int, int, bool], bool]:
    """The rule for what links refer to, which would take a footnote of one word for an address."""

    def chosen(state: Any, line: int, end: int, silent: bool) -> bool:
        is_footnote = state.src.startswith("[^", state.bMarks[line] + state.tShift[line])
        return not is_footnote and rule(state, line, end, silent)

    return chosen
