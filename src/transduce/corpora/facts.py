"""Facts about sentence pairs before training: how many, how long, in which scripts."""

import math
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docsegments.orthography.characters import UNSPACED
from docsegments.orthography.words import word_texts
from transduce.corpora.corpus import SentencePair, sides_of

SAMPLE = 50_000
MOST_OF_A_WORD = 12  # characters between spaces beyond which spaces do not separate words
CHARACTERS_OF_A_WORD = 2  # where they do not, as in Chinese
MINOR, MOST = 0.05, 0.9  # shares of the letters
SCRIPTS = {"CJK": "Han", "IDEOGRAPHIC": "Han", "HALFWIDTH": "Katakana"}
"""Scripts whose name is not the beginning of their letters' names."""
JAPANESE = ("Han", "Hiragana", "Katakana")
SCRIPTS_OF = {
    "az": ("Arabic", "Cyrillic", "Latin"),
    "bs": ("Cyrillic", "Latin"),
    "ja": JAPANESE,
    "kk": ("Arabic", "Cyrillic", "Latin"),
    "ko": ("Han", "Hangul"),
    "ks": ("Arabic", "Devanagari"),
    "ku": ("Arabic", "Latin"),
    "ky": ("Arabic", "Cyrillic"),
    "mn": ("Cyrillic", "Mongolian"),
    "ms": ("Arabic", "Latin"),
    "pa": ("Arabic", "Gurmukhi"),
    "sd": ("Arabic", "Devanagari"),
    "sr": ("Cyrillic", "Latin"),
    "tg": ("Arabic", "Cyrillic"),
    "tk": ("Arabic", "Cyrillic", "Latin"),
    "tt": ("Cyrillic", "Latin"),
    "ug": ("Arabic", "Cyrillic", "Latin"),
    "uz": ("Arabic", "Cyrillic", "Latin"),
    "zh": ("Bopomofo", "Han"),
}
"""Languages that are written in several scripts, by ISO 639-1."""


@dataclass(frozen=True)
class SideFacts:
    """Facts about one side of a corpus."""

    words: int
    """The number of running words."""
    usual_length: int
    """The number of words that 95 of 100 sentences do not exceed."""
    scripts: tuple[str, ...]
    """Unicode scripts of nearly all letters; none if there are too many."""
    has_spaces: bool
    """True if spaces separate words."""
    characters: int
    """The number of different characters in the sample."""


@dataclass(frozen=True)
class CorpusFacts:
    """Facts about a corpus, as far as a sample of it shows."""

    pairs: int
    source: SideFacts
    target: SideFacts

    @property
    def words(self) -> int:
        """The number of running words of both sides."""
        return self.source.words + self.target.words


def sample_pairs(pairs: Iterable[SentencePair], size: int = SAMPLE) -> tuple[int, list[SentencePair]]:
    """Counts pairs, and draws this many of them at random (all, in their order, if there are no more)."""
    chance = random.Random(1)
    sample: list[SentencePair] = []
    count = 0
    for count, pair in enumerate(pairs, 1):
        if len(sample) < size:
            sample.append(pair)
        elif (index := chance.randrange(count)) < size:
            sample[index] = pair
    return count, sample


def describe_pairs(sample: Sequence[SentencePair], pairs: int, languages: tuple[str, str] = ("", "")) -> CorpusFacts:
    """Returns the facts of a corpus of this many pairs, from a sample, in languages whose codes may be known."""
    scale = pairs / max(len(sample), 1)
    return CorpusFacts(
        pairs,
        *(_side(texts, scale, language) for texts, language in zip(sides_of(sample), languages, strict=True)),
    )


def are_swapped(pairs: Sequence[SentencePair], known: Sequence[SentencePair]) -> bool:
    """Returns True if the source of pairs is the target of known ones, by the words that only one known side has."""
    vocabularies = [{word for text in side for word in word_texts(text.casefold())} for side in sides_of(known)]
    both = vocabularies[0] & vocabularies[1]
    alike = {True: 0, False: 0}
    for side, texts in enumerate(sides_of(pairs)):
        for word in (word for text in texts for word in word_texts(text.casefold()) if word not in both):
            for other, vocabulary in enumerate(vocabularies):
                alike[side == other] += word in vocabulary
    return alike[False] > 2 * alike[True]


def _count_words(text: str, has_spaces: bool) -> int:
    """Counts words between spaces; in a script without these, words of usual length."""
    return len(text.split()) if has_spaces else math.ceil(len(text) / CHARACTERS_OF_A_WORD)


def _side(texts: Sequence[str], scale: float, language: str) -> SideFacts:
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    unspaced = sum(count for character, count in characters.items() if UNSPACED.match(character))
    # by the letters, since short sentences are no longer than words; by the length in scripts that are not known
    has_spaces = 2 * unspaced <= characters.total() <= MOST_OF_A_WORD * sum(len(text.split()) for text in texts)
    lengths = sorted(_count_words(text, has_spaces) for text in texts)
    return SideFacts(
        words=round(scale * sum(lengths)),
        usual_length=lengths[int(0.95 * (len(lengths) - 1))] if lengths else 0,
        scripts=_scripts(characters, language.replace("_", "-").partition("-")[0]),
        has_spaces=has_spaces,
        characters=len(characters),
    )


def _scripts(characters: Counter[str], language: str) -> tuple[str, ...]:
    letters: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            first = unicodedata.name(character, "").partition(" ")[0]
            letters[SCRIPTS.get(first, first.capitalize())] += count
    total = letters.total()
    chosen = {script for script, count in letters.items() if count >= MINOR * total}
    if chosen & {"Hiragana", "Katakana"}:
        chosen |= set(JAPANESE)
    if chosen and chosen & set(SCRIPTS_OF.get(language, ())):
        chosen |= set(SCRIPTS_OF[language])
    share = sum(letters[script] for script in chosen)
    return tuple(sorted(chosen)) if total and share >= MOST * total else ()
