"""Scores by length of the source, by a word's frequency in the training data, and of words of a kind."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docsegments.orthography.words import count_words
from transduce.base.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer, bleu_tokenizer, make_bleu
from transduce.evaluation.metric import SentenceCounts
from transduce.evaluation.translations import length_ratio

LENGTHS = (0, 10, 20, 30, 40, 60)
"""Maximum words of each part but the last; the first holds blank lines, and is mostly empty."""

FREQUENCIES = (0, 5, 50)
"""Maximum occurrences in training of each part but the last."""


@dataclass(frozen=True)
class LengthPart:
    """The sentences of a test set whose sources are similar in length."""

    at_least: int
    """Minimum words of the source, split at white space."""
    at_most: int | None
    """Maximum words; None for no limit."""
    sentences: int
    bleu: dict[str, float]
    """BLEU of each system on these sentences."""
    length_ratio: dict[str, float]
    """Tokens of each system's outputs divided by tokens of the references."""


@dataclass(frozen=True)
class FrequencyPart:
    """The reference words that occur about equally often in training."""

    at_least: int
    """Minimum occurrences in the target side of the training data."""
    at_most: int | None
    """Maximum occurrences; None for no limit."""
    words: int
    """Number of running words in the references."""
    recall: dict[str, float]
    """Share of these words, 0 to 1, that each system's output for the same sentence has."""


@dataclass(frozen=True)
class WordsPart:
    """Words of one kind, such as the forms of a pronoun, of which each counts as any other."""

    words: str
    in_references: int
    recall: dict[str, float]
    """Share of them, 0 to 1, that each system's output for the same sentence has."""
    precision: dict[str, float]
    """Share of each system's words of the kind, 0 to 1, that the reference of the sentence has; 1 if it has none."""


def by_length(sources: Sequence[str], bleu: Mapping[str, SentenceCounts]) -> list[LengthPart]:
    """Returns BLEU of each system by the number of words in the source; parts without sentences are left out."""
    lengths = np.array([count_words(source) for source in sources])
    parts = np.searchsorted(LENGTHS, lengths)
    by_part = []
    for part, (at_least, at_most) in enumerate(_ranges(LENGTHS)):
        chosen = np.flatnonzero(parts == part)
        if len(chosen):
            counts = {name: counted.choose(chosen) for name, counted in bleu.items()}
            scores = {name: counted.score for name, counted in counts.items()}
            ratios = {name: length_ratio(counted) for name, counted in counts.items()}
            by_part.append(LengthPart(at_least, at_most, len(chosen), scores, ratios))
    return by_part


def by_word_frequency(
    references: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    training: Iterable[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
) -> list[FrequencyPart]:
    """Returns recall of reference words by their frequency in the training text of the target language.

    Words are BLEU's tokens with a letter or a digit; one that occurs twice must be found twice. Parts without words
    are left out.
    """
    words_of = _Words(lowercase, bleu_tokenizer(references, tokenize))
    wanted = [words_of(reference) for reference in references]
    vocabulary = set().union(*wanted)
    occurrences: Counter[str] = Counter()
    for line in training:
        occurrences.update({word: count for word, count in words_of(line).items() if word in vocabulary})
    part_of = {word: int(np.searchsorted(FREQUENCIES, occurrences[word])) for word in vocabulary}

    def totals(counted: Iterable[Counter[str]]) -> list[int]:
        sums = [0] * (len(FREQUENCIES) + 1)
        for words in counted:
            for word, count in words.items():
                sums[part_of[word]] += count
        return sums

    words = totals(wanted)
    matches = {
        name: totals(reference & words_of(output) for reference, output in zip(wanted, outputs, strict=True))
        for name, outputs in systems.items()
    }
    return [
        FrequencyPart(
            at_least, at_most, words[part], {name: counts[part] / words[part] for name, counts in matches.items()}
        )
        for part, (at_least, at_most) in enumerate(_ranges(FREQUENCIES))
        if words[part]
    ]


def by_words(
    kinds: Sequence[str],
    references: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    tokenize: BleuTokenizer = "auto",
) -> list[WordsPart]:
    """Returns how well systems choose the words of each kind, which is their text, such as "he him his"; without regard
    to case. Raises InputError for a kind without words, or whose words the references do not have."""
    words_of = _Words(True, bleu_tokenizer(references, tokenize))
    wanted = [words_of(reference) for reference in references]
    written = {name: [words_of(output) for output in outputs] for name, outputs in systems.items()}
    parts = []
    for kind in kinds:
        words = words_of(kind)

        def count(texts: Sequence[Counter[str]], words: Counter[str] = words) -> NDArray[np.int64]:
            return np.array([sum(text[word] for word in words) for text in texts], np.int64)

        needed = count(wanted)
        if not needed.any():
            raise InputError(f"no reference has a word of {kind!r}; name words of the target language")
        counts = {name: count(texts) for name, texts in written.items()}
        right = {name: int(np.minimum(needed, found).sum()) for name, found in counts.items()}
        recall = {name: hits / int(needed.sum()) for name, hits in right.items()}
        precision = {
            name: hits / int(counts[name].sum()) if counts[name].any() else 1.0 for name, hits in right.items()
        }
        parts.append(WordsPart(kind, int(needed.sum()), recall, precision))
    return parts


class _Words:
    """Splits text into words as BLEU does, without punctuation."""

    def __init__(self, lowercase: bool, tokenize: BleuTokenizer) -> None:
        self.lowercase = lowercase
        self.tokenizer = make_bleu(tokenize).tokenizer

    def __call__(self, text: str) -> Counter[str]:
        tokens = self.tokenizer((text.lower() if self.lowercase else text).rstrip()).split()
        return Counter(token for token in tokens if any(character.isalnum() for character in token))


def _ranges(limits: Sequence[int]) -> list[tuple[int, int | None]]:
    return list(zip([0, *(limit + 1 for limit in limits)], [*limits, None], strict=True))
