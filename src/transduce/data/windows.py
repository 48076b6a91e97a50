"""Running text cut into windows, which language models learn from: a function of seed and epoch alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.base.config import Settings
from transduce.base.ranges import PositiveInt
from transduce.data.batch import Batch, Stream
from transduce.data.planned import Epoch, PlannedData, Rows, in_order
from transduce.data.text_store import TextStore
from transduce.nn.ragged import Ragged


class WindowsConfig(Settings, frozen=True):
    """Context length and batch size of language models."""

    window: PositiveInt = 256
    """Context length in tokens; for models that remember earlier segments, the length of a segment."""
    target_tokens: PositiveInt = 4096
    """Tokens per batch, rounded down to whole windows, at least one window. Models that remember read one stream of the
    text for each window of a batch."""
    bidirectional: bool = False
    """For XLNet: half of the streams read the text from its end to its beginning, and the model knows which (Yang et
    al. 2019, section 3.1)."""

    @property
    def windows(self) -> int:
        """The number of windows in a batch."""
        return max(self.target_tokens // self.window, 1)

    def _check_together(self) -> None:
        if self.bidirectional and self.windows < 2:
            raise ValueError("bidirectional streams are two or more: target_tokens must be twice window at least")


@dataclass(frozen=True)
class Windows:
    """A text cut into windows anew in each epoch, from a random offset, and read in random order.

    The index of a window is that of its first token.
    """

    store: TextStore
    config: WindowsConfig
    seed: int

    @property
    def window(self) -> int:
        """The number of tokens read of each window: less than the settings say if the text is shorter."""
        return min(self.config.window, len(self.store) - 1)

    def planned(self) -> PlannedData[Batch]:
        """Returns the windows in batches."""
        return PlannedData(self._epoch)

    def _epoch(self, number: int) -> Epoch[Batch]:
        random = np.random.default_rng([self.seed, number])
        last = len(self.store) - 1 - self.window  # the last token that a window may begin with
        offset = int(random.integers(min(self.window, last + 1)))
        starts = random.permutation(np.arange(offset, last + 1, self.window))
        return Epoch(in_order(starts, self.config.windows), self._tokens, self._make, self._too_large)

    def _tokens(self, starts: Rows) -> int:
        return len(starts) * self.window

    def _make(self, starts: Rows) -> Batch:
        """Makes a batch of some windows, with the token after each."""
        return batch_of([self.store.ids[start : start + self.window + 1] for start in starts])

    def _too_large(self, starts: Rows) -> tuple[str, str]:
        part = f"the largest part of a batch, {len(starts):,} windows of {self.window:,} tokens,"
        return part, "lower batching.target_tokens (or window)"


def windows_in_order(store: TextStore, config: WindowsConfig) -> Iterator[Batch]:
    """Yields a text once, in consecutive windows; each token but the first is predicted once."""
    rows = [store.ids[start : start + config.window + 1] for start in range(0, len(store) - 1, config.window)]
    whole = [row for row in rows if len(row) == config.window + 1]
    for start in range(0, len(whole), config.windows):
        yield batch_of(whole[start : start + config.windows])
    if len(whole) < len(rows):
        yield batch_of(rows[-1:])


def batch_of(rows: Sequence[NDArray[np.integer]], stream: Stream | None = None) -> Batch:
    """Makes a batch, without a source, of rows of one length: all but the last token is read, all but the first
    predicted."""
    ids = torch.from_numpy(np.stack(rows).astype(np.int64))
    nothing = ids[:, :0]
    is_real = torch.ones_like(ids[:, 1:], dtype=torch.bool)
    return Batch(nothing, nothing.bool(), ids[:, :-1], ids[:, 1:], is_real, stream, target_rows=Ragged.of(is_real))
