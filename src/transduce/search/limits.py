"""Where each sentence's output begins and how long it may be."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transduce.search.settings import SearchSettings

Begin = int | Int[Tensor, " sentences"]
"""The token that outputs start from, or one for each sentence."""


def begin_each(begin: Begin, sentences: Int[Tensor, " sentences"]) -> Int[Tensor, "sentences 1"]:
    """The token that each sentence's outputs start from."""
    return torch.as_tensor(begin, device=sentences.device).expand(len(sentences))[:, None]


@dataclass(frozen=True)
class Limits:
    """How long each sentence's output may be, the end token counted."""

    shortest: Int[Tensor, " sentences"]
    longest: Int[Tensor, " sentences"]
    end_is_free: bool = False
    """Whether an end that the longest length forces costs nothing, as of a text that could go on."""

    def are_reached(self, length: int, sentences: Int[Tensor, " some"]) -> Bool[Tensor, " some"]:
        """Whether outputs of so many tokens, the end counted, could not have been longer; they count as truncated."""
        return length >= self.longest[sentences]

    @cached_property
    def all_may_end(self) -> int:
        """The length from which every sentence's output may end."""
        return max(self.shortest.tolist(), default=0)

    @cached_property
    def some_must_end(self) -> int:
        """The least length at which some sentence's output must end."""
        return min(self.longest.tolist(), default=0)

    def make_room(self, lengths: Int[Tensor, " sentences"]) -> "Limits":
        """The same, but no sentence's longest output is shorter than the given length."""
        return replace(self, longest=torch.maximum(self.longest, lengths))


def limits_for(settings: SearchSettings, source_lengths: Int[Tensor, " sentences"], target_limit: int | None) -> Limits:
    """Limits from the tokens of each source and from the most tokens that the model can write."""
    longest = (source_lengths * settings.max_ratio + settings.max_extra).long().clamp(1, target_limit)
    shortest = (source_lengths * settings.min_ratio).long().clamp(1)
    return Limits(torch.minimum(shortest, longest), longest)
