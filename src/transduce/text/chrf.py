"""chrF of every pair of texts, which compares outputs with each other."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

ORDER = 6  # the longest n-grams of characters
BETA = 2  # how much more recall counts than precision


def pairwise_chrf(texts: Sequence[str]) -> Float[np.ndarray, "outputs references"]:
    """Returns chrF2 (Popovic 2015), 0 to 100, of each text as output with each as reference, as sacreBLEU computes it.

    Spaces do not count. The n-grams of all texts are counted once, as the columns of a matrix a length.
    """
    precisions = np.zeros((len(texts), len(texts)))
    recalls, orders = np.zeros_like(precisions), np.zeros_like(precisions)
    for counts in _ngram_counts(["".join(text.split()) for text in texts]):
        matches, totals = _matches(counts), counts.sum(1)  # [outputs, references], [texts]
        is_counted = (totals[:, None] > 0) & (totals[None] > 0)
        precisions += np.where(is_counted, matches / np.maximum(totals[:, None], 1), 0)
        recalls += np.where(is_counted, matches / np.maximum(totals[None], 1), 0)
        orders += is_counted
    precisions, recalls = precisions / np.maximum(orders, 1), recalls / np.maximum(orders, 1)
    weighted = BETA**2 * precisions + recalls  # beta^2 P + R  [outputs, references]
    return 100 * (1 + BETA**2) * precisions * recalls / np.where(weighted > 0, weighted, 1)  # F-score


def _ngram_counts(texts: Sequence[str]) -> Iterator[Int[np.ndarray, "texts ngrams"]]:
    """Yields how often each n-gram of any text occurs in each, for all lengths of n-grams that there are."""
    text = np.repeat(np.arange(len(texts)), np.array([len(string) for string in texts], dtype=np.int64))
    characters = np.array([ord(character) for string in texts for character in string], dtype=np.int64)
    kinds, character = np.unique(characters, return_inverse=True)
    ngram = np.zeros_like(character)  # that begins at each character, numbered
    for n in range(1, ORDER + 1):
        starts = len(text) - n + 1
        if starts < 1:
            return
        _, ngram = np.unique(ngram[:starts] * len(kinds) + character[n - 1 :], return_inverse=True)
        is_within = text[:starts] == text[n - 1 :]
        size = int(ngram.max()) + 1
        cells = text[:starts][is_within] * size + ngram[is_within]
        yield np.bincount(cells, minlength=len(texts) * size).reshape(len(texts), size)


def _matches(counts: Int[np.ndarray, "texts ngrams"]) -> Float[np.ndarray, "texts texts"]:
    """Returns how many n-grams each two texts share: sums of the lesser counts, a matrix product for each count."""
    shared = np.zeros((len(counts), len(counts)))
    for less, count in pairwise(np.unique(np.append(counts, 0))):
        has = (counts[:, (counts >= count).any(0)] >= count).astype(np.float32)  # whole numbers, exact in float32
        shared += (count - less) * (has @ has.T)
    return shared
