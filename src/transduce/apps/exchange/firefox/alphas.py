"""Scales of a model's activations, collected while it translates: what 8-bit engines multiply the inputs of matrices
by."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from transduce.apps.exchange.firefox.marian_binary import LARGEST
from transduce.apps.exchange.firefox.student_files import OUTPUT, linear_layers
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam

GREEDY = Beam(size=1, max_ratio=2, max_extra=5)
"""The search of the engines: at most 2 n + 4 tokens for n of the source, its end token included."""
DEVIATIONS = 1.1
"""Standard deviations that are added to the mean of the largest activations, as Firefox's training pipeline does."""
AT_ONCE = 32


def collect_multipliers(bundle: ModelBundle, sources: Iterable[Sequence[int]]) -> dict[str, float]:
    """Translates sentences greedily, and returns what the inputs of each linear layer are to be multiplied by to be
    bytes: 127 / (mean + 1.1 deviations of the largest input, over all calls of the layer).

    Args:
        bundle: a model that can be exported, in float32.
        sources: token ids of sentences, without the end token.
    """
    model, largest = bundle.writer, {}
    names = [layer.name for layer in linear_layers(bundle.config.model_as(TransformerConfig))] + [OUTPUT]
    handles = []
    for name in names:
        largest[name] = list[Tensor]()
        handles.append(model.get_submodule(name).register_forward_pre_hook(_note_largest(largest[name])))
    try:
        _translate(bundle, sources)
    finally:
        for handle in handles:
            handle.remove()
    return {name: _multiplier(torch.stack(values)) for name, values in largest.items()}


def _note_largest(values: list[Tensor]) -> Callable[[nn.Module, Any], None]:
    def note(module: nn.Module, inputs: tuple[Tensor]) -> None:
        values.append(inputs[0].abs().amax())

    return note


def _multiplier(largest: Tensor) -> float:
    usual = largest.mean() + DEVIATIONS * largest.std(correction=0)
    return float(LARGEST / usual.clamp(min=1e-6))


def _translate(bundle: ModelBundle, sources: Iterable[Sequence[int]]) -> None:
    """Translates sentences in batches of one length, since what a model computes at padding means nothing."""
    engine, constraints = PyTorchEngine(bundle), Constraints(bundle.tokenizers.target)
    of_length: dict[int, list[Piece]] = {}
    for source in sources:
        of_length.setdefault(len(source), []).append(Piece(list(source), prefix=[], required=[], banned=[]))
    for pieces in of_length.values():
        for first in range(0, len(pieces), AT_ONCE):
            engine.search(pieces[first : first + AT_ONCE], constraints, GREEDY)
