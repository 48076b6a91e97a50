"""A decoder-only Transformer is causal, the same in steps as at once, and GPT-2 where it is given its sizes."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close
from toy_models import logits_of

from transduce.models.causal import CausalTransformer, CausalTransformerConfig, build_causal_transformer

VOCABULARY, ROWS, TIME = 13, 3, 7
SIZES: dict[str, Any] = {
    "layers": 2,
    "dim": 12,
    "heads": 3,
    "feed_forward_dim": 17,
    "max_positions": 19,
    "dropout": 0.0,
}
CHOICES: list[dict[str, Any]] = [
    {},
    {"positions": "learned", "activation": "relu", "tie": False},
    {"positions": "sinusoidal", "norm": "post", "scale_embeddings": True},
    {"positions": "none", "key_dim": 5, "value_dim": 2},
    {"kv_heads": 1, "norm_kind": "rms"},
]


def build(**choices: Any) -> CausalTransformer:
    torch.manual_seed(3)
    return build_causal_transformer(CausalTransformerConfig(**{**SIZES, **choices}), VOCABULARY).eval()


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(5))


@torch.no_grad()
@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("steps", [[1] * TIME, [2, 4, 1], [5, 2]], ids=str)
def test_in_steps_is_at_once(choices: dict[str, Any], steps: list[int], tokens: torch.Tensor) -> None:
    model = build(**choices)
    assert_close(logits_of(model, tokens, steps), logits_of(model, tokens, [TIME]))


@torch.no_grad()
@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_the_future_changes_nothing(choices: dict[str, Any], tokens: torch.Tensor) -> None:
    model, other = build(**choices), tokens.clone()
    other[:, 4:] = (other[:, 4:] + 1) % VOCABULARY
    before, after = logits_of(model, tokens, [TIME]), logits_of(model, other, [TIME])
    assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@torch.no_grad()
@pytest.mark.parametrize("rows_per_sentence", [2, 20])
def test_hypotheses_go_on_from_the_text_that_they_share(rows_per_sentence: int, tokens: torch.Tensor) -> None:
    model, nothing = build(), tokens[:, :0]
    _, state = model.decoder(tokens[:, :4], model.start(model.encode(nothing, nothing.bool())))
    rows = tokens.repeat_interleave(rows_per_sentence, 0)
    state, found = state.expand(rows_per_sentence), []
    for step in range(4, TIME):
        logits, state = model.decoder(rows[:, step : step + 1], state)
        found.append(logits)
    assert_close(torch.cat(found, 1), logits_of(model, rows, [TIME])[:, 4:])


@torch.no_grad()
@pytest.mark.parametrize("steps", [[TIME], [1] * TIME], ids=["at once", "in steps"])
def test_with_gpt2s_weights_it_gives_gpt2s_logits(steps: list[int], tokens: torch.Tensor) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(7)
    shape = {"n_layer": 2, "n_embd": 12, "n_head": 3, "n_inner": 17, "n_positions": 19, "vocab_size": VOCABULARY}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(activation_function="gelu", **shape)).eval()
    for parameter in theirs.parameters():
        parameter.normal_(0, 0.3)  # biases and norms too
    ours = build(positions="learned", activation="gelu")
    load_gpt2(ours, theirs.transformer)
    assert_close(logits_of(ours, tokens, steps), theirs(tokens).logits, atol=1e-4, rtol=1e-4)


def load_gpt2(ours: CausalTransformer, theirs: Any) -> None:
    """Fill a model with GPT-2's weights, whose linear layers are stored the other way round."""
    decoder: Any = ours.decoder
    decoder.embedding.table.weight.copy_(theirs.wte.weight)
    decoder.embedding.positions.weight.copy_(theirs.wpe.weight)
    for layer, block in zip(decoder.layers, theirs.h, strict=True):
        query, key_value = block.attn.c_attn.weight.T.split([12, 24])
        query_bias, key_value_bias = block.attn.c_attn.bias.split([12, 24])
        attention = layer.attention.attention
        for linear, weight, bias in (
            (attention.query, query, query_bias),
            (attention.key_value, key_value, key_value_bias),
            (attention.output, block.attn.c_proj.weight.T, block.attn.c_proj.bias),
            (layer.feed_forward.inner, block.mlp.c_fc.weight.T, block.mlp.c_fc.bias),
            (layer.feed_forward.output, block.mlp.c_proj.weight.T, block.mlp.c_proj.bias),
        ):
            linear.weight.copy_(weight)
            linear.bias.copy_(bias)
        layer.around_attention.norm.load_state_dict(block.ln_1.state_dict())
        layer.around_feed_forward.norm.load_state_dict(block.ln_2.state_dict())
    decoder.norm.load_state_dict(theirs.ln_f.state_dict())
