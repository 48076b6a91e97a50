"""The ways to choose an output that exclude each other."""

from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling

Search = Beam | DiverseBeam | Sampling
"""How a translator searches; the settings' type says which."""


def can_require(search: Search) -> bool:
    """Whether the search can be made to write required phrases: a plain beam can."""
    return isinstance(search, Beam) and not isinstance(search, DiverseBeam)
