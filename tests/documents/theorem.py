"""The promise of documents as a check: every text that a reader of the format would show is translated, held by a rule
that the docs name, or told in the log; and nothing else changes.

Two translators that are no model stand in for one. What a document shows, and its structure, are read by libraries that
the product does not use for the format.
"""

import html
import importlib
import io
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.translating.document_translator import DocumentTranslator, TranslatedDocument
from docsegments.translating.sentence_translator import Translate
from transduce.base.errors import TransduceError

if TYPE_CHECKING:
    from documents.made_documents import Made

Shown = Callable[[bytes], Sequence[str]]
"""The texts that a document shows, in their order."""
Skeleton = Callable[[bytes], Any]
"""All of a document but its texts, to be compared by ==."""


def sentence_by_sentence(change: Callable[[str], str]) -> Translate:
    """A translator that writes what a function makes of each sentence, and holds nothing."""
    return lambda texts: [change(text) for text in texts]


def in_capitals(data: bytes, name: str, kind: str | None = None, **options: Any) -> TranslatedDocument:
    """A document by a translator that writes all in capitals, placeholders too."""
    return translated(str.upper, data, name, kind, options)


def reordered(data: bytes, name: str, kind: str | None = None, **options: Any) -> TranslatedDocument:
    """A document by a translator that turns the order of words round."""
    return translated(lambda text: " ".join(reversed(text.split())), data, name, kind, options)


def check_theorem(
    data: bytes,
    name: str,
    shown: Shown,
    skeleton: Skeleton,
    kind: str | None = None,
    shows_marks: bool = False,
    **options: Any,
) -> None:
    """Assert the promise for a document, with both translators; `shows_marks` where tags are text to its readers."""
    before, structure = shown(data), skeleton(data)
    document = read_document(data, name, Languages("en", "de"), kind)
    held = [mark.shown for unit in document.units for mark in unit.source.marks if mark.is_held]
    if shows_marks:
        held += [mark.raw for unit in document.units for mark in unit.source.marks if not mark.is_held]
    told = [one.text for one in document.untranslated]
    kept = _spaceless(" ".join([*held, *told]))
    kept_words = sorted({word for text in [*held, *told] for word in text.split()}, key=len, reverse=True)
    any_kept = re.compile("|".join(map(re.escape, kept_words)) or "(?!)")
    capitals = in_capitals(data, name, kind, **options).data
    after = shown(capitals)
    assert skeleton(capitals) == structure
    assert [_spaceless(text).upper() for text in after] == [_spaceless(text).upper() for text in before]
    for text in after:
        for word in re.findall(r"\S+", text):
            rest = any_kept.sub("", word)
            if rest != rest.upper() and rest != "x":  # of `%dx%d`, which stays
                assert _spaceless(word) in kept, f"{word!r} of {text!r} is neither translated, nor held, nor told"
    turned = reordered(data, name, kind, **options).data
    assert skeleton(turned) == structure
    characters = [Counter(_spaceless("".join(texts))) for texts in (before, shown(turned))]
    assert characters[0] == characters[1], (characters[0] - characters[1], characters[1] - characters[0])


@dataclass(frozen=True)
class Deviation:
    """A way in which a translated document does not keep the promise."""

    kind: str
    translator: str
    detail: str


ORACLES = {"srt": "subtitles", "vtt": "subtitles", "arb": "json", "xcstrings": "strings"}
"""Formats whose tests are in a file of another name."""
DEEPEST_DETAIL = 300
"""Characters that a detail of a deviation has at most."""


def readers_of(kind: str) -> list[tuple[Shown, Skeleton]]:
    """The ways to read a format that the product has no part in; one of them has to hold the promise."""
    oracle = importlib.import_module(f"documents.test_theorem_{ORACLES.get(kind, kind)}")
    shown, skeleton = (getattr(oracle, f"{one}_{kind}", None) or getattr(oracle, one) for one in ("shown", "skeleton"))
    if kind == "markdown":  # GitHub's, or that of MkDocs
        return [(shown(read), skeleton(read)) for read in (oracle.by_mistune, oracle.by_python_markdown)]
    return [(shown, skeleton)]


TAG_OF_A_SIGN = "<sup>1</sup>"
"""A tag about part of a word."""
MADE_WORD = re.compile("[a-pr-wyz]+[qx]", re.IGNORECASE)
"""A made word or its translation, also where others are written together with it."""


def other_word(word: str) -> str:
    """The translation of a made word: of another length, and no made word itself."""
    return f"{word[-2::-1]}x" if len(word) % 4 else f"{word[-2::-1]}{word[-2::-1]}x"


def _reads(made: "Made", name: str, reads: list[str]) -> Callable[[str], str]:
    """A translator of `CHANGES`, which writes down what it reads."""
    change = CHANGES[name]
    words = made.words | made.code if name in MISSPELL else made.words
    known = {word: other_word(word) for word in words}

    def translate(text: str) -> str:
        reads.append(text)
        return change(MADE_WORD.sub(lambda match: known.get(match[0].lower(), match[0]), text))

    return translate


CHANGES: dict[str, Callable[[str], str]] = {
    "identity": str,
    "words": str,
    "misspelt code": str,
    "reordered": lambda text: " ".join(reversed(text.split())),
    "no signs": lambda text: " ".join(re.findall(r"\w+", text)),
    "unknown signs": lambda text: re.sub(r"[^\w\s.,!?:–()]+", "\N{REPLACEMENT CHARACTER}", text),
    "more signs": lambda text: f":rocket: {{y}} {text} %d 5% <b>l'eau d'",
    "nothing": lambda text: "",
    "right to left": str,
}
"""Translators by what they make of a sentence whose words are translated already; `identity` translates none, and
`right to left` writes Arabic, for which a document changes its direction."""
DIRECTIONS = {"html": 'dir="rtl"', "docx": "<w:bidi/>", "pptx": 'rtl="1"', "odt": "", "xlsx": "", "markdown": ""}
"""What a document of a format has if it is read from right to left; "" where that is not checked."""
OF_ICU = ("json", "arb", "yaml", "csv", "xliff", "tmx", "properties", "strings", "android")
"""Formats in which apostrophes quote braces."""
MISSPELL = ("misspelt code", "no signs", "unknown signs")
"""Those that translate names of placeholders, too."""
BILINGUAL = ("po", "xliff", "tmx", "xcstrings")
"""Formats that have the translation beside the source."""


def deviations(made: "Made", kind: str, name: str) -> list[Deviation]:
    """Returns how a made document's translation breaks the promise, by a translator of `CHANGES`."""
    if name == "right to left" and kind not in DIRECTIONS:
        return []
    reads: list[str] = []
    change = (lambda text: text) if name == "identity" else _reads(made, name, reads)
    found: list[Deviation] = []

    def add(what: str, detail: str) -> None:
        found.append(Deviation(what, name, detail[:DEEPEST_DETAIL]))

    try:
        document = translated(change, made.data, made.name, kind, None, "ar" if name == "right to left" else "de")
    except TransduceError as error:
        return [Deviation("refused", name, str(error))]
    except Exception as error:
        return [Deviation("crash", name, f"{type(error).__name__}: {error} {_place_of(error)}")]
    if name == "identity":
        (shown, _), *_ = readers_of(kind)
        contents = (lambda data: ["".join(text.split()) for text in shown(data)]) if kind in BILINGUAL else _contents
        if contents(document.data) != contents(made.data):
            add("identity", _difference(contents(made.data), contents(document.data)))
        return found
    if (
        name == "right to left"
        and DIRECTIONS[kind] not in str(_contents(document.data))
        and (kind != "html" or b"<html" in made.data)
    ):
        add("direction", f"no {DIRECTIONS[kind]}")
    words = made.words
    for text in reads:
        for run in re.findall(r"[A-Za-z]+", text):
            if len(words.intersection(MADE_WORD.findall(run.lower()))) > 1:
                add("glued", f"{run} of {text}")
    by_reader = [_compared(made, kind, reader, document, name) for reader in readers_of(kind)]
    return found + min(by_reader, key=len)


def _compared(
    made: "Made", kind: str, reader: tuple[Shown, Skeleton], document: TranslatedDocument, name: str
) -> list[Deviation]:
    """Returns the deviations that a reader of the format sees."""
    shown, skeleton = reader
    found: list[Deviation] = []

    def add(what: str, detail: str) -> None:
        found.append(Deviation(what, name, detail[:DEEPEST_DETAIL]))

    before, structure = shown(made.data), skeleton(made.data)
    try:
        after, new_structure = shown(document.data), skeleton(document.data)
    except Exception as error:
        return [Deviation("unreadable", name, f"{type(error).__name__}: {error}"[:DEEPEST_DETAIL])]
    if new_structure != structure and name != "right to left":
        add("structure", _difference(structure, new_structure))
    others = {other_word(word): word for word in made.words | made.code}
    told = {
        word
        for report in document.segments
        if report.review or report.origin == "untranslated"
        for word in _words_of(f"{report.source} {report.target}", made.words)
    }
    places = _places(after, others.keys() | made.words | made.code)
    for text in before:
        words = _words_of(text, made.words)
        where: set[int] = set()
        for word in words:
            done, undone = places.get(other_word(word), []), places.get(word, [])
            where |= {*done, *undone}
            if len(done) + len(undone) > max(text.lower().count(word), 1) * sum(word in one.lower() for one in before):
                add("doubled", f"{word} of {text}")
            elif not done and undone and word not in told:
                add("left", f"{word} of {text}")
            elif not done and not undone and (name != "nothing" or word not in told):
                add("lost", f"{word} of {text}")
        if not words:
            continue
        if len(where) > 1 and sum(words[0] in one.lower() for one in before) == 1:
            add("torn", f"{text} => {[after[n] for n in sorted(where)]}")
        elif where:
            new = after[min(where)]
            strangers = {others.get(word, word) for word in _words_of(new, others.keys() | made.words)} - {*words}
            if strangers - made.code:
                add("mixed", f"{text} => {new}")
            if kind in OF_ICU and _braces(text) and not _braces(new):
                add("syntax", f"{text} => {new}")
            for placeholder in made.placeholders:
                if text.count(placeholder) != new.count(placeholder) and name != "more signs":
                    add("placeholder", f"{placeholder!r} of {text} => {new}")
            if name in ("words", "reordered") and _signs(text, made, others) != _signs(new, made, others):
                add("signs", f"{text} => {new}")
    if (values := getattr(sys.modules[shown.__module__], "values", None)) and shown.__name__ == "shown":
        for (text, value), (_, new_value) in zip(values(made.data), values(document.data), strict=False):
            if value != new_value and not told.intersection(_words_of(text, made.words)):
                add("value", f"{value} => {new_value}")
    is_bilingual = kind in BILINGUAL
    counts = [
        ("".join(texts) if is_bilingual else html.unescape(data.decode(errors="ignore"))).count(TAG_OF_A_SIGN)
        for texts, data in ((before, made.data), (after, document.data))
    ]
    if counts[0] != counts[1] and name in ("words", "reordered"):
        add("tag", _difference(made.data, document.data))
    codes = [Counter(word for text in texts for word in _words_of(text, made.code)) for texts in (before, after)]
    if codes[0] != codes[1]:
        add("code", str({word for word in made.code if codes[0][word] != codes[1][word]}))
    if changed := [word for word in places if others.get(word) in made.code and name == "misspelt code"]:
        add("code", f"{others[changed[0]]} is translated: {after[places[changed[0]][0]]}")
    return found


def _words_of(text: str, known: Collection[str]) -> list[str]:
    return [word for word in MADE_WORD.findall(text.lower()) if word in known]


def _places(texts: Sequence[str], known: Collection[str]) -> dict[str, list[int]]:
    """Returns the numbers of the texts that each word is in."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        for word in _words_of(text, known):
            found.setdefault(word, []).append(number)
    return found


def _braces(text: str) -> bool:
    """True for a text with messages of ICU whose braces close; those between apostrophes are text."""
    depth = 0
    for brace in re.findall(r"''|'[{}#][^']*'?|[{}]", text):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0 and bool(re.search(r",\s*(?:plural|select|selectordinal)\s*,", text))


def _signs(text: str, made: "Made", others: Mapping[str, str]) -> Counter[str]:
    """Returns the characters of a text that belong to no made word, and are no blanks."""
    known = made.words | made.code | others.keys()
    rest = MADE_WORD.sub(lambda match: "" if match[0] in known else match[0], text.lower())
    return Counter("".join(rest.split()))


def _contents(data: bytes) -> Any:
    if not data.startswith(b"PK"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _difference(one: Any, other: Any) -> str:
    """Shows where two structures differ."""
    if isinstance(one, Counter) and isinstance(other, Counter):
        return f"{dict(list((one - other).items())[:2])} => {dict(list((other - one).items())[:2])}"
    if isinstance(one, dict) and isinstance(other, dict):
        return next(
            (_difference(one[key], other[key]) for key in one if key in other and one[key] != other[key]), "keys"
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return next(_difference(*pair) for pair in zip(one, other, strict=True) if pair[0] != pair[1])
    if isinstance(one, bytes | str) and isinstance(other, bytes | str):
        size = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
        return f"{one[max(size - 60, 0) : size + 60]!r} => {other[max(size - 60, 0) : size + 60]!r}"
    return f"{one!r} => {other!r}"


def _place_of(error: BaseException) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return "" if trace is None else f"({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"


def translated(
    change: Callable[[str], str],
    data: bytes,
    name: str,
    kind: str | None = None,
    options: Mapping[str, Any] | None = None,
    target: str = "de",
) -> TranslatedDocument:
    """A document by a translator that writes what a function makes of each sentence."""
    translator = DocumentTranslator(sentence_by_sentence(change), languages=Languages("en", target))
    return translator.translate(data, name, kind, **options or {})


def _spaceless(text: str) -> str:
    return "".join(text.split())
