"""A phrase-based translator: learned from sentence pairs, kept in a folder, and used on sentences."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from docsegments.orthography.words import holds
from transduce.base.errors import CheckpointError, DataError, InputError
from transduce.base.tensor_files import save_tensors
from transduce.base.verification import COPY_AGAIN, read_json
from transduce.phrases.demands import NO_DEMANDS, Demands, Options, places_of, requiring, without_banned
from transduce.phrases.ibm_model_1 import align
from transduce.phrases.ngrams import NGrams
from transduce.phrases.phrase_words import counted_within, text_of, usual_case, with_capital, words_of
from transduce.phrases.stack_decoder import STACK, WEIGHTS, Output, Span, decode
from transduce.phrases.table import LONGEST, Option, Phrase, phrase_table
from transduce.phrases.tuning import tuned
from transduce.text.glossary import comparable

BEGINNING: Final = 6
"""Letters by which words are aligned, since forms of a word are mostly translated alike."""
MOST_WORDS: Final = 60
"""The most words of a sentence that is learned from."""
SHORTEST_PART, LINKING = 4, ("", "s")  # letters of a part of a compound, and between parts
SHORTEST_STEM, STEM_SHARE, MOST_SIMILAR = 4, 0.6, 2
COPIED: Final = (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.0)
"""Features of an unknown word that is written as it stands; see FEATURES."""
GUESSED: Final = -0.5
"""The last feature of an unknown word that is translated as a similar one."""
FOLDS, FOLDED = 3, 3_000  # held out in turn, of so many pairs together; a mean of weights depends less on chance
TUNED_SHARE, LEAST_TUNED, MOST_TUNED, TUNED_WORDS = 0.1, 50, 200, 2_800  # of the pairs are in a fold, in words
WORDS_FILE, TENSORS_FILE = "words.json", "phrases.safetensors"
MOST_BYTES = 1 << 28
ALTERNATIVES = 5  # translations of a phrase that are shown beside the one that was used
MORE_WITH_BANS = 50  # outputs among which some without banned phrases are sought

Pair = tuple[str, str]
Words = Sequence[str]


class PhraseVocabulary:
    """Words and their numbers."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self.numbers(words)

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Returns the numbers of words, new ones for new words."""
        found = []
        for word in words:
            number = self._numbers.setdefault(word, len(self.words))
            if number == len(self.words):
                self.words.append(word)
            found.append(number)
        return found

    def find(self, word: str) -> int:
        """Returns a word's number, -1 for an unknown word."""
        return self._numbers.get(word, -1)


class PhraseTranslation(NamedTuple):
    """A translation of a sentence."""

    text: str
    output: Output
    words: Words
    """Words of the translation, as phrases have them."""


@dataclass(frozen=True)
class Used:
    """A phrase of a translation."""

    span: Span
    """The places of its source words; of a word that is written for none, empty."""
    source: str
    target: str
    probability: float | None
    """The probability of the target, given the source; None where no phrase was learned: a word is copied, given, or in
    a glossary."""
    alternatives: list[tuple[str, float]]
    """The likeliest other translations of the source, and their probabilities."""


@dataclass(frozen=True)
class Explanation:
    """A translation, and the phrases that it is made of."""

    text: str
    source: Words
    """The words of the sentence, as phrases have them."""
    target: Words
    phrases: list[Used]
    """The phrases in the order of the translation."""
    output: Output
    weights: Sequence[float]
    """The weights of the output's features."""


@dataclass(frozen=True)
class PhraseModel:
    """All that a phrase-based translator knows."""

    source: PhraseVocabulary
    target: PhraseVocabulary
    within: tuple[Counter[str], Counter[str]]
    """The number of times that each word of the source and of the target stands within sentences."""
    sources: Sequence[Sequence[int]]
    """The source sentences that it was learned from, as numbers of words."""
    texts: Sequence[Sequence[int]]
    """The texts, as numbers of target words, that the language model is made of: translations of the sources first."""
    table: Mapping[Phrase, Sequence[Option]]
    weights: Sequence[float] = WEIGHTS

    @staticmethod
    def learn(pairs: Iterable[Pair], texts: Iterable[str] = (), tuned_until: float = math.inf) -> "PhraseModel":
        """Learns from sentence pairs; the weights are tuned on parts that are held out in turn, or left as usual.

        Args:
            pairs: sources and targets.
            texts: sentences of the target language, of which the language model is made, too.
            tuned_until: the time, by `time.monotonic`, after which no round of tuning begins; it takes most of all.

        Raises DataError if no pair can be learned from.
        """
        usable = _usable(pairs)
        if not usable:
            raise DataError(
                f"no sentence pair has 1 to {MOST_WORDS} words on each side; there is nothing to learn from"
            )
        targets = {tuple(target) for _, target in usable}
        more = [words for words in map(words_of, texts) if words and tuple(words) not in targets]
        model = PhraseModel._learned(usable, more)
        most = max(LEAST_TUNED, min(MOST_TUNED, TUNED_WORDS * len(usable) // sum(len(source) for source, _ in usable)))
        every = max(round(len(usable) / min(max(TUNED_SHARE * len(usable), LEAST_TUNED), most)), 2)
        if time.monotonic() > tuned_until or len(usable[::every]) < LEAST_TUNED // 2:
            return model
        weights = []
        for fold in range(min(FOLDS, every, max(FOLDED // len(usable), 1))):
            others = PhraseModel._learned([pair for n, pair in enumerate(usable) if n % every != fold], more)
            weights.append(others._tuned(usable[fold::every], tuned_until))
        return replace(model, weights=np.mean(weights, 0).tolist())

    @staticmethod
    def _learned(pairs: Sequence[tuple[Words, Words]], texts: Sequence[Words]) -> "PhraseModel":
        """Learns from the words of sentence pairs, and of texts of the target language."""
        within = (
            counted_within(source for source, _ in pairs),
            counted_within(chain((target for _, target in pairs), texts)),
        )
        sources = [usual_case(source, within[0]) for source, _ in pairs]
        targets = [usual_case(target, within[1]) for _, target in pairs]
        stems = PhraseVocabulary(), PhraseVocabulary()
        links = align(
            [stems[0].numbers(word.lower()[:BEGINNING] for word in words) for words in sources],
            [stems[1].numbers(word.lower()[:BEGINNING] for word in words) for words in targets],
        )
        source, target = PhraseVocabulary(), PhraseVocabulary()
        read, written = [source.numbers(words) for words in sources], [target.numbers(words) for words in targets]
        table = phrase_table(read, written, links)
        written += [target.numbers(usual_case(words, within[1])) for words in texts]
        return PhraseModel(source, target, within, read, written, table)

    def with_pairs(self, pairs: Iterable[Pair]) -> "PhraseModel":
        """Returns the model that learns from more pairs besides, with the same weights of features."""
        known = [
            ([self.source.words[word] for word in source], [self.target.words[word] for word in target])
            for source, target in zip(self.sources, self.texts, strict=False)
        ]
        texts = [[self.target.words[word] for word in text] for text in self.texts[len(self.sources) :]]
        return replace(PhraseModel._learned([*known, *_usable(pairs)], texts), weights=self.weights)

    def _tuned(self, pairs: Sequence[tuple[Words, Words]], until: float) -> list[float]:
        """Returns weights under which these pairs, which were not learned from, are translated best."""
        sources = [[part for parts in self.divided(source) for part in parts] for source, _ in pairs]

        def translated(number: int, weights: Sequence[float], n_best: int) -> list[tuple[Words, Output]]:
            outputs = decode(len(sources[number]), self._options(sources[number]), self.model, weights, n_best)
            return [(with_capital(self._written(output.target, sources[number])), output) for output in outputs]

        return tuned(translated, [target for _, target in pairs], until)

    @cached_property
    def model(self) -> NGrams:
        """The language model of the target."""
        return NGrams(self.texts)

    def translate(
        self, text: str, n_best: int = 1, demands: Demands = NO_DEMANDS, stack: int = STACK
    ) -> list[PhraseTranslation]:
        """Returns the best translations of a sentence that has words, best first, none if demands cannot be met;
        BudgetError if that is to end. A smaller stack is faster, and finds somewhat worse ones."""
        words = self.read(text)
        options, others = self._options(words), list(words)
        length, banned = len(words), demands.banned

        if demands.required:
            compared = list(map(comparable, words))
            required = []
            for each in demands.required:
                terms = (list(map(comparable, self.read(term))) for term in each.sources)
                places = [place for term in terms for place in places_of(compared, term)]
                required.append((places, [self._numbers(words_of(phrase), others) for phrase in each.texts]))
            options = requiring(options, length, required)
            length = max(end for _, end in options)
        if banned:
            options = without_banned(options, lambda target: _holds_any(text_of(self._written(target, others)), banned))
        prefix = self._numbers(usual_case(words_of(demands.prefix), self.within[1]), others)
        more = n_best if not banned else n_best + MORE_WITH_BANS
        found = []
        for output in decode(length, options, self.model, self.weights, more, prefix, demands.is_whole, stack):
            written = self._written(output.target, others)
            if not _holds_any(translation := self._spelled(written, demands), banned):
                found.append(PhraseTranslation(translation, output, written))
        return found[:n_best]

    def _spelled(self, words: Words, demands: Demands) -> str:
        """Returns the text of words: with a capital letter, unless that would change what is demanded."""
        begun = words_of(demands.prefix)
        if begun:
            text, beginning = text_of([*begun, *words[len(begun) :]]), text_of(begun)
            return demands.prefix.strip() + text[len(beginning) :] if text.startswith(beginning) else text
        small, text = text_of(words), text_of(with_capital(words))
        is_changed = any(_holds_any(small, each.texts) > _holds_any(text, each.texts) for each in demands.required)
        return small if is_changed else text

    def explain(self, text: str, target: str | None = None, demands: Demands = NO_DEMANDS) -> Explanation:
        """Explains the best translation of a sentence, or a given one; InputError if demands cannot be met."""
        words = self.read(text)
        if target is not None:
            demands = Demands(target, is_whole=True)
        found = self.translate(text, 1, demands)
        if not found:
            raise InputError(f"{text[:60]!r}: no translation satisfies all constraints; drop some of them")
        ((translation, output, written),) = found
        options, phrases, at = self._options(words), [], 0
        for begin, end, size in output.spans:
            learned = [each for each in options.get((begin, end), ()) if each.features[-1] > COPIED[-1]]
            ranked = sorted(learned, key=lambda each: -each.features[0])
            known = [(text_of(self._written(each.target, words)), math.exp(each.features[0])) for each in ranked]
            own = text_of(written[at : at + size])
            probability = next((share for other, share in known if other == own), None)
            others = [each for each in known if each[0] != own][:ALTERNATIVES]
            phrases.append(Used((begin, end), text_of(words[begin:end]), own, probability, others))
            at += size
        return Explanation(translation, words, written, phrases, output, list(self.weights))

    def read(self, text: str) -> list[str]:
        """Returns the words of a sentence as phrases are looked up by: compounds that are unknown in known parts."""
        return [part for parts in self.divided(words_of(text)) for part in parts]

    def divided(self, words: Words) -> list[list[str]]:
        """Returns the parts of each word of a sentence, nearly always the word itself in its usual case."""
        return [self._parts(word) for word in usual_case(words, self.within[0])]

    def _options(self, words: Words) -> Options:
        """Returns the translations of the phrases of divided words."""
        source = [self.source.find(word) for word in words]
        options: dict[Span, Sequence[Option]] = {}
        for begin in range(len(words)):
            for end in range(begin + 1, min(len(words), begin + LONGEST) + 1):
                if found := self.table.get(tuple(source[begin:end])):
                    options[begin, end] = found
                elif end == begin + 1:
                    copied = Option((len(self.target.words) + begin,), COPIED)
                    options[begin, end] = [copied, *self._similar(words[begin])]
        return options

    def _written(self, target: Phrase, others: Words) -> list[str]:
        """Returns the words of numbers, of which those after the last target word are places among other words."""
        known = len(self.target.words)
        return [self.target.words[number] if number < known else others[number - known] for number in target]

    def _numbers(self, words: Words, others: list[str]) -> Phrase:
        """Returns the numbers of words, see `_written`; adds unknown ones to the others."""
        found = []
        for word in words:
            number = self.target.find(word)
            if number < 0:
                number = len(self.target.words) + len(others)
                others.append(word)
            found.append(number)
        return tuple(found)

    @cached_property
    def _translated(self) -> dict[str, int]:
        """The source words that have translations of their own, and how many."""
        return {self.source.words[each[0]]: len(found) for each, found in self.table.items() if len(each) == 1}

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        """The source words that have translations, by the letters that all similar ones begin with."""
        words = defaultdict(list)
        for word in self._translated:
            words[word[:SHORTEST_STEM].lower()].append(word)
        return words

    def _known(self, word: str) -> str | None:
        """Returns a word that has translations as it is written, or with its first letter in the other case."""
        cases = (word, word[:1].lower() + word[1:], word[:1].upper() + word[1:])
        return next((case for case in cases if case in self._translated), None)

    def _parts(self, word: str) -> list[str]:
        """Returns a word, or the two known words that an unknown one is made of (Koehn and Knight 2003)."""
        if self._known(word) is not None:
            return [word]
        found: list[tuple[int, list[str]]] = []
        for end in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
            last = self._known(word[end:])
            for linking in LINKING if last else ():
                first = self._known(word[: end - len(linking)]) if word[:end].endswith(linking) else None
                if first and last and len(first) >= SHORTEST_PART:
                    found.append((min(self._translated[first], self._translated[last]), [first, last]))
        return max(found)[1] if found else [word]

    def _similar(self, word: str) -> Iterator[Option]:
        """Yields the translations of words that begin as an unknown one does, such as its other forms."""
        near: list[tuple[int, int, str]] = []
        for other in self._by_stem.get(word[:SHORTEST_STEM].lower(), ()):
            both = zip(word.lower(), other.lower(), strict=False)
            common = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], both))
            if common >= STEM_SHARE * max(len(word), len(other)):
                near.append((common, -len(other), other))
        for *_, other in sorted(near, reverse=True)[:MOST_SIMILAR]:
            for option in self.table[(self.source.find(other),)]:
                yield Option(option.target, (*option.features[:-1], GUESSED))

    def save(self, folder: Path) -> None:
        """Writes the model's files into a folder."""
        within = [dict(counts) for counts in self.within]
        words = _Words(self.source.words, self.target.words, within[0], within[1], list(self.weights))
        (folder / WORDS_FILE).write_bytes(msgspec.json.encode(words))
        pairs = [(source, option) for source, options in self.table.items() for option in options]
        tensors = {"features": torch.tensor([option.features for _, option in pairs], dtype=torch.float64)}
        for name, rows in (
            ("source", [source for source, _ in pairs]),
            ("target", [option.target for _, option in pairs]),
            ("sources", self.sources),
            ("texts", self.texts),
        ):
            tensors[name] = torch.tensor([number for row in rows for number in row], dtype=torch.int32)
            tensors[f"{name}_lengths"] = torch.tensor([len(row) for row in rows], dtype=torch.int32)
        save_tensors(tensors, folder / TENSORS_FILE)

    @staticmethod
    def load(folder: Path) -> "PhraseModel":
        """Reads a model's files; raises CheckpointError for damaged ones."""
        words = read_json(folder / WORDS_FILE, _Words, most_bytes=MOST_BYTES)
        try:
            tensors = load_file(folder / TENSORS_FILE)
            rows = {
                name: np.split(tensors[name].numpy(), np.cumsum(tensors[f"{name}_lengths"].numpy())[:-1])
                for name in ("source", "target", "sources", "texts")
            }
            table: dict[Phrase, list[Option]] = defaultdict(list)
            for source, target, features in zip(
                rows["source"], rows["target"], tensors["features"].tolist(), strict=True
            ):
                table[tuple(source.tolist())].append(Option(tuple(target.tolist()), tuple(features)))
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise CheckpointError(f"{folder / TENSORS_FILE} is damaged ({error}); {COPY_AGAIN}") from None
        vocabularies = PhraseVocabulary(words.source), PhraseVocabulary(words.target)
        within = Counter(words.within_source), Counter(words.within_target)
        sources, texts = ([row.tolist() for row in rows[name]] for name in ("sources", "texts"))
        return PhraseModel(*vocabularies, within, sources, texts, dict(table), words.weights)


def _usable(pairs: Iterable[Pair]) -> list[tuple[Words, Words]]:
    """Returns the words of the pairs that have some on both sides, and not too many."""
    words = [(words_of(source), words_of(target)) for source, target in pairs]
    return [pair for pair in words if all(0 < len(side) <= MOST_WORDS for side in pair)]


def _holds_any(text: str, phrases: Iterable[str]) -> bool:
    return any(holds(text, phrase) for phrase in phrases)


class _Words(msgspec.Struct):
    """The contents of `words.json`."""

    source: list[str]
    target: list[str]
    within_source: dict[str, int]
    within_target: dict[str, int]
    weights: list[float]
