"""What code asks PyTorch to compute; tensors of the device "meta" show what it asks elsewhere than on a CPU."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class OperatorCalls(TorchDispatchMode):
    """Notes each call of an operator while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[str, tuple[object, ...]]] = []

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[object, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> object:
        self._calls.append((operator.overloadpacket.__name__, args))
        called: Callable[..., object] = operator
        return called(*args, **(kwargs or {}))

    def numbers_given(self, name: str) -> list[tuple[object, ...]]:
        """What the operator of that name was given beside tensors, for each call."""
        return [
            tuple(arg for arg in args if not isinstance(arg, Tensor)) for called, args in self._calls if called == name
        ]

    def sizes_given(self, name: str) -> list[int]:
        """How many numbers the first tensor had that the operator of that name was given, for each call."""
        given = ([arg for arg in args if isinstance(arg, Tensor)] for called, args in self._calls if called == name)
        return [tensors[0].numel() for tensors in given]
