"""Settings common to all searches: the number of outputs, their first token, and their length."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transduce.base.config import Settings
from transduce.base.ranges import ExtraLength, LengthRatio, NBest, NonNegativeInt, RepetitionPenalty


class SearchSettings(Settings, frozen=True):
    """Number and length of outputs, and what they may not contain."""

    n_best: NBest = 1
    """Outputs per sentence: the n best hypotheses of a beam, best first, or n samples."""
    max_ratio: LengthRatio = 2.0
    """Maximum output length: this times the source length in tokens, plus max_extra."""
    max_extra: ExtraLength = 50
    """Tokens added to the maximum output length."""
    min_ratio: LengthRatio = 0.0
    """Minimum output length: this times the source length in tokens."""
    allow_unknown: bool = False
    """Allow the unknown token, printed as `<unk>`."""
    no_repeat_ngram: NonNegativeInt = 0
    """Do not repeat n-grams of this size (0: off)."""
    repetition_penalty: RepetitionPenalty = 1.0
    """Factor of the log-probability of tokens that occurred before, also in a prompt (Keskar et al. 2019; 1: off)."""
    keep_numbers: Literal["on", "off"] = "on"
    """Search a translation that changes a number of two digits or more, an address or a part number again, with that
    number required."""

    def _check_together(self) -> None:
        if self.max_ratio + self.max_extra == 0:
            raise ValueError("max_ratio and max_extra must not both be 0")
        if self.max_extra == 0 and self.min_ratio > self.max_ratio:
            raise ValueError("min_ratio must be at most max_ratio where max_extra is 0: no output is long enough")


Begin = int | Int[Tensor, " sentences"]
"""The token that outputs start from, or one for each sentence."""


def begin_each(begin: Begin, sentences: Int[Tensor, " sentences"]) -> Int[Tensor, "sentences 1"]:
    """Returns the token that begins each sentence's outputs."""
    return torch.as_tensor(begin, device=sentences.device).expand(len(sentences))[:, None]


@dataclass(frozen=True)
class Limits:
    """Length limits of each sentence's output, the end token included."""

    shortest: Int[Tensor, " sentences"]
    longest: Int[Tensor, " sentences"]
    end_is_free: bool = False
    """True if an end forced by the longest length costs nothing, as in a text that could continue."""
    on_host: "Limits | None" = None
    """Copies of the limits on the CPU, where the limits are on a GPU."""

    def to(self, device: torch.device) -> "Limits":
        """Returns the limits on a device; of those on a GPU the host keeps a copy, which it can ask without waiting."""
        if device.type == "cpu":
            return self
        shortest, longest = self.shortest.to(device), self.longest.to(device)
        return replace(self, shortest=shortest, longest=longest, on_host=self)

    def are_reached(self, length: int | Tensor, sentences: Int[Tensor, " some"]) -> Bool[Tensor, " some"]:
        """Returns True for sentences whose outputs of this length, end included, have reached the limit; they count as
        truncated."""
        return length >= self.longest[sentences]

    @cached_property
    def all_may_end(self) -> int:
        """The length at which every sentence's output may end."""
        return max((self.on_host or self).shortest.tolist(), default=0)

    @cached_property
    def some_must_end(self) -> int:
        """The shortest length at which some sentence's output must end."""
        return min((self.on_host or self).longest.tolist(), default=0)

    @cached_property
    def all_must_end(self) -> int:
        """The length at which every sentence's output must end."""
        return max((self.on_host or self).longest.tolist(), default=0)

    def make_room(self, lengths: Int[Tensor, " sentences"]) -> "Limits":
        """Returns limits in which no sentence's longest output is shorter than the given length."""
        return replace(self, longest=torch.maximum(self.longest, lengths))


def limits_for(settings: SearchSettings, source_lengths: Int[Tensor, " sentences"], target_limit: int | None) -> Limits:
    """Returns limits from the tokens of each source and the maximum that the model can write."""
    longest = (source_lengths * settings.max_ratio + settings.max_extra).long().clamp(1, target_limit)
    shortest = (source_lengths * settings.min_ratio).long().clamp(1)
    return Limits(torch.minimum(shortest, longest), longest)
