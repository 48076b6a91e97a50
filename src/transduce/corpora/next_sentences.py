"""Chooses the sentences of a text to have translated next: those whose words and pairs of words teach most."""

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from docsegments.budget import check
from docsegments.orthography.words import count_words, has_words, without_signs, word_texts
from transduce.base.errors import DataError, InputError

PAIR: Final = 0.5
"""The worth of a pair of words beside that of a word as frequent."""
AGAIN: Final = 0.7
"""The worth of a word or a pair in each further sentence that holds it, beside that in the one before."""
BESIDE: Final = 1
"""A word that each sentence counts for beside its own: else single words would come first."""
NEARLY: Final = 0.95
"""A sentence is chosen if it brings at least this share of what the best one can bring.

So each look at a sentence either chooses it or lowers its bound by a twentieth, and no pool takes more than some
hundreds of looks a sentence."""
NOTHING: Final = 1e-6
"""Sentences that bring less than this share of the first one's worth count as bringing nothing."""
SEED: Final = 1


@dataclass(frozen=True)
class Known:
    """The shares of a pool's running words, and of its running pairs of words, that known sentences have; 0 to 1."""

    words: float
    pairs: float


@dataclass(frozen=True)
class NextSentences:
    """Sentences to have translated next, the most useful first, and what they bring."""

    sentences: list[str]
    lines: list[int]
    """The number of each sentence's line in the pool, from 1."""
    words: int
    """The words of the sentences together."""
    pool: int
    """The number of different sentences of the pool that are not known yet."""
    before: Known
    after: Known
    """The shares of the pool that are known once the chosen sentences are translated."""
    at_random: Known
    """The shares that as many words of randomly chosen sentences would make known."""

    def describe(self) -> str:
        """Returns one line for people."""

        def shares(kind: str) -> str:
            known = [getattr(each, kind) for each in (self.before, self.after, self.at_random)]
            return "{:.1%} are known, {:.1%} with these, {:.1%} with as many at random".format(*known).replace(
                "%", " %"
            )

        return (
            f"{len(self.sentences):,} of {self.pool:,} sentences, {self.words:,} words; of the pool's running words "
            f"{shares('words')}; of its pairs of words {shares('pairs')}"
        )


def next_sentences(known: Iterable[str], pool: Iterable[str], words: int) -> NextSentences:
    """Chooses sentences of a pool to have translated next, the most useful for their length first.

    A word and a pair of words are worth the square root of the number of sentences of the pool that hold them, and
    less each time that they are known already; those of a single sentence are worth nothing. Each step takes about the
    sentence that is worth most per word (Haffari et al. 2009, eq. 1, with a lazy greedy search). In scripts without
    spaces letters stand for words.

    Args:
        known: sentences that have translations already; there may be none.
        pool: sentences to choose from; blank ones, repeated ones and known ones are left out.
        words: the words that the chosen sentences may have together, as translators are paid for.

    Raises InputError for fewer words than one, DataError for a pool without a new sentence, BudgetError if the search
    is to end.
    """
    if words < 1:
        raise InputError(f"{words} words were asked for; expected 1 or more")
    old = {text.strip() for text in known}
    lines: dict[str, int] = {}
    for number, text in enumerate(pool, 1):
        if (sentence := text.strip()) and sentence not in old:
            lines.setdefault(sentence, number)
    if not lines:
        raise DataError("the pool has no sentence that is not known yet; give text without translations, one a line")
    sentences = list(lines)
    lengths = [max(count_words(sentence), 1) for sentence in sentences]
    texts = _Grams(sentences)
    seen = texts.seen_in(old)
    chosen = list(_chosen(texts.of, texts.worth() * AGAIN**seen, lengths, words))
    if not chosen:
        raise InputError(f"no sentence of the pool has at most {words:,} words; allow more")
    used = sum(lengths[number] for number in chosen)
    by_chance = random.Random(SEED).sample(range(len(sentences)), len(sentences))
    return NextSentences(
        [sentences[number] for number in chosen],
        [lines[sentences[number]] for number in chosen],
        used,
        len(sentences),
        texts.known(seen, ()),
        texts.known(seen, chosen),
        texts.known(seen, list(_within(by_chance, lengths, used))),
    )


class _Grams:
    """The words and pairs of words of the sentences of a pool, by numbers."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        running: Counter[int] = Counter()
        self.of: list[Int[np.ndarray, " grams"]] = []
        """The words and pairs of each sentence, each once."""
        for sentence in sentences:
            check()
            numbers = [self._numbers.setdefault(gram, len(self._numbers)) for gram in _grams(sentence)]
            running.update(numbers)
            self.of.append(np.array(list(dict.fromkeys(numbers)), np.int64))
        self._running = np.array([running[number] for number in range(len(self._numbers))], np.int64)
        self._is_pair = np.array([" " in gram for gram in self._numbers], bool)

    def seen_in(self, sentences: Iterable[str]) -> Int[np.ndarray, " grams"]:
        """Returns the number of these sentences that hold each word and pair."""
        seen = np.zeros(len(self._numbers), np.int64)
        for sentence in sentences:
            seen[[self._numbers[gram] for gram in set(_grams(sentence)) if gram in self._numbers]] += 1
        return seen

    def worth(self) -> Float[np.ndarray, " grams"]:
        """Returns what each word and pair is worth where it is not known."""
        holding = np.bincount(np.concatenate(self.of), minlength=len(self._numbers))
        teaches = np.array([has_words(gram) for gram in self._numbers], bool)  # numbers are alike in all languages
        return np.where(self._is_pair, PAIR, 1.0) * np.sqrt(holding) * ((holding > 1) & teaches)

    def known(self, seen: Int[np.ndarray, " grams"], chosen: Sequence[int]) -> Known:
        """Returns what is known of the pool: what was seen before, and what the chosen sentences hold."""
        is_known = seen > 0
        for number in chosen:
            is_known[self.of[number]] = True
        shares = [
            float(self._running[kind & is_known].sum() / max(self._running[kind].sum(), 1))
            for kind in (~self._is_pair, self._is_pair)
        ]
        return Known(*shares)


def _grams(text: str) -> list[str]:
    """Returns the words of a text and its pairs of neighbouring words, in small letters, without signs around them."""
    words = [word for each in word_texts(text.lower()) if (word := without_signs(each))]
    return [*words, *(f"{first} {second}" for first, second in pairwise(words))]


def _chosen(
    grams: Sequence[Int[np.ndarray, " grams"]], worth: Float[np.ndarray, " all"], lengths: Sequence[int], words: int
) -> Iterator[int]:
    """Yields sentences that have so many words together at most, the ones that bring most per word first."""

    def gain(number: int) -> float:
        return float(worth[grams[number]].sum()) / (lengths[number] + BESIDE)

    bounds = [(-gain(number), number) for number in range(len(grams))]  # on what each can bring, which only falls
    heapq.heapify(bounds)
    least = -NOTHING * bounds[0][0]
    while bounds:
        check()
        bound, number = heapq.heappop(bounds)
        if lengths[number] > words:
            continue
        now = gain(number)
        if least < now < -NEARLY * bound:
            heapq.heappush(bounds, (-now, number))
            continue
        yield number
        words -= lengths[number]
        worth[grams[number]] *= AGAIN


def _within(numbers: Iterable[int], lengths: Sequence[int], words: int) -> Iterator[int]:
    """Yields the first sentences that have so many words together."""
    for number in numbers:
        if words <= 0:
            return
        words -= lengths[number]
        yield number
