"""A model compiled by `torch.compile`: its steps are a few operators of their own instead of hundreds of small ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

import torch

from transduce.base.errors import ConfigError
from transduce.base.shapes import Hidden, Logits, Tokens
from transduce.models.interface import Decoder, EncoderDecoder, Predictor, State
from transduce.search.loop import Step, take_step

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class CompiledModel(Generic[State]):
    """A trained model, ready to search; see models/interface.py for its promises.

    Reading a source and the decoder's steps are compiled when they first come, and again for shapes of another kind,
    but no more often than PyTorch allows (torch._dynamo.config.recompile_limit): then they run as they are.

    Raises ConfigError where PyTorch cannot compile at all.
    """

    def __init__(self, model: EncoderDecoder[State]) -> None:
        self.model = model
        self.decoder = CompiledDecoder(model.decoder)
        self.source_limit = model.source_limit
        self.target_limit = model.target_limit
        self.encode = partial(_compiled(type(model).encode), model)
        self.start = partial(_compiled(type(model).start), model)
        self._take_step = _compiled(take_step)

    def take_step(self, decoder: Predictor[State], *others: Any) -> Step[State]:
        """Takes the beam search's step, for rules that forbid tokens alone; the decoder is this model's."""
        return self._take_step(self.model.decoder, *others)


class CompiledDecoder(Decoder[State]):
    """A compiled decoder.

    It clones tokens, since they are views of buffers that grow, and a compiled step depends on a view's offset.
    """

    def __init__(self, decoder: Decoder[State]) -> None:
        super().__init__()
        self.output = decoder.output
        self._forward = partial(_compiled(type(decoder).forward), decoder)
        self._read = partial(_compiled(type(decoder).read), decoder)

    def forward(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """See Predictor."""
        return self._forward(tokens.clone(), state)

    def read(self, tokens: Tokens, state: State) -> tuple[Hidden, State]:
        """See Decoder."""
        return self._read(tokens.clone(), state)


@contextmanager
def compiling() -> Iterator[None]:
    """Compiles models that first run within the block; raises ConfigError if PyTorch cannot compile here."""
    from torch._dynamo import config  # takes a second to import
    from torch._dynamo.exc import TorchDynamoException

    try:
        with config.patch(specialize_float=True):  # else it compiles first as if a model's numbers could change
            yield
    except TorchDynamoException as error:
        raise ConfigError(
            f"PyTorch cannot compile here: {str(error).strip().splitlines()[0]}; on a CPU it needs a C++ compiler "
            "such as g++; install one, or do not compile"
        ) from None


def _compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Returns a copy of the function that is compiled, for any shapes, at its first call.

    The copy has its own code object, since PyTorch caches compiled code by code object and limits it for all models
    together. Compiled operators run in one thread, which is faster for such small ones; matrix products use all.
    """
    f = cast(FunctionType, function)
    copied = FunctionType(f.__code__.replace(), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    options: dict[str, Any] = {"cpp.threads": 1, "size_asserts": False}
    if hasattr(torch.compiler, "skip_guard_on_all_nn_modules_unsafe"):  # older versions check everything
        options["guard_filter_fn"] = _of_arguments
    try:
        return torch.compile(copied, dynamic=True, options=options)
    except RuntimeError as error:  # of a version of Python that PyTorch does not compile for
        raise ConfigError(f"PyTorch cannot compile here: {error}") from None


def _of_arguments(guards: Sequence[Any]) -> list[bool]:
    """Returns True for each guard that is still checked before compiled code runs: none on a trained model's parameters
    and modules, which do not change, and none on Python modules."""
    of_no_model = torch.compiler.skip_guard_on_all_nn_modules_unsafe(guards)
    of_no_module = torch.compiler.skip_guard_on_globals_unsafe(guards)
    return [of_model and of_module for of_model, of_module in zip(of_no_model, of_no_module, strict=True)]
