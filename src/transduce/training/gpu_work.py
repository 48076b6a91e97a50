"""Work that a GPU would do, counted without one: launches, operations, memory traffic and memory.

    with torch.device("meta"):
        model = build_transformer(config, 37000, 37000)
    with CountedGpu().entered() as counts:
        objective(model, batch.to(GPU), None).total.backward()
    print(counts.launches, counts.peak)

Tensors have shapes and no numbers (PyTorch's device "meta"), and say that they are on `cuda:0`. So code takes the paths
of a GPU, and whatever needs a number raises NotImplementedError or RuntimeError.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, flop_registry

GPU, SHAPES_ONLY = torch.device("cuda", 0), torch.device("meta")
VIEWS = """view _unsafe_view t transpose permute expand unsqueeze squeeze select slice split split_with_sizes unbind
detach alias as_strided unfold _reshape_alias lift_fresh view_as_real view_as_complex _conj _neg_view is_same_size"""
COMPOSITE = "flatten unflatten to contiguous tensor_split view_as is_nonzero item"
EMPTY = "empty empty_like new_empty empty_strided new_empty_strided resize_ set_ _local_scalar_dense sym_size"
NO_KERNEL = frozenset([*VIEWS.split(), *EMPTY.split(), *COMPOSITE.split()])
"""Operators that compute nothing: they make views or take memory."""
LOOKUPS = frozenset(["embedding", "index", "index_select", "gather"])
"""Operators that read as much of their first tensor as they write."""
CHANGES_A_FEW = frozenset(["scatter_", "scatter_add_", "index_add_"])
"""Operators that change as many numbers of their first tensor as their last one has."""
HALF = (torch.bfloat16, torch.float16)


@dataclass
class Counts:
    """The counts between entering a `CountedGpu` and leaving it."""

    launches: int = 0
    """Kernels started; a `_foreach` operator is one."""
    operations: int = 0
    """Multiplications and additions of matrix products and of fused attention, as PyTorch's FlopCounterMode counts
    them."""
    traffic: int = 0
    """Bytes that all other kernels read and write."""
    peak: int = 0
    """The most bytes of tensors that existed at once."""
    logits: int = 0
    """Bytes of tensors as wide as the vocabulary among these."""


class CountedGpu:
    """The memory of a GPU that is none, whose work is counted while it is entered.

    Args:
        vocabulary: the width of logits, whose memory is counted apart.
    """

    def __init__(self, vocabulary: int | None = None) -> None:
        self._vocabulary = vocabulary
        self._now = self._logits = 0
        self._known: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()

    @contextmanager
    def entered(self) -> Iterator[Counts]:
        """Takes tensors of shapes alone for those of a GPU, and counts what is done with them."""
        counts = Counts(peak=self._now, logits=self._logits)
        with (
            torch.autograd.set_multithreading_enabled(False),
            FlopCounterMode(display=False, custom_mapping=_operations()) as operations,
            _Counting(self, counts),
            _SaysCuda(),
        ):
            yield counts
        counts.operations = operations.get_total_flops()

    def hold(self, tensor: Tensor, counts: Counts) -> None:
        """Adds a tensor's memory, unless it is that of one before, until it is given back."""
        storage = tensor.untyped_storage()
        if storage in self._known:
            return
        self._known.add(storage)
        size = storage.nbytes()
        logits = size if tensor.dim() > 1 and tensor.shape[-1] == self._vocabulary else 0
        self._change(size, logits)
        weakref.finalize(storage, self._change, -size, -logits)
        if self._now > counts.peak:
            counts.peak, counts.logits = self._now, self._logits

    def _change(self, size: int, logits: int) -> None:
        self._now += size
        self._logits += logits


class _Counting(TorchDispatchMode):
    """Counts operators of which a tensor takes part that has a shape alone."""

    def __init__(self, gpu: CountedGpu, counts: Counts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._gpu, self._counts = gpu, counts

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = operator(*args, **kwargs)
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if not any(tensor.is_meta for tensor in (*given, *made)):
            return result
        name = operator._schema.name.partition("::")[2]
        if name not in NO_KERNEL:
            self._counts.launches += 1
            if operator._overloadpacket not in flop_registry:
                self._counts.traffic += _traffic(operator, name, args, given, made)
        for tensor in made:
            if tensor.is_meta:
                self._gpu.hold(tensor, self._counts)
        return result


def _traffic(operator: Any, name: str, args: Any, given: Sequence[Tensor], made: Sequence[Tensor]) -> int:
    """The bytes that an operator reads and writes; what it changes in place it does both to."""
    if name in LOOKUPS or name.startswith("new_"):
        return 2 * sum(tensor.nbytes for tensor in made)
    if name in CHANGES_A_FEW:
        return 3 * given[-1].nbytes
    changed = [
        value
        for argument, value in zip(operator._schema.arguments, args, strict=False)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    new = [tensor for tensor in made if all(tensor is not before for before in given)]
    written = [leaf for leaf in tree_leaves(changed) if isinstance(leaf, Tensor)]
    return sum(tensor.nbytes for tensor in (*given, *new, *written))


class _SaysCuda(TorchFunctionMode):
    """Lets Python see tensors that have shapes alone as those of `cuda:0`, and calls the kernels that a GPU has."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function == _DEVICE:
            device = function(*args)
            return GPU if device.type == "meta" else device
        kwargs = {name: _shapes_only(value) for name, value in (kwargs or {}).items()}
        is_pinned = kwargs.pop("pin_memory", False)
        result = KERNELS.get(function, function)(*map(_shapes_only, args), **kwargs)
        if is_pinned:
            result.is_pinned_by_us = True
        return result


_DEVICE = Tensor.device.__get__


def _shapes_only(value: Any) -> Any:
    return SHAPES_ONLY if isinstance(value, torch.device) and value.type == "cuda" else value


def _dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return torch.native_dropout(x, p, True)[0] if training and p else x


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **_: Any,
) -> Tensor:
    """Fused attention as PyTorch chooses its kernel on a GPU."""
    aten = torch.ops.aten
    if attn_mask is None and query.dtype in HALF:
        return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal)[0]
    if attn_mask is not None:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype)  # numbers that are added to the scores
        attn_mask = attn_mask.expand(*query.shape[:-1], key.shape[-2])
    group = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(group, 1) if group > 1 else each for each in (key, value))
    return aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, True, dropout_p, is_causal)[0]


def _recurrent(*_: Any) -> Any:
    raise NotImplementedError("recurrent layers are kernels of cuDNN, which have no shapes without a GPU")


KERNELS: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.dropout: _dropout,
    functional.scaled_dot_product_attention: _attention,
    torch._VF.gru: _recurrent,
    torch._VF.lstm: _recurrent,
}
"""Stand-ins for functions that a GPU computes in one kernel, and PyTorch in many without a GPU."""


def _attends(query: Sequence[int], offsets: Sequence[int], longest: Sequence[int]) -> int:
    """The multiplications and additions of one product of attention to rows of different lengths, for queries of
    [tokens, heads, head_dim], as if all were as long as the longest."""
    return 2 * (offsets[0] - 1) * query[1] * longest[0] * longest[1] * query[2]


def _attend(query: Any, key: Any, value: Any, of_query: Any, of_key: Any, *longest: Any, **_: Any) -> int:
    return 2 * _attends(query, of_query, longest)  # Q K^T, and weights times V


def _attend_backward(gradient: Any, query: Any, key: Any, value: Any, *others: Any, **_: Any) -> int:
    return 5 * _attends(query, others[2], others[4:])  # Q K^T again, and two gradients of each product


def _operations() -> dict[Any, Callable[..., int]]:
    """Returns operations of what PyTorch counts row by row, from shapes: the lengths of rows are numbers."""
    from torch.nn.attention import varlen  # noqa: F401  # defines the operators, and imports PyTorch's compiler, a second

    operators = torch.ops.torch_attn
    return {operators._varlen_attn: _attend, operators._varlen_attn_backward: _attend_backward}
