"""BERT's weights and settings under the names that they have here, and under those of Hugging Face transformers."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from transduce.errors import InputError
from transduce.models.bert import BertConfig
from transduce.models.heads import (
    ClassHeadConfig,
    HeadConfig,
    ScoreHeadConfig,
    SpanHeadConfig,
    TagHeadConfig,
    WordHeadConfig,
)

Names = tuple[str, tuple[str, ...]]
"""A tensor's name here, and there; several are joined along their first axis."""

OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}
NO_WEIGHTS = ("embeddings.position_ids", "embeddings.token_type_ids")


def bert_names(layers: int, head: HeadConfig | None) -> list[Names]:
    """The names of a model with so many layers and this head."""
    prefix = "" if head is None else "bert."
    names = [(f"encoder.{ours}", tuple(prefix + name for name in theirs)) for ours, theirs in _encoder(layers)]
    return names + [(f"head.{ours}", theirs) for ours, theirs in _head(head)]


def from_huggingface(
    tensors: Mapping[str, Tensor], layers: int, head: HeadConfig | None, where: object
) -> dict[str, Tensor]:
    """Tensors under our names; raises InputError where some are missing or of no use."""
    known = {_modern(name): tensor for name, tensor in tensors.items() if not name.endswith(NO_WEIGHTS)}
    found: dict[str, Tensor] = {}
    used: set[str] = set()
    for ours, theirs in bert_names(layers, head):
        if missing := [name for name in theirs if name not in known]:
            raise InputError(f"{where}: no tensor {missing[0]}, which a BERT of {layers} layers has")
        found[ours] = torch.cat([known[name] for name in theirs])
        used.update(theirs)
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    if unused := sorted(known.keys() - used - tied):
        raise InputError(f"{where}: tensor {unused[0]} is of no use in a BERT of {layers} layers")
    return found


def to_huggingface(weights: Mapping[str, Tensor], layers: int, head: HeadConfig | None) -> dict[str, Tensor]:
    """Tensors under their names."""
    found: dict[str, Tensor] = {}
    for ours, theirs in bert_names(layers, head):
        parts = weights[ours].chunk(len(theirs))
        found |= {name: part.contiguous() for name, part in zip(theirs, parts, strict=True)}
    return found


def read_settings(config: Mapping[str, Any], where: object) -> BertConfig:
    """The encoder that a config.json describes; raises InputError for one that cannot be had here."""
    activation = config.get("hidden_act", "gelu")
    if activation not in ("gelu", "relu"):
        raise InputError(f"{where}: hidden_act {activation!r} is not supported; gelu and relu are")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{where}: position_embedding_type {config['position_embedding_type']!r} is not supported")
    if config.get("is_decoder"):
        raise InputError(f"{where}: is_decoder: a BERT that is used as a decoder is not supported")
    try:
        return BertConfig(
            layers=config["num_hidden_layers"],
            dim=config["hidden_size"],
            heads=config["num_attention_heads"],
            feed_forward_dim=config["intermediate_size"],
            activation=activation,
            max_positions=config["max_position_embeddings"],
            segments=config.get("type_vocab_size", 2),
            norm_epsilon=config.get("layer_norm_eps", 1e-12),
            dropout=config.get("hidden_dropout_prob", 0.1),
            attention_dropout=config.get("attention_probs_dropout_prob", 0.1),
        )
    except KeyError as error:
        raise InputError(f"{where}: {error.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None


def write_settings(config: BertConfig, vocabulary: int, padding: int, head: HeadConfig | None) -> dict[str, Any]:
    """The config.json of a model."""
    sizes = config.sizes
    if config.activation == "geglu":
        raise InputError("model.activation = geglu: Hugging Face's BERT has no such activation")
    return {
        "architectures": [_architecture(head)],
        "model_type": "bert",
        "vocab_size": vocabulary,
        "num_hidden_layers": sizes.layers,
        "hidden_size": sizes.dim,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.feed_forward_dim,
        "hidden_act": config.activation,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.segments,
        "layer_norm_eps": config.norm_epsilon,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "initializer_range": 0.02,
        "pad_token_id": padding,
        **_labels(head),
    }


def _labels(head: HeadConfig | None) -> dict[str, Any]:
    if isinstance(head, ClassHeadConfig | TagHeadConfig):
        names = dict(enumerate(head.labels))
        return {"id2label": names, "label2id": {name: number for number, name in names.items()}}
    return {"num_labels": 1, "problem_type": "regression"} if isinstance(head, ScoreHeadConfig) else {}


def _architecture(head: HeadConfig | None) -> str:
    match head:
        case None:
            return "BertModel"
        case ClassHeadConfig() | ScoreHeadConfig():
            return "BertForSequenceClassification"
        case TagHeadConfig():
            return "BertForTokenClassification"
        case SpanHeadConfig():
            return "BertForQuestionAnswering"
        case WordHeadConfig():
            return "BertForPreTraining" if head.next_sentence else "BertForMaskedLM"


def _encoder(layers: int) -> Iterator[Names]:
    embeddings = {"table": "word", "segments": "token_type", "positions": "position"}
    for ours, theirs in embeddings.items():
        yield f"embedding.{ours}.weight", (f"embeddings.{theirs}_embeddings.weight",)
    yield from _both("embedding.norm", "embeddings.LayerNorm")
    for i in range(layers):
        there, here = f"encoder.layer.{i}", f"layers.{i}"
        yield from _both(f"{here}.attention.query", f"{there}.attention.self.query")
        yield from _both(f"{here}.attention.key_value", f"{there}.attention.self.key", f"{there}.attention.self.value")
        yield from _both(f"{here}.attention.output", f"{there}.attention.output.dense")
        yield from _both(f"{here}.around_attention.norm", f"{there}.attention.output.LayerNorm")
        yield from _both(f"{here}.feed_forward.inner", f"{there}.intermediate.dense")
        yield from _both(f"{here}.feed_forward.output", f"{there}.output.dense")
        yield from _both(f"{here}.around_feed_forward.norm", f"{there}.output.LayerNorm")
    yield from _both("pooler", "pooler.dense")


def _head(head: HeadConfig | None) -> Iterator[Names]:
    match head:
        case ClassHeadConfig() | ScoreHeadConfig() | TagHeadConfig():
            yield from _both("output", "classifier")
        case SpanHeadConfig():
            yield from _both("output", "qa_outputs")
        case WordHeadConfig():
            yield from _both("inner", "cls.predictions.transform.dense")
            yield from _both("norm", "cls.predictions.transform.LayerNorm")
            yield "output.bias", ("cls.predictions.bias",)
            if head.next_sentence:
                yield from _both("follows", "cls.seq_relationship")


def _both(ours: str, *theirs: str) -> Iterator[Names]:
    for kind in ("weight", "bias"):
        yield f"{ours}.{kind}", tuple(f"{name}.{kind}" for name in theirs)


def _modern(name: str) -> str:
    for old, new in OLD_NAMES.items():
        name = name.removesuffix(old) + new if name.endswith(old) else name
    return name
