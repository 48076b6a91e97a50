"""Promises of the language model of n-grams."""

import math
import random
from itertools import product

import pytest

from transduce.phrases import ngrams
from transduce.phrases.ngrams import BEGIN, END, NGrams

CHANCE = random.Random(3)
TEXTS = [[CHANCE.choice([0, 0, 0, 1, 1, 2, 3, 4]) for _ in range(CHANCE.randrange(1, 9))] for _ in range(40)]
WORDS = range(5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_after_every_context_sum_to_one(order: int) -> None:
    model = NGrams(TEXTS, order)
    contexts = [(BEGIN,), (BEGIN, 0), *product(WORDS, repeat=2), (9, 9)]
    for context in contexts if order > 1 else [()]:
        context = context[len(context) - min(order - 1, len(context)) :]
        outcomes = [*WORDS, END, 9]  # 9 stands for every unknown word
        assert sum(math.exp(model.score(context, word)) for word in outcomes) == pytest.approx(1.0, abs=1e-9)


def test_what_was_seen_is_likelier_than_what_was_not() -> None:
    model = NGrams([[0, 1, 2], [0, 1, 2], [3, 1, 4]], 3)
    assert model.score((0, 1), 2) > model.score((0, 1), 4) > model.score((0, 1), 9)


def test_only_the_last_words_are_context() -> None:
    model = NGrams(TEXTS, 3)
    assert model.after((1, 2), 3) == (2, 3)
    assert model.after((BEGIN,), 3) == (BEGIN, 3)
    assert NGrams(TEXTS, 1).after((), 3) == ()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "MOST_KNOWN", 10)
    model, other = NGrams(TEXTS), NGrams(TEXTS)
    for word in range(100):
        assert model.score((BEGIN,), word) == other.score((BEGIN,), word)
    assert len(model._known) <= 10
