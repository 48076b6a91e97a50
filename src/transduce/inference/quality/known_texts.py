"""How often words and sentences occurred in training texts, kept as a hash of each."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int, UInt

MOST = 200_000
"""The most texts that are kept, the most frequent first."""


@dataclass(frozen=True, eq=False)
class KnownTexts:
    """Counts of texts; one that never occurred has the count of another once in 20,000 times."""

    hashes: UInt[np.ndarray, " texts"]
    """CRC-32 of each text, ascending."""
    counts: Int[np.ndarray, " texts"]

    @staticmethod
    def of(texts: Iterable[str] | Mapping[str, int], least: int = 1) -> "KnownTexts":
        """Counts texts, or takes their counts, and keeps those that occur at least so many times."""
        kept = [(zlib.crc32(_utf_8(text)), count) for text, count in Counter(texts).most_common(MOST) if count >= least]
        hashes, first = np.unique(np.array([each for each, _ in kept], np.uint32), return_index=True)
        return KnownTexts(hashes, np.array([count for _, count in kept], np.int32)[first])

    @cached_property
    def _count_of(self) -> dict[int, int]:
        return dict(zip(self.hashes.tolist(), self.counts.tolist(), strict=True))

    def counts_of(self, texts: Iterable[str]) -> list[int]:
        """Returns the count of each text, 0 for a new one."""
        return self.counts_of_joined([""], texts)[0]

    def counts_of_joined(self, starts: Iterable[str], ends: Iterable[str]) -> list[list[int]]:
        """Returns, for each start, the count of the text that it makes with each end, 0 for a new one."""
        encoded, get = [_utf_8(end) for end in ends], self._count_of.get
        return [[get(zlib.crc32(end, begun), 0) for end in encoded] for begun in map(zlib.crc32, map(_utf_8, starts))]


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
