"""Conditional cross-mutual information: how much the sentences before a source tell of its translation."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.request import Request
from transduce.inference.scorer import Scorer
from transduce.models.scoring import fits


@dataclass(frozen=True)
class ContextGain:
    """Gain in probability of a test set's references by context (CXMI, Fernandes et al. 2021)."""

    bits: float
    """Bits a sentence that the sentences before it bring."""
    bits_of_others: float
    """Bits a sentence that those before another source bring, from half the test set away: the control, which a model
    that makes use of context loses by."""

    def __str__(self) -> str:
        """Describes the gain in a line."""
        return f"context makes a reference {self.bits:.3f} bits likelier, another's {self.bits_of_others:.3f} (CXMI)"


def context_gain(bundle: ModelBundle, requests: Sequence[Request], references: Sequence[str]) -> ContextGain | None:
    """Measures a model that reads context on requests with it; pairs of more tokens than the model reads are left out.

    None if that leaves fewer than two.
    """
    scorer = Scorer(bundle)
    sources = bundle.read([request.text for request in requests])
    pairs_of_ids = zip(sources, bundle.tokenizers.target.encode_batch(references), strict=True)
    fit = [place for place, ids in enumerate(pairs_of_ids) if fits(scorer.model, *ids)]
    if len(fit) < 2:
        return None
    pairs = [(requests[place].text, references[place]) for place in fit]
    before = [requests[place].before for place in fit]
    half = len(fit) // 2
    alone, own, others = (
        [score.log_probability / log(2) for score in scorer.score(pairs, given)]
        for given in (None, before, [*before[half:], *before[:half]])
    )
    return ContextGain(fmean(own) - fmean(alone), fmean(others) - fmean(alone))
