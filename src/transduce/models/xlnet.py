"""XLNet: a Transformer-XL that learns to predict tokens in any order, from both sides (Yang et al. 2019)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.ranges import Layers, PositiveInt, PositiveShare, Width
from transduce.base.shapes import Hidden, Mask, Tokens
from transduce.models.interface import Decoder, EncodedText, Memory, SegmentRecurrence, TextEncoder
from transduce.models.stack import Parts, StackConfig
from transduce.nn.attention import Heads, KeysValues
from transduce.nn.initialization import Initialization, InitializationKind
from transduce.nn.layers import Activation, Dropout, FeedForward, NormPlace, Residual, layer_list
from transduce.nn.masks import AttentionMask, memory_mask, padding_mask
from transduce.nn.permutation import FactorizationOrder
from transduce.nn.places import Place, Places, places_of_stream, within
from transduce.nn.ragged import Ragged
from transduce.nn.relative_attention import (
    Past,
    ProjectedDistances,
    RelativeSelfAttention,
    Scores,
    relative_shift,
    scores_by_distance,
    sinusoids_of_distances,
)
from transduce.nn.state import Carried, SegmentState

Different = Bool[Tensor, "rows 1 queries keys"]
"""True where a query and a key are of different segments."""

CLASS_SEGMENT = 2
"""The segment of the class token, beside 0 and 1 of two texts."""


class XLNetConfig(StackConfig, frozen=True, tag_field="kind", tag="xlnet"):
    """Sizes and choices of an XLNet; the defaults are those of the paper's base model."""

    layers: Layers = 12
    """Layers."""
    dim: Width = 768
    """Width of embeddings and layers."""
    heads: Width = 12
    """Attention heads."""
    feed_forward_dim: Width = 3072
    """Width between the two layers of a feed-forward network."""
    activation: Activation = "gelu"
    """Function in feed-forward networks; gelu_tanh is gelu approximated by tanh, as GPT-2 does, silu is Marian's swish,
    and geglu is gated, with a third matrix."""
    norm: NormPlace = "post"
    """Normalisation before each sublayer and at the end of a stack (pre), or after each residual sum (post)."""
    scale_embeddings: bool = False
    """Multiply embeddings by sqrt(dim)."""
    initialization: InitializationKind = "gpt2"
    """Xavier for all, Xavier with N(0, 1/dim) for embeddings (scaled), BERT's, or GPT-2's."""
    memory: PositiveInt = 256
    """Tokens of earlier segments that are remembered."""
    norm_epsilon: PositiveShare = 1e-12
    """Added to the variance in normalisation."""
    predicted: PositiveShare = 1 / 6
    """Share of a segment's tokens that training predicts, the last ones of the order drawn for it (1/K of the paper);
    1 for all, which suits models that continue a text."""
    max_span: PositiveInt = 1
    """Maximum length of the spans of adjacent tokens that are predicted; 1 draws each token by itself."""


def build_xlnet(config: XLNetConfig, vocabulary: int) -> "XLNetLanguageModel":
    """Returns an XLNet that predicts tokens, with fresh weights from torch's global generator."""
    stack = _stack(config, vocabulary)
    output = nn.Linear(config.dim, vocabulary)
    nn.init.zeros_(output.bias)
    output.weight = stack.table.weight
    return XLNetLanguageModel(XLNetDecoder(stack, output, config.memory))


def build_xlnet_encoder(config: XLNetConfig, vocabulary: int, has_pooler: bool) -> "XLNetEncoder":
    """Returns an XLNet that reads texts, with fresh weights from torch's global generator."""
    stack = _stack(config, vocabulary)
    return XLNetEncoder(stack, Parts(config, config.layers).pooler() if has_pooler else None)


def _stack(config: XLNetConfig, vocabulary: int) -> "XLNetStack":
    parts = Parts(config, config.layers, config.norm_epsilon)
    layers = [
        XLNetLayer(
            parts.relative_attention(),
            SegmentBias(config.heads, config.size_of_key, parts.initialization),
            parts.feed_forward(),
            [parts.residual() for _ in range(2)],
        )
        for _ in range(config.layers)
    ]
    scale = config.dim**0.5 if config.scale_embeddings else 1.0
    dropout = Dropout(parts.rate(config.embedding_dropout))
    return XLNetStack(parts.token_table(vocabulary), scale, dropout, layers, parts.final_norm(), parts.initialization)


class SegmentBias(nn.Module):
    """A bias on the score of a query and a key, for the same segment or different ones (section 2.5)."""

    def __init__(self, heads: int, key_dim: int, initialization: Initialization) -> None:
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(2, heads, key_dim))
        """Vectors for the same segment, and for different ones."""
        self.bias = nn.Parameter(torch.zeros(heads, 1, key_dim))
        self.key_dim = key_dim
        initialization.matrix(self.vectors.view(2 * heads, key_dim))

    def forward(self, query: Heads, different: Different) -> Scores:
        """Returns the contexts of queries that were divided by sqrt(key_dim)."""
        biased = query + self.bias / self.key_dim**0.5
        same, other = (biased @ vector[..., None] for vector in self.vectors)  # each [rows, heads, queries, 1]
        return torch.where(different, other, same)


class XLNetLayer(nn.Module):
    """Relative attention of one or two streams to the content stream, then a feed-forward network."""

    def __init__(
        self,
        attention: RelativeSelfAttention,
        segments: SegmentBias,
        feed_forward: FeedForward,
        residuals: list[Residual],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.segments = segments
        self.feed_forward = feed_forward
        self.around_attention, self.around_feed_forward = residuals

    def remember(self, content: Hidden, past: Past, memory: int) -> tuple[KeysValues, Past]:
        """Returns keys and values of the memory and of the content stream, and the memory kept of both."""
        read = self.around_attention.norm(content) if self.around_attention.place == "pre" else content
        return self.attention.remember(read, past, memory)

    def forward(
        self,
        stream: Hidden,
        keys_values: KeysValues,
        by_distance: Callable[[Heads], Scores],
        may_attend: AttentionMask | None,
        different: Different | None = None,
    ) -> Hidden:
        """Maps [rows, queries, dim] of either stream to the same shape."""
        by_segment = None if different is None else partial(self.segments, different=different)

        def attend(x: Hidden) -> Hidden:
            return self.attention(x, keys_values, by_distance, may_attend, by_segment)

        return self.around_feed_forward(self.around_attention(stream, attend), self.feed_forward)


class XLNetStack(nn.Module):
    """Embeddings and layers, for both kinds of use."""

    def __init__(
        self,
        table: nn.Embedding,
        scale: float,
        dropout: Dropout,
        layers: list[XLNetLayer],
        norm: nn.Module,
        initialization: Initialization,
    ) -> None:
        super().__init__()
        self.table = table
        self.scale = scale
        self.dropout = dropout
        self.query = nn.Parameter(torch.empty(1, table.embedding_dim))
        """First vector of the query stream, the same at every position."""
        self.layers = layer_list(layers)
        self.norm = norm
        initialization.matrix(self.query)

    def embed(self, tokens: Tokens) -> Hidden:
        """Returns the content stream's beginning."""
        return self.dropout(self.table(tokens) * self.scale)

    def queries(self, rows: int, time: int) -> Hidden:
        """Returns the query stream's beginning."""
        return self.dropout(self.query.expand(rows, time, -1))

    def distances(self, furthest: int, nearest: int) -> tuple[ProjectedDistances, ...]:
        """Returns each layer's distances from the furthest to the nearest, projected."""
        vectors = sinusoids_of_distances(furthest, nearest, self.table.embedding_dim, self.table.weight.device)
        return tuple(layer.attention.project_distances(vectors) for layer in self.layers)

    def distances_of_rows(
        self, furthest: int, nearest: int, is_backward: Bool[Tensor, " rows"]
    ) -> tuple[ProjectedDistances, ...]:
        """Returns the same for each row; in a text that is read backward, earlier tokens are at negative distances."""
        dim, device = self.table.embedding_dim, self.table.weight.device
        onward = sinusoids_of_distances(furthest, nearest, dim, device)
        mirrored = sinusoids_of_distances(-nearest, -furthest, dim, device).flip(0)
        projects = [layer.attention.project_distances for layer in self.layers]
        return tuple(torch.stack([of(onward), of(mirrored)])[is_backward.long()] for of in projects)

    def empty_past(self, rows: int) -> tuple[Past, ...]:
        """Returns the memory of each layer before the first token."""
        nothing = self.table.weight.new_empty(rows, 0, self.table.embedding_dim)
        return tuple(layer.attention.empty_past(nothing) for layer in self.layers)


class XLNetDecoder(Decoder[SegmentState]):
    """Continues a text: the order of factorisation is from left to right.

    The content stream reads each token; the query stream is at the next token's position and sees what has been read.
    """

    def __init__(self, stack: XLNetStack, output: nn.Linear, memory: int) -> None:
        super().__init__()
        self.stack = stack
        self.output = output
        self.memory = memory

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""
        return [self.stack.table, *self.stack.layers]

    def places(self) -> Places:
        """See Decoder; of both streams, but not the last layer's content, which nothing reads."""
        stack, layers = self.stack, self.stack.layers
        query = within("query", places_of_stream(Place(stack, ("queries",)), layers, 0))
        content = within("content", places_of_stream(Place(stack, ("embed",)), layers[:-1], 1))
        memories = {
            f"layers.{n}.attention.memory": layer.attention.places()["memory"] for n, layer in enumerate(layers)
        }
        return {**query, **content, **memories, "hidden": Place(self, ("read",)), "logits": Place(self)}

    def read(self, tokens: Tokens, state: SegmentState) -> tuple[Hidden, SegmentState]:
        """See Decoder."""
        rows, time = tokens.shape
        keys = state.length + time
        may_attend = memory_mask(time, keys, self.memory, tokens.device)
        distances = state.distances or self.stack.distances(min(keys, self.memory + 1), 0)
        content, query = self.stack.embed(tokens), self.stack.queries(rows, time)
        after = []
        for layer, past, of_layer in zip(self.stack.layers, state.past, distances, strict=True):
            keys_values, kept = layer.remember(content, past, self.memory)
            after.append(kept)
            from_next = partial(scores_by_distance, distances=of_layer[:, :-1], keys=keys)  # one position further
            query = layer(query, keys_values, from_next, may_attend)
            if layer is not self.stack.layers[-1]:  # whose content nothing reads
                from_here = partial(scores_by_distance, distances=of_layer[:, 1:], keys=keys)
                content = layer(content, keys_values, from_here, may_attend)
        return self.stack.dropout(self.stack.norm(query)), replace(state, past=tuple(after))


class XLNetLanguageModel(SegmentRecurrence[SegmentState]):
    """Predicts tokens in any order (`predict`), or continues a text; see models/interface.py for its contract."""

    decoder: XLNetDecoder
    readers = ("predict",)

    @property
    def carried_shape(self) -> tuple[int, int, int]:
        """See SegmentRecurrence."""
        stack = self.decoder.stack
        return len(stack.layers), self.decoder.memory, stack.table.embedding_dim

    def start(self, memory: Memory) -> SegmentState:
        """Returns a state that has read nothing."""
        stack = self.decoder.stack
        distances = () if torch.is_grad_enabled() else stack.distances(self.decoder.memory + 1, 0)
        return SegmentState(stack.empty_past(len(memory.hidden)), distances)

    def resume(self, carried: Carried) -> SegmentState:
        """See SegmentRecurrence."""
        return SegmentState(carried.unbind(0))

    def predict(
        self,
        tokens: Tokens,
        order: FactorizationOrder,
        state: SegmentState,
        segments: Tokens | None = None,
        is_backward: Bool[Tensor, " rows"] | None = None,
    ) -> tuple[Float[Tensor, "rows targets dim"], SegmentState]:
        """Returns hidden states from which the output layer predicts an order's targets, and the next state.

        Every token may attend to the memory. `segments` says which of two texts each token belongs to; the memory is
        of the first. `is_backward` says which rows, and their memory, are texts from end to beginning. The state must
        not have been expanded for a search.
        """
        stack, (rows, time) = self.decoder.stack, tokens.shape
        memory = state.length
        content_mask = functional.pad(order.content_may_attend, (memory, 0), value=True)
        query_mask = functional.pad(order.query_may_attend, (memory, 0), value=True)
        keys = memory + time
        are_all_targets = order.targets.shape[1] == time  # which then follow one another
        indices = None if are_all_targets else _distances_of(order.targets, memory, keys)
        different = None if segments is None else _different(segments, memory)
        of_targets = None if different is None else _rows_at(different, order.targets)
        content, query = stack.embed(tokens), stack.queries(rows, order.targets.shape[1])
        if is_backward is None:
            distances = stack.distances(keys - 1, -time)
        else:
            distances = stack.distances_of_rows(keys - 1, -time, is_backward)
        after = []
        for layer, past, of_layer in zip(stack.layers, state.past, distances, strict=True):
            keys_values, kept = layer.remember(content, past, self.decoder.memory)
            after.append(kept)
            in_order = partial(_shifted, distances=of_layer, keys=keys)
            at_targets = in_order if indices is None else partial(_scores_at, distances=of_layer, indices=indices)
            query = layer(query, keys_values, at_targets, query_mask, of_targets)
            if layer is not stack.layers[-1]:
                content = layer(content, keys_values, in_order, content_mask, different)
        return stack.dropout(stack.norm(query)), replace(state, past=tuple(after))


class XLNetEncoder(TextEncoder):
    """Reads whole texts, each token from both sides; see TextEncoder. A text's vector is made of its first token's.

    Internally that token follows all others and is of a segment of its own, as the class token of the paper
    (section 2.5 and its appendix A.1: A, SEP, B, SEP, CLS).
    """

    def __init__(self, stack: XLNetStack, pooler: nn.Linear | None) -> None:
        super().__init__()
        self.stack = stack
        self.stack.query.requires_grad_(False)  # unused when texts are read
        self.pooler = pooler

    @property
    def table(self) -> nn.Embedding:
        """See TextEncoder."""
        return self.stack.table

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See TextEncoder."""
        return [self.table, *self.stack.layers]

    def places(self) -> Places:
        """See TextEncoder."""
        return places_of_stream(Place(self.stack, ("embed",)), self.stack.layers, None)

    def arranged_back(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """See Rearranges."""
        back = _first_to_last(is_real).argsort(1)[..., None].expand_as(hidden)
        return hidden.gather(1, back)

    def forward(self, tokens: Tokens, segments: Tokens, is_real: Mask, rows: Ragged | None = None) -> EncodedText:
        """See TextEncoder."""
        (count, time), last = tokens.shape, is_real.sum(1, keepdim=True) - 1
        from_first = _first_to_last(is_real)
        tokens = tokens.gather(1, from_first)
        segments = segments.gather(1, from_first).scatter(1, last, CLASS_SEGMENT)
        content, may_attend, different = self.stack.embed(tokens), padding_mask(is_real), _different(segments, 0)
        distances, past = self.stack.distances(time - 1, -time), self.stack.empty_past(count)
        for layer, of_layer, nothing in zip(self.stack.layers, distances, past, strict=True):
            keys_values, _ = layer.remember(content, nothing, 1)
            by_distance = partial(_shifted, distances=of_layer, keys=time)
            content = layer(content, keys_values, by_distance, may_attend, different)
        return self.pooled(self.arranged_back(self.stack.dropout(self.stack.norm(content)), is_real), is_real)


def _first_to_last(is_real: Mask) -> Int[Tensor, "rows time"]:
    """Returns the index of each position's token when the first of each row is moved behind its last real one."""
    last = is_real.sum(1, keepdim=True) - 1
    positions = torch.arange(is_real.shape[1], device=is_real.device).expand(len(is_real), -1)
    return torch.where(positions < last, positions + 1, positions).scatter(1, last, 0)


def _different(segments: Tokens, memory: int) -> Different:
    """Returns True where queries and keys are of different segments; a memory is of the first segment."""
    of_keys = functional.pad(segments, (memory, 0))
    return (segments[:, :, None] != of_keys[:, None, :])[:, None]


def _rows_at(masks: Different, targets: Int[Tensor, "rows targets"]) -> Different:
    """Returns the rows of some queries."""
    return masks.gather(2, targets[:, None, :, None].expand(-1, 1, -1, masks.shape[3]))


def _shifted(query: Heads, distances: ProjectedDistances, keys: int) -> Scores:
    """Returns scores of consecutive queries, the last at the last key, for keys on both sides."""
    return relative_shift(query @ distances.transpose(-2, -1), keys)


def _distances_of(targets: Int[Tensor, "rows targets"], memory: int, keys: int) -> Int[Tensor, "rows 1 targets keys"]:
    """Returns the index of the distance of each target and key, counted from keys - 1 down."""
    positions = memory + targets  # among the keys
    of_keys = torch.arange(keys, device=targets.device)
    return (keys - 1 - (positions[..., None] - of_keys))[:, None]


def _scores_at(query: Heads, distances: ProjectedDistances, indices: Int[Tensor, "rows 1 targets keys"]) -> Scores:
    """Returns scores of queries at any positions, given the indices of their distances to keys."""
    scores = query @ distances.transpose(-2, -1)  # [rows, heads, targets, distances]
    return scores.gather(3, indices.expand(-1, scores.shape[1], -1, -1))
