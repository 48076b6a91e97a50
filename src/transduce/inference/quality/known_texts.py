"""How often words and sentences occurred in training texts, kept as a hash of each."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
        kept = [
            (zlib.crc32(_encoded(text)), count) for text, count in Counter(texts).most_common(MOST) if count >= least
        ]
        hashes, first = np.unique(np.array([each for each, _ in kept], np.uint32), return_index=True)
        return KnownTexts(hashes, np.array([count for _, count in kept], np.int32)[first])

    def counts_of(self, texts: Sequence[str]) -> Int[np.ndarray, " texts"]:
        """Returns the count of each text, 0 for a new one."""
        return self.counts_of_joined(texts, [""])[:, 0]

    def counts_of_joined(self, starts: Sequence[str], ends: Sequence[str]) -> Int[np.ndarray, "starts ends"]:
        """Returns the count of each text of a start and an end, 0 for a new one."""
        if not len(self.hashes):
            return np.zeros((len(starts), len(ends)), np.int32)
        encoded = [_encoded(end) for end in ends]
        begun = [zlib.crc32(_encoded(start)) for start in starts]
        asked = np.array([zlib.crc32(end, hash_) for hash_ in begun for end in encoded], np.uint32)
        places = np.searchsorted(self.hashes, asked).clip(max=len(self.hashes) - 1)
        return np.where(self.hashes[places] == asked, self.counts[places], 0).reshape(len(starts), len(ends))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
