"""Running text cut into windows, which are what a language model learns from: a function of seed and epoch alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.config import Settings
from transduce.data.batch import Batch, Stream
from transduce.data.batching import Largest, Plan, split_evenly
from transduce.data.text_store import TextStore
from transduce.ranges import PositiveInt


class WindowsConfig(Settings, frozen=True):
    """Context length and batch size of language models."""

    window: PositiveInt = 256
    """Context length in tokens; of models that remember earlier segments, the length of a segment."""
    target_tokens: PositiveInt = 4096
    """Tokens per batch, rounded down to whole windows, at least one window. Models that remember read as many streams
    of the text side by side as a batch has windows."""
    bidirectional: bool = False
    """Of an XLNet: half of the streams read the text from its end to its beginning, and know it (Yang et al. 2019,
    section 3.1)."""

    @property
    def windows(self) -> int:
        """Windows of a batch."""
        return max(self.target_tokens // self.window, 1)

    def _check_together(self) -> None:
        if self.bidirectional and self.windows < 2:
            raise ValueError("bidirectional streams are two or more: target_tokens must be twice window at least")


@dataclass(frozen=True)
class WindowData:
    """A text cut into windows anew in each epoch, at a place drawn at random; see training/batches.py.

    A window is named by the place of its first token.
    """

    store: TextStore
    config: WindowsConfig
    seed: int

    @property
    def window(self) -> int:
        """Tokens read of each window: fewer than the settings say where the text is shorter."""
        return min(self.config.window, len(self.store) - 1)

    def plan(self, epoch: int) -> Plan:
        """The windows of each batch, in random order; the same for the same seed and epoch."""
        return self._first_plan if epoch == 0 else self._plan(epoch)

    @cached_property
    def _first_plan(self) -> Plan:
        return self._plan(0)

    def _plan(self, epoch: int) -> Plan:
        random = np.random.default_rng([self.seed, epoch])
        last = len(self.store) - 1 - self.window  # the last place where one may begin
        offset = int(random.integers(min(self.window, last + 1)))
        starts = random.permutation(np.arange(offset, last + 1, self.window))
        count = -(-len(starts) // self.config.windows)
        return [starts[i * self.config.windows : (i + 1) * self.config.windows] for i in range(count)]

    def split(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        """A batch in so many parts, as even as can be."""
        return split_evenly(pairs, parts)

    def largest(self, parts: int) -> Largest:
        """The first part of the first batch: no other is larger."""
        first = self.plan(0)[0]
        return Largest(self.split(first, parts)[:1], (self.padded_tokens(first),), has_several=parts > 1)

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Tokens of some windows."""
        return len(pairs) * self.window

    def too_large(self, pairs: NDArray[np.int64]) -> tuple[str, str]:
        """What to say of some windows whose batch is beyond the memory, and what to do then."""
        what = f"the largest part of a batch, {len(pairs):,} windows of {self.window:,} tokens,"
        return what, "raise training.accumulate, or lower batching.target_tokens (or window)"

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """The ids of some windows, and those that follow each."""
        return batch_of([self.store.ids[start : start + self.window + 1] for start in pairs])


def windows_in_order(store: TextStore, config: WindowsConfig) -> Iterator[Batch]:
    """All of a text once, in windows one after another; each token but the first is predicted once."""
    rows = [store.ids[start : start + config.window + 1] for start in range(0, len(store) - 1, config.window)]
    whole = [row for row in rows if len(row) == config.window + 1]
    for start in range(0, len(whole), config.windows):
        yield batch_of(whole[start : start + config.windows])
    if len(whole) < len(rows):
        yield batch_of(rows[-1:])


def batch_of(rows: Sequence[NDArray[np.integer]], stream: Stream | None = None) -> Batch:
    """Rows of one length as a batch without a source: all but the last token is read, all but the first predicted."""
    ids = torch.from_numpy(np.stack(rows).astype(np.int64))
    nothing = ids[:, :0]
    is_real = torch.ones_like(ids[:, 1:], dtype=torch.bool)
    return Batch(nothing, nothing.bool(), ids[:, :-1], ids[:, 1:], is_real, stream)
