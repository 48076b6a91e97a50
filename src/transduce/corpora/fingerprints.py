"""Remembers texts that have been seen, by 64-bit hashes in a few bytes each."""

import hashlib
from array import array

MIN_SLOTS = 1024  # a power of two


def fingerprint(text: str, salt: str = "") -> int:
    """Returns 64 bits of a text, never 0; those of two texts are equal by chance once in 2^64."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.encode()).digest()
    return int.from_bytes(digest, "little") or 1


class Fingerprints:
    """A set of fingerprints in an open-addressed table: 16 to 32 bytes each, where Python's own set needs about 100."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * MIN_SLOTS))  # 0 is an empty slot
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, value: int) -> bool:
        return self._slots[self._find(value)] == value

    def add(self, value: int) -> bool:
        """Remembers a fingerprint; returns True if it is new."""
        slot = self._find(value)
        if self._slots[slot] == value:
            return False
        self._slots[slot] = value
        self._count += 1
        if 2 * self._count > len(self._slots):
            self._grow()
        return True

    def _find(self, value: int) -> int:
        """Returns the slot of a value, or the empty one for it."""
        last = len(self._slots) - 1
        slot = value & last
        while self._slots[slot] not in (0, value):
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        old = self._slots
        self._slots = array("Q", bytes(16 * len(old)))
        for value in old:
            if value:
                self._slots[self._find(value)] = value
