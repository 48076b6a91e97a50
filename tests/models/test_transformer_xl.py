"""A Transformer-XL reads a text in segments as at once, sees no further than its memory, and keeps what it promises."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close
from toy_models import logits_of

from transduce.models.transformer_xl import TransformerXL, TransformerXLConfig, build_transformer_xl
from transduce.nn.relative_attention import scores_by_distance

VOCABULARY, ROWS, TIME, MEMORY = 13, 3, 11, 4
SIZES: dict[str, Any] = {"layers": 2, "dim": 12, "heads": 3, "feed_forward_dim": 17, "dropout": 0.0, "memory": MEMORY}
CHOICES: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "tie": False, "activation": "gelu"},
    {"key_dim": 5, "value_dim": 2, "norm_kind": "rms"},
]


def build(**choices: Any) -> TransformerXL:
    torch.manual_seed(3)
    model = build_transformer_xl(TransformerXLConfig(**{**SIZES, **choices}), VOCABULARY).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # u and v begin at zero
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("steps", [[1] * TIME, [2, 4, 1, 4], [6, 5]], ids=str)
@pytest.mark.parametrize("learns", [True, False], ids=["hidden states", "keys and values"])
@pytest.mark.parametrize("memory", [MEMORY, 50])
def test_many_short_segments_are_one_long_one(
    choices: dict[str, Any], steps: list[int], learns: bool, memory: int, tokens: torch.Tensor
) -> None:
    model = build(**choices, memory=memory) if memory == MEMORY else build(**{**choices, "memory": memory})
    with torch.set_grad_enabled(learns):
        assert_close(logits_of(model, tokens, steps), logits_of(model, tokens, [TIME]))


def test_learning_and_using_read_alike(tokens: torch.Tensor) -> None:
    model = build()
    with torch.no_grad():
        used = logits_of(model, tokens, [3, 8])
    assert_close(logits_of(model, tokens, [5, 6]), used)


@torch.no_grad()
@pytest.mark.parametrize("steps", [[TIME], [1] * TIME, [3, 8]], ids=str)
def test_a_token_sees_as_far_as_the_memories_of_all_layers_reach(steps: list[int], tokens: torch.Tensor) -> None:
    model, other = build(), tokens.clone()
    other[:, 0] = (other[:, 0] + 1) % VOCABULARY
    before, after = logits_of(model, tokens, steps), logits_of(model, other, steps)
    reach = MEMORY * SIZES["layers"]
    assert_close(before[:, reach + 1 :], after[:, reach + 1 :])
    assert (before[:, : reach + 1] - after[:, : reach + 1]).abs().amax((0, 2)).min() > 1e-6


@torch.no_grad()
def test_the_future_changes_nothing(tokens: torch.Tensor) -> None:
    model, other = build(), tokens.clone()
    other[:, 6:] = (other[:, 6:] + 1) % VOCABULARY
    assert_close(logits_of(model, tokens, [TIME])[:, :6], logits_of(model, other, [TIME])[:, :6])


def test_each_score_is_that_of_its_distance() -> None:
    rows, heads, queries, keys, key_dim, furthest = 2, 3, 5, 9, 4, 6
    query = torch.randn(rows, heads, queries, key_dim)
    distances = torch.randn(heads, furthest + 1, key_dim)  # furthest first
    found = scores_by_distance(query, distances, keys)
    for i in range(queries):
        for j in range(keys):
            distance = keys - queries + i - j
            if 0 <= distance <= furthest:
                expected = (query[:, :, i] * distances[:, furthest - distance]).sum(-1)
                assert_close(found[:, :, i, j], expected)


def test_what_is_handed_on_has_no_gradient_and_is_what_the_next_segment_needs(tokens: torch.Tensor) -> None:
    model = build()
    nothing = tokens[:, :0]
    state = model.start(model.encode(nothing, nothing.bool()))
    _, state = model.decoder.read(tokens[:, :7], state)
    carried = state.carried
    assert carried.shape == (2, ROWS, MEMORY, 12) == (2, ROWS, *model.carried_shape[1:])
    assert not carried.requires_grad
    logits, _ = model.decoder(tokens[:, 7:], model.resume(carried))
    assert_close(logits, logits_of(model, tokens, [TIME])[:, 7:])


@torch.no_grad()
@pytest.mark.parametrize("rows_per_sentence", [2, 20])
def test_hypotheses_go_on_from_the_text_that_they_share(rows_per_sentence: int, tokens: torch.Tensor) -> None:
    model, nothing = build(), tokens[:, :0]
    _, state = model.decoder(tokens[:, :6], model.start(model.encode(nothing, nothing.bool())))
    rows = tokens.repeat_interleave(rows_per_sentence, 0)
    state, found = state.expand(rows_per_sentence), []
    for step in range(6, TIME):
        logits, state = model.decoder(rows[:, step : step + 1], state)
        found.append(logits)
    assert_close(torch.cat(found, 1), logits_of(model, rows, [TIME])[:, 6:])
    kept = torch.tensor([2, 0])
    _, state = model.decoder(rows[: 2 * rows_per_sentence, :1], state.select(kept))
    assert len(state.past[0].buffer.keys) == 2 * rows_per_sentence  # type: ignore[union-attr]


@torch.no_grad()
def test_a_longer_memory_is_used_in_evaluation(tokens: torch.Tensor) -> None:
    model, longer = build(), build(memory=9)
    model.decoder.memory = 9
    assert_close(logits_of(model, tokens, [4, 7]), logits_of(longer, tokens, [4, 7]))
