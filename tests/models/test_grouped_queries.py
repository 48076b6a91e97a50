"""Grouped-query attention and RMSNorm are Llama's with the same weights, and make the states of steps smaller."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from toy_models import logits_of, sentences, start

from transduce.models.causal import CausalTransformerConfig, build_causal_transformer
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.nn.attention import KeysValues
from transduce.nn.positions import Span
from transduce.nn.recording import record_attention
from transduce.nn.self_attention import join_projections

VOCABULARY, ROWS, TIME = 13, 3, 7
HEADS, GROUPS, HEAD_DIM = 6, 2, 4
SIZES: dict[str, Any] = {"layers": 2, "dim": 24, "heads": HEADS, "feed_forward_dim": 17, "dropout": 0.0}


def build(**choices: Any) -> Any:
    torch.manual_seed(3)
    model = build_causal_transformer(CausalTransformerConfig(**{**SIZES, **choices}), VOCABULARY).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def tokens() -> Tensor:
    return torch.randint(VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(5))


def halves(weight: Tensor) -> Tensor:
    """Rows of queries or keys in Llama's order: it turns the dimensions i and i + head_dim / 2, ours 2i and 2i + 1."""
    return weight.unflatten(0, (-1, HEAD_DIM // 2, 2)).transpose(1, 2).flatten(0, 2)


@torch.no_grad()
def test_layers_of_llamas_attention_and_norms_with_the_same_weights_give_the_same() -> None:
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(
        hidden_size=24,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        attention_bias=True,
        attn_implementation="eager",
    )
    model, ids = build(kv_heads=GROUPS, norm_kind="rms"), tokens()
    hidden = model.decoder.embedding(ids, Span(0, ids.shape[1]))
    positions = llama.LlamaRotaryEmbedding(config)(hidden, torch.arange(TIME)[None])
    future = torch.full((TIME, TIME), -torch.inf).triu(1)[None, None]

    def norm(ours: nn.RMSNorm, x: Tensor) -> Tensor:
        theirs = llama.LlamaRMSNorm(24, ours.eps)
        theirs.weight.copy_(ours.weight)
        return theirs(x)

    for number, layer in enumerate(model.decoder.layers):
        ours, theirs = layer.attention.attention, llama.LlamaAttention(config, number).eval()
        of_keys = GROUPS * HEAD_DIM
        for name, change in (("weight", halves), ("bias", halves)):
            query, joint = getattr(ours.query, name), getattr(ours.key_value, name)
            getattr(theirs.q_proj, name).copy_(change(query))
            getattr(theirs.k_proj, name).copy_(change(joint[:of_keys]))
            getattr(theirs.v_proj, name).copy_(joint[of_keys:])
            getattr(theirs.o_proj, name).copy_(getattr(ours.output, name))
        hidden = hidden + theirs(norm(layer.around_attention.norm, hidden), positions, future)[0]
        hidden = hidden + layer.feed_forward(norm(layer.around_feed_forward.norm, hidden))
    expected = model.decoder.output(norm(model.decoder.norm, hidden))
    assert_close(logits_of(model, ids, [TIME]), expected, rtol=1e-4, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("positions", ["rotary", "none"])
def test_it_is_attention_with_each_key_head_as_often_as_there_are_queries_in_its_group(positions: str) -> None:
    grouped, whole, ids = build(kv_heads=GROUPS, positions=positions), build(positions=positions), tokens()
    weights = grouped.state_dict()
    for name in [name for name in weights if ".key_value." in name]:
        keys_values = weights[name].unflatten(0, (2 * GROUPS, HEAD_DIM))  # as wide as each other
        weights[name] = keys_values.repeat_interleave(HEADS // GROUPS, 0).flatten(0, 1)
    whole.load_state_dict(weights)
    expected = logits_of(whole, ids, [TIME])
    for steps in ([TIME], [1] * TIME, [3, 4]):
        assert_close(logits_of(grouped, ids, steps), expected, rtol=1e-4, atol=1e-5)
    with record_attention(whole) as theirs:
        logits_of(whole, ids, [TIME])
    with record_attention(grouped) as ours:
        recorded = logits_of(grouped, ids, [TIME])
    assert_close(recorded, expected, rtol=1e-4, atol=1e-5)
    assert ours.keys() == theirs.keys()
    for name, (seen,) in ours.items():
        assert_close(seen, theirs[name][0])
    join_projections(grouped)
    for steps in ([TIME], [1] * TIME):
        assert_close(logits_of(grouped, ids, steps), expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("kv_heads", [1, 2, 3])
def test_the_states_of_steps_are_smaller_by_the_ratio_of_heads(kv_heads: int) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "dim": 24, "heads": HEADS, "feed_forward_dim": 17}

    def numbers(**choices: Any) -> int:
        """Of the keys and values that a state has after some steps, of the source and of the target."""
        torch.manual_seed(1)
        model = build_model(TransformerConfig(**sizes, **choices), VOCABULARY, VOCABULARY).eval()
        source, is_real, _ = sentences()
        state = start(model, source, is_real)
        for step in tokens().split(1, 1):
            _, state = model.decoder(step, state)
        held = [*state.source, *(layer.known for layer in state.cache)]
        assert all(isinstance(each, KeysValues) for each in held)
        return sum(each.keys.numel() + each.values.numel() for each in held)

    assert numbers() * kv_heads == numbers(kv_heads=kv_heads) * HEADS
    assert numbers(kv_heads=HEADS) == numbers()
