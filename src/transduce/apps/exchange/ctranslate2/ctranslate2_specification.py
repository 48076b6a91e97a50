"""Converts a Transformer's weights and settings to CTranslate2's specification of a model."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from msgspec.structs import fields
from numpy.typing import NDArray
from torch import Tensor, nn

from transduce.models.stack import Embedding, SelfAttentionLayer
from transduce.models.transformer import DecoderLayer, Transformer, TransformerConfig
from transduce.nn.attention import MultiHeadAttention
from transduce.nn.layers import FeedForward
from transduce.nn.positions import SINUSOIDS, LearnedPositions

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH", "geglu": "GELU"}
"""CTranslate2's names of activations; the last one is gated."""
POSITIONS = (*SINUSOIDS, "learned", "rotary", "none")

CHOICES: Mapping[str, Collection[object]] = {
    "activation": ACTIVATIONS,
    "norm": ("pre", "post"),
    "norm_kind": ("layer", "rms"),
    "positions": POSITIONS,
    "tie": ("none", "target", "all"),
    "decoder_start": ("token", "zeros"),
}
"""The values that CTranslate2 runs of a Transformer's settings."""

FREE = (
    "encoder_layers", "decoder_layers", "dim", "heads", "kv_heads", "key_dim", "value_dim", "feed_forward_dim",
    "max_positions", "scale_embeddings", "output_bias", "first_token", "initialization", "dropout",
    "embedding_dropout", "attention_dropout", "activation_dropout", "residual_dropout",
)  # fmt: skip
"""Settings of which CTranslate2 runs every value. It runs those that are neither here nor above only by default."""


def what_cannot_run(config: TransformerConfig) -> list[str]:
    """Lists a model's settings that CTranslate2 does not run, with the values that it runs."""
    runs = {field.name: CHOICES.get(field.name, [field.default]) for field in fields(config) if field.name not in FREE}
    return [
        f"model.{name} = {getattr(config, name)!r}: CTranslate2 runs {', '.join(map(repr, values))} only"
        for name, values in runs.items()
        if getattr(config, name) not in values
    ]


def make_specification(specs: Any, config: TransformerConfig, model: Transformer, longest: int | None) -> Any:
    """Fills CTranslate2's TransformerSpec.

    If queries and keys differ in size from values, the smaller are padded with zeros, which change no result.

    Args:
        specs: the module `ctranslate2.specs`.
        config: the model's settings.
        model: the model whose weights are copied.
        longest: rows of the position tables; None without a table.
    """
    common = {
        "num_heads": config.heads,
        "num_heads_kv": config.kv_heads,
        "pre_norm": config.norm == "pre",
        "rms_norm": config.norm_kind == "rms",
        "activation": getattr(specs.common_spec.Activation, ACTIVATIONS[config.activation]),
        "ffn_glu": config.activation == "geglu",
        "head_dim": max(config.size_of_key, config.size_of_value),
        "rotary_dim": config.size_of_key if config.positions == "rotary" else None,
        "rotary_interleave": True,
    }
    encoder = specs.TransformerEncoderSpec(config.encoder_layers, **common)
    decoder = specs.TransformerDecoderSpec(config.decoder_layers, **common)
    _fill_embedding(encoder, encoder.embeddings[0], model.encoder.embedding, config, longest)
    _fill_embedding(decoder, decoder.embeddings, model.decoder.embedding, config, longest)
    for part, norm in ((encoder, model.encoder.norm), (decoder, model.decoder.norm)):
        if not isinstance(norm, nn.Identity):
            _fill_norm(part.layer_norm, norm)
    for encoder_spec, encoder_layer in zip(encoder.layer, model.encoder.layers, strict=True):
        _fill_layer(encoder_spec, encoder_layer)
    for decoder_spec, decoder_layer in zip(decoder.layer, model.decoder.layers, strict=True):
        assert isinstance(decoder_layer, DecoderLayer), "callers refuse a recurrence"
        _fill_layer(decoder_spec, decoder_layer)
    _fill_linear(decoder.projection, model.decoder.output.weight, model.decoder.output.bias)
    return specs.TransformerSpec(encoder, decoder)


def _fill_embedding(
    part: Any, table: Any, embedding: Embedding, config: TransformerConfig, longest: int | None
) -> None:
    table.weight = _array(embedding.table.weight)
    part.scale_embeddings = config.scale_embeddings
    if longest is None:
        if hasattr(part, "position_encodings"):  # the encoder's, which rotary positions do not use
            del part.position_encodings
    elif isinstance(embedding.positions, LearnedPositions):
        part.position_encodings.encodings = _array(embedding.positions.weight)
    elif config.positions in SINUSOIDS:  # CTranslate2 has one of them
        part.position_encodings.encodings = _array(SINUSOIDS[config.positions](longest, config.dim))
    else:
        part.position_encodings.encodings = np.zeros((longest, config.dim), np.float32)


def _fill_layer(spec: Any, layer: SelfAttentionLayer | DecoderLayer) -> None:
    _fill_norm(spec.self_attention.layer_norm, layer.around_attention.norm)
    _fill_self_attention(spec.self_attention, layer.attention.attention)
    if isinstance(layer, DecoderLayer):
        _fill_norm(spec.attention.layer_norm, layer.around_cross_attention.norm)
        _fill_cross_attention(spec.attention, layer.cross_attention)
    _fill_norm(spec.ffn.layer_norm, layer.around_feed_forward.norm)
    _fill_feed_forward(spec.ffn, layer.feed_forward)


def _fill_self_attention(spec: Any, attention: MultiHeadAttention) -> None:
    query, (keys, values), output = _projections(attention)
    weights, biases = zip(query, keys, values, strict=True)
    _fill_linear(spec.linear[0], torch.cat(weights), torch.cat(biases))
    _fill_linear(spec.linear[1], *output)
    spec.queries_scale = np.float32(1 / math.sqrt(attention.key_dim))


def _fill_cross_attention(spec: Any, attention: MultiHeadAttention) -> None:
    query, (keys, values), output = _projections(attention)
    weights, biases = zip(keys, values, strict=True)
    _fill_linear(spec.linear[0], *query)
    _fill_linear(spec.linear[1], torch.cat(weights), torch.cat(biases))
    _fill_linear(spec.linear[2], *output)
    spec.queries_scale = np.float32(1 / math.sqrt(attention.key_dim))


Projection = tuple[Tensor, Tensor]
"""A weight [out, in] and a bias [out]."""


def _projections(attention: MultiHeadAttention) -> tuple[Projection, tuple[Projection, Projection], Projection]:
    """Returns the projections of queries, of keys and values, and of the output, with heads of one size."""
    heads, kv_heads, key_dim, value_dim = attention.heads, attention.kv_heads, attention.key_dim, attention.value_dim
    head_dim = max(key_dim, value_dim)

    def widen(rows: Tensor, heads: int) -> Tensor:  # [heads * size, ...] to [heads * head_dim, ...]
        split = rows.unflatten(0, (heads, -1))
        zeros = split.new_zeros(heads, head_dim - split.shape[1], *split.shape[2:])
        return torch.cat([split, zeros], 1).flatten(0, 1)

    sizes = [kv_heads * key_dim, kv_heads * value_dim]
    key_weight, value_weight = attention.key_value.weight.split(sizes)
    key_bias, value_bias = attention.key_value.bias.split(sizes)
    return (
        (widen(attention.query.weight, heads), widen(attention.query.bias, heads)),
        (
            (widen(key_weight, kv_heads), widen(key_bias, kv_heads)),
            (widen(value_weight, kv_heads), widen(value_bias, kv_heads)),
        ),
        (widen(attention.output.weight.T, heads).T, attention.output.bias),
    )


def _fill_feed_forward(spec: Any, feed_forward: FeedForward) -> None:
    inner = feed_forward.inner
    if feed_forward.activation == "geglu":
        (gate, linear), (gate_bias, linear_bias) = inner.weight.chunk(2), inner.bias.chunk(2)
        _fill_linear(spec.linear_0, gate, gate_bias)
        _fill_linear(spec.linear_0_noact, linear, linear_bias)
    else:
        _fill_linear(spec.linear_0, inner.weight, inner.bias)
    _fill_linear(spec.linear_1, feed_forward.output.weight, feed_forward.output.bias)


def _fill_linear(spec: Any, weight: Tensor, bias: Tensor | None) -> None:
    spec.weight = _array(weight)
    if bias is not None:
        spec.bias = _array(bias)


def _fill_norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    spec.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _array(norm.bias)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy().copy()  # a copy: CTranslate2 quantises in place
