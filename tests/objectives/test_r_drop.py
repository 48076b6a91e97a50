"""R-Drop is the formula of its paper, counts every token once, and is off unless asked for."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close
from toy_models import recurrent

from transduce.base.errors import ConfigError
from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.experiment import load_recipe
from transduce.models.families import ModelConfig, build_model
from transduce.models.recurrent.recurrent_attention import HardAttentionConfig
from transduce.models.transformer import TransformerConfig
from transduce.nn import losses
from transduce.nn.losses import PROJECTED_AT_ONCE, paired_cross_entropy
from transduce.objectives.next_token import NextToken
from transduce.objectives.r_drop import RDrop
from transduce.tasks.task import next_token_objective
from transduce.training.training_settings import TrainingConfig

SPECIAL = SpecialIds(0, 2, 0, 1, 2)
PAIRS = [([3, 4, 5], [6, 7]), ([8], [9, 10, 3, 4, 5]), ([5, 6], [7, 8, 9])]
DIM, VOCABULARY = 5, 11


def batch_of(pairs: list[tuple[list[int], list[int]]]) -> Batch:
    return make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)


def model_of(config: ModelConfig | None = None, dropout: float = 0.4) -> nn.Module:
    torch.manual_seed(1)
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "dim": 6, "heads": 2, "feed_forward_dim": 7}
    return build_model(config or TransformerConfig(**sizes, dropout=dropout), 11, 13).train()


def of_paper(first: Tensor, second: Tensor, target: Tensor, weight: float, smoothing: float) -> Tensor:
    """Equation 4 of Liang et al. (2021), summed over tokens, from the logits of both passes, with label smoothing."""
    by_passes = [
        functional.cross_entropy(z, target, reduction="sum", label_smoothing=smoothing) for z in (first, second)
    ]
    p, q = first.log_softmax(-1), second.log_softmax(-1)
    kl = [functional.kl_div(a, b, reduction="sum", log_target=True) for a, b in ((p, q), (q, p))]
    return by_passes[0] + by_passes[1] + weight * (kl[0] + kl[1]) / 2


@dataclass
class Example:
    """Two passes' hidden states over an output layer."""

    rows: int
    time: int
    has_bias: bool = True
    seed: int = 1
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        self.output = nn.Linear(DIM, VOCABULARY, bias=self.has_bias).to(self.dtype)
        first = 3 * torch.randn(self.rows, self.time, DIM)
        self.hidden = torch.stack([first, first + torch.randn_like(first)]).to(self.dtype).requires_grad_()
        self.target = torch.randint(0, VOCABULARY, (self.rows, self.time))
        self.is_real = torch.rand(self.rows, self.time) < 0.7

    def found(self, smoothing: float, weight: float) -> losses.CrossEntropy:
        places = self.is_real.flatten().nonzero().squeeze(1)
        return paired_cross_entropy(self.hidden, self.output, self.target, places, smoothing, weight)

    def reference(self, smoothing: float, weight: float) -> Tensor:
        logits = (self.output(of_pass)[self.is_real].float() for of_pass in self.hidden)
        return of_paper(*logits, self.target[self.is_real], weight, smoothing) / 2

    def gradients(self, loss: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(loss, [self.hidden, *self.output.parameters()])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 5),
    time=st.integers(1, 7),
    smoothing=st.sampled_from([0.0, 0.1, 0.35]),
    weight=st.sampled_from([0.0, 1.0, 5.0]),
    scale=st.sampled_from([1.0, -0.25]),
    has_bias=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_value_and_gradients_are_those_of_the_papers_formula(
    rows: int, time: int, smoothing: float, weight: float, scale: float, has_bias: bool, seed: int
) -> None:
    example = Example(rows, time, has_bias, seed)
    loss, expected = example.found(smoothing, weight), example.reference(smoothing, weight)
    assert_close(loss.smoothed, expected, rtol=1e-5, atol=1e-4)
    assert_close(loss.plain, example.reference(0.0, 0.0).detach(), rtol=1e-5, atol=1e-4)
    if example.is_real.any():
        assert_close(
            example.gradients(scale * loss.smoothed), example.gradients(scale * expected), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("tokens", [PROJECTED_AT_ONCE // 2, PROJECTED_AT_ONCE + 3])
def test_of_more_tokens_than_are_taken_at_once_few_logits_exist_together(
    tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = Example(1, tokens)
    example.is_real[:] = True
    expected = example.reference(0.1, 5.0)
    wanted, rows, linear = example.gradients(expected), [], functional.linear

    def watched(hidden: Tensor, *of_layer: Tensor | None) -> Tensor:
        rows.append(len(hidden))
        return linear(hidden, *of_layer)

    monkeypatch.setattr(losses.functional, "linear", watched)
    loss = example.found(0.1, 5.0)
    assert_close(loss.smoothed, expected, rtol=1e-5, atol=1e-2)
    assert_close(example.gradients(loss.smoothed), wanted, rtol=1e-4, atol=1e-3)
    assert sum(rows) == 2 * tokens
    assert max(rows) <= PROJECTED_AT_ONCE // 2


def test_in_bfloat16_the_logits_are_rounded_and_the_rest_is_float32s() -> None:
    halves = Example(5, 7, dtype=torch.bfloat16)
    loss, expected = halves.found(0.1, 5.0), halves.reference(0.1, 5.0)
    assert loss.smoothed.dtype == torch.float32
    assert_close(loss.smoothed, expected, rtol=1e-4, atol=1e-3)
    for found, wanted in zip(halves.gradients(loss.smoothed), halves.gradients(expected), strict=True):
        assert found.dtype == torch.bfloat16
        assert_close(found, wanted, rtol=5e-2, atol=1e-1)


def test_an_update_descends_the_formula_over_two_passes_with_dropout_of_their_own() -> None:
    model, batch = model_of(), batch_of(PAIRS)
    torch.manual_seed(7)
    loss = RDrop(5.0, 0.1)(model, batch, None)
    found = torch.autograd.grad(loss.total, list(model.parameters()))
    torch.manual_seed(7)
    logits = []
    for _ in range(2):
        state = model.start(model.encode(batch.source, batch.source_is_real))
        logits.append(model.decoder(batch.target_in, state)[0][batch.target_is_real])
    assert not torch.equal(*logits)
    expected = of_paper(*logits, batch.target_out[batch.target_is_real], 5.0, 0.1) / 2
    assert_close(loss.total, expected, rtol=1e-5, atol=1e-4)
    assert_close(found, torch.autograd.grad(expected, list(model.parameters())), rtol=1e-4, atol=1e-4)


def test_every_target_token_counts_once_and_parts_of_a_batch_add_up() -> None:
    model = model_of(dropout=0.0)
    whole = RDrop(5.0, 0.1)(model, batch_of(PAIRS), None)
    parts = [RDrop(5.0, 0.1)(model, batch_of(part), None) for part in (PAIRS[:1], PAIRS[1:])]
    assert int(whole.tokens) == sum(len(target) + 1 for _, target in PAIRS)
    assert_close(whole.total, parts[0].total + parts[1].total)
    assert_close(whole.plain, parts[0].plain + parts[1].plain)


def test_without_dropout_both_passes_agree_and_the_loss_is_that_of_one() -> None:
    model, batch = model_of(dropout=0.0), batch_of(PAIRS)
    one, two = NextToken(0.1)(model, batch, None), RDrop(5.0, 0.1)(model, batch, None)
    assert_close((two.total, two.plain), (one.total, one.plain))


def test_what_hard_attention_draws_is_learned_from_in_both_passes() -> None:
    model = model_of(recurrent(attention=HardAttentionConfig(score="general")))
    loss = RDrop(5.0)(model, batch_of(PAIRS), None)
    assert loss.carried is not None
    assert loss.carried["baseline"] < 0
    loss.total.backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in model.parameters() if parameter.grad is not None)


def test_off_it_is_the_plain_objective() -> None:
    def rate() -> float:
        return 1.0

    assert next_token_objective(TrainingConfig(updates=1), rate) == NextToken(0.1, rate)
    assert next_token_objective(TrainingConfig(updates=1, r_drop=5.0), rate) == RDrop(5.0, 0.1)


def test_with_scheduled_sampling_it_is_refused() -> None:
    with pytest.raises(ConfigError, match="r_drop compares two passes over the same tokens; leave teacher_forcing out"):
        load_recipe("multi30k", ["training.r_drop=5", "training.teacher_forcing.last=0.5"])
