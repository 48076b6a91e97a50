"""Texts as numbers, one after another in one array, for arithmetic on all of them at once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docsegments.orthography.characters import UNSPACED
from transduce.corpora.lexical_translation import ranges

STEM = 6
"""Letters of a word that count: endings vary more than stems, and a corpus of some thousand pairs has few of each."""
_WORD = re.compile(r"\w+|[^\w\s]")
UNKNOWN = 0
"""The number of a word that was not learned from."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of texts, one text after another."""

    values: NDArray[np.int64]
    lengths: NDArray[np.int64]
    """How many numbers each text has; at least one."""

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The place of each text's first number."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def places(self) -> NDArray[np.int64]:
        """The number of numbers before each one in its text."""
        return np.arange(len(self.values)) - np.repeat(self.starts, self.lengths)

    @property
    def texts(self) -> NDArray[np.int64]:
        """The text of each number."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def take(self, chosen: NDArray[np.int64]) -> "Numbers":
        """Returns some of the texts, in the given order."""
        lengths = self.lengths[chosen]
        return Numbers(self.values[ranges(self.starts[chosen], lengths)], lengths)

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the mean, over each text, of one value for each number."""
        return np.asarray(np.add.reduceat(values, self.starts) / self.lengths)

    @staticmethod
    def of(texts: Iterable[Sequence[int]]) -> "Numbers":
        """Puts texts after each other; an empty one becomes one unknown word."""
        filled = [text or (UNKNOWN,) for text in texts]
        lengths = np.array([len(text) for text in filled], np.int64)
        return Numbers(np.array([number for text in filled for number in text], np.int64), lengths)

    @staticmethod
    def of_characters(texts: Sequence[str]) -> "Numbers":
        """Returns the code points of texts, in lower case, with a sign at each end."""
        joined = "".join(f"\x02{text.lower()}\x03" for text in texts)
        lengths = np.array([len(text.lower()) + 2 for text in texts], np.int64)
        return Numbers(np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64), lengths)


def words_of(text: str) -> list[str]:
    """Returns the beginnings of a text's words and its punctuation; each letter of a script without spaces is one."""
    return [word[:STEM] for word in _WORD.findall(UNSPACED.sub(r" \g<0> ", text.lower()))]


class Vocabulary:
    """Numbers of words, from 1 on."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers) + 1

    @property
    def words(self) -> list[str]:
        """The words, in the order of their numbers; the first is of none."""
        return ["", *self._numbers]

    def learn(self, texts: Iterable[str]) -> Numbers:
        """Returns the numbers of the words of texts, new ones for new words."""
        numbers = self._numbers
        return Numbers.of([[numbers.setdefault(word, len(numbers) + 1) for word in words_of(text)] for text in texts])

    def of(self, texts: Iterable[str]) -> Numbers:
        """Returns the numbers of the words of texts."""
        get = self._numbers.get
        return Numbers.of([[get(word, UNKNOWN) for word in words_of(text)] for text in texts])
