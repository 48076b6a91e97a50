"""The weights of a Transformer of ours under the names, and in the order, of other toolkits."""

from collections.abc import Iterator

import torch
from torch import Tensor

from transduce.models.stack import SelfAttentionLayer
from transduce.models.transformer import DecoderLayer, Transformer, TransformerConfig
from transduce.nn.attention import MultiHeadAttention
from transduce.nn.positions import sinusoids

LONGEST = 5000  # positions in JoeyNMT's table


class NotExpressibleError(Exception):
    """The other toolkit has no such model."""


def check(config: TransformerConfig) -> None:
    """Raise NotExpressibleError unless JoeyNMT and Marian both have such a model."""
    wanted = {"norm": "post", "positions": "sinusoidal", "activation": "relu", "tie": "target"}
    for name, value in wanted.items():
        if getattr(config, name) != value:
            raise NotExpressibleError(
                f"model.{name} is {getattr(config, name)}, but JoeyNMT and Marian need {value}; choose another model"
            )
    if config.size_of_key * config.heads != config.dim or config.size_of_value * config.heads != config.dim:
        raise NotExpressibleError("JoeyNMT and Marian need heads that are as wide together as the model")


def marian_weights(model: Transformer) -> dict[str, Tensor]:
    """For Hugging Face's MarianMTModel.

    Its positions have all sines before all cosines, where ours take turns. So what flows between layers is put in its
    order: even dimensions first, then odd ones.
    """
    order = torch.cat([torch.arange(0, model_dim(model), 2), torch.arange(1, model_dim(model), 2)])
    weights = {
        "model.encoder.embed_tokens.weight": model.encoder.embedding.table.weight[:, order],
        "model.decoder.embed_tokens.weight": model.decoder.embedding.table.weight[:, order],
        "lm_head.weight": model.decoder.output.weight[:, order],
    }
    names = {
        "encoder": {
            "attention": "self_attn",
            "around_attention": "self_attn_layer_norm",
            "around_feed_forward": "final_layer_norm",
        },
        "decoder": {
            "attention": "self_attn",
            "around_attention": "self_attn_layer_norm",
            "cross_attention": "encoder_attn",
            "around_cross_attention": "encoder_attn_layer_norm",
            "around_feed_forward": "final_layer_norm",
        },
    }
    for side, number, layer in layers(model):
        prefix = f"model.{side}.layers.{number}"
        for ours, theirs in names[side].items():
            if ours.startswith("around"):
                norm = getattr(layer, ours).norm
                weights[f"{prefix}.{theirs}.weight"] = norm.weight[order]
                weights[f"{prefix}.{theirs}.bias"] = norm.bias[order]
            else:
                for part, (matrix, bias) in projections(attention_of(layer, ours)).items():
                    if part == "output":
                        matrix, bias = matrix[order], bias[order]
                    else:
                        matrix = matrix[:, order]
                    their_part = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}[part]
                    weights[f"{prefix}.{theirs}.{their_part}.weight"] = matrix
                    weights[f"{prefix}.{theirs}.{their_part}.bias"] = bias
        weights[f"{prefix}.fc1.weight"] = layer.feed_forward.inner.weight[:, order]
        weights[f"{prefix}.fc1.bias"] = layer.feed_forward.inner.bias
        weights[f"{prefix}.fc2.weight"] = layer.feed_forward.output.weight[order]
        weights[f"{prefix}.fc2.bias"] = layer.feed_forward.output.bias[order]
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def joeynmt_weights(model: Transformer) -> dict[str, Tensor]:
    """For JoeyNMT's Model, whose vocabularies begin with the unknown token, then padding; ours with padding."""

    def reordered(table: Tensor) -> Tensor:
        return torch.cat([table[1:2], table[0:1], table[2:]])

    positions = sinusoids(LONGEST, model_dim(model))[None]
    weights = {
        "src_embed.lut.weight": reordered(model.encoder.embedding.table.weight),
        "trg_embed.lut.weight": reordered(model.decoder.embedding.table.weight),
        "decoder.output_layer.weight": reordered(model.decoder.output.weight),
        "encoder.pe.pe": positions,
        "decoder.pe.pe": positions,
    }
    names = {
        "encoder": {
            "attention": "src_src_att",
            "around_attention": "layer_norm",
            "around_feed_forward": "feed_forward.layer_norm",
        },
        "decoder": {
            "attention": "trg_trg_att",
            "around_attention": "x_layer_norm",
            "cross_attention": "src_trg_att",
            "around_cross_attention": "dec_layer_norm",
            "around_feed_forward": "feed_forward.layer_norm",
        },
    }
    for side, number, layer in layers(model):
        prefix = f"{side}.layers.{number}"
        for ours, theirs in names[side].items():
            if ours.startswith("around"):
                norm = getattr(layer, ours).norm
                weights[f"{prefix}.{theirs}.weight"], weights[f"{prefix}.{theirs}.bias"] = norm.weight, norm.bias
            else:
                for part, (matrix, bias) in projections(attention_of(layer, ours)).items():
                    their_part = {"query": "q_layer", "key": "k_layer", "value": "v_layer", "output": "output_layer"}[
                        part
                    ]
                    weights[f"{prefix}.{theirs}.{their_part}.weight"] = matrix
                    weights[f"{prefix}.{theirs}.{their_part}.bias"] = bias
        for place, linear in ((0, layer.feed_forward.inner), (3, layer.feed_forward.output)):
            weights[f"{prefix}.feed_forward.pwff_layer.{place}.weight"] = linear.weight
            weights[f"{prefix}.feed_forward.pwff_layer.{place}.bias"] = linear.bias
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def model_dim(model: Transformer) -> int:
    """Width of what flows between layers."""
    return int(model.encoder.embedding.table.weight.shape[1])


def layers(model: Transformer) -> Iterator[tuple[str, int, SelfAttentionLayer | DecoderLayer]]:
    """All layers, with the side and the number of each."""
    for number, encoder_layer in enumerate(model.encoder.layers):
        yield "encoder", number, encoder_layer
    for number, decoder_layer in enumerate(model.decoder.layers):
        assert isinstance(decoder_layer, DecoderLayer), "peers have self-attention"
        yield "decoder", number, decoder_layer


def attention_of(layer: SelfAttentionLayer | DecoderLayer, name: str) -> MultiHeadAttention:
    """The attention proper: self-attention keeps its own within."""
    part = getattr(layer, name)
    return part if isinstance(part, MultiHeadAttention) else part.attention


def projections(attention: MultiHeadAttention) -> dict[str, tuple[Tensor, Tensor]]:
    """The matrix and bias of each of the four layers, keys and values apart."""
    keys = attention.heads * attention.key_dim
    key_value = attention.key_value
    return {
        "query": (attention.query.weight, attention.query.bias),
        "key": (key_value.weight[:keys], key_value.bias[:keys]),
        "value": (key_value.weight[keys:], key_value.bias[keys:]),
        "output": (attention.output.weight, attention.output.bias),
    }
