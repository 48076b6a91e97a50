"""Phrases beside a slow definition of them (Och and Ney 2004)."""

import random

from transduce.phrases.table import LONGEST, MOST_OPTIONS, _phrases, phrase_table

Spans = set[tuple[int, int, int, int]]


def by_definition(sources: int, targets: int, links: list[tuple[int, int]]) -> Spans:
    """Returns all spans with a link inside and none from inside to outside."""
    spans = set()
    for begin in range(sources):
        for end in range(begin + 1, min(sources, begin + LONGEST) + 1):
            for first in range(targets):
                for last in range(first + 1, min(targets, first + LONGEST) + 1):
                    inside = [(begin <= i < end, first <= j < last) for i, j in links]
                    if (True, True) in inside and all(one == other for one, other in inside):
                        spans.add((begin, end, first, last))
    return spans


def test_phrases_are_those_of_the_definition() -> None:
    chance = random.Random(2)
    for _ in range(200):
        sources, targets = chance.randrange(1, 9), chance.randrange(1, 9)
        count = chance.randrange(1, 10)
        links = sorted({(chance.randrange(sources), chance.randrange(targets)) for _ in range(count)})
        found = list(_phrases(sources, targets, links))
        assert len(found) == len({*found})
        assert {*found} == by_definition(sources, targets, links), (sources, targets, links)


def test_features_are_those_of_the_counts() -> None:
    table = phrase_table([[1], [1], [1]], [[5], [5], [6]], [[(0, 0)]] * 3)
    options = {option.target: option.features for option in table[1,]}
    assert options.keys() == {(5,), (6,)}
    phrase, inverse, *_ = options[5,]
    assert phrase > options[6,][0]  # of three, two are translated by 5
    assert inverse > phrase  # 5 comes from nothing else


def test_the_likeliest_translations_are_kept() -> None:
    words = [7, *range(10, 10 + 2 * MOST_OPTIONS)]
    table = phrase_table([[1]] * (len(words) + 1), [[7], *([word] for word in words)], [[(0, 0)]] * (len(words) + 1))
    assert len(table[1,]) == MOST_OPTIONS and table[1,][0].target == (7,)
