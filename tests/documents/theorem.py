"""The promise of documents as a check: every text that a reader of the format would show is translated, held by a rule
that the docs name, or told in the log; and nothing else changes.

Two translators that are no model stand in for one. What a document shows, and its structure, are read by libraries that
the product does not use for the format.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from transduce.documents.document import Languages
from transduce.documents.formats import read_document
from transduce.inference.documents.translate import DocumentTranslator, TranslatedDocument
from transduce.inference.requests import Request
from transduce.inference.translation import Candidate, Translation
from transduce.inference.translator import Translator

Shown = Callable[[bytes], Sequence[str]]
"""The texts that a document shows, in their order."""
Skeleton = Callable[[bytes], Any]
"""All of a document but its texts, to be compared by ==."""


class Careless:
    """A translator that writes what a function makes of each sentence, and holds nothing."""

    def __init__(self, change: Callable[[str], str]) -> None:
        tokenizer = SimpleNamespace(encode=str.split, encode_batch=lambda ts: [t.split() for t in ts], unknown="\0")
        self.bundle = SimpleNamespace(
            tokenizers=SimpleNamespace(source=tokenizer, target=tokenizer),
            config=SimpleNamespace(source="en", target="de"),
        )
        self.engine = None
        self.longest_source = 1000
        self.change = change

    def translate_chunk(self, requests: list[Request], search: object, tell: object = None) -> list[Translation]:
        texts = [self.change(request.text) for request in requests]
        return [Translation(text, [Candidate(text, -0.1, -0.1)]) for text in texts]

    def exclusively(self, work: Callable[[], Any]) -> Any:
        return work()


def in_capitals(data: bytes, name: str, kind: str | None = None, **options: Any) -> TranslatedDocument:
    """A document by a translator that writes all in capitals, placeholders too."""
    return _translated(str.upper, data, name, kind, options)


def reordered(data: bytes, name: str, kind: str | None = None, **options: Any) -> TranslatedDocument:
    """A document by a translator that turns the order of words round."""
    return _translated(lambda text: " ".join(reversed(text.split())), data, name, kind, options)


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


def _translated(
    change: Callable[[str], str], data: bytes, name: str, kind: str | None, options: dict[str, Any]
) -> TranslatedDocument:
    translator = DocumentTranslator(cast(Translator, Careless(change)), languages=Languages("en", "de"))
    return translator.translate(data, name, kind, **options)


def _spaceless(text: str) -> str:
    return "".join(text.split())
