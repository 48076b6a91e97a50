"""Dynamic evaluation: a language model keeps learning from the text it is measured on (Krause et al. 2018)."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.base.ranges import PositiveFloat, Share
from transduce.data.text_store import TextStore
from transduce.data.windows import WindowsConfig, windows_in_order
from transduce.models.interface import SegmentRecurrence
from transduce.nn.losses import cross_entropy
from transduce.nn.quantization import Int8Linear

EPSILON = 1e-8


class DynamicEvaluation(Settings, frozen=True):
    """Settings of the speed at which a model adapts to what it reads."""

    learning_rate: PositiveFloat = 1e-4
    """Step size, one step after each segment; gradients are divided by their root mean square so far (RMS)."""
    decay: Share = 0.01
    """Share of the distance back to the trained weights that each step goes."""


def read_dynamically(
    model: nn.Module, store: TextStore, config: WindowsConfig, dynamic: DynamicEvaluation
) -> Iterator[Tensor]:
    """Yields log-probabilities of all tokens of a text but the first, as float32 vectors on the CPU.

    Each segment of `config.window` tokens is predicted before anything is learned from it. The mean square of the
    gradients is that of the text so far, unlike in the paper, which uses the training text's. The model is not changed.
    Raises InputError for a model of 8-bit integers, which cannot learn.
    """
    if any(isinstance(module, Int8Linear) for module in model.modules()):
        raise InputError("a model of precision int8 cannot learn from what it reads; use float32 or bfloat16")
    adapted: Any = copy.deepcopy(model).eval()
    weights = [parameter for parameter in adapted.parameters() if parameter.requires_grad]
    trained = [weight.detach().clone() for weight in weights]
    squares = [torch.zeros_like(weight) for weight in weights]
    device, state = weights[0].device, None
    one_by_one = WindowsConfig(window=config.window, target_tokens=config.window)
    for step, batch in enumerate(windows_in_order(store, one_by_one), 1):
        batch = batch.to(device)
        with torch.enable_grad():
            if state is None or not isinstance(adapted, SegmentRecurrence):
                state = adapted.start(adapted.encode(batch.source, batch.source_is_real))
            hidden, state = adapted.decoder.read(batch.target_in, state)
            loss = cross_entropy(hidden, adapted.decoder.output, batch.target_out, batch.target_places)
            gradients = torch.autograd.grad(loss.smoothed / batch.target_out.numel(), weights, allow_unused=True)
        yield loss.log_probabilities[0].cpu()
        if isinstance(adapted, SegmentRecurrence):
            state = adapted.resume(state.carried)
        with torch.no_grad():
            for weight, began, square, gradient in zip(weights, trained, squares, gradients, strict=True):
                if gradient is not None:
                    square.lerp_(gradient.square(), 1 / step)
                    weight.sub_(dynamic.learning_rate * gradient / (square.sqrt() + EPSILON))
                    weight.lerp_(began, dynamic.decay)
