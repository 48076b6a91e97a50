"""How much pairs are like a text: the difference of cross-entropies (Moore & Lewis 2010), by n-grams of words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import Finding
from transduce.corpora.doctor.evidence import AT_ONCE, WORDS, HashedNGrams, Values
from transduce.corpora.doctor.numbers import UNKNOWN, Vocabulary


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
        sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
        known = []
        for side in sides:
            vocabulary = Vocabulary()
            vocabulary.learn(side)
            known.append(np.mean(vocabulary.of(text).values != UNKNOWN) if text else 0.0)
        if not max(known):
            raise DataError("a text that pairs should be like: it has no word of either side")
        self._side = int(np.argmax(known))
        usual = sides[self._side]
        usual = usual[:: max(len(usual) // max(len(text), 1), 1)]
        self._vocabulary = Vocabulary()
        learned = [self._vocabulary.learn(lines) for lines in (text, usual)]
        self._like, self._usual = (HashedNGrams(lines, WORDS) for lines in learned)
        self.least = float(np.quantile(self.scores(pairs), 1 - share))
        """The score of pairs that are just enough like the text."""

    def scores(self, pairs: Sequence[SentencePair]) -> Values:
        """Returns, for each pair, by how much a word is likelier in the text than in the corpus, in nats on average."""
        words = self._vocabulary.of([pair.target if self._side else pair.source for pair in pairs])
        return words.mean(self._like.log_probabilities(words)[-1] - self._usual.log_probabilities(words)[-1])

    def judge(self, findings: Iterable[Finding], leaves_out: bool) -> Iterator[Finding]:
        """Adds to each finding the score of its pair; with `leaves_out`, good pairs beyond the share that is most like
        the text have a fault."""
        stream = iter(findings)
        while some := list(islice(stream, AT_ONCE)):
            for finding, score in zip(some, self.scores([each.pair for each in some]).tolist(), strict=True):
                fault = "unlike" if leaves_out and score < self.least else None
                yield replace(finding, fault=finding.fault or fault, scores=finding.scores | {"like": score})
