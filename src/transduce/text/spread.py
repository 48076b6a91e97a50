"""A sample of a long text, evenly spread over it, taken in one pass."""

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Spread(Generic[T]):
    """Keeps every k-th item of a stream; k is the least power of two with at most `most` items kept.

    So all are kept if there are no more than that, and the sample of the same items is the same each time.
    """

    def __init__(self, most: int) -> None:
        self.items: list[T] = []
        """The sample, in order."""
        self.count = 0
        """The number of items seen."""
        self._most = most
        self._step = 1

    def extend(self, items: Iterable[T]) -> None:
        """Sees further items, in order."""
        for item in items:
            if self.count % self._step == 0:
                self.items.append(item)
                if len(self.items) > self._most:
                    self._step *= 2
                    del self.items[1::2]
            self.count += 1
