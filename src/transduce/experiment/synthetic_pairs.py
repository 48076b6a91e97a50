"""Pairs of texts and their translations by a model: what is wrong is left out, and counted by reason."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transduce.config import Settings, convert
from transduce.corpora.cleaning import Duplicates, Repetition, Step
from transduce.corpora.corpus import Filter, ParallelCorpus, SentencePair, nothing_left
from transduce.corpora.facts import describe_pairs, sample_pairs
from transduce.corpora.settings import DataConfig
from transduce.corpora.writing import write_pairs
from transduce.evaluation.translations import SentenceMetric
from transduce.experiment.automatic_settings import choose_cleaning
from transduce.experiment.translated_shards import Translated, read_translations
from transduce.ranges import ShareBelowOne

TRUNCATED = "that reached the longest length"
BLANK = "with a blank side"
WORST = "with the lowest log-probabilities per token"


class Selection(Settings, frozen=True):
    """Translations that are chosen, and those that are left out."""

    metric: Literal["chrf", "bleu"] = "chrf"
    """Metric by which the hypothesis nearest a reference is chosen: chrf, or bleu of the sentence."""
    drop_worst: ShareBelowOne = 0.0
    """Share of the translations that is left out for the lowest log-probabilities per token. By default none: a model
    is least sure of rare words and free sentences, of which a student would then see none."""
    cleaning: tuple[Step, ...] | None = None
    """Cleaning steps, as in data.cleaning, for pairs with translations and true ones; by default they are chosen as for
    files to train on, and phrases that repeat are left out too."""


@dataclass(frozen=True)
class Agreement:
    """The similarity of a model's translations to references: means over sentences, 0 to 100."""

    metric: SentenceMetric
    best: float
    """That of the hypotheses that the model prefers."""
    kept: float
    """That of the hypotheses nearest the references, which are kept."""

    def describe(self) -> str:
        """Describes both on one line."""
        return (
            f"agreement with the references, mean {self.metric} of a sentence: {self.best:.1f}; "
            f"{self.kept:.1f} of the hypotheses kept"
        )


@dataclass(frozen=True)
class SyntheticPairs:
    """The numbers of pairs that were made of translations."""

    translated: int
    kept: int
    dropped: dict[str, int]
    """The number of translations left out, by reason."""
    true_pairs: int = 0
    """The number of true pairs that are learned beside them."""
    dropped_true_pairs: int = 0
    agreement: Agreement | None = None
    """Agreement with the references of all that was translated; None without any."""

    def describe(self) -> list[str]:
        """Returns a line for each fact."""
        beside = f", and {self.true_pairs:,} true pairs beside them" if self.true_pairs else ""
        lines = [f"kept {self.kept:,} of {self.translated:,} translations{beside}"]
        lines += [f"  left out: {count:,} {reason}" for reason, count in self.dropped.items()]
        if self.dropped_true_pairs:
            lines.append(f"  left out: {self.dropped_true_pairs:,} of the true pairs, for the same reasons")
        return lines if self.agreement is None else [*lines, self.agreement.describe()]


@dataclass(frozen=True)
class Orientation:
    """The side of a pair on which a translation is: the target in distillation, the source in back-translation."""

    is_back_translation: bool
    tag: str = ""
    """The word before the source of each pair that is back-translated; none if empty."""

    def pair(self, translated: Translated) -> SentencePair:
        """Returns the pair to learn from, without a tag."""
        if self.is_back_translation:
            return SentencePair(translated.translation, translated.source)
        return SentencePair(translated.source, translated.translation)

    def tagged(self, pair: SentencePair) -> SentencePair:
        """Returns the pair with the tag."""
        return SentencePair(f"{self.tag} {pair.source}", pair.target) if self.tag else pair


def choose_steps(
    shards: Sequence[Path], orientation: Orientation, languages: tuple[str, str], tell: Callable[[str], None]
) -> tuple[Step, ...]:
    """Chooses cleaning steps that fit translations, from a sample of them."""
    count, sample = sample_pairs(orientation.pair(each) for each in read_translations(shards))
    chosen = choose_cleaning(sample, describe_pairs(sample, count, languages))
    for reason in chosen.reasons:
        tell(f"{reason}, a phrase that repeats")
    steps = convert({"train": "", **chosen.tables["data"]}, DataConfig, "data").cleaning
    others = [step for step in steps if not isinstance(step, Duplicates)]
    return (*others, Repetition(), *(step for step in steps if isinstance(step, Duplicates)))


def write_synthetic_pairs(
    path: Path, shards: Sequence[Path], orientation: Orientation, filters: Sequence[Filter], selection: Selection
) -> SyntheticPairs:
    """Writes the pairs of translations that are kept into a file.

    Raises DataError if none is kept, CheckpointError for a damaged shard.
    """
    reasons, scores = _judge(shards, orientation, filters)
    kept = np.array([number for number, reason in enumerate(reasons) if reason is None], dtype=np.int64)
    worst = np.argsort(scores[kept], kind="stable")[: int(selection.drop_worst * len(kept))]
    for number in kept[worst]:
        reasons[number] = WORST
    dropped = Counter(reason for reason in reasons if reason is not None)
    if len(kept) == len(worst):
        raise nothing_left(str(shards[0].parent if shards else path.parent), dropped)

    def pairs() -> Iterator[SentencePair]:
        for reason, translated in zip(reasons, read_translations(shards), strict=True):
            if reason is None:
                yield orientation.tagged(orientation.pair(translated))

    order = [TRUNCATED, BLANK, *(each.reason for each in filters), WORST]
    counts = {str(reason): dropped[str(reason)] for reason in order if dropped[str(reason)]}
    return SyntheticPairs(
        len(reasons), write_pairs([path], pairs()), counts, agreement=_agreement(shards, selection.metric)
    )


def write_true_pairs(path: Path, corpora: Sequence[ParallelCorpus], filters: Sequence[Filter]) -> tuple[int, int]:
    """Writes the pairs that the filters keep into a file; returns how many were kept and left out."""
    dropped: Counter[str] = Counter()
    joined = ParallelCorpus.joined("true pairs", corpora).filtered(filters)
    kept = write_pairs([path], joined.sift(lambda reason, pair: dropped.update([reason])))
    return kept, dropped.total()


def _judge(
    shards: Sequence[Path], orientation: Orientation, filters: Sequence[Filter]
) -> tuple[list[str | None], NDArray[np.float64]]:
    """Returns the reason for leaving each translation out, None to keep it, and its score."""
    checks = [(step.reason, step.start()) for step in filters]
    reasons: list[str | None] = []
    scores: list[float] = []
    for translated in read_translations(shards):
        pair = orientation.pair(translated)
        if translated.truncated:
            reason: str | None = TRUNCATED
        elif not (pair.source.strip() and pair.target.strip()):
            reason = BLANK
        else:
            reason = next((reason for reason, keeps in checks if not keeps(pair)), None)
        reasons.append(reason)
        scores.append(translated.score)
    return reasons, np.array(scores, dtype=np.float64)


def _agreement(shards: Sequence[Path], metric: SentenceMetric) -> Agreement | None:
    pairs = [
        (each.similarity_of_best, each.similarity)
        for each in read_translations(shards)
        if each.similarity is not None and each.similarity_of_best is not None
    ]
    if not pairs:
        return None
    best, kept = np.array(pairs).mean(0)
    return Agreement(metric, float(best), float(kept))
