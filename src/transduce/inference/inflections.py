"""Inflected forms of words, learned from sentence pairs: words of one stem that are translated alike."""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Final

import numpy as np
from tokenizers import normalizers

from docsegments.orthography.characters import Span
from docsegments.orthography.words import words
from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.corpora.lexical_translation import LexicalTable
from transduce.data.store import Side, TokenStore
from transduce.inference.shortlist.pair_sample import PairSample
from transduce.text.glossary import Entry
from transduce.text.spread import Spread

SHORTEST_STEM: Final = 3
"""The fewest letters that two forms of a word have in common at their beginnings."""

LONGEST_SUFFIX: Final = 3
"""The most letters of a form after what it has in common with another: -ern, -est, -ing."""

REGULAR: Final = 4
"""Two endings make forms of one word regularly if they do with this many stems: -man and -men in English."""

MOST_WORDS: Final = 30_000
"""The most words of a side, the most frequent ones, that regular endings are learned from."""

FUNCTION_WORDS: Final = 50
"""The number of words of a language that are taken for function words, the most frequent ones."""

MOST_FORMS: Final = 24
"""The most forms of a term that are kept."""

MOST_COMBINED: Final = 1000
"""The most combinations of the forms of a term's words that are looked at."""

LEAST_PROBABILITY: Final = 0.05
"""Translations of words with a smaller probability are not remembered."""

SURE: Final = 0.3
"""The least probability of a translation that is believed."""

Suffixes = tuple[str, str]
"""The endings of two words, in alphabetical order, without the letters that both begin with."""

_plain = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])


@lru_cache(1 << 17)
def folded(word: str) -> str:
    """Returns a word without case and accents, so that `Häuser` begins as `Haus`."""
    text: str = _plain.normalize_str(word.casefold())
    return text


def suffixes(word: str, other: str) -> Suffixes | None:
    """Returns the endings of two words if they may be forms of one by their letters: what they have in common at their
    beginnings is at least half of the longer, and short endings follow; else None."""
    word, other = folded(word), folded(other)
    shorter, longer = sorted((len(word), len(other)))
    stem = next((i for i in range(shorter) if word[i] != other[i]), shorter)
    if stem < max(SHORTEST_STEM, longer / 2) or longer - stem > LONGEST_SUFFIX:
        return None
    first, second = sorted((word[stem:], other[stem:]))
    return first, second


def other_form(phrase: str, text: str) -> str | None:
    """Returns words of a text that may be forms of a phrase by their letters, as many in a row; None without any."""
    wanted, words = spoken_words(phrase), spoken_words(text)
    for start in range(len(words) - len(wanted) + 1 if wanted else 0):
        written = words[start : start + len(wanted)]
        if all(a == b or suffixes(a, b) is not None for a, b in zip(wanted, written, strict=True)):
            return " ".join(written)
    return None


def spoken_words(text: str) -> list[str]:
    """Returns the words of a text without the punctuation around them."""
    return [text[start:stop] for start, stop in spoken_spans(text)]


def spoken_spans(text: str) -> list[Span]:
    """Returns the spans of the words of a text without the punctuation around them."""
    spans = []
    for start, stop in words(text):
        while start < stop and not text[start].isalnum():
            start += 1
        while stop > start and not text[stop - 1].isalnum():
            stop -= 1
        if start < stop:
            spans.append((start, stop))
    return spans


@dataclass(frozen=True)
class Words:
    """The words of one side of a text, as they are written, and their translations."""

    counts: Mapping[str, int]
    translations: Mapping[str, Mapping[str, float]]
    """The likeliest translations of each word, with their probabilities."""

    @cached_property
    def most_frequent(self) -> Set[str]:
        """The most frequent words, most of them without a meaning of their own."""
        return {word for word, _ in Counter(self.counts).most_common(FUNCTION_WORDS)}

    @cached_property
    def _by_beginning(self) -> Mapping[str, Sequence[str]]:
        words = defaultdict(list)
        for word in self.counts:
            words[folded(word)[:SHORTEST_STEM]].append(word)
        return words

    def with_stem_of(self, word: str) -> list[str]:
        """Returns the words that may be forms of a word by their letters, itself included if it is there."""
        alike = self._by_beginning.get(folded(word)[:SHORTEST_STEM], ())
        return [other for other in alike if suffixes(word, other) is not None]

    def translations_of(self, word: str) -> list[str]:
        """Returns the translations of a word that are believed."""
        return [other for other, probability in self.translations.get(word, {}).items() if probability >= SURE]

    def means(self, word: str, meanings: Container[str]) -> bool:
        """Returns True if a word is surely translated by some words, and rather by them than by others."""
        translations = self.translations.get(word, {})
        others = [p for other, p in translations.items() if other not in meanings]
        share = sum(translations.values()) - sum(others)
        return share >= max(SURE, sum(others)) and max(others, default=0.0) < SURE

    def sorted(self, forms: Iterable[str], of: str) -> list[str]:
        """Returns forms of a word, the most frequent first, without those whose case only other words have: a capital
        may be that of a sentence's beginning."""
        of_case = {form for form in forms if form[:1].isupper() == of[:1].isupper()}
        starts = {form for form in forms if form[:1].isupper() and form[:1].lower() + form[1:] in of_case}
        return sorted(of_case | starts, key=lambda form: (-self.counts.get(form, 0), form))


@dataclass(frozen=True)
class Inflections:
    """The words of both sides of sentence pairs, aligned by IBM Model 1 in both directions (Brown et al. 1993).

    Two words are forms of one if they may be by their letters, are translated by forms of one word, and at least on one
    side their endings make forms of many other words, too.
    """

    source: Words
    target: Words

    @staticmethod
    def learn(pairs: Iterable[SentencePair], most_pairs: int = 100_000, iterations: int = 5) -> "Inflections":
        """Learns from at most this many pairs, spread evenly over all; raises DataError where there are none."""
        sample = Spread[SentencePair](most_pairs)
        sample.extend(pairs)
        both = [(spoken_words(pair.source), spoken_words(pair.target)) for pair in sample.items]
        both = [(source, target) for source, target in both if source and target]
        if not both:
            raise DataError("there are no sentence pairs with words on both sides to learn inflected forms from")
        sides = list(zip(*both, strict=True))
        counts = [Counter(word for words in side for word in words) for side in sides]
        vocabularies = [list(count) for count in counts]
        source, target = map(_numbered, sides, vocabularies)
        forward = _learn(source, target, len(vocabularies[0]), len(vocabularies[1]), iterations)
        backward = _learn(target, source, len(vocabularies[1]), len(vocabularies[0]), iterations)
        return Inflections(
            Words(counts[0], _translations(forward, vocabularies[0], vocabularies[1])),
            Words(counts[1], _translations(backward, vocabularies[1], vocabularies[0])),
        )

    def forms(self, source: str, target: str) -> tuple[list[str], list[str]]:
        """Returns other forms of a term and of its translation, without the given ones.

        Each word of several may be inflected by itself. Words that the pairs do not have stay as they are.
        """
        return self._forms(source, target, self.source, self.target), self._forms(
            target, source, self.target, self.source
        )

    def inflected(self, entries: Iterable[Entry]) -> list[Entry]:
        """Returns the entries of a glossary with the forms of their terms; those that name forms themselves, bans and
        those without a source stay as they are."""
        learned = []
        for entry in entries:
            if not (entry.is_banned or not entry.source or entry.source_forms or entry.target_forms):
                sources, targets = self.forms(entry.source, entry.target)
                entry = replace(entry, source_forms=tuple(sources), target_forms=tuple(targets))
            learned.append(entry)
        return learned

    def links(self, pair: SentencePair) -> Iterator[tuple[int, str, str]]:
        """Yields words of a pair that surely translate each other, without function words: the index of the source word
        among `spoken_words`, it, and the target word."""
        sources, targets = spoken_words(pair.source), spoken_words(pair.target)
        forward = [_likeliest(self.source.translations.get(word, {}), targets) for word in sources]
        backward = [_likeliest(self.target.translations.get(word, {}), sources) for word in targets]
        for index, best in enumerate(forward):
            if best is None or backward[best] != index:
                continue
            if sources[index] not in self.source.most_frequent and targets[best] not in self.target.most_frequent:
                yield index, sources[index], targets[best]

    def _forms(self, term: str, translation: str, side: Words, other: Words) -> list[str]:
        """Returns the other forms of a term of one or several words, the most frequent first."""
        meanings = spoken_words(translation)
        of_words = [[word, *self._forms_of_word(word, meanings, side, other)] for word in term.split()]
        if side is self.source:  # sought without regard to case
            of_words = [[word, *(form.lower() for form in forms)] for word, *forms in of_words]
        of_words = [list(dict.fromkeys(forms))[:MOST_FORMS] for forms in of_words]
        while math.prod(map(len, of_words)) > MOST_COMBINED:
            max(of_words, key=len).pop()
        ranked = sorted(product(*map(enumerate, of_words)), key=lambda forms: sum(rank for rank, _ in forms))
        phrases = [" ".join(form for _, form in forms) for forms in ranked]
        return [phrase for phrase in phrases if phrase != term][:MOST_FORMS]

    def _forms_of_word(self, word: str, meanings: Sequence[str], side: Words, other: Words) -> list[str]:
        """Returns the forms of a word with some meanings; itself is among them if the pairs have it."""
        meanings = [*meanings, *side.translations_of(word)]
        regular = self._regular_forms(word, meanings, side, other)
        of_meanings = {form for each in meanings for form in self._regular_forms(each, [word], other, side)}
        irregular = {form for form in side.with_stem_of(word) if side.means(form, of_meanings)}
        return side.sorted({*regular, *irregular}, word)

    def _regular_forms(self, word: str, meanings: Sequence[str], side: Words, other: Words) -> list[str]:
        """Returns a word, and the words with regular endings that mean what may be a form of its meanings."""
        known = {form for meaning in meanings for form in (meaning, *other.with_stem_of(meaning))}
        regular = self._regular_suffixes[side is self.target]
        alike = (form for form in side.with_stem_of(word) if suffixes(word, form) in regular)
        return [word, *(form for form in alike if form != word and side.means(form, known))]

    @cached_property
    def _regular_suffixes(self) -> tuple[Set[Suffixes], Set[Suffixes]]:
        """The endings that make forms of many words of the source, and of the target."""
        return _regular_suffixes(self.source, self.target), _regular_suffixes(self.target, self.source)


def _regular_suffixes(side: Words, other: Words) -> Set[Suffixes]:
    """Returns the endings that with many stems make words which are translated by words that share a stem, too."""
    stems: dict[Suffixes, set[str]] = defaultdict(set)
    frequent = [word for word, count in Counter(side.counts).most_common(MOST_WORDS) if count > 1]
    translations = {word: side.translations_of(word) for word in frequent}
    for word in frequent:
        for form in side.with_stem_of(word):
            if form <= word or form not in translations or form[:1].isupper() != word[:1].isupper():
                continue
            if any(suffixes(a, b) is not None for a in translations[word] for b in translations[form]):
                ends = suffixes(word, form)
                assert ends is not None  # they share a stem
                stems[ends].add(folded(word)[: len(folded(word)) - len(ends[0])][: len(folded(form))])
    return {("", ""), *(ends for ends, of_ends in stems.items() if len(of_ends) >= REGULAR)}


def _likeliest(probabilities: Mapping[str, float], words: Sequence[str]) -> int | None:
    """Returns the index of the likeliest of some words; None if none is sure, or the word comes twice."""
    best = max(range(len(words)), key=lambda i: probabilities.get(words[i], 0.0), default=None)
    if best is None or probabilities.get(words[best], 0.0) < SURE or words.count(words[best]) > 1:
        return None
    return best


def _numbered(sentences: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Side:
    numbers = {word: number for number, word in enumerate(vocabulary)}
    ids = np.fromiter((numbers[word] for words in sentences for word in words), np.int64)
    return Side.of(ids, [len(words) for words in sentences])


def _learn(source: Side, target: Side, sources: int, targets: int, iterations: int) -> LexicalTable:
    store = TokenStore(source, target, {})
    return PairSample.spread([store], len(store)).learn(sources, targets, iterations)


def _translations(table: LexicalTable, sources: Sequence[str], targets: Sequence[str]) -> dict[str, dict[str, float]]:
    translations: dict[str, dict[str, float]] = defaultdict(dict)
    kept = table.probabilities >= LEAST_PROBABILITY
    of_source, of_target = np.divmod(table.keys[kept], table.target_vocabulary)
    for i, j, probability in zip(
        of_source.tolist(), of_target.tolist(), table.probabilities[kept].tolist(), strict=True
    ):
        if i < len(sources):  # else it is the null word
            translations[sources[i]][targets[j]] = probability
    return dict(translations)
