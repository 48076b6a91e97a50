"""Decision rules, of which one is chosen: a search, or minimum Bayes risk among the outputs of a beam."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from transduce.base.config import Settings
from transduce.base.ranges import NBest
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import Hypothesis
from transduce.search.sampling import Sampling
from transduce.text.chrf import pairwise_chrf

CANDIDATES = 16

Search = Beam | DiverseBeam | Sampling
"""The search for a model's outputs; the class of the settings says which."""


class MinimumBayesRisk(Settings, frozen=True):
    """Choose the output of highest expected chrF, with the candidates as possible references (Eikema and Aziz 2022)."""

    candidates: Beam = Beam(size=CANDIDATES, n_best=CANDIDATES)
    """The search for candidates, `n_best` for each sentence, which are weighted by their probabilities (Kumar and Byrne
    2004)."""
    n_best: NBest = 1
    """Outputs per sentence, those of highest expected chrF first."""

    def _check_together(self) -> None:
        if not isinstance(self.candidates, Beam):
            raise ValueError("candidates: give a Beam; a choice among samples was worse and has been removed")
        if self.candidates.n_best < 2:
            raise ValueError("candidates: a choice needs n_best of 2 or more")
        if self.n_best > self.candidates.n_best:
            raise ValueError(f"n_best must be from 1 to the number of candidates, {self.candidates.n_best}")

    def choose(self, hypotheses: Sequence[Hypothesis], decode: Callable[[list[int]], str]) -> list[Hypothesis]:
        """Returns the best of a sentence's candidates, each text once; their scores are the expected chrF, 0 to 100."""
        if not hypotheses:
            return []
        logs = np.array([hypothesis.log_probability for hypothesis in hypotheses])
        weights = np.exp(logs - logs.max())
        weight_of: dict[str, float] = {}
        first_of: dict[str, Hypothesis] = {}
        for hypothesis, weight in zip(hypotheses, weights.tolist(), strict=True):
            text = decode(hypothesis.tokens)
            weight_of[text] = weight_of.get(text, 0.0) + weight
            first_of.setdefault(text, hypothesis)
        candidates = list(first_of.values())
        of_each = np.array(list(weight_of.values()))
        expected = pairwise_chrf(list(weight_of)) @ (of_each / of_each.sum())
        best = np.argsort(-expected, kind="stable")[: self.n_best]
        return [replace(candidates[i], score=float(expected[i])) for i in best]


DecisionRule = Search | MinimumBayesRisk
"""The way a translator chooses its output: the best of a search, or a choice among several."""


def search_of(rule: DecisionRule) -> Search:
    """Returns the search of a rule, which finds its candidates."""
    return rule.candidates if isinstance(rule, MinimumBayesRisk) else rule


def score_of_pieces(rule: DecisionRule, scores: Sequence[float]) -> float:
    """Returns the score of a text translated in pieces: the sum of log-probabilities, or the mean of expected chrF."""
    return fmean(scores) if isinstance(rule, MinimumBayesRisk) else sum(scores)


def can_require(rule: DecisionRule) -> bool:
    """Returns True if the search can require phrases: a plain beam can."""
    search = search_of(rule)
    return isinstance(search, Beam) and not isinstance(search, DiverseBeam)
