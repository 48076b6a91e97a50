"""Gradients are divided by the real tokens once, and clipped after that."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transduce.training.optimizer import normalize_gradients


def with_gradients() -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(2, 5)), nn.Parameter(torch.zeros(7))]
    parameters[0].grad, parameters[1].grad = torch.full((3,), 6.0), torch.full((2, 5), -4.0)  # the last has none
    return parameters


@pytest.mark.parametrize("clip_norm", [0.0, 100.0])
def test_summed_gradients_become_means_over_tokens(clip_norm: float) -> None:
    parameters = with_gradients()
    norm = normalize_gradients(parameters, torch.tensor(4), clip_norm)
    assert_close(parameters[0].grad, torch.full((3,), 1.5))
    assert_close(parameters[1].grad, torch.full((2, 5), -1.0))
    assert_close(norm, torch.tensor((3 * 1.5**2 + 10) ** 0.5))


def test_the_mean_gradients_joint_norm_is_clipped_and_returned_as_it_was() -> None:
    parameters = with_gradients()
    norm = normalize_gradients(parameters, torch.tensor(4), 0.5)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    assert_close(torch.nn.utils.get_total_norm(gradients), torch.tensor(0.5), rtol=1e-4, atol=1e-4)
    assert float(norm) == pytest.approx((3 * 1.5**2 + 10) ** 0.5)
    assert_close(gradients[0][0] / gradients[1][0, 0], torch.tensor(-1.5))


def test_no_gradients_are_no_error() -> None:
    assert float(normalize_gradients([nn.Parameter(torch.zeros(3))], torch.tensor(4), 1.0)) == 0.0
