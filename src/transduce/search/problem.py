"""What every search is given: a decoder that has been started, and what its outputs may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from transduce.models.interface import Decoder
from transduce.nn.state import DecoderState
from transduce.search.limits import Begin, Limits
from transduce.search.rules import LengthConstraint, Rule

State = TypeVar("State", bound=DecoderState)


@dataclass(frozen=True)
class SearchProblem(Generic[State]):
    """Sentences whose outputs are searched."""

    decoder: Decoder[State]
    """Gives the next token's logits."""
    state: State
    """A started state with one row a sentence."""
    limits: Limits
    """How long each sentence's output may be."""
    begin: Begin
    """The token that every output starts from, or one for each sentence."""
    end: int
    """The token that ends an output."""
    rules: Sequence[Rule] = ()
    """What may not come next, beside what the limits say."""

    @property
    def rule(self) -> LengthConstraint:
        """All rules and the limits as one rule."""
        return LengthConstraint(self.limits, self.end, self.rules)
