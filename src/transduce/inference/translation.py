"""The translation of a line, with its n best candidates and the phrases and terms that it holds."""

from dataclasses import dataclass, field

from transduce.base.reprs import rows_html, shown_by
from transduce.inference.details import Details
from transduce.inference.quality.quality_estimate import QualityEstimate
from transduce.text.terms import TermOutcome


def _translation_facts(translation: "Translation") -> dict[str, object]:
    best = translation.n_best[0].log_probability if translation.n_best else None
    noted = {"split": translation.was_split, "truncated": translation.truncated}
    words = {
        "satisfied": translation.satisfied,
        "unsatisfied": translation.unsatisfied,
        "violated": translation.violated,
        "changed numbers": translation.changed_numbers,
        "faults": translation.faults,
    }
    return {
        "text": repr(translation.text),
        "log-probability": None if best is None else f"{best:.2f}",
        **{name: "yes" for name, holds in noted.items() if holds},
        **{name: ", ".join(phrases) for name, phrases in words.items()},
    }


def _n_best_html(translation: "Translation") -> str:
    if len(translation.n_best) < 2:
        return ""
    rows: list[list[object]] = [
        [output.text, f"{output.score:.3f}", f"{output.log_probability:.2f}"] for output in translation.n_best
    ]
    return rows_html(["n-best", "score", "log-probability"], rows)


@shown_by(_translation_facts, _n_best_html)
@dataclass(frozen=True, repr=False)
class Translation:
    """The translation of one line."""

    text: str
    """The best translation; empty for a blank line."""
    n_best: list["Candidate"]
    """The translations asked for, best first; only one for a line that was split."""
    was_split: bool = False
    """True if the line was longer than any the model was trained on, and was translated piece by piece."""
    truncated: bool = False
    """True if the output reached the longest length allowed."""
    satisfied: list[str] = field(default_factory=list)
    """Required phrases that the translation holds."""
    unsatisfied: list[str] = field(default_factory=list)
    """Required phrases that it does not hold."""
    terms: list[TermOutcome] = field(default_factory=list)
    """Terms of the request, and whether the translation has them."""
    violated: list[str] = field(default_factory=list)
    """Banned phrases that it holds nevertheless: at the end of a truncated output, or where split pieces meet."""
    changed_numbers: list[str] = field(default_factory=list)
    """Numbers, addresses and part numbers of the line, as it writes them, that the translation lacks or repeats."""
    faults: list[str] = field(default_factory=list)
    """Signs that it went wrong, such as "repeats itself", which a second search did not mend."""
    quality: QualityEstimate | None = None
    """The share of its words that a person would edit; None if the model's bundle cannot tell."""
    details: Details | None = None
    """Probabilities of its tokens, and an alignment of words, if they were asked for."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Candidate:
    """One translation and how the model ranks it."""

    text: str
    score: float
    """The log-probability, normalised for length; in minimum Bayes risk decoding, the expected chrF, 0 to 100."""
    log_probability: float
    """The log-probability in nats, the end token counted."""
