"""The sentences to have translated next bring more than others, once each, for as many words as are paid for."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.orthography.words import count_words
from transduce.base.errors import DataError, InputError
from transduce.corpora import next_sentences as module
from transduce.corpora.next_sentences import next_sentences

WORDS = [f"w{chr(97 + a)}{chr(97 + b)}" for a in range(20) for b in range(20)]
texts = st.lists(st.lists(st.sampled_from(WORDS[:12]), min_size=0, max_size=6).map(" ".join), max_size=30)


def zipf_text(count: int, seed: int = 1) -> list[str]:
    """Sentences of words that are as frequent as those of a language."""
    chance = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(WORDS) + 1)]
    return [" ".join(chance.choices(WORDS, weights, k=chance.randrange(3, 25))) for _ in range(count)]


@given(known=texts, pool=texts, words=st.integers(1, 60))
def test_sentences_are_lines_of_the_pool_that_are_new_and_fit(known: list[str], pool: list[str], words: int) -> None:
    new = {text for text in pool if text} - set(known)
    if not any(count_words(text) <= words for text in new):
        with pytest.raises((DataError, InputError), match="no sentence"):
            next_sentences(known, pool, words)
        return
    chosen = next_sentences(known, pool, words)
    assert len(set(chosen.sentences)) == len(chosen.sentences)
    assert set(chosen.sentences) <= new
    assert [pool[line - 1] for line in chosen.lines] == chosen.sentences
    assert chosen.words == sum(map(count_words, chosen.sentences)) <= words
    left = new - set(chosen.sentences)
    assert all(count_words(text) > words - chosen.words for text in left)
    assert chosen.before.words <= chosen.after.words <= 1
    assert chosen.before.pairs <= chosen.after.pairs <= 1


def slow_choice(known: list[str], pool: list[str], words: int) -> list[str]:
    """Chooses as the module does, each time by a look at all sentences."""

    def grams(text: str) -> set[str]:
        return {*text.split(), *(f"{a} {b}" for a, b in pairwise(text.split()))}

    def worth(gram: str) -> float:
        holding = sum(gram in grams(text) for text in pool)
        times = sum(gram in grams(text) for text in [*known, *chosen])
        return (module.PAIR if " " in gram else 1) * holding**0.5 * module.AGAIN**times if holding > 1 else 0.0

    chosen: list[str] = []
    while True:
        left = words - sum(len(text.split()) for text in chosen)
        fitting = [text for text in pool if text not in chosen and len(text.split()) <= left]
        if not fitting:
            return chosen
        chosen.append(max(fitting, key=lambda text: sum(map(worth, grams(text))) / (len(text.split()) + module.BESIDE)))


@pytest.mark.slow
def test_lazy_choice_is_the_choice_of_a_search_that_looks_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NEARLY", 1.0)
    monkeypatch.setattr(module, "NOTHING", 0.0)
    known, pool = zipf_text(5, seed=2), zipf_text(40)
    assert next_sentences(known, pool, 150).sentences == slow_choice(known, pool, 150)


def test_more_becomes_known_than_by_chance() -> None:
    chosen = next_sentences(zipf_text(20, seed=2), zipf_text(2000), 1000)
    assert chosen.after.words > chosen.at_random.words > chosen.before.words
    assert chosen.after.pairs > chosen.before.pairs  # by chance as many: no two words go together
    assert f"{100 * chosen.after.words:.1f} % with these" in chosen.describe()


def test_frequent_words_come_first_and_known_ones_last() -> None:
    pool = ["the cat", "the dog", "the cat sleeps", "a zebu", "the dog sleeps"]
    assert next_sentences([], pool, 3).sentences == ["the cat sleeps"]
    known = ["the cat", *(f"the cat sleeps {hours}" for hours in range(20))]
    assert next_sentences(known, pool, 2).sentences == ["the dog"]


def test_numbers_signs_and_capitals_teach_nothing() -> None:
    pool = ["17 %, 18", "17 %, 18!", "Dogs bark.", "dogs (bark)?"]
    assert next_sentences([], pool, 2).sentences == ["Dogs bark."]
    assert (
        next_sentences(["Dogs bark now"], pool, 2).before.words == next_sentences(["dogs bark"], pool, 2).before.words
    )


def test_letters_stand_for_words_in_scripts_without_spaces() -> None:
    chosen = next_sentences(["我看書"], ["我看狗", "狗吃飯", "貓睡覺", "貓看狗"], 4)
    assert chosen.before.pairs > 0
    assert chosen.sentences[0] in ("貓看狗", "我看狗")


def test_impossible_wishes_are_told() -> None:
    with pytest.raises(InputError, match="0 words were asked for"):
        next_sentences([], ["a"], 0)
    with pytest.raises(DataError, match="no sentence that is not known"):
        next_sentences(["a b"], ["a b", "", "  "], 5)
    with pytest.raises(InputError, match="at most 2 words"):
        next_sentences([], ["a b c"], 2)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    repeated=st.lists(st.sampled_from([*WORDS[:5], "{n}"]), min_size=1, max_size=8),
    copies=st.integers(1, 3),
)
def test_work_is_bounded_for_any_pool(repeated: list[str], copies: int) -> None:
    """The sentences of a pool may share all that they teach: each choice then changes the worth of all others."""
    looks = 0
    pop = module.heapq.heappop

    def counted(heap: list[tuple[float, int]]) -> tuple[float, int]:
        nonlocal looks
        looks += 1
        return pop(heap)

    pool = [" ".join(repeated * copies + [WORDS[n % 7]] + [f"x{n}"]).replace("{n}", f"y{n // 2}") for n in range(1500)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module.heapq, "heappop", counted)
        next_sentences([], pool, 10**9)
    assert looks <= len(pool) * 300


@pytest.mark.slow
def test_a_large_pool_takes_seconds() -> None:
    pool = zipf_text(10_000)
    began = time.process_time()
    next_sentences([], pool, 20_000)
    assert time.process_time() - began < 10
