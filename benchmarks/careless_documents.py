"""How many placeholders and tags a careless translator makes documents lose: none, whatever it does to the words.

Documents of every format with made-up segments, tags within each other and placeholders are translated by one that
shuffles, drops and doubles words, misspells placeholders and makes up others, and aligns words at random. Each document
is then read by a library that had no part in writing it, and what it holds is counted.

    python benchmarks/careless_documents.py --segments 10000
"""

import argparse
import html
import io
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast
from xml.sax.saxutils import escape

from docsegments.document import Languages
from docsegments.translating.segment_translator import SegmentTranslator
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.request import Request
from transduce.inference.sentence_model import SentenceModel
from transduce.inference.translation import Candidate, Translation
from transduce.inference.translator import Translator

TEXT = "The dog sees a small cat, which sleeps (now). Who plays & sings <loudly>? < „Ja“ straße it's 犬"
WORDS = TEXT.split()
PLACEHOLDERS = [
    "%s", "%d", "%(name)s", "%(count)d", "%1$s", "{name}", "{0}", "{{ x }}", "${home}", "%user%", "$HOME", "{0:.2f}",
    "https://a.example/b?c=d", "ann@example.org", "{n, number, integer}",
]  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A tag about something."""

    number: int
    inside: "Tree"


@dataclass(frozen=True)
class Alone:
    """A tag about nothing."""

    number: int


Tree = tuple[str | Pair | Alone, ...]


@dataclass(frozen=True)
class Kind:
    """A format: how trees are written as a document, and read by another library."""

    name: str
    write: Callable[[Sequence[Tree]], bytes]
    read: Callable[[bytes], list[tuple[list[str], str]]]
    """Of each segment its tags in order, as `+3`, `-3` and `.3`, and its text with the placeholders."""
    has_tags: bool = True


class Careless:
    """A translator, as far as documents need one."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        tokenizer = SimpleNamespace(
            encode=str.split, encode_batch=lambda texts: [text.split() for text in texts], unknown="犬"
        )
        self.bundle = SimpleNamespace(
            tokenizers=SimpleNamespace(source=tokenizer, target=tokenizer),
            config=SimpleNamespace(source="en", target="de", context=None),
        )
        self.engine = None
        self.longest_source = 40

    def translate_chunk(self, requests: Iterable[Request], search: object, tell: object = None) -> list[Translation]:
        """Something with some of the words."""
        return [self._translate(request.text) for request in requests]

    def _translate(self, text: str) -> Translation:
        words = [self._spoil(word) for word in text.split()]
        words = [word for word in words for _ in range(self.random.choice((0, 1, 1, 1, 1, 1, 1, 2)))]
        if self.random.random() < 0.5:
            self.random.shuffle(words)
        if self.random.random() < 0.1:
            words.insert(self.random.randint(0, len(words)), self.random.choice([*PLACEHOLDERS, "<b>", "</i>", "<x/>"]))
        output = self.random.choice((" ", " ", " ", "")).join(words)
        return Translation(output, [Candidate(output, -1.0, -1.0)])

    def _spoil(self, word: str) -> str:
        chance = self.random.random()
        if chance < 0.7:
            return word
        spoilt = [word.upper(), " ".join(word), word[:-1], f"{word}{word}", word.replace("%", "% ")]
        return self.random.choice(spoilt)


class CarelessSegments(SegmentTranslator):
    """Aligns words at random, or not at all."""

    def _align(self, pieces: Sequence[Any]) -> None:
        chance = cast(Careless, cast(SentenceModel, self._sentences).translator).random
        for piece in pieces:
            sizes = len(piece.text.split()), len(piece.output.split())
            if chance.random() < 0.8 and all(sizes):
                links = {tuple(chance.randrange(size) for size in sizes) for _ in range(chance.randint(0, 12))}
                piece.links = cast(set[tuple[int, int]], links)


def make_tree(chance: random.Random, depth: int = 0) -> Tree:
    """Text, placeholders and tags."""
    parts: list[str | Pair | Alone] = []
    for _ in range(chance.randint(1, 4)):
        kind = chance.random()
        if kind < 0.55 or depth > 2:
            parts.append(" ".join(chance.choices(WORDS, k=chance.randint(1, 5))) + chance.choice((" ", "", " ")))
        elif kind < 0.75:
            parts.append(chance.choice(("", " ")) + chance.choice(PLACEHOLDERS) + " ")
        elif kind < 0.82:
            parts.append(Alone(chance.randrange(10**6)))
        else:
            parts.append(Pair(chance.randrange(10**6), make_tree(chance, depth + 1)))
    if depth == 0:
        parts.append(" dog")
    return tuple(parts)


def render(tree: Tree, text: Callable[[str], str], pair: Callable[[int, str], str], alone: Callable[[int], str]) -> str:
    """A tree as a format writes it."""
    written = ""
    for part in tree:
        if isinstance(part, str):
            written += text(part)
        elif isinstance(part, Alone):
            written += alone(part.number)
        else:
            written += pair(part.number, render(part.inside, text, pair, alone))
    return written


def tags_of(tree: Tree) -> Iterator[str]:
    """All tags, as `Kind.read` gives them."""
    for part in tree:
        if isinstance(part, Alone):
            yield f".{part.number}"
        elif isinstance(part, Pair):
            yield f"+{part.number}"
            yield from tags_of(part.inside)
            yield f"-{part.number}"


def text_of(tree: Tree) -> str:
    """The text without tags."""
    return "".join(
        part if isinstance(part, str) else text_of(part.inside) if isinstance(part, Pair) else "" for part in tree
    )


def count_placeholders(text: str) -> Counter[str]:
    """How often each stands in a text, the longest counted first."""
    found: Counter[str] = Counter()
    for placeholder in sorted(PLACEHOLDERS, key=len, reverse=True):
        found[placeholder] = text.count(placeholder)
        text = text.replace(placeholder, "\0")
    return +found


def is_nested(tags: Iterable[str]) -> bool:
    """Returns True if each tag's end belongs to the last that is open."""
    opened: list[str] = []
    for tag in tags:
        if tag[0] == "+":
            opened.append(tag[1:])
        elif tag[0] == "-" and (not opened or opened.pop() != tag[1:]):
            return False
    return not opened


def _html(trees: Sequence[Tree]) -> bytes:
    rows = (
        render(tree, html.escape, lambda n, inner: f'<b id="{n}">{inner}</b>', lambda n: f'<img id="{n}">')
        for tree in trees
    )
    return ("<!DOCTYPE html>\n<body>" + "".join(f"<p>{row}</p>\n" for row in rows)).encode()


def _read_html(data: bytes) -> list[tuple[list[str], str]]:
    import lxml.html

    return [_of_element(p, "b", "img") for p in lxml.html.document_fromstring(data.decode()).iter("p")]


def _of_element(element: Any, pair: str, alone: str) -> tuple[list[str], str]:
    """The tags and the text of lxml's element."""
    tags, text = [], element.text or ""
    for inner in element:
        name = "" if not isinstance(inner.tag, str) else inner.tag.rpartition("}")[2]
        number = inner.get("id")
        if name == alone:
            tags.append(f".{number}")
        elif name == pair:
            within, of_inner = _of_element(inner, pair, alone)
            tags += [f"+{number}", *within, f"-{number}"]
            text += of_inner
        text += inner.tail or ""
    return tags, text


def _xliff(trees: Sequence[Tree]) -> bytes:
    units = "".join(
        f'<trans-unit id="{i}"><source>'
        + render(tree, escape, lambda n, inner: f'<g id="{n}">{inner}</g>', lambda n: f'<x id="{n}"/>')
        + "</source></trans-unit>\n"
        for i, tree in enumerate(trees)
    )
    head = '<file source-language="en" target-language="de" datatype="html" original="a"><body>'
    return (
        '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f"{head}\n{units}</body></file></xliff>\n"
    ).encode()


def _xliff2(trees: Sequence[Tree]) -> bytes:
    units = "".join(
        f'<unit id="{i}"><segment><source>'
        + render(tree, escape, lambda n, inner: f'<pc id="{n}">{inner}</pc>', lambda n: f'<ph id="{n}"/>')
        + "</source></segment></unit>\n"
        for i, tree in enumerate(trees)
    )
    return (
        '<?xml version="1.0"?>\n<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
        f'<file id="f">\n{units}</file></xliff>\n'
    ).encode("utf-16")


def _read_targets(pair: str, alone: str) -> Callable[[bytes], list[tuple[list[str], str]]]:
    def read(data: bytes) -> list[tuple[list[str], str]]:
        import lxml.etree

        return [_of_element(one, pair, alone) for one in lxml.etree.fromstring(data).iter("{*}target")]

    return read


def _tmx(trees: Sequence[Tree]) -> bytes:
    units = "".join(
        '<tu><tuv xml:lang="en"><seg>'
        + render(
            tree,
            escape,
            lambda n, inner: f'<bpt i="{n}">&lt;b&gt;</bpt>{inner}<ept i="{n}">&lt;/b&gt;</ept>',
            lambda n: f'<ph x="{n}">&lt;img/&gt;</ph>',
        )
        + "</seg></tuv></tu>\n"
        for tree in trees
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'.encode(
        "utf-16"
    )


def _read_tmx(data: bytes) -> list[tuple[list[str], str]]:
    import lxml.etree

    found = []
    for variant in lxml.etree.fromstring(data).iter("tuv"):
        if variant.get("{http://www.w3.org/XML/1998/namespace}lang") == "de":
            (seg,) = variant
            signs = {"bpt": "+", "ept": "-", "ph": "."}
            tags = [f"{signs[one.tag]}{one.get('i') or one.get('x')}" for one in seg]
            found.append((tags, (seg.text or "") + "".join(one.tail or "" for one in seg)))
    return found


def _po(trees: Sequence[Tree]) -> bytes:
    import polib

    catalogue = polib.POFile(check_for_duplicates=False)
    catalogue.metadata = {"Content-Type": "text/plain; charset=utf-8", "Language": "de"}
    for i, tree in enumerate(trees):
        text = render(tree, str, lambda n, inner: f'<b id="{n}">{inner}</b>', lambda n: f'<img id="{n}"/>')
        catalogue.append(polib.POEntry(msgid=text, msgctxt=str(i)))
    return str(catalogue).encode()


_TAGS = re.compile(r'<(?:b id="(?P<open>\d+)"|(?P<close>/b)|img id="(?P<alone>\d+)"/?)>')


def _read_tags(text: str) -> tuple[list[str], str]:
    """The tags and the text of what is otherwise plain."""
    tags, opened = [], []
    for found in _TAGS.finditer(text):
        if found["alone"]:
            tags.append(f".{found['alone']}")
        elif found["open"]:
            opened.append(found["open"])
            tags.append(f"+{found['open']}")
        else:
            tags.append(f"-{opened.pop() if opened else '?'}")
    return tags, _TAGS.sub("", text)


def _read_po(data: bytes) -> list[tuple[list[str], str]]:
    import polib

    return [_read_tags(entry.msgstr) for entry in polib.pofile(data.decode())]


def _subtitles(kind: str) -> Callable[[Sequence[Tree]], bytes]:
    def write(trees: Sequence[Tree]) -> bytes:
        point = "," if kind == "srt" else "."
        text = html.escape if kind == "vtt" else str
        cues = [
            f"00:{i // 60 % 60:02}:{i % 60:02}{point}000 --> 00:{i // 60 % 60:02}:{i % 60:02}{point}900\r\n"
            + render(tree, text, lambda n, inner: f'<b id="{n}">{inner}</b>', lambda n: f'<img id="{n}"/>')
            for i, tree in enumerate(trees)
        ]
        head = "WEBVTT\r\n\r\n" if kind == "vtt" else ""
        return (head + "".join(f"{i}\r\n{cue}\r\n\r\n" for i, cue in enumerate(cues, 1))).encode("utf-8-sig")

    return write


def _read_subtitles(kind: str) -> Callable[[bytes], list[tuple[list[str], str]]]:
    def read(data: bytes) -> list[tuple[list[str], str]]:
        import pysubs2

        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        events = pysubs2.SSAFile.from_string(text, format_=kind, keep_html_tags=True, keep_unknown_html_tags=True)
        plain = html.unescape if kind == "vtt" else str
        return [(tags, plain(found)) for tags, found in (_read_tags(event.text) for event in events)]

    return read


def _docx(trees: Sequence[Tree]) -> bytes:
    import docx

    document = docx.Document()
    for tree in trees:
        paragraph = document.add_paragraph()
        _add_runs(paragraph, tree, ())
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def _add_runs(paragraph: Any, tree: Tree, within: tuple[int, ...]) -> None:
    from docx.shared import Pt

    for part in tree:
        if isinstance(part, str):
            run = paragraph.add_run(part)
            if within:
                run.font.size = Pt(within[-1] % 1000 + 1)
        elif isinstance(part, Pair):
            _add_runs(paragraph, part.inside, (*within, part.number))


def _read_docx(data: bytes) -> list[tuple[list[str], str]]:
    import docx

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
    return [([], paragraph.text) for paragraph in docx.Document(io.BytesIO(data)).paragraphs]


def _markdown(trees: Sequence[Tree]) -> bytes:
    def text(plain: str) -> str:
        escaped = re.sub(r"([\\`*_\[\]>|~#])", r"\\\1", plain)
        return plain if "://" in plain else escaped.replace("&", "&amp;").replace("<", "&lt;")

    rows = (
        render(tree, text, lambda n, inner: f"[{inner}](http://a.example/{n})", lambda n: f"![x](http://a.example/{n})")
        for tree in map(_without_inner_links, trees)
    )
    return "".join(f"{row.strip()}\n\n" for row in rows).encode()


def _without_inner_links(tree: Tree, within: bool = False) -> Tree:
    """A tree as Markdown can have it, in which no link stands in another."""
    parts: list[str | Pair | Alone] = []
    for part in tree:
        if isinstance(part, Pair) and within:
            parts += _without_inner_links(part.inside, within=True)
        elif isinstance(part, Pair):
            parts.append(Pair(part.number, _without_inner_links(part.inside, within=True)))
        else:
            parts.append(part)
    return tuple(parts)


def _read_markdown(data: bytes) -> list[tuple[list[str], str]]:
    import lxml.html
    import markdown

    page = lxml.html.document_fromstring("<body>" + markdown.markdown(data.decode()))
    found = []
    for paragraph in page.iter("p"):
        for one in paragraph.iter("a", "img"):
            one.set("id", (one.get("href") or one.get("src") or "").rpartition("/")[2])
        found.append(_of_element(paragraph, "a", "img"))
    return found


KINDS = [
    Kind("HTML", _html, _read_html),
    Kind("XLIFF 1.2", _xliff, _read_targets("g", "x")),
    Kind("XLIFF 2.0", _xliff2, _read_targets("pc", "ph")),
    Kind("TMX", _tmx, _read_tmx),
    Kind("PO", _po, _read_po),
    Kind("SRT", _subtitles("srt"), _read_subtitles("srt")),
    Kind("WebVTT", _subtitles("vtt"), _read_subtitles("vtt")),
    Kind("Markdown", _markdown, _read_markdown),
    Kind("DOCX", _docx, _read_docx, has_tags=False),
]
NAMES = {
    "HTML": "html",
    "Markdown": "markdown",
    "TMX": "tmx",
    "PO": "po",
    "SRT": "srt",
    "WebVTT": "vtt",
    "DOCX": "docx",
}


@dataclass
class Count:
    """What was found in the documents of a format."""

    segments: int = 0
    placeholders: int = 0
    tags: int = 0
    lost: int = 0
    """Placeholders and tags that are not there any more."""
    added: int = 0
    broken: int = 0
    """Segments whose tags do not nest, or that cannot be read."""


def measure(kind: Kind, segments: int, seed: int) -> Count:
    """Translate a document of so many segments, and count."""
    chance = random.Random(seed)
    trees = [make_tree(chance) for _ in range(segments)]
    data = kind.write(trees)
    translator = cast(Translator, Careless(seed))
    documents = DocumentTranslator(translator, languages=Languages("en", "de"))
    documents._segments = CarelessSegments(SentenceModel(translator))
    translated = documents.translate(data, "made-up", NAMES.get(kind.name, "xliff"))
    found = kind.read(translated.data)
    before = kind.read(data) if kind.name not in ("XLIFF 1.2", "XLIFF 2.0", "TMX", "PO") else None
    count = Count(segments, broken=abs(len(found) - segments))
    for number, (tree, (tags, text)) in enumerate(zip(trees, found, strict=False)):
        if before is None:
            wanted_tags, wanted = list(tags_of(tree)) if kind.has_tags else [], text_of(tree)
        else:
            wanted_tags, wanted = before[number]
        all_wanted = count_placeholders(wanted) + Counter(wanted_tags)
        all_found = count_placeholders(text) + Counter(tags)
        count.placeholders += count_placeholders(wanted).total()
        count.tags += len(wanted_tags)
        count.lost += (all_wanted - all_found).total()
        count.added += (all_found - all_wanted).total()
        count.broken += not is_nested(tags)
    return count


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--segments", type=int, default=10_000, help="of all formats together")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| format | segments | placeholders | tags | lost | added | broken |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in KINDS:
        count = measure(kind, -(-options.segments // len(KINDS)), options.seed)
        numbers = (count.segments, count.placeholders, count.tags, count.lost, count.added, count.broken)
        print(f"| {kind.name} | " + " | ".join(f"{number:,}" for number in numbers) + " |")


if __name__ == "__main__":
    main()
