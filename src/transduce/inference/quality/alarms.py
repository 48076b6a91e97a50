"""Alarms for translations that repeat themselves, are far too long or short, or leave words of either side without a
translation; and the search that repairs them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from docsegments.orthography.words import word_texts
from transduce.inference.quality.confidence import repeated, repetition
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.word_translations import unexplained
from transduce.search.choices import DecisionRule, MinimumBayesRisk, search_of

MAY_BE_FALSE = 0.001
"""Share of correct translations that each alarm may be wrong about."""
LEAST_REPEATED = 2
"""Word pairs repeated beyond those of the source below which nothing is a loop."""
UNEXPLAINED = "hardly has the meaning of its source"
"""The fault of a translation whose words do not translate those of its source; a second search mends few."""
NO_REPEAT = 3
"""Tokens of the n-grams that the second search does not repeat."""
SHORTEST, LONGEST, EXTRA = 0.5, 1.5, 10
"""Limits of the second search: tokens for each of the source, and more."""


@dataclass(frozen=True)
class Alarms:
    """Limits that correct translations keep."""

    ratio: float
    """Characters of a target for each of its source."""
    shortest: float
    longest: float
    """Difference from the expected length, by the square root of the source's length (Gale and Church 1993)."""
    repeated: float
    """Share of repeated word pairs, less the source's."""
    unexplained: float
    """Share of words that no word of the other side translates."""

    @staticmethod
    def of(pairs: Sequence[tuple[str, str]], translations: KnownTexts) -> "Alarms":
        """Sets the limits by correct translations, at least one, of which each alarm is wrong about 0.1 %."""
        ratio = sum(len(target) for _, target in pairs) / max(1, sum(len(source) for source, _ in pairs))
        lengths = sorted(_unlikely_length(len(source), len(target), ratio) for source, target in pairs)
        shares = sorted(repetition(word_texts(source), word_texts(target), 2) for source, target in pairs)
        missing = sorted(unexplained(translations, source, target) for source, target in pairs)
        beyond = max(1, int(MAY_BE_FALSE * len(pairs)))
        return Alarms(ratio, lengths[beyond - 1], lengths[-beyond], max(0.0, shares[-beyond]), missing[-beyond])

    def faults(self, source: str, target: str, translations: KnownTexts) -> list[str]:
        """Names what is wrong with a translation, in a few words each."""
        words = word_texts(source), word_texts(target)
        length = _unlikely_length(len(source), len(target), self.ratio)
        more = repeated(words[1], 2) - repeated(words[0], 2)
        found = {
            "repeats itself": more >= LEAST_REPEATED and repetition(*words, 2) > self.repeated,
            "is much longer than expected": length > self.longest,
            "is much shorter than expected": length < self.shortest,
            UNEXPLAINED: unexplained(translations, source, target) > self.unexplained,
        }
        return [name for name, is_found in found.items() if is_found]


def stricter(rule: DecisionRule) -> DecisionRule:
    """Returns a rule whose search writes no loops, and nothing very long or short."""
    if isinstance(rule, MinimumBayesRisk):
        return msgspec.structs.replace(rule, candidates=stricter(rule.candidates))
    shortest = min(max(rule.min_ratio, SHORTEST), rule.max_ratio)
    longest = max(min(rule.max_ratio, LONGEST), shortest)
    lengths = {"min_ratio": shortest, "max_ratio": longest, "max_extra": min(rule.max_extra, EXTRA)}
    return msgspec.structs.replace(rule, no_repeat_ngram=rule.no_repeat_ngram or NO_REPEAT, **lengths)


def forbids(rule: DecisionRule, source: int, output: Sequence[int]) -> bool:
    """Returns True if the search of a rule may not write an output, given the number of its source's tokens and its own
    tokens, both without end tokens."""
    search = search_of(rule)
    shortest, longest = search.min_ratio * (source + 1), search.max_ratio * (source + 1) + search.max_extra
    return not shortest <= len(output) + 1 <= longest or repeated(output, search.no_repeat_ngram) > 0


def _unlikely_length(source: int, target: int, ratio: float) -> float:
    return (target - ratio * source) / math.sqrt(source + 1)
