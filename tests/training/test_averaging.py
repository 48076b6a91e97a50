"""Averages of weights are the means that they claim to be."""

import numpy as np
import torch
from torch import nn

from transduce.training.averaging import MovingAverage, average_weights


def test_the_average_of_weights_is_their_mean() -> None:
    tensors = [torch.randn(3, 5) for _ in range(7)]
    average = average_weights({"a": tensor, "b": tensor[0] * 2} for tensor in tensors)
    mean = np.mean([tensor.double().numpy() for tensor in tensors], axis=0)
    torch.testing.assert_close(average["a"], torch.from_numpy(mean).float(), atol=1e-7, rtol=0)
    torch.testing.assert_close(average["b"], 2 * average["a"][0])


def test_a_moving_average_follows_its_recurrence() -> None:
    model, averaged = nn.Linear(2, 3), nn.Linear(2, 3)
    averaged.load_state_dict(model.state_dict())
    expected = model.weight.detach().numpy().astype(np.float64)
    moving = MovingAverage(model, averaged, decay=0.6)
    for update in range(1, 30):
        with torch.no_grad():
            model.weight += torch.randn(3, 2)
        moving.follow(update)
        decay = min(0.6, (1 + update) / (10 + update))
        expected = decay * expected + (1 - decay) * model.weight.detach().numpy()
    np.testing.assert_allclose(averaged.weight.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
