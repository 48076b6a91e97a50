"""The ways to choose an output that exclude each other."""

from collections.abc import Sequence
from statistics import fmean

from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.minimum_bayes_risk import MinimumBayesRisk
from transduce.search.sampling import Sampling

Search = Beam | DiverseBeam | Sampling
"""How a model's outputs are searched; the settings' type says which."""

DecisionRule = Search | MinimumBayesRisk
"""How a translator comes to its output: the best one that a search finds, or a choice among several."""


def search_of(rule: DecisionRule) -> Search:
    """The search of a rule, by which its candidates are found."""
    return rule.candidates if isinstance(rule, MinimumBayesRisk) else rule


def score_of_pieces(rule: DecisionRule, scores: Sequence[float]) -> float:
    """The score of a text that was translated in pieces: log-probabilities add up, of expected chrF it is the mean."""
    return fmean(scores) if isinstance(rule, MinimumBayesRisk) else sum(scores)


def can_require(rule: DecisionRule) -> bool:
    """Whether the search can be made to write required phrases: a plain beam can."""
    search = search_of(rule)
    return isinstance(search, Beam) and not isinstance(search, DiverseBeam)
