"""Promises of word alignment, on pairs of an artificial language whose links are known."""

import random

from transduce.phrases.ibm_model_1 import align


def pairs_with_links(count: int, swaps: bool) -> tuple[list[list[int]], list[list[int]], list[list[tuple[int, int]]]]:
    """Returns sentences of 30 words, each translated by one word, the last two perhaps in the other order."""
    chance = random.Random(5)
    sources, targets, links = [], [], []
    for _ in range(count):
        source = [chance.randrange(30) for _ in range(chance.randrange(3, 8))]
        order = list(range(len(source)))
        if swaps:
            order[-2:] = order[:-3:-1]
        sources.append(source)
        targets.append([(7 * source[i] + 3) % 30 for i in order])
        links.append(sorted((i, j) for j, i in enumerate(order)))
    return sources, targets, links


def test_words_in_order_are_linked() -> None:
    sources, targets, links = pairs_with_links(300, swaps=False)
    assert align(sources, targets) == links


def test_words_that_change_places_are_mostly_linked() -> None:
    sources, targets, links = pairs_with_links(300, swaps=True)
    found = align(sources, targets)
    right = sum(len({*own} & {*known}) for own, known in zip(found, links, strict=True))
    assert right > 0.97 * sum(map(len, links))
    assert sum(map(len, found)) < 1.03 * sum(map(len, links))


def test_sides_may_have_other_lengths() -> None:
    (links,) = align([[0, 1, 2]], [[0]])
    assert len(links) >= 1
    assert all(0 <= i < 3 and j == 0 for i, j in links)


def test_a_rare_word_is_linked_to_its_own_alone() -> None:
    common = [([1, 2], [1, 2]), ([2, 3], [2, 3]), ([3, 1], [3, 1])] * 30
    sources, targets = zip(*common, ([1, 9, 2, 3], [1, 9, 2, 3]), strict=False)
    assert align(sources, targets)[-1] == [(place, place) for place in range(4)]
