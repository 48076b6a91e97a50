"""Two or more systems on one test set: scores, whether differences could be chance, and where they lie."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from transduce.errors import InputError
from transduce.evaluation.breakdown import FrequencyPart, LengthPart, by_length, by_word_frequency
from transduce.evaluation.copied_numbers import CopiedNumbers, count_copied_numbers
from transduce.evaluation.metrics import (
    BleuTokenizer,
    Score,
    SentenceCounts,
    check_aligned,
    count_bleu,
    count_chrf,
    count_ter,
    length_ratio,
)
from transduce.evaluation.significance import Difference, compare_counts

SHOWN = 10


@dataclass(frozen=True)
class Differences:
    """How a system differs from the baseline, in each metric."""

    bleu: Difference
    chrf: Difference
    ter: Difference


@dataclass(frozen=True)
class System:
    """What one system scored."""

    name: str
    bleu: Score
    chrf: Score
    ter: Score
    length_ratio: float
    """Tokens of the outputs to tokens of the references, as BLEU split them."""
    against_baseline: Differences | None
    """None for the baseline itself."""


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence that systems translated with different success."""

    line: int
    """Of the test set, from 1."""
    source: str
    reference: str
    outputs: dict[str, str]
    chrf: dict[str, float]
    """Sentence-level, 0 to 100."""


@dataclass(frozen=True)
class Comparison:
    """All that is told of systems that translated one test set."""

    sentences: int
    systems: list[System]
    """The first is the baseline."""
    by_length: list[LengthPart]
    by_word_frequency: list[FrequencyPart] | None
    """None where the training data are not known."""
    numbers: CopiedNumbers
    most_different: list[DifferingSentence]
    """Those with the widest span of sentence-level chrF between systems, widest first."""

    def to_dict(self) -> dict[str, Any]:
        """What `transduce compare --json` prints."""
        return msgspec.to_builtins(self)


def compare(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "13a",
    training: Iterable[str] | None = None,
) -> Comparison:
    """Compare the outputs of systems, by name, with those of the first, the baseline.

    All texts are aligned line by line and detokenised. The training text, in the target language, is what words are
    called rare by. Raises InputError for fewer than two systems and DataError for texts that are not aligned.
    """
    if len(systems) < 2:
        raise InputError(f"there is nothing to compare {', '.join(systems) or 'no systems'} with; name two or more")
    check_aligned("sources", sources, references)
    for name, outputs in systems.items():
        check_aligned(name, outputs, references)
    bleu = {name: count_bleu(outputs, references, lowercase, tokenize) for name, outputs in systems.items()}
    chrf = {name: count_chrf(outputs, references, lowercase) for name, outputs in systems.items()}
    ter = {name: count_ter(outputs, references, lowercase) for name, outputs in systems.items()}
    baseline = next(iter(systems))

    def difference(name: str, counts: Mapping[str, SentenceCounts]) -> Difference:
        return compare_counts(counts[name].counts, counts[baseline].counts, counts[name].score_rows)

    return Comparison(
        sentences=len(references),
        systems=[
            System(
                name,
                bleu[name].summary(),
                chrf[name].summary(),
                ter[name].summary(),
                length_ratio(bleu[name]),
                None
                if name == baseline
                else Differences(difference(name, bleu), difference(name, chrf), difference(name, ter)),
            )
            for name in systems
        ],
        by_length=by_length(sources, bleu),
        by_word_frequency=(
            None if training is None else by_word_frequency(references, systems, training, lowercase, tokenize)
        ),
        numbers=count_copied_numbers(sources, references, systems),
        most_different=_most_different(systems, sources, references, chrf),
    )


def _most_different(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    chrf: Mapping[str, SentenceCounts],
) -> list[DifferingSentence]:
    scores = np.stack([counts.score_rows(counts.counts) for counts in chrf.values()])  # [systems, sentences]
    span = scores.max(0) - scores.min(0)
    widest = np.argsort(-span, kind="stable")[:SHOWN]
    return [
        DifferingSentence(
            line=int(i) + 1,
            source=sources[i],
            reference=references[i],
            outputs={name: outputs[i] for name, outputs in systems.items()},
            chrf={name: float(score) for name, score in zip(systems, scores[:, i], strict=True)},
        )
        for i in widest
        if span[i] > 0
    ]
