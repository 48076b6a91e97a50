"""Transformer-XL: a language model that remembers the segments before, and sees distances (Dai et al. 2019)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from transduce.base.errors import ConfigError
from transduce.base.ranges import Layers, PositiveInt, ShareBelowOne, Width
from transduce.base.shapes import Hidden, Tokens
from transduce.models.interface import Decoder, Memory, SegmentRecurrence
from transduce.models.stack import Parts, StackConfig, TextEmbedding
from transduce.nn.adaptive import AdaptiveEmbedding, AdaptiveOutput, cluster_bounds
from transduce.nn.initialization import InitializationKind
from transduce.nn.layers import Dropout, FeedForward, NormPlace, Residual, VariationalDropout, WordDropout, layer_list
from transduce.nn.masks import AttentionMask, memory_mask
from transduce.nn.relative_attention import (
    Past,
    ProjectedDistances,
    RelativeSelfAttention,
    scores_by_distance,
    sinusoids_of_distances,
)
from transduce.nn.state import Carried, SegmentState


class TransformerXLConfig(StackConfig, frozen=True, tag_field="kind", tag="transformer-xl"):
    """Sizes and choices of a Transformer-XL; the defaults are those of the paper's WikiText-103 base model."""

    layers: Layers = 16
    """Layers of the decoder."""
    dim: Width = 410
    """Width of embeddings and layers."""
    heads: Width = 10
    """Attention heads."""
    feed_forward_dim: Width = 2100
    """Width between the two layers of a feed-forward network."""
    memory: PositiveInt = 150
    """Context of each token: how many tokens before it it may attend to, in its own segment or in those before."""
    norm: NormPlace = "post"
    """Normalisation before each sublayer and at the end of a stack (pre), or after each residual sum (post)."""
    tie: bool = True
    """Share one matrix between embeddings and the output layer."""
    initialization: InitializationKind = "gpt2"
    """Xavier for all, Xavier with N(0, 1/dim) for embeddings (scaled), or GPT-2's."""
    cutoffs: tuple[PositiveInt, ...] = ()
    """Adaptive softmax and embeddings for large vocabularies, frequent tokens first (Grave et al. 2017; Baevski and
    Auli 2019): the token at which each further cluster begins, as [20000, 40000, 200000]. All is tied."""
    narrowing: PositiveInt = 1
    """With cutoffs: by which factor the embeddings of each further cluster are narrower."""
    word_dropout: ShareBelowOne = 0.0
    """Share of the vocabulary whose embeddings are zero in an update (Gal and Ghahramani 2016)."""
    output_dropout: ShareBelowOne | None = None
    """Dropout rate of what the output layer reads (default: dropout)."""
    variational_dropout: bool = False
    """Draw the dropout of embeddings and of what the output layer reads once a row, the same for all its positions (Gal
    and Ghahramani 2016)."""

    def _check_together(self) -> None:
        StackConfig._check_together(self)
        if list(self.cutoffs) != sorted(set(self.cutoffs)):
            raise ValueError(f"cutoffs must rise, but are {list(self.cutoffs)}")
        if self.cutoffs and not self.tie:
            raise ValueError("cutoffs share embeddings with the output layer: leave tie = true")
        if self.narrowing > 1 and not self.cutoffs:
            raise ValueError("narrowing is for cutoffs; give some, or leave it out")


def build_transformer_xl(config: TransformerXLConfig, vocabulary: int) -> "TransformerXL":
    """Returns a Transformer-XL with fresh weights from torch's global generator, for a number of tokens."""
    parts = Parts(config, config.layers)
    table, output = _tables(config, parts, vocabulary)
    layers = [
        RelativeLayer(parts.relative_attention(), parts.feed_forward(), [parts.residual() for _ in range(2)])
        for _ in range(config.layers)
    ]
    scale = config.dim**0.5 if config.scale_embeddings else 1.0
    dropout = _dropout(config, parts.rate(config.embedding_dropout))
    embedding = TextEmbedding(table, scale, WordDropout(config.word_dropout, vocabulary), dropout)
    last = nn.Sequential(parts.final_norm(), _dropout(config, parts.rate(config.output_dropout)))
    return TransformerXL(SegmentDecoder(embedding, layers, last, output, config.memory))


def _tables(
    config: TransformerXLConfig, parts: Parts, vocabulary: int
) -> tuple[nn.Embedding | AdaptiveEmbedding, nn.Linear | AdaptiveOutput]:
    """Returns embeddings and the output layer."""
    if config.cutoffs:
        try:
            bounds = cluster_bounds(vocabulary, config.cutoffs)
        except ValueError as error:
            raise ConfigError(f"model.cutoffs: {error}") from None
        adaptive = AdaptiveEmbedding(bounds, config.dim, config.narrowing, parts.initialization)
        return adaptive, AdaptiveOutput(adaptive, parts.initialization)
    table = parts.token_table(vocabulary)
    return table, parts.output(table, config.tie)


def _dropout(config: TransformerXLConfig, rate: float) -> Dropout | VariationalDropout:
    return VariationalDropout(rate) if config.variational_dropout else Dropout(rate)


class TransformerXL(SegmentRecurrence[SegmentState]):
    """A decoder without a source; see models/interface.py for its contract."""

    decoder: "SegmentDecoder"

    @property
    def carried_shape(self) -> tuple[int, int, int]:
        """See SegmentRecurrence."""
        return len(self.decoder.layers), self.decoder.memory, self.decoder.embedding.table.embedding_dim

    def start(self, memory: Memory) -> SegmentState:
        """Returns a state that has read nothing."""
        past = tuple(layer.attention.empty_past(memory.hidden) for layer in self.decoder.layers)
        return SegmentState(past, () if torch.is_grad_enabled() else self.decoder.distances(self.decoder.memory))

    def resume(self, carried: Carried) -> SegmentState:
        """See SegmentRecurrence."""
        return SegmentState(carried.unbind(0))


class SegmentDecoder(Decoder[SegmentState]):
    """Layers of relative attention to the last `memory` tokens, and the output layer.

    A longer memory than in training may be set to evaluate (section 4.3).
    """

    embedding: TextEmbedding
    layers: Sequence["RelativeLayer"]

    def __init__(
        self,
        embedding: TextEmbedding,
        layers: list["RelativeLayer"],
        last: nn.Module,
        output: nn.Linear | AdaptiveOutput,
        memory: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.last = last
        self.output = output
        self.memory = memory

    def read(self, tokens: Tokens, state: SegmentState) -> tuple[Hidden, SegmentState]:
        """See Decoder."""
        keys = state.length + tokens.shape[1]
        may_attend = memory_mask(tokens.shape[1], keys, self.memory, tokens.device)
        distances = state.distances or self.distances(min(keys - 1, self.memory))
        hidden, after = self.embedding(tokens), []
        for layer, past, own_distances in zip(self.layers, state.past, distances, strict=True):
            hidden, past = layer(hidden, past, own_distances, may_attend, self.memory)
            after.append(past)
        return self.last(hidden), replace(state, past=tuple(after))

    def distances(self, furthest: int) -> tuple[ProjectedDistances, ...]:
        """Returns each layer's distances from the furthest to zero, projected."""
        device = next(self.parameters()).device
        vectors = sinusoids_of_distances(furthest, 0, self.embedding.table.embedding_dim, device)
        return tuple(layer.attention.project_distances(vectors) for layer in self.layers)


class RelativeLayer(nn.Module):
    """Relative attention, then a feed-forward network."""

    def __init__(self, attention: RelativeSelfAttention, feed_forward: FeedForward, residuals: list[Residual]) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention, self.around_feed_forward = residuals

    def forward(
        self,
        hidden: Hidden,
        past: Past,
        distances: ProjectedDistances,
        may_attend: AttentionMask | None,
        memory: int,
    ) -> tuple[Hidden, Past]:
        """Maps [rows, time, dim] to the same shape; returns also the new past: the last `memory` positions."""

        def attend(x: Hidden) -> Hidden:
            nonlocal past
            keys_values, past = self.attention.remember(x, past, memory)
            by_distance = partial(scores_by_distance, distances=distances, keys=keys_values.keys.shape[2])
            return self.attention(x, keys_values, by_distance, may_attend)

        hidden = self.around_attention(hidden, attend)
        return self.around_feed_forward(hidden, self.feed_forward), past
