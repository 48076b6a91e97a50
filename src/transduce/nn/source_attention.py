"""Attention of a recurrent decoder to its source: a score matches queries and keys, a focus selects positions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.base.shapes import Hidden
from transduce.nn.attention import KeysValues
from transduce.nn.focus import Focus
from transduce.nn.masks import SourceMask
from transduce.nn.places import Place, Places
from transduce.nn.recording import Write, write_nothing
from transduce.nn.scores import AttentionScore

Weigh = Callable[[Tensor, Tensor], Tensor]
"""Returns the values, [rows, heads, keys, dim], weighed by [rows, heads, queries, keys]."""


@dataclass(frozen=True)
class Attended:
    """The context of a decoder's queries, and the log-probabilities of its draws."""

    context: Float[Tensor, "sentences queries memory_dim"]
    sampled_log_probabilities: Float[Tensor, "sentences queries"] | None
    """The log-probability of each position drawn, where positions were drawn for the score-function gradient."""


class SourceAttention(nn.Module):
    """One head of attention with keys apart from values: scores, weights by a focus, and the mean of values by them."""

    def __init__(self, score: AttentionScore, focus: Focus) -> None:
        super().__init__()
        self.score = score
        self.focus = focus
        self.kernel: Weigh = weigh

    def project(self, memory: Hidden) -> KeysValues:
        """Returns keys and values of an encoder's output."""
        return KeysValues(self.score.project(memory), memory[:, None])

    def forward(
        self, query: Hidden, source: KeysValues, may_attend: SourceMask, times: Int[Tensor, " queries"]
    ) -> Attended:
        """Attends with each sentence's queries, [sentences, queries, dim], at target positions counted from 0."""
        query = query[:, None]  # [sentences, 1, queries, dim]
        scores = self.score(query, source.keys)  # [sentences, 1, queries, keys]
        focused = self.focus(scores, query, may_attend, times)  # weights  [sentences, 1, queries, keys]
        context = self.kernel(focused.weights, source.values)  # [sentences, 1, queries, memory_dim]
        sampled = focused.sampled_log_probabilities
        return Attended(context[:, 0], None if sampled is None else sampled[:, 0])

    def recording_kernel(self, write: Write) -> Weigh:
        """See Recordable."""
        return partial(weigh, write=write)

    def places(self) -> Places:
        """See HasPlaces: the context, of one head."""
        return {"heads": Place(self, heads=1)}


def weigh(weights: Tensor, values: Tensor, write: Write = write_nothing) -> Tensor:
    """Returns the weighted sums of values; `write` receives the weights."""
    write(weights)
    return weights @ values
