"""Aligned sentences that can be read any number of times without being held in memory."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SentencePair:
    """One sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class ParallelCorpus:
    """Sentence pairs that are read anew at each iteration; reading raises DataError where sides do not align."""

    name: str
    """Where the pairs come from, for messages."""
    read: Callable[[], Iterator[SentencePair]]
    """Starts a new pass."""
    content: Callable[[], str]
    """A hash that changes when the pairs do."""

    def __iter__(self) -> Iterator[SentencePair]:
        return self.read()

    @staticmethod
    def of_pairs(name: str, pairs: Sequence[SentencePair]) -> "ParallelCorpus":
        """A corpus that is already in memory."""

        def content() -> str:
            digest = hashlib.sha256()
            for pair in pairs:
                digest.update(f"{pair.source}\0{pair.target}\n".encode())
            return digest.hexdigest()

        return ParallelCorpus(name, lambda: iter(pairs), content)
