"""Word alignment of a sentence and its translation by a phrase-based model: that of the phrases that write it."""

from collections.abc import Sequence
from itertools import product

from docsegments.orthography.words import words
from transduce.phrases.ibm_model_1 import Link
from transduce.phrases.phrase_model import PhraseModel
from transduce.phrases.phrase_words import words_of


def links_between(model: PhraseModel, source: str, target: str) -> set[Link]:
    """Returns the links between the words of a sentence and of its translation, by their numbers; see
    `orthography.words`."""
    if not words_of(source) or not words_of(target):
        return set()
    explained = model.explain(source, target)
    divided = zip(model.divided(words_of(source)), _numbers(source), strict=True)
    of_source, of_target = [number for parts, number in divided for _ in parts], _numbers(target)
    links, at = set(), 0
    for (begin, end), size in ((each.span, len(words_of(each.target))) for each in explained.phrases):
        inside = _inside(model, explained.source[begin:end], explained.target[at : at + size])
        links |= {(of_source[begin + i], of_target[at + j]) for i, j in inside}
        at += size
    return {(i, j) for i, j in links if i is not None and j is not None}


def _numbers(text: str) -> list[int | None]:
    """Returns the number of the word that each word of phrases is in; None for punctuation beside letters."""
    numbers: list[int | None] = []
    for number, (start, stop) in enumerate(words(text)):
        spoken = [any(map(str.isalnum, each)) for each in words_of(text[start:stop])]
        numbers += [number if is_spoken or not any(spoken) else None for is_spoken in spoken]
    return numbers


def _inside(model: PhraseModel, source: Sequence[str], target: Sequence[str]) -> list[Link]:
    """Returns the links between the words of a phrase and its translation."""
    if len(source) == 1 or len(target) == 1:
        return list(product(range(len(source)), range(len(target))))
    found = [
        {each.target: each.features[2] for each in model.table.get((model.source.find(word),), ())} for word in source
    ]

    def likeness(i: int, j: int) -> float:
        lexical = 0.0 if source[i] == target[j] else found[i].get((model.target.find(target[j]),), -50.0)
        return lexical - abs(
            (i + 0.5) / len(source) - (j + 0.5) / len(target)
        )  # near the diagonal where nothing is known

    return [(max(range(len(source)), key=lambda i: likeness(i, j)), j) for j in range(len(target))]
