"""Attention weights and hidden states of a forward pass, without a trace in the modules' forward passes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

Tape = dict[str, list[Tensor]]
"""The name of each attention module, and its weights [rows, heads, queries, keys], one tensor a call; a decoder that
goes step by step calls its attention once a token, and the calls joined along the queries are those of all tokens."""


Write = Callable[[Tensor], None]
"""Receives the weights of an attention, [rows, heads, queries, keys]."""


def write_nothing(weights: Tensor) -> None:
    """Leaves weights unseen."""


@runtime_checkable
class Recordable(Protocol):
    """An attention whose weights can be seen."""

    kernel: Any
    """Computes and applies the weights; swapped while they are recorded."""

    def recording_kernel(self, write: Write) -> Any:
        """Returns a kernel that gives the same as the plain one, and hands on the weights."""


@contextmanager
def record_attention(model: nn.Module) -> Iterator[Tape]:
    """Records the weights of every attention of the model on the tape while open. Not thread-safe."""
    tape: Tape = {}
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, Recordable)}
    kernels = {name: module.kernel for name, module in attentions.items()}
    try:
        for name, module in attentions.items():
            module.kernel = module.recording_kernel(_writer(tape.setdefault(name, [])))
        yield tape
    finally:
        for name, module in attentions.items():
            module.kernel = kernels[name]


@contextmanager
def record_inputs(layers: Iterable[nn.Module]) -> Iterator[list[Tensor]]:
    """Records the first argument of each layer while open, in the order of the calls."""
    read: list[Tensor] = []
    hooks = [layer.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].detach())) for layer in layers]
    try:
        yield read
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def swapped(module: nn.Module, method: str, new: Callable[..., Any]) -> Iterator[None]:
    """Puts a function in the place of a module's method while open."""
    before = vars(module).get(method)
    setattr(module, method, new)
    try:
        yield
    finally:
        delattr(module, method) if before is None else setattr(module, method, before)


_plain = 0


@contextmanager
def plain_paths() -> Iterator[None]:
    """Lets models take no path around their modules' methods while open: none that is compiled, recomputed, packed or
    in another process."""
    global _plain
    _plain += 1
    try:
        yield
    finally:
        _plain -= 1


def takes_plain_paths() -> bool:
    """Returns True while `plain_paths` is open."""
    return _plain > 0


def _writer(weights_of_calls: list[Tensor]) -> Write:
    return lambda weights: weights_of_calls.append(weights.detach())
