"""Scores pairs by their likeness to a text: difference of cross-entropies by n-grams of words (Moore & Lewis 2010), and
a classifier that was trained to tell the text from the pairs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair, sides_of
from transduce.corpora.doctor.doctor import Finding
from transduce.corpora.doctor.evidence import AT_ONCE, BITS, WORDS, HashedNGrams, Values, hashes
from transduce.corpora.doctor.numbers import UNKNOWN, Numbers, Vocabulary

MOST_READ, MOST_OTHERS = 5_000, 10
"""The most texts that the classifier learns from, and the most others for each of them."""
EPOCHS, BATCH, RATE = 10, 16, 0.3
"""Epochs of the classifier's training, texts of a step, and its size."""


class Classifier:
    """Tells texts of a kind from others: logistic regression on words and pairs of words, under hashes."""

    def __init__(self, like: Numbers, others: Numbers) -> None:
        """Learns by AdaGrad (Duchi et al. 2011), some texts at a time."""
        both = Numbers(np.append(like.values, others.values), np.append(like.lengths, others.lengths))
        self._weights, squares = np.zeros(1 << BITS), np.full(1 << BITS, 1e-6)
        order = np.random.default_rng(1)
        for _ in range(EPOCHS):
            for chosen in np.array_split(order.permutation(len(both)), -(-len(both) // BATCH)):
                some = both.take(chosen)
                errors = 1 / (1 + np.exp(-self.scores(some))) - (chosen < len(like))
                features = self._features(some).ravel()
                each = np.tile((errors / np.sqrt(some.lengths))[some.texts], features.size // len(some.values))
                known, places = np.unique(features, return_inverse=True)
                gradients = np.bincount(places, each)
                squares[known] += gradients**2
                self._weights[known] -= RATE * gradients / np.sqrt(squares[known])

    def scores(self, texts: Numbers) -> Values:
        """Returns the logarithm of the odds that each text is of the kind."""
        each = self._weights[self._features(texts)].sum(0)
        return np.asarray(np.add.reduceat(each, texts.starts) / np.sqrt(texts.lengths))

    @staticmethod
    def _features(texts: Numbers) -> NDArray[np.int64]:
        return np.stack([hashes(texts, order) for order in (1, 2)])


class Likeness:
    """Tells how much pairs are like a text, which is in the language of one of their sides."""

    def __init__(self, text: Sequence[str], pairs: Sequence[SentencePair], share: float = 1.0) -> None:
        """Learns from the text, and from about as much of the pairs.

        Args:
            text: lines that pairs should be like.
            pairs: pairs of the corpus.
            share: the share of the pairs that are enough like the text.

        Raises DataError for a text that shares no word with the pairs.
        """
        sides = sides_of(pairs)
        known = []
        for side in sides:
            vocabulary = Vocabulary()
            vocabulary.learn(side)
            known.append(np.mean(vocabulary.of(text).values != UNKNOWN) if text else 0.0)
        if not max(known):
            raise DataError("a text that pairs should be like: it has no word of either side")
        self._side = int(np.argmax(known))
        usual = sides[self._side]
        self._vocabulary = Vocabulary()
        like, others = self._vocabulary.learn(text), self._vocabulary.learn(usual)
        self._like, self._usual = HashedNGrams(like, WORDS), HashedNGrams(_some(others, len(like)), WORDS)
        few = _some(like, MOST_READ)
        self._classifier = Classifier(few, _some(others, MOST_OTHERS * len(few)))
        measured = self.measures(pairs)
        self._means, self._scales = measured.mean(1), np.maximum(measured.std(1), 1e-9)
        self.least = float(np.quantile(self._standardised(measured), 1 - share))
        """The score of pairs that are just enough like the text."""

    def scores(self, pairs: Sequence[SentencePair]) -> Values:
        """Returns, for each pair, by how much it is more like the text than most: the mean, in standard deviations, of
        how much likelier its words are in the text than in the corpus, and of what the classifier says."""
        return self._standardised(self.measures(pairs))

    def _standardised(self, measured: Values) -> Values:
        return np.asarray(((measured.T - self._means) / self._scales).mean(1))

    def measures(self, pairs: Sequence[SentencePair]) -> Values:
        """Returns, for each pair, by how many nats its words are likelier in the text than in the corpus, on average,
        and the classifier's score, [2, pairs]."""
        words = self._vocabulary.of([pair.target if self._side else pair.source for pair in pairs])
        gains = self._like.log_probabilities(words)[-1] - self._usual.log_probabilities(words)[-1]
        return np.stack([words.mean(gains), self._classifier.scores(words)])

    def judge(self, findings: Iterable[Finding], leaves_out: bool) -> Iterator[Finding]:
        """Adds to each finding the score of its pair; with `leaves_out`, good pairs beyond the share that is most like
        the text have a fault."""
        stream = iter(findings)
        while some := list(islice(stream, AT_ONCE)):
            for finding, score in zip(some, self.scores([each.pair for each in some]).tolist(), strict=True):
                fault = "unlike" if leaves_out and score < self.least else None
                yield replace(finding, fault=finding.fault or fault, scores=finding.scores | {"like": score})


def _some(texts: Numbers, most: int) -> Numbers:
    """Returns at most about so many texts, evenly spread."""
    return texts.take(np.arange(0, len(texts), max(len(texts) // most, 1)))
