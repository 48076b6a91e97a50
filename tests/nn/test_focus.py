"""Where each kind of attention looks, against its definition written out."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from transduce.nn.focus import GlobalAttention, HardAttention, LocalMonotonic, LocalPredictive
from transduce.nn.initialization import RecurrentInitialization

LENGTHS, KEYS, TIME, DIM = [6, 4], 6, 9, 3
MAY_ATTEND = (torch.arange(KEYS) < torch.tensor(LENGTHS)[:, None])[:, None, None]


def asked() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    return torch.randn(2, 1, TIME, KEYS), torch.randn(2, 1, TIME, DIM), torch.arange(TIME)


def softmax_over(scores: np.ndarray, places: list[int]) -> np.ndarray:
    weights = np.zeros(KEYS)
    exponentials = np.exp(scores[places])
    weights[places] = exponentials / exponentials.sum()
    return weights


def test_soft_attention_is_a_softmax_over_the_real_source() -> None:
    scores, query, times = asked()
    weights = GlobalAttention()(scores, query, MAY_ATTEND, times).weights
    for row, length in enumerate(LENGTHS):
        for time in range(TIME):
            expected = softmax_over(scores[row, 0, time].numpy(), list(range(length)))
            assert_close(weights[row, 0, time].double(), torch.tensor(expected), rtol=1e-4, atol=1e-6)


def test_a_monotonic_window_is_at_the_target_position_and_stays_at_the_sources_end() -> None:
    scores, query, times = asked()
    weights = LocalMonotonic(1)(scores, query, MAY_ATTEND, times).weights
    for row, length in enumerate(LENGTHS):
        for time in range(TIME):
            middle = min(time, length - 1)
            places = [place for place in range(length) if middle - 1 <= place <= middle + 1]
            expected = softmax_over(scores[row, 0, time].numpy(), places)
            assert_close(weights[row, 0, time].double(), torch.tensor(expected), rtol=1e-4, atol=1e-6)


@torch.no_grad()
def test_a_predicted_window_is_a_softmax_times_a_gaussian_around_where_the_state_says() -> None:
    scores, query, times = asked()
    focus = LocalPredictive(2, DIM, RecurrentInitialization("uniform", 1.0))
    weights = focus(scores, query, MAY_ATTEND, times).weights
    hidden, place = focus.hidden.weight.numpy(), focus.place.weight.numpy()
    for row, length in enumerate(LENGTHS):
        for time in range(TIME):
            logit = float(place[0] @ np.tanh(hidden @ query[row, 0, time].numpy())) / math.sqrt(DIM)
            middle = length / (1 + math.exp(-logit))
            places = [place for place in range(length) if abs(place - middle) <= 2]
            gaussian = np.exp(-((np.arange(KEYS) - middle) ** 2) / (2 * (2 / 2) ** 2))
            expected = softmax_over(scores[row, 0, time].numpy(), places) * gaussian
            assert_close(weights[row, 0, time].double(), torch.tensor(expected), rtol=1e-4, atol=1e-6)


def test_hard_attention_takes_the_best_position_when_it_does_not_learn() -> None:
    scores, query, times = asked()
    focused = HardAttention("score_function").eval()(scores, query, MAY_ATTEND, times)
    best = scores.masked_fill(~MAY_ATTEND, -math.inf).argmax(-1)
    assert torch.equal(focused.weights.argmax(-1), best)
    assert_close(focused.weights.sum(-1), torch.ones(2, 1, TIME))
    assert focused.sampled_log_probabilities is None


@pytest.mark.parametrize("gradient", ["score_function", "straight_through"])
def test_in_training_hard_attention_draws_by_the_softmax(gradient: str) -> None:
    draws = 4000
    scores, query, times = asked()
    scores, query = scores[:1, :, :1].expand(draws, -1, -1, -1), query[:1, :, :1].expand(draws, -1, -1, -1)
    may_attend = MAY_ATTEND[1:].expand(draws, -1, -1, -1)
    focused = HardAttention(gradient).train()(scores, query, may_attend, times[:1])
    probabilities = GlobalAttention()(scores, query, may_attend, times[:1]).weights[0, 0, 0]
    error = 4 * (probabilities * (1 - probabilities) / draws).sqrt()
    assert ((focused.weights[:, 0, 0].mean(0) - probabilities).abs() <= error).all()
    assert_close(focused.weights.amax(-1), torch.ones(draws, 1, 1))
    if gradient == "score_function":
        chosen = focused.weights.argmax(-1)
        assert_close(focused.sampled_log_probabilities, probabilities.log()[chosen])


def test_straight_through_has_the_gradient_of_the_softmax() -> None:
    scores, query, times = asked()
    values = torch.randn(2, 1, TIME, KEYS)
    gradients = []
    for focus in (HardAttention("straight_through").train(), GlobalAttention()):
        asking = scores.clone().requires_grad_()
        (focus(asking, query, MAY_ATTEND, times).weights * values).sum().backward()
        gradients.append(asking.grad)
    assert_close(*gradients)
