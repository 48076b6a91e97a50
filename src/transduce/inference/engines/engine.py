"""Engines, which run a model for a translator, and what chooses between them."""

from collections.abc import Collection, Sequence
from typing import Protocol

from transduce.inference.constraints import Constraints, Piece
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import Hypothesis
from transduce.search.sampling import Sampling


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
        "PyTorch, for sampling" with the reason."""


def beyond(runs: Collection[str], search: Search, pieces: Sequence[Piece] = ()) -> list[str]:
    """Names what a search and its pieces ask for that is not in an engine's allow-list.

    A greedy search, or a beam of the default size, of usual lengths and without constraints asks for nothing.
    """
    plain = Beam()
    asked = {
        "sampling": isinstance(search, Sampling),
        "diverse beams": isinstance(search, DiverseBeam),
        "a beam": isinstance(search, Beam) and search.size not in (1, plain.size),
        "a list of the best": search.n_best > 1,
        "other lengths": (search.max_ratio, search.max_extra) != (plain.max_ratio, plain.max_extra),
        "a minimum length": search.min_ratio > 0,
        "unknown tokens": search.allow_unknown,
        "no repeated n-grams": search.no_repeat_ngram > 0,
        "a repetition penalty": search.repetition_penalty > 1,
        "prefixes": any(piece.prefix for piece in pieces),
        "required phrases": any(piece.required for piece in pieces),
        "banned phrases": any(piece.banned for piece in pieces),
    }
    return [name for name, is_asked in asked.items() if is_asked and name not in runs]
