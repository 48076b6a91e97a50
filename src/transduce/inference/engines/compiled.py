"""A model compiled by `torch.compile`: its steps are a few operators of their own instead of hundreds of small ones."""

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

import torch

from transduce.errors import ConfigError
from transduce.models.interface import Decoder, EncoderDecoder, Predictor, State
from transduce.search.loop import Step, take_step
from transduce.shapes import Hidden, Logits, Tokens

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

    Tokens are cloned, so that they are no view of texts that grow: a compiled step depends on where a view begins.
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


def _compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Returns the function, to be compiled for any shapes when it is first called.

    It gets code of its own: PyTorch keeps what it compiled with a function's code, and the next model would find those
    places taken. What is compiled runs in one thread, which is faster than to share out so little; products do not.
    """
    own = cast(FunctionType, function)
    own = FunctionType(own.__code__.replace(), own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    options: dict[str, Any] = {"cpp.threads": 1, "size_asserts": False}
    if hasattr(torch.compiler, "skip_guard_on_all_nn_modules_unsafe"):  # older versions check everything
        options["guard_filter_fn"] = _of_arguments
    try:
        return torch.compile(own, dynamic=True, options=options)
    except RuntimeError as error:  # of a version of Python that PyTorch does not compile for
        raise ConfigError(f"PyTorch cannot compile here: {error}") from None


def _of_arguments(guards: Sequence[Any]) -> list[bool]:
    """Returns which conditions are still checked before compiled code runs: none on a trained model's parts, which stay
    as they are, and none on modules of Python."""
    of_no_model = torch.compiler.skip_guard_on_all_nn_modules_unsafe(guards)
    of_no_module = torch.compiler.skip_guard_on_globals_unsafe(guards)
    return [one and other for one, other in zip(of_no_model, of_no_module, strict=True)]
