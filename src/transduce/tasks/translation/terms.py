"""Writes terms into the sources of training pairs, so that a model learns to use and inflect those it is given.

Each term is the most frequent form of a target word, after the source word that it translates (Dinu et al. 2019;
target lemmas: Bergmanis and Pinnis 2021).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.settings import TermsConfig
from transduce.errors import ConfigError
from transduce.inference.inflections import SHORTEST_STEM, Inflections, spoken_spans
from transduce.text.source_terms import TermMarks
from transduce.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TermWriter:
    """Writes terms into the sources of a share of pairs, always the same ones."""

    config: TermsConfig
    corpora: Sequence[ParallelCorpus]
    """Pairs of the same languages, from whose words inflected forms are learned when the first term is written."""
    marks: TermMarks = field(default_factory=TermMarks)
    _lemmas: dict[tuple[str, str], str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def content(self) -> str:
        """A text that changes when the terms may."""
        settings = [msgspec.json.encode(settings).decode() for settings in (self.config, self.marks)]
        return " ".join(["terms 1", *settings, *(corpus.content() for corpus in self.corpora)])

    @cached_property
    def _inflections(self) -> Inflections:
        return Inflections.learn(pair for corpus in self.corpora for pair in corpus)

    def __call__(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yields pairs in order, with terms in their sources or without."""
        return (SentencePair(self._source(pair), pair.target) for pair in pairs)

    def _source(self, pair: SentencePair) -> str:
        drawn = random.Random(f"{pair.source}\n{pair.target}")  # the same in each process
        if drawn.random() >= self.config.sentences:
            return self.marks.without(pair.source)
        links = [link for link in self._inflections.links(pair) if min(len(link[1]), len(link[2])) >= SHORTEST_STEM]
        chosen = [link for link in links if drawn.random() < self.config.words] or (links and [drawn.choice(links)])
        spans = spoken_spans(pair.source)
        return self.marks.after(
            pair.source, [(spans[index][1], self._lemma(source, target)) for index, source, target in chosen]
        )

    def _lemma(self, source: str, target: str) -> str:
        if (source, target) not in self._lemmas:
            self._lemmas[source, target] = self._inflections.lemma(source, target)
        return self._lemmas[source, target]


def check_marks(marks: TermMarks, tokenizer: Tokenizer) -> None:
    """Raises ConfigError for a vocabulary that cannot write the marks of terms."""
    for mark in (marks.opening, marks.closing):
        if tokenizer.unknown in tokenizer.encode(mark):
            raise ConfigError(
                f"data.terms: the source vocabulary has no {mark!r}, which marks terms; let the run train its own "
                "tokenizer, or leave data.terms out"
            )
