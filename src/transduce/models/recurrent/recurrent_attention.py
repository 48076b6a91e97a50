"""The attentions that a recurrent decoder may have, as settings."""

from typing import ClassVar, Literal

from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.base.plugins import name_of
from transduce.base.ranges import Width
from transduce.nn.focus import HardGradient
from transduce.nn.scores import SCORES


class NoAttentionConfig(Settings, frozen=True, tag_field="kind", tag="none"):
    """No attention: the decoder sees the source only through the encoder's final state."""

    thought: Literal["start", "every_step"] = "start"
    """Where the final state is used: as the decoder's initial state only (Sutskever et al. 2014), or also as input of
    every step and of the readout (Cho et al. 2014)."""


class BahdanauAttentionConfig(Settings, frozen=True, tag_field="kind", tag="bahdanau"):
    """Additive attention: the query is the previous decoder state, and the context is part of the step's input
    (Bahdanau et al. 2015)."""

    form: Literal["summed", "concatenated"] = "summed"
    """How the score's hidden layer is written: a matrix for the state and one for the source, or one matrix over both
    concatenated. Both are equivalent except for weight initialisation."""
    score_dim: Width = 256
    """Width of the score's hidden layer."""


class ScoreConfig(Settings, frozen=True):
    """Settings of attentions whose score is chosen."""

    objects: ClassVar = {"score": name_of}

    score: str = "general"
    """Match of state and source position: dot, general, concat, or the name of a score of your own or of an
    installed package."""
    score_dim: Width | None = None
    """Width of the hidden layer of the concat score (default: decoder_dim)."""

    def _check_together(self) -> None:
        if self.score not in SCORES.others:
            try:
                SCORES.find(self.score)
            except InputError as error:
                raise ValueError(str(error)) from None
        if self.score_dim is not None and self.score != "concat":
            raise ValueError(f"score_dim is for the score concat; {self.score} has no hidden layer")


class LuongAttentionConfig(ScoreConfig, frozen=True, tag_field="kind", tag="luong"):
    """Attention whose query is the current decoder state (Luong et al. 2015, section 3.1)."""

    input_feeding: bool = False
    """Make the last attentional vector part of the next step's input; training is then step by step."""


class LocalAttentionConfig(ScoreConfig, frozen=True, tag_field="kind", tag="local"):
    """Attention to a window of the source (Luong et al. 2015, section 3.2)."""

    position: Literal["monotonic", "predictive"] = "predictive"
    """The window stands at the target position itself, or where the state says, with a Gaussian around it."""
    window: Width = 10
    """Source positions to each side of the middle; the Gaussian's standard deviation is half of it."""
    input_feeding: bool = False
    """Make the last attentional vector part of the next step's input; training is then step by step."""


class HardAttentionConfig(ScoreConfig, frozen=True, tag_field="kind", tag="hard"):
    """Attention to one source position, drawn in training and the best otherwise (Xu et al. 2015, section 4.1)."""

    gradient: HardGradient = "score_function"
    """Gradient estimator: score_function (REINFORCE with a moving-average baseline), or straight_through (the softmax's
    gradient)."""


ScoredConfig = BahdanauAttentionConfig | LuongAttentionConfig | LocalAttentionConfig | HardAttentionConfig
"""Attentions that score every source position."""
AttentionConfig = NoAttentionConfig | ScoredConfig


def score_kind(attention: ScoredConfig) -> str:
    """Returns the name of the score that an attention uses."""
    if isinstance(attention, BahdanauAttentionConfig):
        return "additive" if attention.form == "summed" else "concat"
    return attention.score
