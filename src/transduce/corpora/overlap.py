"""Finds, counts, and if asked leaves out validation and test sentences that occur in the training data."""

import hashlib
import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import msgspec

from transduce.base.files import write_text
from transduce.corpora.corpus import Keeps, ParallelCorpus, SentencePair
from transduce.corpora.fingerprints import Fingerprints, fingerprint

Scope = Literal["pair", "source", "target"]
SCOPES: tuple[Scope, ...] = ("pair", "source", "target")
SIDES: tuple[Scope, ...] = ("source", "target")
SHOWN = 3


def plain(text: str) -> str:
    """Returns the text without regard to case and spacing."""
    return " ".join(text.casefold().split())


def scope_fingerprint(pair: SentencePair, scope: Scope) -> int:
    """Returns the fingerprint of a pair or of one of its sides."""
    if scope == "pair":
        return fingerprint(f"{plain(pair.source)}\0{plain(pair.target)}")
    return fingerprint(plain(getattr(pair, scope)))


@dataclass
class FoundOverlap:
    """The number of sentences of a held-out corpus that occur in the training data."""

    name: str
    pairs: int = 0
    """The number of pairs of the corpus."""
    found: dict[Scope, int] = field(default_factory=lambda: dict.fromkeys(SCOPES, 0))
    """The number of them that occur as a pair, or by their source or target alone."""
    examples: list[str] = field(default_factory=list)
    """The first few sentences found."""

    def describe(self) -> str:
        """Returns one line."""
        return (
            f"of {self.pairs:,} pairs of {self.name}, {self.found['source']:,} sources, "
            f"{self.found['target']:,} targets and {self.found['pair']:,} whole pairs are in the training data too"
        )


class OverlapSearch:
    """Searches training corpora for sentences of held-out ones while they are read for another purpose.

    What each corpus has is kept in the cache, so that a corpus of which a store exists need not be read again. Of the
    held-out sentences only hashes are held in memory.
    """

    def __init__(self, held_out: Sequence[ParallelCorpus], cache: Path) -> None:
        self._held_out = held_out
        self._cache = cache / "overlaps"

    @cached_property
    def _wanted(self) -> dict[Scope, Fingerprints]:
        return _remember(self._held_out, SCOPES)

    def watched(self, corpus: ParallelCorpus, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Yields the pairs of a pass over a training corpus; keeps what they share with held-out ones at its end."""
        wanted, met = self._wanted, {scope: set[int]() for scope in SCOPES}
        for pair in pairs:
            sides = [(scope, scope_fingerprint(pair, scope)) for scope in SIDES]
            known = [(scope, value) for scope, value in sides if value in wanted[scope]]
            if len(known) == len(SIDES) and (whole := scope_fingerprint(pair, "pair")) in wanted["pair"]:
                known.append(("pair", whole))
            for scope, value in known:
                met[scope].add(value)
            yield pair
        self._cache.mkdir(parents=True, exist_ok=True)
        write_text(self._file(corpus), json.dumps({scope: sorted(values) for scope, values in met.items()}))

    def find(self, training: Iterable[ParallelCorpus]) -> list[FoundOverlap]:
        """Returns the overlap of each held-out corpus with the training data; reads corpora that were not watched."""
        met: dict[Scope, set[int]] = {scope: set() for scope in SCOPES}
        for corpus in training:
            of_corpus = self._read(corpus)
            if of_corpus is None:
                deque(self.watched(corpus, corpus), maxlen=0)
                of_corpus = self._read(corpus) or {}
            for scope, values in of_corpus.items():
                met[scope].update(values)
        return [_count(corpus, met) for corpus in self._held_out]

    def _read(self, corpus: ParallelCorpus) -> dict[Scope, list[int]] | None:
        try:
            return msgspec.json.decode(self._file(corpus).read_bytes(), type=dict[Scope, list[int]])
        except (OSError, msgspec.DecodeError):
            return None

    def _file(self, corpus: ParallelCorpus) -> Path:
        contents = [corpus.content(), *(each.content() for each in self._held_out)]
        return self._cache / f"{hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]}.json"


def _count(corpus: ParallelCorpus, met: Mapping[Scope, Collection[int]]) -> FoundOverlap:
    overlap = FoundOverlap(corpus.name)
    for pair in corpus:
        overlap.pairs += 1
        scopes = [scope for scope in SCOPES if scope_fingerprint(pair, scope) in met[scope]]
        for scope in scopes:
            overlap.found[scope] += 1
        if scopes and len(overlap.examples) < SHOWN:
            overlap.examples.append(f"{pair.source[:80]} | {pair.target[:80]}")
    return overlap


@dataclass(frozen=True)
class OverlapFilter:
    """Leaves out pairs that occur in the held-out corpora, of whose sentences it remembers hashes."""

    of: Scope | Literal["either"]
    held_out: Sequence[ParallelCorpus]
    remembers: bool = False

    @property
    def reason(self) -> str:
        """The reason for leaving pairs out."""
        return f"whose {'source or target' if self.of == 'either' else self.of} is in the validation or test data"

    @property
    def content(self) -> str:
        """A text of all that decisions depend on."""
        return " ".join([f"overlap {self.of}", *(corpus.content() for corpus in self.held_out)])

    def start(self) -> Keeps:
        """Begins a pass."""
        return partial(_is_new, _remember(self.held_out, SIDES if self.of == "either" else (self.of,)))


def _is_new(known: Mapping[Scope, Fingerprints], pair: SentencePair) -> bool:
    return not any(scope_fingerprint(pair, scope) in seen for scope, seen in known.items())


def _remember(corpora: Iterable[ParallelCorpus], scopes: Sequence[Scope]) -> dict[Scope, Fingerprints]:
    known = {scope: Fingerprints() for scope in scopes}
    for corpus in corpora:
        for pair in corpus:
            for scope, seen in known.items():
                seen.add(scope_fingerprint(pair, scope))
    return known
