"""Pairs of texts and their translations by a model: what is wrong is left out, and counted by reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from transduce.base.config import Settings, convert
from transduce.base.ranges import ShareBelowOne
from transduce.corpora.cleaning import Duplicates, Repetition, Step
from transduce.corpora.corpus import Filter, Keeps, ParallelCorpus, SentencePair, nothing_left
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.facts import describe_pairs, sample_pairs
from transduce.corpora.pair_files import write_pairs
from transduce.evaluation.translations import SentenceMetric
from transduce.experiment.automatic_cleaning import choose_cleaning
from transduce.experiment.translated_shards import Translated, read_translations

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
        if (agreement := self.agreement) is not None:
            lines.append(
                f"agreement with the references, mean {agreement.metric} of a sentence: {agreement.best:.1f}; "
                f"{agreement.kept:.1f} of the hypotheses kept"
            )
        return lines


def pair_of(translated: Translated, is_back_translation: bool) -> SentencePair:
    """Returns the pair to learn from: the translation is its target, or in back-translation its source."""
    pair = SentencePair(translated.source, translated.translation)
    return SentencePair(pair.target, pair.source) if is_back_translation else pair


def choose_steps(
    pairs: Iterable[SentencePair], languages: tuple[str, str], tell: Callable[[str], None]
) -> tuple[Step, ...]:
    """Chooses cleaning steps that fit translations, from a sample of them."""
    count, sample = sample_pairs(pairs)
    chosen = choose_cleaning(sample, describe_pairs(sample, count, languages))
    for reason in chosen.reasons:
        tell(f"{reason}, a phrase that repeats")
    steps = convert({"train": "", **chosen.tables["data"]}, DataConfig, "data").cleaning
    others = [step for step in steps if not isinstance(step, Duplicates)]
    return (*others, Repetition(), *(step for step in steps if isinstance(step, Duplicates)))


def write_synthetic_pairs(
    path: Path,
    shards: Sequence[Path],
    filters: Sequence[Filter],
    selection: Selection,
    is_back_translation: bool = False,
    tag: str = "",
) -> SyntheticPairs:
    """Writes the pairs of translations that are kept into a file, their sources after the tag.

    Raises DataError if none is kept, CheckpointError for a damaged shard.
    """
    checks = [(step.reason, step.start()) for step in filters]
    reasons: list[str | None] = []
    scores, similarities = [], []
    for translated in read_translations(shards):
        reasons.append(_why_left_out(translated, pair_of(translated, is_back_translation), checks))
        scores.append(translated.score)
        if translated.similarity_of_best is not None and translated.similarity is not None:
            similarities.append((translated.similarity_of_best, translated.similarity))
    kept = [number for number, reason in enumerate(reasons) if reason is None]
    worst = sorted(kept, key=scores.__getitem__)[: int(selection.drop_worst * len(kept))]
    for number in worst:
        reasons[number] = WORST
    dropped = Counter(reason for reason in reasons if reason is not None)
    if len(kept) == len(worst):
        raise nothing_left(str(shards[0].parent if shards else path.parent), dropped)

    def pairs() -> Iterator[SentencePair]:
        for reason, translated in zip(reasons, read_translations(shards), strict=True):
            if reason is None:
                pair = pair_of(translated, is_back_translation)
                yield SentencePair(f"{tag} {pair.source}", pair.target) if tag else pair

    order = [TRUNCATED, BLANK, *(str(each.reason) for each in filters), WORST]
    return SyntheticPairs(
        translated=len(reasons),
        kept=write_pairs([path], pairs()),
        dropped={reason: dropped[reason] for reason in order if dropped[reason]},
        agreement=Agreement(selection.metric, *np.mean(similarities, 0).tolist()) if similarities else None,
    )


def write_true_pairs(path: Path, corpora: Sequence[ParallelCorpus], filters: Sequence[Filter]) -> tuple[int, int]:
    """Writes the pairs that the filters keep into a file; returns how many were kept and left out."""
    dropped: Counter[str] = Counter()
    joined = ParallelCorpus.joined("true pairs", corpora).filtered(filters)
    kept = write_pairs([path], joined.sift(lambda reason, pair: dropped.update([reason])))
    return kept, dropped.total()


def _why_left_out(translated: Translated, pair: SentencePair, checks: Sequence[tuple[str | None, Keeps]]) -> str | None:
    """Returns the reason for leaving a translation out; None to keep it."""
    if translated.truncated:
        return TRUNCATED
    if not (pair.source.strip() and pair.target.strip()):
        return BLANK
    return next((reason for reason, keeps in checks if not keeps(pair)), None)
