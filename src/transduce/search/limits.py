"""How long each sentence's output may be."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from transduce.search.settings import SearchSettings


@dataclass(frozen=True)
class Limits:
    """How long each sentence's output may be, the end token counted."""

    shortest: Int[Tensor, " sentences"]
    longest: Int[Tensor, " sentences"]

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
        return Limits(self.shortest, torch.maximum(self.longest, lengths))


def limits_for(settings: SearchSettings, source_lengths: Int[Tensor, " sentences"], target_limit: int | None) -> Limits:
    """Limits from the tokens of each source and from the most tokens that the model can write."""
    longest = (source_lengths * settings.max_ratio + settings.max_extra).long().clamp(1, target_limit)
    shortest = (source_lengths * settings.min_ratio).long().clamp(1)
    return Limits(torch.minimum(shortest, longest), longest)
