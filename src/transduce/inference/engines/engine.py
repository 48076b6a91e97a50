"""Engines, which run a model for a translator, and what chooses between them."""

from collections.abc import Sequence
from typing import Protocol

from transduce.inference.requests import Constraints, Piece
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis


class Engine(Protocol):
    """Turns token ids into hypotheses."""

    batches_at_once: int
    """The number of batches of the usual size that it takes as one, to divide it among threads of its own."""

    def workers(self, search: Search) -> int:
        """Returns the number of batches that may be searched at the same time."""

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """Returns the outputs of each piece of a batch, as many as the search is asked for, best first.

        Either all pieces require phrases or none. Raises InputError for what the engine cannot do.
        """


class EngineChoice(Protocol):
    """Says which engine runs a search for a piece; an engine that stands alone chooses itself."""

    source_limit: int | None
    """The most tokens of a source, its end token included; None for no limit."""

    def of(self, piece: Piece, search: Search) -> Engine:
        """Returns the engine that runs the search for a piece; InputError if it requires phrases and none can."""

    def describe(self, search: Search) -> str:
        """Returns which engine runs the search for pieces without constraints, such as "CTranslate2 4.8.5 (...)", or
        "PyTorch, for a coverage penalty" with the reason."""
