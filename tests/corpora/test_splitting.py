"""A split is a function of the seed; grouped, no sentence is on both sides."""

from collections import Counter

import pytest

from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.splitting import PartFilter, Split, letters_of

PAIRS = [
    SentencePair(f"phrase {n}", f"{'Sentence' if n % 2 else 'sentence'} number {n % 300}{'.!'[n % 2]}")
    for n in range(2000)
]
CORPUS = ParallelCorpus.of_pairs("toys", PAIRS)
PARTS = ("train", "validation", "test")


def parts(split, grouped_by="target"):
    return {part: list(CORPUS.filtered([PartFilter(part, split, grouped_by)])) for part in PARTS}


@pytest.mark.parametrize("kind", ["random", "grouped"])
def test_the_parts_are_the_whole_in_the_shares_asked_for(kind):
    found = parts(Split(kind, validation=0.2, test=0.1))
    assert Counter(pair for part in found.values() for pair in part) == Counter(PAIRS)
    for part, share in (("train", 0.7), ("validation", 0.2), ("test", 0.1)):
        assert abs(len(found[part]) / len(PAIRS) - share) < 0.07
        numbers = [int(pair.source.split()[1]) for pair in found[part]]
        assert numbers == sorted(numbers)


def test_grouped_keeps_every_spelling_of_a_sentence_on_one_side():
    def sentences(found, side):
        return {part: {letters_of(getattr(pair, side)) for pair in pairs} for part, pairs in found.items()}

    for side in ("source", "target"):
        found = sentences(parts(Split("grouped", 0.2, 0.1), side), side)
        assert sum(map(len, found.values())) == len(set.union(*found.values()))
    leaking = sentences(parts(Split("random", 0.2, 0.1)), "target")
    assert leaking["train"] & leaking["validation"]


def test_blocks_keep_ten_pairs_in_a_row_together():
    found = parts(Split("blocks", validation=0.3, test=0.2))
    for part, share in (("train", 0.5), ("validation", 0.3), ("test", 0.2)):
        assert abs(len(found[part]) / len(PAIRS) - share) < 0.02
        for start in range(0, len(found[part]), 10):
            first, last = (int(found[part][i].source.split()[1]) for i in (start, start + 9))
            assert (first % 10, last) == (0, first + 9)
    few = ParallelCorpus.of_pairs("few", PAIRS[:200])
    for seed in range(20):
        held_out = [PartFilter("validation", Split("blocks", 0.1, 0.1, seed), "target")]
        assert list(few.filtered(held_out)), "some are held out of few"


@pytest.mark.parametrize("kind", ["random", "grouped", "blocks"])
def test_the_seed_alone_decides(kind):
    assert parts(Split(kind, seed=5)) == parts(Split(kind, seed=5))
    assert parts(Split(kind, seed=5)) != parts(Split(kind, seed=6))
    contents = {
        CORPUS.filtered([PartFilter(p, Split(kind, seed=s), "target")]).content() for p in PARTS for s in (5, 6)
    }
    assert len(contents) == 6


@pytest.mark.parametrize(
    ("text", "letters"), [("I'm OK!", "i m ok"), ("  Où\u00a0ça ? ", "ou ca"), ("Straße 7", "strasse 7")]
)
def test_letters_are_what_stays_of_a_sentence(text, letters):
    assert letters_of(text) == letters
