"""Forecasts what more sentence pairs would bring, from models that are learned from parts of those there are."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from docsegments.orthography.words import count_words
from transduce.analysis.plots import plot_forecast
from transduce.base.errors import DataError
from transduce.evaluation.translations import score_bleu, score_chrf
from transduce.phrases.phrase_model import PhraseModel

PARTS: Final = (8, 4, 2, 1)
"""Models are learned from an eighth, a quarter, a half and all of the pairs."""
FEWEST: Final = 400
"""Pairs to learn from that a forecast needs."""
MOST: Final = 8_000
"""Pairs that are learned from, at most; of more these are drawn."""
REACH: Final = 16
"""A forecast reaches to so many times the pairs that were learned from, as its intervals were tried."""
TIMES: Final = (2, 10)
HELD_OUT: Final = 200
"""Pairs that are translated to measure each model, at most."""
LONGEST: Final = 40
"""The words of a source that is translated, at most: longer ones take most of the time."""
STACK: Final = 5
"""Hypotheses of the decoder: a fourth of the usual number takes a fourth of the time."""
SEED: Final = 1

Pair = tuple[str, str]


@dataclass(frozen=True)
class MeasuredScores:
    """The scores of a phrase-based model, which was not tuned, on held-out pairs, 0 to 100."""

    pairs: int
    """The number of pairs that it was learned from."""
    chrf: float
    bleu: float


@dataclass(frozen=True)
class ScoreEstimate:
    """A score that a number of pairs would bring, and an 80 % interval, 0 to 100."""

    pairs: int
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Law:
    """The way a score, or a power of it, grows with the data: as an S over the logarithm of the number of pairs."""

    exponent: float
    """The power that scores are raised to: below 1 gains and intervals are larger where scores are higher."""
    peak: float
    """The size from which on each doubling gains less than the one before."""
    spread: float
    """The doublings from the peak to a gain of 0.6 times the one there."""
    usual: float
    """The usual gain of a doubling."""
    trust: float
    """The weight of the usual gain, beside one for each size that was measured."""
    width: float
    """Half of the 80 % interval after one doubling."""
    growth: float
    """The half of the interval grows with the doublings to this power."""

    def estimate(self, sizes: Sequence[float], scores: Sequence[float], size: int) -> ScoreEstimate:
        """Returns the score at a size beyond the last of some that were measured."""
        middle = self.expected(sizes, scores, size)
        half = self.width * math.log2(size / sizes[-1]) ** self.growth
        ends = (min(max(each, 0.0) ** (1 / self.exponent), 100.0) for each in (middle, middle - half, middle + half))
        return ScoreEstimate(size, *ends)

    def expected(self, sizes: Sequence[float], scores: Sequence[float], size: int) -> float:
        """Returns the expected score on the law's scale: a ridge regression towards the usual gain."""
        rows = [[1.0, self.doublings(sizes[-1], each)] for each in sizes] + [[0.0, self.trust**0.5]]
        known = [*(score**self.exponent for score in scores), self.trust**0.5 * self.usual]
        level, gain = np.linalg.lstsq(np.array(rows), np.array(known), rcond=None)[0]
        return float(level + gain * self.doublings(sizes[-1], size))

    def doublings(self, start: float, end: float) -> float:
        """Returns the gain from one size to another, in doublings that each gain as much as one at the first would."""
        first, last = (math.log2(size / self.peak) / self.spread for size in (start, end))
        area = math.erf(last / math.sqrt(2)) - math.erf(first / math.sqrt(2))
        return area * math.sqrt(math.pi / 2) * math.exp(first**2 / 2) * self.spread


LAWS: Final[Mapping[str, Law]] = {
    "chrf": Law(exponent=1.0, peak=2048, spread=5.0, usual=2.79, trust=0.3, width=1.19, growth=1.0),
    "bleu": Law(exponent=0.5, peak=4096, spread=5.0, usual=0.23, trust=1.0, width=0.25, growth=0.75),
}
"""Fitted by `python benchmarks/forecast.py --data DATA` on fifteen corpora."""


@dataclass(frozen=True)
class Forecast:
    """Scores of phrase-based models that were learned from parts of a corpus, and estimates for larger corpora."""

    pairs: int
    """The number of different pairs that there are."""
    held_out: int
    """The number of pairs that the scores are measured on."""
    measured: list[MeasuredScores]
    chrf: list[ScoreEstimate]
    bleu: list[ScoreEstimate]

    def describe(self) -> str:
        """Returns a line for each number of pairs, measured or forecast, for people."""
        rows = [(each.pairs, f"{each.chrf:.1f}", f"{each.bleu:.1f}") for each in self.measured]
        rows += [(chrf.pairs, _shown(chrf), _shown(bleu)) for chrf, bleu in zip(self.chrf, self.bleu, strict=True)]
        width = len(f"{rows[-1][0]:,}")
        lines = [f"{pairs:>{width},} pairs  {chrf:<19}  {bleu}" for pairs, chrf, bleu in rows]
        what = f"80 % intervals; phrase-based models, measured on {self.held_out:,} held-out pairs of the same kind"
        if self.chrf[-1].pairs < max(TIMES) * self.pairs:
            what += f"; {max(TIMES)} times as many are too far from {self.measured[-1].pairs:,} to foresee"
        return "\n".join([f"{'':>{width}}        {'chrF':<19}  BLEU", *lines, what])

    def draw(self, path: Path) -> None:
        """Draws what was measured and forecast into a .png, .svg or .pdf file; InputError if it cannot be written."""
        scores = {
            name: ([getattr(each, key) for each in self.measured], [(e.score, e.low, e.high) for e in estimates])
            for name, key, estimates in (("chrF", "chrf", self.chrf), ("BLEU", "bleu", self.bleu))
        }
        plot_forecast([each.pairs for each in self.measured], [each.pairs for each in self.chrf], scores, path)


def _shown(estimate: ScoreEstimate) -> str:
    return f"{estimate.score:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"


def forecast(pairs: Iterable[Pair], tell: Callable[[str], None] = lambda line: None) -> Forecast:
    """Forecasts what twice and ten times as many pairs of the same kind would bring a phrase-based model, in a minute.

    Models are learned from an eighth, a quarter, a half and all of the pairs, of at most 8,000 drawn by chance, and
    measured on others that are held out. Where gains of a doubling begin to fall, and how wide the intervals are, was
    fitted on fifteen corpora.

    Args:
        pairs: sources and translations; blank ones and further translations of a source are left out.
        tell: receives lines on the progress.

    Raises DataError for too few pairs, or so many that a forecast from 8,000 does not reach them.
    """
    learned, held_out = divide(pairs)
    count = len(learned) + len(held_out)
    if len(learned) < FEWEST or not held_out:
        raise DataError(
            f"{count:,} different pairs are too few for a forecast; it needs about {FEWEST * 10 // 9:,}, some of them "
            f"with sources of at most {LONGEST} words"
        )
    if 2 * count > REACH * MOST:
        raise DataError(
            f"{count:,} different pairs are too many for a forecast from {MOST:,}, which reaches to {REACH * MOST:,}; "
            "train on half of them and on all to see what more would bring"
        )
    size = min(len(learned), MOST)
    measured = measure(learned, [size // part for part in PARTS], held_out, tell)
    sizes = [each.pairs for each in measured]
    wanted = [times * count for times in TIMES if times * count <= REACH * size]
    if count > 2 * size:
        wanted.insert(0, count)
    chrf, bleu = (
        [LAWS[name].estimate(sizes, [getattr(each, name) for each in measured], each) for each in wanted]
        for name in ("chrf", "bleu")
    )
    return Forecast(count, len(held_out), measured, chrf, bleu)


def divide(pairs: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Divides pairs by chance into those to learn from and those to be held out, at most a tenth.

    Held-out sources have at most 40 words; no source is on both sides.
    """
    by_source: dict[str, str] = {}
    for source, target in pairs:
        if source.strip() and target.strip():
            by_source.setdefault(source.strip(), target.strip())
    usable = sorted(by_source.items())
    random.Random(SEED).shuffle(usable)
    short = [number for number, (source, _) in enumerate(usable) if count_words(source) <= LONGEST]
    chosen = set(short[: min(HELD_OUT, len(usable) // 10)])
    learned = [pair for number, pair in enumerate(usable) if number not in chosen]
    return learned, [usable[number] for number in sorted(chosen)]


def measure(
    pairs: Sequence[Pair],
    sizes: Iterable[int],
    held_out: Sequence[Pair],
    tell: Callable[[str], None] = lambda line: None,
) -> list[MeasuredScores]:
    """Learns a phrase-based model from the first pairs, for each size, and scores it on held-out pairs.

    Raises DataError if none of the first pairs can be learned from.
    """
    sources, references = [source for source, _ in held_out], [target for _, target in held_out]
    measured = []
    for size in sizes:
        model = PhraseModel.learn(pairs[:size], tuned_until=0.0)
        outputs = [model.translate(source, stack=STACK)[0].text for source in sources]
        chrf, bleu = score_chrf(outputs, references).score, score_bleu(outputs, references).score
        measured.append(MeasuredScores(size, chrf, bleu))
        tell(f"{size:,} pairs: {chrf:.1f} chrF, {bleu:.1f} BLEU")
    return measured
