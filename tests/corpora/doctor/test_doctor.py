"""Faults that are planted into pairs are found, and good pairs are left alone, by what the pairs themselves say."""

import random
from collections import Counter

import numpy as np
import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import Doctor, Repeats
from transduce.corpora.doctor.evidence import CHARACTERS, HashedNGrams
from transduce.corpora.doctor.faults import choose_limit
from transduce.corpora.doctor.numbers import Numbers, words_of

SYLLABLES = ["ba", "ke", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo"]
COUNT = 3_000


def translated(word: str) -> str:
    """A word of the other language: other letters, the same word for the same one."""
    return "".join(chr(ord("a") + (ord(letter) * 7 + 3) % 26) for letter in reversed(word)) + "u"


def made_pairs(count: int = COUNT, seed: int = 1) -> list[SentencePair]:
    """Sentences of a language with some order of words, and their translations."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randrange(1, 4))) for _ in range(300)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    followers = {word: chance.choices(words, weights, k=4) for word in words}
    pairs = []
    for _ in range(count):
        sentence = [chance.choices(words, weights)[0]]
        while len(sentence) < chance.randrange(6, 20):
            sentence.append(chance.choice(followers[sentence[-1]]))
        pairs.append(SentencePair(" ".join(sentence), " ".join(map(translated, sentence))))
    return pairs


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return made_pairs()


def faults_in(pairs: list[SentencePair]) -> list[str | None]:
    return [finding.fault for finding in Doctor(pairs).judge(pairs)]


def test_good_pairs_are_left_alone(pairs: list[SentencePair]) -> None:
    faults = Counter(faults_in(pairs))
    assert faults[None] >= 0.997 * len(pairs)


@pytest.mark.parametrize("kind", ["misaligned", "swapped", "target partial", "target reordered"])
def test_planted_faults_are_found(kind: str, pairs: list[SentencePair]) -> None:
    chance = random.Random(2)
    dirty = list(pairs)
    places = chance.sample(range(len(pairs)), len(pairs) // 10)
    for place in places:
        pair, words = pairs[place], pairs[place].target.split()
        dirty[place] = {
            "misaligned": SentencePair(pair.source, chance.choice(pairs).target),
            "swapped": SentencePair(pair.target, pair.source),
            "target partial": SentencePair(pair.source, " ".join(words[: len(words) // 2])),
            "target reordered": SentencePair(pair.source, " ".join(chance.sample(words, len(words)))),
        }[kind]
    findings = list(Doctor(dirty).judge(dirty))
    changed = [finding.fault is not None or "sides" in finding.repairs for finding in findings]
    assert np.mean([changed[place] for place in places]) > 0.7
    assert np.mean([changed[place] for place in set(range(len(pairs))) - set(places)]) < 0.02


def test_another_language_is_found(pairs: list[SentencePair]) -> None:
    other = made_pairs(len(pairs), seed=9)
    mixed = [
        SentencePair(
            pair.source,
            foreign.source.upper().translate(str.maketrans("AEIOU", "ÄÊÎÖÜ")) if place % 10 == 0 else pair.target,
        )
        for place, (pair, foreign) in enumerate(zip(pairs, other, strict=True))
    ]
    faults = faults_in(mixed)
    assert faults[::10].count("target in another language") > 0.95 * len(faults[::10])
    assert faults.count("target in another language") <= len(faults[::10]) + 3


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


def test_repeats_differ_in_case_numbers_and_punctuation_alone() -> None:
    repeats = Repeats()
    assert not repeats.came_before(SentencePair("Seite 3", "Page 3"))
    assert repeats.came_before(SentencePair("seite 4!", "Page 4"))
    assert not repeats.came_before(SentencePair("Seite 4", "Pages"))
