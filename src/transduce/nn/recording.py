"""Attention weights of a forward pass, for those who want to look, without a trace in the modules themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from transduce.nn.attention import (
    AttentionKernel,
    Context,
    Keys,
    MultiHeadAttention,
    Queries,
    Values,
    attention_weights,
)
from transduce.nn.layers import Dropout
from transduce.nn.masks import AttentionMask

Tape = dict[str, list[Tensor]]
"""The name of each attention module, and its weights [rows, heads, queries, keys], one tensor a call."""


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Tape]:
    """While open, every attention of the model writes its weights on the tape. Not thread-safe."""
    tape: Tape = {}
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, MultiHeadAttention)}
    kernels = {name: module.kernel for name, module in attentions.items()}
    try:
        for name, module in attentions.items():
            module.kernel = _recording_kernel(tape.setdefault(name, []))
        yield tape
    finally:
        for name, module in attentions.items():
            module.kernel = kernels[name]


def _recording_kernel(weights_of_calls: list[Tensor]) -> AttentionKernel:
    def attend(
        query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
    ) -> Context:
        weights = attention_weights(query, keys, may_attend)
        weights_of_calls.append(weights.detach())
        return dropout(weights) @ values

    return attend
