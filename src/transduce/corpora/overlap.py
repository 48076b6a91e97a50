"""Finds, counts, and if asked leaves out validation and test sentences that occur in the training data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from transduce.corpora.corpus import Keeps, ParallelCorpus, SentencePair
from transduce.corpora.fingerprints import Fingerprints, fingerprint

Scope = Literal["pair", "source", "target"]
SCOPES: tuple[Scope, ...] = ("pair", "source", "target")
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


def find_overlaps(training: Iterable[ParallelCorpus], held_out: Sequence[ParallelCorpus]) -> list[FoundOverlap]:
    """Returns what each held-out corpus shares with the training data, which is read once; only hashes are kept."""
    wanted = _remember(held_out, SCOPES)
    met = {scope: Fingerprints() for scope in SCOPES}
    for corpus in training:
        for pair in corpus:
            for scope, known in wanted.items():
                value = scope_fingerprint(pair, scope)
                if value in known:
                    met[scope].add(value)
    return [_count(corpus, met) for corpus in held_out]


def _count(corpus: ParallelCorpus, met: dict[Scope, Fingerprints]) -> FoundOverlap:
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
        known = _remember(self.held_out, ("source", "target") if self.of == "either" else (self.of,))
        return lambda pair: not any(scope_fingerprint(pair, scope) in seen for scope, seen in known.items())


def _remember(corpora: Iterable[ParallelCorpus], scopes: Sequence[Scope]) -> dict[Scope, Fingerprints]:
    known = {scope: Fingerprints() for scope in scopes}
    for corpus in corpora:
        for pair in corpus:
            for scope, seen in known.items():
                seen.add(scope_fingerprint(pair, scope))
    return known
