"""A recurrent language model reads a text in segments as at once, and hands its state on."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close
from toy_models import logits_of

from transduce.models.recurrent.language import (
    RecurrentLanguageConfig,
    RecurrentLanguageModel,
    build_recurrent_language,
)

VOCABULARY, ROWS, TIME = 13, 3, 7
CHOICES: list[dict[str, Any]] = [{}, {"cell": "gru", "tie": False, "initialization": "orthogonal"}]


def build(**choices: Any) -> RecurrentLanguageModel:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {"layers": 2, "dim": 5, "dropout": 0.0}
    return build_recurrent_language(RecurrentLanguageConfig(**{**sizes, **choices}), VOCABULARY).eval()


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(VOCABULARY, (ROWS, TIME), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("choices", CHOICES, ids=str)
@pytest.mark.parametrize("steps", [[1] * TIME, [2, 4, 1]], ids=str)
def test_many_short_segments_are_one_long_one(choices: dict[str, Any], steps: list[int], tokens: torch.Tensor) -> None:
    model = build(**choices)
    assert_close(logits_of(model, tokens, steps), logits_of(model, tokens, [TIME]))


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_the_next_segment_goes_on_from_what_is_handed_on(choices: dict[str, Any], tokens: torch.Tensor) -> None:
    model, nothing = build(**choices), tokens[:, :0]
    _, state = model.decoder(tokens[:, :4], model.start(model.encode(nothing, nothing.bool())))
    carried = state.carried
    layers, parts, dim = model.carried_shape
    assert carried.shape == (layers, ROWS, parts, dim)
    assert not carried.requires_grad
    logits, _ = model.decoder(tokens[:, 4:], model.resume(carried))
    assert_close(logits, logits_of(model, tokens, [TIME])[:, 4:])


@torch.no_grad()
def test_hypotheses_go_on_from_the_text_that_they_share(tokens: torch.Tensor) -> None:
    model, nothing = build(), tokens[:, :0]
    _, state = model.decoder(tokens[:, :4], model.start(model.encode(nothing, nothing.bool())))
    rows, state = tokens.repeat_interleave(2, 0), state.expand(2)
    logits, state = model.decoder(rows[:, 4:5], state.reorder(torch.tensor([1, 0, 2, 3, 4, 5])))
    assert_close(logits, logits_of(model, rows, [TIME])[:, 4:5])
    logits, _ = model.decoder(rows[4:, 5:6], state.select(torch.tensor([2])))
    assert_close(logits, logits_of(model, rows, [TIME])[4:, 5:6])
