"""Running text as parallel streams: each batch continues the one before it in every row."""

from dataclasses import dataclass

import numpy as np
import torch

from transduce.data.batch import Batch, Stream
from transduce.data.planned import Epoch, Largest, PlannedData, Rows, in_order
from transduce.data.text_store import TextStore
from transduce.data.windows import WindowsConfig, batch_of


@dataclass(frozen=True)
class Streams:
    """A text cut into streams of equal length, read in parallel, a segment of each at a time.

    With `config.bidirectional` each piece of the text is two streams: the second half of them read the same pieces as
    the first, each from its end to its beginning. All epochs are alike. Segments are numbered step by step, and within
    a step stream by stream.
    """

    store: TextStore
    config: WindowsConfig

    @property
    def streams(self) -> int:
        """The number of streams: less than the settings say if the text is too short for a token of each; even if
        bidirectional."""
        return self._pieces * self._directions

    @property
    def length(self) -> int:
        """The number of tokens that each stream reads; a few at the end of the text, fewer than there are streams, are
        left out."""
        return (len(self.store) - 1) // self._pieces

    @property
    def window(self) -> int:
        """The number of tokens in a segment; a stream's last segment may have fewer."""
        return min(self.config.window, self.length)

    def planned(self) -> PlannedData[Batch]:
        """Returns batches of the next segment of each stream; parts of a batch have the same streams each time."""
        steps = in_order(np.arange(-(-self.length // self.window) * self.streams), self.streams)
        epoch = Epoch(steps, self._tokens, self._make, self._too_large, find_largest=_first_parts)
        return PlannedData(lambda number: epoch)

    def _tokens(self, segments: Rows) -> int:
        return len(segments) * self.window

    def _make(self, segments: Rows) -> Batch:
        """Makes a batch of some streams' segments, with the token after each."""
        step = int(segments[0]) // self.streams
        streams, first = segments % self.streams, step * self.window
        time = min(self.window, self.length - first)
        is_backward = streams >= self._pieces
        begins = np.where(is_backward, self.length - first - time, first)
        starts = streams % self._pieces * self.length + begins
        rows = [self.store.ids[start : start + time + 1] for start in starts]
        rows = [row[::-1] if backward else row for row, backward in zip(rows, is_backward, strict=True)]
        turned = torch.from_numpy(is_backward) if self.config.bidirectional else None
        return batch_of(rows, Stream(int(streams[0]), step == 0, turned))

    def _too_large(self, segments: Rows) -> tuple[str, str]:
        part = f"the largest part of a batch, {len(segments):,} segments of {self.window:,} tokens and their memory,"
        return part, "lower batching.target_tokens, batching.window or model.memory"

    @property
    def _directions(self) -> int:
        return 2 if self.config.bidirectional else 1

    @property
    def _pieces(self) -> int:
        """The number of pieces of the text, each of which one stream per direction reads."""
        return min(self.config.windows // self._directions, len(self.store) - 1)


def _first_parts(epoch: Epoch[Batch], parts: int, processes: int) -> Largest:
    """Returns the first parts of the first batch and of the next, which continues it: no others are larger."""
    first = [epoch.split(batch, parts, processes)[0] for batch in epoch.batches[:2]]
    return Largest(first, has_several=parts > processes)
