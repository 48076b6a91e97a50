"""Small models of every family, and toy sentences, that the tests of models share."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from transduce.models.families import ModelConfig, build_model
from transduce.models.recurrent.recurrent_attention import (
    BahdanauAttentionConfig,
    HardAttentionConfig,
    LocalAttentionConfig,
    LuongAttentionConfig,
    NoAttentionConfig,
)
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
LENGTHS = [5, 2, 3]  # real tokens of each source; all models read three sentences of these lengths
TIME = 7  # target tokens

TRANSFORMER = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dim": 12,
    "heads": 3,
    "feed_forward_dim": 17,
    "max_positions": 19,
}
RECURRENT = {"dim": 6, "encoder_dim": 5, "decoder_dim": 7}
EQUAL = {"encoder_dim": 4, "decoder_dim": 8}  # as wide as two directions of the encoder


def transformer(**choices: Any) -> TransformerConfig:
    return TransformerConfig(**{**TRANSFORMER, **choices})


def recurrent(**choices: Any) -> RecurrentConfig:
    return RecurrentConfig(**{**RECURRENT, **choices})


CONFIGS: dict[str, ModelConfig] = {
    "transformer": transformer(),
    "transformer, norm after": transformer(norm="post", initialization="xavier"),
    "transformer, learned positions": transformer(positions="learned", activation="gelu", tie="none"),
    "transformer, rotary": transformer(positions="rotary", activation="geglu", key_dim=6, value_dim=5, norm="post"),
    "transformer, no positions": transformer(
        positions="none", tie="all", scale_embeddings=False, initialization="gpt2"
    ),
    "transformer, rms norm": transformer(norm_kind="rms", positions="rotary", key_dim=4),
    "transformer, rms norm after": transformer(norm_kind="rms", norm="post", tie="none"),
    "transformer, grouped queries": transformer(heads=6, kv_heads=2, positions="rotary", key_dim=4, value_dim=5),
    "transformer, one key head": transformer(kv_heads=1, norm_kind="rms"),
    "transformer, odd sizes": transformer(dim=13, key_dim=2, value_dim=7, tie="none", encoder_layers=2),
    "transformer, recurrence": transformer(decoder_recurrence="ssru", key_dim=5),
    "transformer, as marian": transformer(
        decoder_recurrence="ssru",
        decoder_start="zeros",
        positions="marian",
        norm="post",
        tie="all",
        output_bias=True,
    ),
    "thought at the start": recurrent(
        attention=NoAttentionConfig(), bidirectional=False, reverse_source=True, bridge="copy", encoder_dim=7, tie="all"
    ),
    "thought at every step": recurrent(attention=NoAttentionConfig(thought="every_step"), cell="lstm"),
    "bahdanau": recurrent(attention=BahdanauAttentionConfig(score_dim=4)),
    "bahdanau, concatenated": recurrent(
        attention=BahdanauAttentionConfig(form="concatenated", score_dim=4), decoder_layers=2, cell="lstm", tie="none"
    ),
    "luong, dot": recurrent(attention=LuongAttentionConfig(score="dot"), **EQUAL, decoder_layers=2, encoder_layers=2),
    "luong, general": recurrent(attention=LuongAttentionConfig(), bridge="zero", initialization="uniform"),
    "luong, concat": recurrent(attention=LuongAttentionConfig(score="concat", score_dim=3), cell="lstm"),
    "luong, fed": recurrent(attention=LuongAttentionConfig(input_feeding=True), decoder_layers=2, cell="lstm"),
    "local, monotonic": recurrent(attention=LocalAttentionConfig(position="monotonic", window=1)),
    "local, predictive": recurrent(attention=LocalAttentionConfig(window=2), bidirectional=False),
    "local, fed": recurrent(attention=LocalAttentionConfig(window=2, position="monotonic", input_feeding=True)),
    "hard": recurrent(attention=HardAttentionConfig()),
}


def make_model(config: ModelConfig) -> Any:
    """A model whose weights are all of its own: no bias is zero, no norm the identity."""
    torch.manual_seed(1)
    source_vocabulary = TARGET_VOCABULARY if config.tie == "all" else SOURCE_VOCABULARY
    model = build_model(config, source_vocabulary, TARGET_VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model.eval()


def sentences(seed: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Padded sources, where they are real, and targets."""
    torch.manual_seed(seed)
    is_real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    source = torch.randint(0, SOURCE_VOCABULARY, is_real.shape)
    return source, is_real, torch.randint(0, TARGET_VOCABULARY, (len(LENGTHS), TIME))


def start(model: Any, source: Tensor, is_real: Tensor) -> Any:
    return model.start(model.encode(source, is_real))


def in_chunks(model: Any, state: Any, target: Tensor, sizes: Sequence[int]) -> Tensor:
    logits = []
    for chunk in target.split(list(sizes), 1):
        part, state = model.decoder(chunk, state)
        logits.append(part)
    assert state.position == target.shape[1]
    return torch.cat(logits, 1)


def at_once(model: Any, source: Tensor, is_real: Tensor, target: Tensor) -> Tensor:
    return in_chunks(model, start(model, source, is_real), target, [target.shape[1]])


def logits_of(model: Any, tokens: Tensor, steps: list[int]) -> Tensor:
    """What a language model predicts after each token, read in parts of so many tokens."""
    nothing = tokens[:, :0]
    state, found = model.start(model.encode(nothing, nothing.bool())), []
    for part in tokens.split(steps, 1):
        logits, state = model.decoder(part, state)
        found.append(logits)
    return torch.cat(found, 1)
