"""BERT (Devlin et al. 2019) as Hugging Face transformers has it: an encoder of texts, alone or with a head."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec
import torch
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields, Setting
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.tensor_names import Same, linear
from transduce.base.errors import InputError
from transduce.base.ranges import Layers, PositiveInt, PositiveShare, ShareBelowOne, Width
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.bert import BertConfig
from transduce.models.heads import (
    ClassHeadConfig,
    HeadConfig,
    ScoreHeadConfig,
    SpanHeadConfig,
    TagHeadConfig,
    WordHead,
    WordHeadConfig,
)
from transduce.nn.layers import Activation

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
OLD_NAMES = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias"}
PREFIX = "bert."
TASKS = {ClassHeadConfig: "classification", TagHeadConfig: "tagging", SpanHeadConfig: "answering"}
WITHOUT_POOLER = ("BertForMaskedLM", "BertForTokenClassification", "BertForQuestionAnswering")
ARCHITECTURES = ("BertModel", "BertForPreTraining", "BertForSequenceClassification", *WITHOUT_POOLER)


class BERT(Family):
    """BERT, alone or with a head; saved position ids of older versions are not weights."""

    model_type = "bert"
    title = "BERT"
    architectures = ARCHITECTURES
    inputs = ("input_ids", "token_type_ids", "attention_mask")
    roles: ClassVar = {
        "pad": "pad_token",
        "unknown": "unk_token",
        "bos": "cls_token",
        "eos": "sep_token",
        "mask": "mask_token",
    }
    special: ClassVar = {"pad": "[PAD]", "unknown": "[UNK]", "bos": "[CLS]", "eos": "[SEP]", "mask": "[MASK]"}
    config = BertConfig
    settings = (
        Setting("max_position_embeddings", "max_positions", PositiveInt, 512),
        Setting("num_hidden_layers", "layers", Layers, 12),
        Setting("hidden_size", "dim", Width, 768),
        Setting("num_attention_heads", "heads", Width, 12),
        Setting("intermediate_size", "feed_forward_dim", Width, 3072),
        Setting("hidden_act", "activation", ACTIVATIONS, "gelu"),
        Setting("type_vocab_size", "segments", PositiveInt, 2),
        Setting("layer_norm_eps", "norm_epsilon", PositiveShare, 1e-12),
        Setting("hidden_dropout_prob", "dropout", ShareBelowOne, 0.1),
        Setting("attention_probs_dropout_prob", "attention_dropout", ShareBelowOne, 0.1),
    )
    sizes = "hidden_size and num_attention_heads"
    unwritten: ClassVar = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
    buffers = ("embeddings.position_ids", "embeddings.token_type_ids")

    def read_settings(self, fields: Fields) -> dict[str, Any]:
        """See Family."""
        return super().read_settings(fields) | {"pooler": _architecture_of(fields) not in WITHOUT_POOLER}

    def read_bundle(self, fields: Fields, model: BertConfig) -> dict[str, Any]:
        """See Family."""
        head = _read_head(fields, _architecture_of(fields))
        return {
            "task": "encoder" if head is None else TASKS.get(type(head), "encoder"),
            "source": "text",
            "target": "text",
            "longest_source": model.max_positions,
            "head": head,
        }

    def problems(self, config: BundleConfig) -> list[str]:
        """Lists the settings of a bundle that Hugging Face's BERT does not support, in words."""
        model, wrong = config.model_as(BertConfig), []
        if model.activation not in ACTIVATIONS.values():
            known = ", ".join(dict.fromkeys(ACTIVATIONS.values()))
            wrong.append(f"model.activation is {model.activation!r}, where BERT has one of {known}")
        if isinstance(config.head, WordHeadConfig):
            for name in ("activation", "norm_epsilon"):
                if getattr(config.head, name) != getattr(model, name):
                    wrong.append(f"head.{name} is {getattr(config.head, name)}, where BERT has that of its layers")
        if isinstance(config.head, ScoreHeadConfig):
            wrong.append("its scores are deviations from a mean, where BERT gives them as they are")
        if isinstance(config.head, ClassHeadConfig) and config.head.pooling != "pooler":
            wrong.append(f"head.pooling is {config.head.pooling!r}, where {self.architecture(config)} reads the pooler")
        elif model.pooler == (self.architecture(config) in WITHOUT_POOLER):
            wrong.append(
                f"model.pooler is {str(model.pooler).lower()}, where {self.architecture(config)} has it otherwise"
            )
        return wrong

    def write_settings(self, model: BertConfig) -> dict[str, Any]:
        """See Family; a model's size implies some of its settings."""
        return super().write_settings(msgspec.structs.replace(model, **model.sizes._asdict()))

    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        head = bundle.config.head
        config: dict[str, Any] = {"initializer_range": 0.02, "pad_token_id": bundle.tokenizers.target.pad}
        if isinstance(head, ClassHeadConfig | TagHeadConfig):
            names = {str(number): name for number, name in enumerate(head.labels)}
            config |= {"id2label": names, "label2id": {name: int(number) for number, name in names.items()}}
        if isinstance(head, SpanHeadConfig):
            config["no_answer"] = head.no_answer
        return config | ({"reads_pairs": True} if isinstance(head, ClassHeadConfig) and head.pair else {})

    def architecture(self, config: BundleConfig) -> str:
        """Returns the class of transformers for an encoder with this head."""
        match config.head:
            case None:
                return "BertModel"
            case ClassHeadConfig() | ScoreHeadConfig():
                return "BertForSequenceClassification"
            case TagHeadConfig():
                return "BertForTokenClassification"
            case SpanHeadConfig():
                return "BertForQuestionAnswering"
            case WordHeadConfig(next_sentence=next_sentence):
                return "BertForPreTraining" if next_sentence else "BertForMaskedLM"

    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same."""
        model = config.model_as(BertConfig)
        return [*_encoder(model, "" if config.head is None else PREFIX), *_head(config.head)]

    def rename(self, config: BundleConfig, name: str) -> str | None:
        """Returns a tensor's name with the prefix of models with a head and newer names of norms; None for a buffer."""
        if name.endswith(self.buffers):
            return None
        for old, new in OLD_NAMES.items():
            name = name.removesuffix(old) + new if name.endswith(old) else name
        name = name.removeprefix(PREFIX)
        is_of_encoder = name.startswith(("embeddings.", "encoder.", "pooler."))
        return PREFIX + name if is_of_encoder and config.head is not None else name

    def copies(self, config: BundleConfig) -> Mapping[str, str]:
        """Maps the output layer of a head that guesses words to the table of embeddings, and its bias, saved twice."""
        if not isinstance(config.head, WordHeadConfig):
            return {}
        table = f"{PREFIX}embeddings.word_embeddings.weight"
        return {"cls.predictions.decoder.weight": table, "cls.predictions.decoder.bias": "cls.predictions.bias"}

    @torch.inference_mode()
    def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
        """Returns the head's output for a row, or the hidden vectors; for two tasks, both logits, concatenated."""
        tokens = torch.tensor([ids])
        model, texts = bundle.reader, (tokens, torch.zeros_like(tokens), torch.ones_like(tokens).bool())
        output: Tensor = model(*texts)
        if isinstance(model.head, WordHead) and model.head.follows is not None:
            follows: Tensor = model.head.follows(model.encoder(*texts).pooled)
            return torch.cat([output[0].flatten(), follows[0]])
        return output[0]

    def their_outputs(self, output: Any) -> Tensor:
        """Returns the same outputs of a model of transformers."""
        if hasattr(output, "start_logits"):
            return torch.stack([output.start_logits, output.end_logits], -1)
        if hasattr(output, "seq_relationship_logits"):
            return torch.cat([output.prediction_logits.flatten(1), output.seq_relationship_logits.flip(1)], 1)
        for name in ("logits", "last_hidden_state"):
            if hasattr(output, name):
                return cast(Tensor, getattr(output, name))
        raise InputError(f"{type(output).__name__} has no outputs that can be compared")

    def longest(self, bundle: ModelBundle) -> int:
        """Returns the rows of the table of positions."""
        return bundle.config.model_as(BertConfig).max_positions


def _architecture_of(fields: Fields) -> str:
    named = fields.values.get("architectures") or ["BertModel"]
    return next(name for name in named if name in ARCHITECTURES)


def _read_head(fields: Fields, architecture: str) -> HeadConfig | None:
    match architecture:
        case "BertForPreTraining" | "BertForMaskedLM":
            fields.must_be("tie_word_embeddings", True, True)
            return WordHeadConfig(
                next_sentence=architecture == "BertForPreTraining",
                activation=cast(Any, fields.one_of("hidden_act", ACTIVATIONS, "gelu")),
                norm_epsilon=fields.number("layer_norm_eps", PositiveShare, 1e-12),
            )
        case "BertForQuestionAnswering":
            return SpanHeadConfig(no_answer=bool(fields.values.get("no_answer", False)))
        case "BertForTokenClassification":
            return TagHeadConfig(labels=_labels(fields))
        case "BertForSequenceClassification":
            fields.must_be("problem_type", "single_label_classification", "single_label_classification")
            return ClassHeadConfig(labels=_labels(fields), pair=bool(fields.values.get("reads_pairs", False)))
        case _:
            return None


def _labels(fields: Fields) -> tuple[str, ...]:
    names = fields.values.get("id2label")
    if not isinstance(names, dict) or sorted(names) != sorted(str(number) for number in range(len(names))):
        raise InputError(f"{fields.path}: id2label must name each class by its number, from 0")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    if len(set(labels)) < max(len(labels), 2):
        raise InputError(f"{fields.path}: id2label must name two classes or more, all different")
    return labels


def _encoder(model: BertConfig, prefix: str) -> Iterator[Same]:
    embeddings = {"table": "word", "segments": "token_type", "positions": "position"}
    for ours, theirs in embeddings.items():
        yield Same((f"encoder.embedding.{ours}.weight",), (f"{prefix}embeddings.{theirs}_embeddings.weight",))
    yield from linear("encoder.embedding.norm", f"{prefix}embeddings.LayerNorm")
    for number in range(model.sizes.layers):
        here, there = f"encoder.layers.{number}", f"{prefix}encoder.layer.{number}"
        attention = f"{there}.attention.self"
        yield from linear(f"{here}.attention.query", f"{attention}.query")
        yield from linear(f"{here}.attention.key_value", (f"{attention}.key", f"{attention}.value"))
        yield from linear(f"{here}.attention.output", f"{there}.attention.output.dense")
        yield from linear(f"{here}.around_attention.norm", f"{there}.attention.output.LayerNorm")
        yield from linear(f"{here}.feed_forward.inner", f"{there}.intermediate.dense")
        yield from linear(f"{here}.feed_forward.output", f"{there}.output.dense")
        yield from linear(f"{here}.around_feed_forward.norm", f"{there}.output.LayerNorm")
    if model.pooler:
        yield from linear("encoder.pooler", f"{prefix}pooler.dense")


def _head(head: HeadConfig | None) -> Iterator[Same]:
    match head:
        case ClassHeadConfig() | ScoreHeadConfig() | TagHeadConfig():
            yield from linear("head.output", "classifier")
        case SpanHeadConfig():
            yield from linear("head.output", "qa_outputs")
        case WordHeadConfig():
            yield from linear("head.inner", "cls.predictions.transform.dense")
            yield from linear("head.norm", "cls.predictions.transform.LayerNorm")
            yield Same(("head.output.bias",), ("cls.predictions.bias",))
            if head.next_sentence:
                for entry in linear("head.follows", "cls.seq_relationship"):
                    yield entry._replace(is_reversed=True)  # there row 0 says that the second text follows, here row 1
