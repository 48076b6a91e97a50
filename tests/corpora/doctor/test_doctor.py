"""Faults that are planted into pairs are found, and good pairs are left alone, by what the pairs themselves say."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import Doctor
from transduce.corpora.doctor.evidence import CHARACTERS, HashedNGrams
from transduce.corpora.doctor.faults import choose_limit
from transduce.corpora.doctor.numbers import Numbers, words_of
from transduce.corpora.generated.grammar import derive_pairs

COUNT = 3_000


def in_other_language(text: str) -> str:
    """The text in a language that has other letters for each letter."""
    return "".join(chr(ord("a") + (ord(sign) * 7 + 3) % 26) if sign.isalpha() else sign for sign in text.lower())


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return derive_pairs(COUNT, seed=1)


def faults_in(pairs: list[SentencePair]) -> list[str | None]:
    return [finding.fault for finding in Doctor(pairs).judge(pairs)]


@pytest.mark.slow
def test_good_pairs_are_left_alone(pairs: list[SentencePair]) -> None:
    faults = Counter(faults_in(pairs))
    assert faults[None] >= 0.997 * len(pairs)


@pytest.mark.parametrize(
    ("kind", "least"), [("misaligned", 0.5), ("swapped", 0.95), ("target partial", 0.6), ("target reordered", 0.3)]
)
@pytest.mark.slow
def test_planted_faults_are_found(kind: str, least: float, pairs: list[SentencePair]) -> None:
    chance = random.Random(2)
    dirty = list(pairs)
    places = chance.sample(range(len(pairs)), len(pairs) // 10)
    for place in places:
        pair, words = pairs[place], pairs[place].target.split()
        dirty[place] = {
            "misaligned": SentencePair(pair.source, chance.choice(pairs).target),
            "swapped": SentencePair(pair.target, pair.source),
            "target partial": SentencePair(
                pair.source, " ".join(words[: max(round(len(words) * chance.uniform(0.3, 0.6)), 1)])
            ),
            "target reordered": SentencePair(pair.source, " ".join(chance.sample(words, len(words)))),
        }[kind]
    findings = list(Doctor(dirty).judge(dirty))
    changed = [finding.fault is not None or "sides" in finding.repairs for finding in findings]
    assert np.mean([changed[place] for place in places]) > least
    assert np.mean([changed[place] for place in set(range(len(pairs))) - set(places)]) < 0.02


@pytest.mark.slow
def test_another_language_is_found(pairs: list[SentencePair]) -> None:
    mixed = list(pairs)
    for place in range(0, COUNT, 10):
        mixed[place] = SentencePair(pairs[place].source, in_other_language(pairs[place].target))
    faults = faults_in(mixed)
    assert faults[::10].count("target in another language") > 0.95 * len(faults[::10])
    assert faults.count("target in another language") <= len(faults[::10]) + 3


@pytest.mark.slow
def test_lists_of_names_are_no_other_language(pairs: list[SentencePair]) -> None:
    chance = random.Random(3)
    names = ["".join(chance.choices("xqzvyw", k=5)).title() for _ in range(50)]
    listed = [SentencePair(f"The {name} and {other} of {name}.", f"Die {name}.") for name, other in pairwise(names)]
    faults = faults_in([*pairs, *listed * 10])
    assert "source in another language" not in faults


@pytest.mark.slow
def test_what_is_found_does_not_depend_on_the_order_or_on_neighbours(pairs: list[SentencePair]) -> None:
    doctor = Doctor(pairs)
    some = [*pairs[:50], SentencePair(pairs[0].source, pairs[70].target)]
    alone = [next(doctor.judge([pair])) for pair in some]
    assert [found.fault for found in doctor.judge(some)] == [found.fault for found in alone]


def test_few_pairs_are_judged_by_what_they_show_alone() -> None:
    pairs = [SentencePair("Ein Haus.", "A house."), SentencePair("Ein ganzer langer Satz", "Ein ganzer langer Satz")]
    assert faults_in(pairs) == [None, "copied"]
    assert faults_in([]) == []


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_a_limit_estimates_shares_without_labels(share: float) -> None:
    chance = np.random.default_rng(1)
    faulty = round(share * 20_000)
    scores = np.concatenate([chance.normal(-6, 1, faulty), chance.normal(0, 1, 20_000 - faulty)])
    limit = choose_limit(scores, chance.normal(-6, 1, 1_000))
    assert limit.share == pytest.approx(share, abs=0.02)
    assert np.mean(scores[faulty:] < limit.below) <= 0.005
    if share:
        assert np.mean(scores[:faulty] < limit.below) > 0.9


def test_probabilities_of_ngrams_are_the_interpolated_counts() -> None:
    model = HashedNGrams(Numbers.of([[1, 2, 1, 2], [1, 3]]), 2)
    alone, after = model.log_probabilities(Numbers.of([[1, 2]]))
    kinds, total = 4, 6  # unknown ones count as one kind
    first = (3 + 0.5) / (total + 0.5 * kinds)
    second = (2 + 0.5) / (total + 0.5 * kinds)
    assert alone == pytest.approx(np.log([first, second]), rel=1e-3)
    weight = 3 / (3 + 5)
    assert after[1] == pytest.approx(np.log(weight * 2 / 3 + (1 - weight) * second), rel=1e-3)
    assert CHARACTERS > 2


def test_a_letter_of_a_script_without_spaces_is_a_word() -> None:
    assert words_of("Gestartet: 去哪儿了?") == ["gestar", ":", "去", "哪", "儿", "了", "?"]
