"""Words that translate each other in training pairs, and how much of a translation they leave unexplained."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from transduce.corpora.doctor.evidence import learn_table
from transduce.corpora.doctor.numbers import Vocabulary, words_of
from transduce.inference.quality.known_texts import KnownTexts

LEAST, OFTEN = 0.05, 3
"""The least probability of a word's translation that is kept, and the least times that the word was seen."""
MOST_WORDS = 100
"""The most different words of a text that are looked at."""
PRIOR = 2.0
"""Words that count as explained in any pair, so that one word of a short text decides nothing."""


def word_translations(pairs: Sequence[tuple[str, str]]) -> KnownTexts:
    """Returns how probable words are given a word of the other side, in thousandths, by IBM's Model 1 (Brown et al.
    1993): of each word, after the number of its side, with each translation, and alone with the most probable one."""
    names = Vocabulary(), Vocabulary()
    sides = [vocabulary.learn([pair[side] for pair in pairs]) for side, vocabulary in enumerate(names)]
    spelled, kept = [vocabulary.words for vocabulary in names], Counter[str]()
    for side, other in ((0, 1), (1, 0)):
        table = learn_table(sides[side], sides[other], len(names[side]), len(names[other]))
        givens, words = np.divmod(table.keys, table.target_vocabulary)
        seen = np.append(np.bincount(sides[side].values, minlength=len(names[side])), 0)  # the null word comes last
        chosen = (table.probabilities >= LEAST) & (seen[givens] >= OFTEN)
        shares = (1000 * table.probabilities[chosen]).round().astype(int).tolist()
        for given, word, share in zip(givens[chosen].tolist(), words[chosen].tolist(), shares, strict=True):
            key = f"{side}{spelled[side][given]}"
            kept[f"{key}\t{spelled[other][word]}"] = share
            kept[key] = max(kept[key], share)
    return KnownTexts.of(kept)


@lru_cache(maxsize=4096)  # alarms before and after a second search, and estimates, ask for the same pairs
def unexplained(translations: KnownTexts, source: str, target: str) -> float:
    """Returns the share of a pair's words that no word of the other text translates, 0 to 1; of words that were seldom
    seen nothing is known, and others count by how probable their best translation is."""
    sides = [list(dict.fromkeys(words_of(text)))[:MOST_WORDS] for text in (source, target)]
    missing = total = 0  # thousandths
    for side, other in ((0, 1), (1, 0)):
        words = [f"{side}{word}" for word in sides[side]]
        best = {word: share for word, share in zip(words, translations.counts_of(words), strict=True) if share}
        found = translations.counts_of_joined(best, [f"\t{word}" for word in sides[other]])
        missing += sum(max(0, most - max(row, default=0)) for most, row in zip(best.values(), found, strict=True))
        total += sum(best.values())
    return missing / (total + 1000 * PRIOR)
