"""A counterfeit GPU: tensors that say `cuda:0`, keep their numbers on the CPU, and count what a GPU would do.

    with fake_cuda() as work:
        transduce.train("multi30k", "run", device="cuda:0")
    print(sum(work.launches.values()), sum(work.waits.values()))

It raises where a GPU would: for tensors of both devices in one operator, and for `numpy()`. It knows no kernels, no
cuDNN, no NCCL, no memory and no time: counts say where a GPU would be kept waiting, not how long. A `_foreach` operator
counts as one launch. Name the device `cuda:0`: without a number PyTorch would ask a driver.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import varlen
from torch.utils import _foreach_utils
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from transduce.training import gpu_work
from transduce.training.gpu_work import GPU, NO_KERNEL

CPU = torch.device("cpu")
FLASH_TYPES = (torch.bfloat16, torch.float16)
WITHOUT_MARK = {"_conj": torch.ops.aten._conj_physical, "_neg_view": torch.ops.aten.neg}
"""Operators that compute what a view would only be marked for, since marks are read before tensors get here."""
INDEXING = frozenset(["index", "index_put", "index_put_", "_index_put_impl_"])
TAKES_BOTH = frozenset(["copy_", "_to_copy", "_foreach_copy_", "_pack_padded_sequence"]) | INDEXING
"""Operators that take tensors of both devices."""


SIZE_UNKNOWN = frozenset(
    ["nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "equal", "is_nonzero", "item"]
)
"""Operators whose result the host must see before it can go on."""


@dataclass
class Work:
    """Counts of what a GPU would do."""

    launches: Counter[str] = field(default_factory=Counter)
    """Kernels started, by operator; a `_foreach` operator is one."""
    waits: Counter[str] = field(default_factory=Counter)
    """Times that the host waits for the GPU, by operator and line of transduce."""
    attentions: Counter[str] = field(default_factory=Counter)
    """Calls of fused attention, by kernel: flash, efficient, or masked."""

    def clear(self) -> None:
        """Forgets all counts."""
        for counts in (self.launches, self.waits, self.attentions):
            counts.clear()

    def wait(self, why: str) -> None:
        """Counts a wait at the innermost line of the package."""
        frame = sys._getframe(1)
        while frame.f_back is not None and (
            "/transduce/" not in frame.f_code.co_filename or frame.f_code.co_filename == gpu_work.__file__
        ):
            frame = frame.f_back
        file = frame.f_code.co_filename.rpartition("/transduce/")[2]
        self.waits[f"{why} at {file}:{frame.f_lineno}"] += 1

    def count(self, name: str, args: Any, kwargs: dict[str, Any], on_host: Sequence[Tensor]) -> None:
        """Counts an operator of the GPU, some of whose tensors may be on the host."""
        if name not in NO_KERNEL:
            self.launches[name] += 1
        if (
            name == "_local_scalar_dense"
            or name in SIZE_UNKNOWN
            or (name == "repeat_interleave" and kwargs.get("output_size") is None and len(args) == 1)
        ):
            self.wait(name)
        elif name in INDEXING:
            indices = [index for index in args[1] if index is not None]
            if any(index.dtype in (torch.bool, torch.uint8) for index in indices) and not _fills(name, args):
                self.wait(f"{name} by a mask")
            if any(index is tensor for index in indices for tensor in on_host):
                self.wait(f"{name} by an index of the host")
        elif name in ("_to_copy", "copy_") and on_host:
            is_asynchronous = kwargs.get("non_blocking", False) or (name == "copy_" and len(args) > 2 and args[2])
            if not is_asynchronous or not getattr(on_host[-1], "is_pinned_by_us", False):
                self.wait("copy from the host")


def _fills(name: str, args: Any) -> bool:
    """True if one number is written wherever a mask says, for which nobody has to know how often that is."""
    return name != "index" and args[2].numel() == 1


class OnGpu(Tensor):
    """A tensor that says it is on `cuda:0`; its numbers are those of `numbers`."""

    numbers: Tensor
    work: Work
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, real: Tensor, work: Work) -> "OnGpu":
        """PyTorch's autograd takes it for a tensor of the CPU, since there is no driver to ask for streams."""
        made: OnGpu = torch.Tensor._make_wrapper_subclass(
            cls, real.shape, strides=real.stride(), storage_offset=real.storage_offset(), dtype=real.dtype, device=CPU
        )
        made.numbers, made.work = real, work
        return made

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        work = next(leaf.work for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, OnGpu))
        return _run(work, operator, args, kwargs or {})

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return True

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        return False

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"OnGpu({tuple(self.shape)}, {self.dtype})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "OnGpu":
        if id(self) not in memo:
            memo[id(self)] = _like(self, OnGpu(self.numbers.detach().clone(), self.work))
        return memo[id(self)]  # type: ignore[no-any-return]

    def to(self, *args: Any, copy: bool = False, non_blocking: bool = False, **kwargs: Any) -> Tensor:  # type: ignore[override]
        device, dtype, is_asynchronous, _ = torch._C._nn._parse_to(*args, **kwargs)
        if device is not None and device.type == "cpu":
            return _ToHost.apply(self, non_blocking or is_asynchronous).to(dtype or self.dtype)  # type: ignore[no-any-return, no-untyped-call]
        return super().to(dtype or self.dtype, copy=copy)

    def cpu(self, *_: Any, **__: Any) -> Tensor:  # type: ignore[override]
        return self.to(CPU)

    def numpy(self, *_: Any, **__: Any) -> Any:  # type: ignore[override]
        raise TypeError("can't convert cuda:0 device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy  # type: ignore[assignment]

    def tolist(self) -> Any:  # type: ignore[override]
        self.work.wait("tolist")
        return self.numbers.tolist()

    def new_tensor(self, data: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:  # type: ignore[override]
        return torch.tensor(data, dtype=dtype or self.dtype, device=device or GPU)


class _ToHost(torch.autograd.Function):
    """A copy to the host, which waits unless it is asked not to."""

    @staticmethod
    def forward(_: Any, tensor: OnGpu, non_blocking: bool) -> Tensor:
        if not non_blocking:
            tensor.work.wait("copy to the host")
        return tensor.numbers.detach().clone()

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.to(GPU), None


class _Mode(TorchDispatchMode):
    """Sees the operators that no tensor of the GPU takes part in, such as those that make one."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(self._work, operator, args, kwargs or {})


def _run(work: Work, operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Runs an operator on the real numbers, and counts it if it is one of the GPU."""
    name = operator._schema.name.partition("::")[2]
    leaves, form = tree_flatten((args, kwargs))
    on_gpu = [leaf for leaf in leaves if isinstance(leaf, OnGpu)]
    on_cpu = [leaf for leaf in leaves if isinstance(leaf, Tensor) and not isinstance(leaf, OnGpu)]
    in_backward = torch._C._current_graph_task_id() != -1  # autograd's own zeros are made for the device it believes in
    device = kwargs.get("device")
    goes_to_gpu = bool(on_gpu) if device is None or in_backward else torch.device(device).type == "cuda"
    if in_backward and not on_gpu and not on_cpu:
        goes_to_gpu = True
    if not on_gpu and not goes_to_gpu:
        return (
            _pinned(operator(*args, **kwargs | {"pin_memory": False}))
            if kwargs.get("pin_memory")
            else operator(*args, **kwargs)
        )
    if on_gpu and not in_backward and name not in TAKES_BOTH and any(tensor.dim() for tensor in on_cpu):
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but found cuda:0 and cpu")
    work.count(name, args, kwargs, on_cpu)
    real = [
        leaf.numbers if isinstance(leaf, OnGpu) else CPU if isinstance(leaf, torch.device) else leaf for leaf in leaves
    ]
    real_args, real_kwargs = tree_unflatten(real, form)
    real_kwargs.pop("pin_memory", None)
    compute = partial(WITHOUT_MARK.get(name, operator), *real_args, **real_kwargs)
    result = compute()
    _record(work, compute, result)
    if name == "_pack_padded_sequence":
        return OnGpu(result[0], work), result[1]  # the sizes of steps stay on the host
    if not goes_to_gpu or (name == "copy_" and not isinstance(args[0], OnGpu)):
        return args[0] if name == "copy_" else result
    same = {
        id(tensor.numbers): tensor for tensor in on_gpu
    }  # operators in place return the tensor that they were given

    def on_gpu_again(result: Any) -> Any:
        if not isinstance(result, Tensor):
            return result
        if id(result) in same:
            return same[id(result)]
        is_inference = torch.is_inference_mode_enabled() and not (
            on_gpu and name in NO_KERNEL and not on_gpu[0].is_inference()
        )
        with torch.inference_mode(is_inference):  # a view of a tensor from outside of it is like that tensor
            return OnGpu(result, work)

    return tree_map(on_gpu_again, result)


def _record(work: Work, compute: Callable[[], Any], result: Any) -> None:
    """Adds an operator to the graph that is being made, which will write into the tensors of this result."""
    if (graph := _Graph.capturing.get(id(work))) is not None:
        graph.operators.append((compute, [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]))


class _Graph:
    """A CUDA graph: operators on tensors in fixed places, which `replay` runs again. Unlike a GPU, it also runs them
    while it is made."""

    capturing: ClassVar[dict[int, "_Graph"]] = {}

    def __init__(self, work: Work) -> None:
        self.work = work
        self.operators: list[tuple[Callable[[], Any], list[Tensor]]] = []

    @contextmanager
    def captured(self) -> Iterator[None]:
        self.capturing[id(self.work)] = self
        waits = sum(self.work.waits.values())
        try:
            yield
        finally:
            del self.capturing[id(self.work)]
        if sum(self.work.waits.values()) != waits:
            raise RuntimeError(f"operation not permitted when stream is capturing: {self.work.waits}")

    def replay(self) -> None:
        self.work.launches["graph"] += 1
        with torch.utils._python_dispatch._disable_current_modes():
            for compute, results in self.operators:
                again = [leaf for leaf in tree_leaves(compute()) if isinstance(leaf, Tensor)]
                for result, new in zip(results, again, strict=True):
                    if new.data_ptr() != result.data_ptr():
                        result.copy_(new)


class _Kernel(torch.autograd.Function):
    """One kernel of the GPU, and one in the backward pass, for what a CPU does in many operators."""

    @staticmethod
    def forward(context: Any, name: str, compute: Callable[..., Any], *tensors: OnGpu | None) -> Any:
        work = next(tensor.work for tensor in tensors if tensor is not None)
        work.launches[name] += 1
        context.inputs = [
            None if one is None else one.numbers.detach().requires_grad_(one.requires_grad) for one in tensors
        ]
        with torch.enable_grad():
            outputs = compute(*context.inputs)
        _record(work, lambda: compute(*context.inputs), outputs)
        context.name, context.work = name, work
        context.outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        made = tuple(OnGpu(output.detach(), work) for output in context.outputs)
        return made if isinstance(outputs, tuple) else made[0]

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Any, ...]:
        context.work.launches[f"{context.name} backward"] += 1
        learns = [one is not None and one.requires_grad for one in context.inputs]
        pairs = [
            (output, getattr(gradient, "numbers", gradient))
            for output, gradient in zip(context.outputs, gradients, strict=True)
            if gradient is not None and output.requires_grad
        ]
        inputs = [one for one, is_learning in zip(context.inputs, learns, strict=True) if is_learning]
        with torch.enable_grad(), torch.utils._python_dispatch._disable_current_modes():
            outputs, their_gradients = zip(*pairs, strict=True)
            found = iter(torch.autograd.grad(outputs, inputs, their_gradients, allow_unused=True))
        made = [next(found) if is_learning else None for is_learning in learns]
        return None, None, *(None if one is None else OnGpu(one, context.work) for one in made)


def _attention(real: Callable[..., Tensor], work: Work) -> Callable[..., Tensor]:
    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **more: Any,
    ) -> Tensor:
        if not isinstance(query, OnGpu):
            return real(query, key, value, attn_mask, dropout_p, is_causal, **more)
        is_half = query.dtype in (torch.bfloat16, torch.float16)
        kernel = "masked" if attn_mask is not None else "flash" if is_half else "efficient"
        work.attentions[kernel] += 1
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            work.launches["mask of attention"] += 1  # made numbers that are added to the scores
        mask = None if attn_mask is None else attn_mask.numbers  # type: ignore[attr-defined]

        def compute(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            context = real(q, k, v, mask, dropout_p, is_causal, **more)
            if kernel == "flash" and q.is_contiguous():
                return context.contiguous()
            return context.transpose(1, 2).contiguous().transpose(1, 2)  # laid out as by the kernels of a GPU

        return _Kernel.apply(f"{kernel} attention", compute, query, key, value)  # type: ignore[no-any-return, no-untyped-call]

    return attention


def _dropout(real: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if isinstance(x, OnGpu) and training and p:
            return torch.native_dropout(x, p, True)[0]  # as on a GPU, where it is one kernel
        return real(x, p, training, inplace)

    return dropout


def _ragged_attention(
    query: OnGpu,
    key: OnGpu,
    value: OnGpu,
    of_query: OnGpu,
    of_key: OnGpu,
    *_: int,
    window_size: Any,
    enable_gqa: bool = False,
) -> Any:
    """Flash attention of rows side by side, row by row; [tokens, heads, head_dim] each. PyTorch 2.11 knows no
    `enable_gqa`, so that only models with shared heads may give it."""
    if enable_gqa:
        assert query.numbers.shape[1] != key.numbers.shape[1]
    assert query.dtype in FLASH_TYPES, "flash attention takes half precision alone"
    query.work.attentions["flash"] += 1
    query.work.launches["zeros"] += 2  # gradients that PyTorch makes of the outputs that nothing uses
    ends = [offsets.numbers.tolist() for offsets in (of_query, of_key)]

    def compute(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        rows = [
            functional.scaled_dot_product_attention(
                q[a:b].transpose(0, 1), k[c:d].transpose(0, 1), v[c:d].transpose(0, 1),
                is_causal=window_size == (-1, 0), enable_gqa=enable_gqa,
            )
            for (a, b), (c, d) in zip(*(pairwise(end) for end in ends), strict=True)
        ]  # fmt: skip
        return torch.cat(rows, 1).transpose(0, 1).contiguous()

    return _Kernel.apply("flash attention", compute, query, key, value)  # type: ignore[no-untyped-call]


class _RecurrentLayers:
    """`torch._VF`, whose recurrent layers are one kernel each way, as cuDNN's are."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _layers(self, name: str, *args: Any) -> Any:
        leaves, form = tree_flatten(args)
        if not any(isinstance(leaf, OnGpu) for leaf in leaves):
            return getattr(self._real, name)(*args)
        places = [number for number, leaf in enumerate(leaves) if isinstance(leaf, OnGpu)]

        def compute(*tensors: Tensor) -> Any:
            real = [*leaves]
            for place, tensor in zip(places, tensors, strict=True):
                real[place] = tensor
            return getattr(self._real, name)(*tree_unflatten(real, form))

        return _Kernel.apply(f"cuDNN {name}", compute, *(leaves[place] for place in places))  # type: ignore[no-untyped-call]

    def gru(self, *args: Any) -> Any:
        return self._layers("gru", *args)

    def lstm(self, *args: Any) -> Any:
        return self._layers("lstm", *args)

    def _pad_packed_sequence(self, data: Tensor, *args: Any) -> Any:
        if not isinstance(data, OnGpu):
            return self._real._pad_packed_sequence(data, *args)
        lengths = self._real._pad_packed_sequence(data.numbers.detach(), *args)[1]

        def compute(data: Tensor) -> Tensor:
            return self._real._pad_packed_sequence(data, *args)[0]  # type: ignore[no-any-return]

        return _Kernel.apply("pad packed rows", compute, data), lengths  # type: ignore[no-untyped-call]


class _Memoised:
    """A change of tensors, such as a move to a GPU, that is made once for a tensor that several modules share."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        self._change = change
        self._made: dict[int, tuple[Tensor, Tensor]] = {}

    def __call__(self, tensor: Tensor) -> Tensor:
        if id(tensor) not in self._made:
            with torch.no_grad():
                made = self._change(tensor)
            self._made[id(tensor)] = tensor, made if made is tensor else _like(tensor, made)
        return self._made[id(tensor)][1]


def _like(tensor: Tensor, made: Tensor) -> Tensor:
    """The made tensor as a parameter, if the tensor is one."""
    if not isinstance(tensor, nn.Parameter):
        return made
    if not isinstance(made, OnGpu):
        return nn.Parameter(made, tensor.requires_grad)
    parameter = OnGpu(made.numbers.detach(), made.work)
    parameter._is_param = True  # type: ignore[attr-defined]
    return parameter.requires_grad_(tensor.requires_grad)


def _apply(module: nn.Module, change: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    change = change if isinstance(change, _Memoised) else _Memoised(change)
    for child in module.children() if recurse else ():
        child._apply(change)  # type: ignore[no-untyped-call]
    for held in (module._parameters, module._buffers):
        for name, tensor in held.items():
            if tensor is not None:
                held[name] = change(tensor)
    return module


def _pinned(tensor: Tensor) -> Tensor:
    tensor.is_pinned_by_us = True  # type: ignore[attr-defined]
    return tensor


def _moving(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`torch.tensor` or `torch.as_tensor`, which would write to a GPU past all modes."""

    def made(data: Any, *, device: Any = None, **kwargs: Any) -> Tensor:
        if device is None or torch.device(device).type == "cpu":
            return make(data, **kwargs)
        return make(data, **kwargs).to(GPU)

    return made


@contextmanager
def fake_cuda() -> Iterator[Work]:
    """Gives this process a GPU that is none, and counts its work."""
    work = Work()
    torch._C._ensureCUDADeviceGuardSet()
    of_cuda: dict[str, Callable[..., Any]] = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "is_bf16_supported": lambda including_emulation=True: True,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: None,
        "manual_seed_all": lambda seed: None,
        "empty_cache": lambda: None,
        "synchronize": lambda device=None: None,
        "get_device_name": lambda device=None: "a GPU that is none",
        "mem_get_info": lambda device=None: (60 * 2**30, 80 * 2**30),
        "CUDAGraph": lambda: _Graph(work),
        "graph": lambda graph, **_: graph.captured(),
        "graph_pool_handle": lambda: (0, 1),
    }
    real_attention = functional.scaled_dot_product_attention
    with ExitStack() as stack:
        enter = stack.enter_context
        for name, function in of_cuda.items():
            enter(mock.patch.object(torch.cuda, name, function))
        enter(mock.patch.object(functional, "scaled_dot_product_attention", _attention(real_attention, work)))
        enter(mock.patch.object(functional, "dropout", _dropout(functional.dropout)))
        for module in (torch.nn.modules.rnn, torch.nn.utils.rnn):
            enter(mock.patch.object(module, "_VF", _RecurrentLayers(torch._VF)))
        enter(mock.patch.object(torch.backends.cudnn, "is_acceptable", lambda tensor: False))  # there is none
        enter(mock.patch.object(nn.Module, "_apply", _apply))
        for name in ("tensor", "as_tensor"):
            enter(mock.patch.object(torch, name, _moving(getattr(torch, name))))
        enter(mock.patch.object(varlen, "varlen_attn", _ragged_attention))
        types = [*_foreach_utils._foreach_supported_types, OnGpu]
        enter(mock.patch.object(_foreach_utils, "_foreach_supported_types", types))
        enter(torch.autograd.set_multithreading_enabled(False))
        enter(_Mode(work))
        yield work
