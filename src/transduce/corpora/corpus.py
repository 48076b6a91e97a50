"""Text that can be read repeatedly without being held in memory: aligned sentences, or lines."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate, chain, islice
from typing import Protocol

from transduce.base.errors import DataError, InputError
from transduce.base.reprs import rows_html, shown_by


@dataclass(frozen=True)
class SentencePair:
    """One sentence and its translation."""

    source: str
    target: str
    document: str = ""
    """The document that both are from, in a corpus of several; those of a document follow one another."""
    begins: bool = field(default=False, kw_only=True, compare=False, repr=False)
    """True if the pair does not continue the one before it, though the name of the document is the same."""


def sides_of(pairs: Sequence[SentencePair]) -> tuple[list[str], list[str]]:
    """Returns the sources of pairs, and their targets."""
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def running_texts(pairs: Sequence[SentencePair]) -> list[str]:
    """Returns for each pair a name of the running text that it is from: a document, or a part of one between holes."""
    parts = accumulate(int(pair.begins) for pair in pairs)
    return [f"{pair.document} {part}" for pair, part in zip(pairs, parts, strict=True)]


Pair = SentencePair | tuple[str, str]
"""A sentence and its translation, as people write it."""


def is_pair(value: object) -> bool:
    """Returns True if a value is one pair, rather than several."""
    return isinstance(value, SentencePair) or (
        isinstance(value, tuple) and len(value) == 2 and all(isinstance(side, str) for side in value)
    )


def as_pair(pair: Pair) -> SentencePair:
    """Returns a pair as one type; InputError for a value that is none, such as a single string."""
    if isinstance(pair, SentencePair):
        return pair
    if not is_pair(pair):
        raise InputError(f"{repr(pair)[:60]} is not a pair; expected a source and its translation: (source, target)")
    return SentencePair(*pair)


Keeps = Callable[[SentencePair], bool]
"""A test of whether a pair is kept; called on every pair of one pass, in order."""

Drop = Callable[[str, SentencePair], None]
"""A function called with the reason and each pair that is left out."""


class Filter(Protocol):
    """Decides which pairs of a corpus are kept."""

    @property
    def reason(self) -> str | None:
        """The reason for leaving pairs out, in words that follow their number; None for those of another split."""

    @property
    def content(self) -> str:
        """A text that changes if decisions may change."""

    @property
    def remembers(self) -> bool:
        """True if a decision depends on earlier pairs."""

    def start(self) -> Keeps:
        """Begins a pass; nothing of its pairs is remembered after it."""


class Copies(Protocol):
    """Makes further pairs of those of a corpus."""

    @property
    def content(self) -> str:
        """A text that changes if the copies may change."""

    def copies(self, pair: SentencePair) -> Iterable[SentencePair]:
        """Returns the pairs that follow a pair."""


def _first_html(corpus: "ParallelCorpus | TextCorpus") -> str:
    try:
        first = list(islice(corpus, 5))
    except DataError as error:
        return escape(str(error))
    rows: list[list[object]] = [[x.source, x.target] if isinstance(x, SentencePair) else [x] for x in first]
    return rows_html(["source", "target"] if isinstance(corpus, ParallelCorpus) else ["text"], rows)


def _corpus_facts(corpus: "ParallelCorpus | TextCorpus") -> dict[str, object]:
    return {"name": corpus.name, "filters": len(getattr(corpus, "filters", ())) or None}


@shown_by(_corpus_facts, _first_html)
@dataclass(frozen=True, repr=False)
class ParallelCorpus:
    """Sentence pairs that are read anew at each iteration; reading raises DataError where sides do not align."""

    name: str
    """The origin of the pairs, for messages."""
    read: Callable[[], Iterator[SentencePair]]
    """Starts a new pass over all pairs."""
    fingerprint: Callable[[], str]
    """A hash that changes when the pairs that are read do."""
    filters: tuple[Filter, ...] = ()
    """The filters applied to each pair in this order, until one leaves it out."""
    kept: Callable[[], Iterator[SentencePair]] | None = None
    """Reads the pairs that the filters keep, where these have been written; None reads all and filters them."""
    shards: tuple["ParallelCorpus", ...] = ()
    """The files that are read one after another, before filters; none for a corpus of one file."""
    noise: Copies | None = None
    """Adds copies to the pairs that are kept; None adds none."""

    def __iter__(self) -> Iterator[SentencePair]:
        return self.sift(lambda reason, pair: None)

    def sift(self, drop: Drop) -> Iterator[SentencePair]:
        """Yields the pairs that the filters keep, each with its copies; calls `drop` with those that are left out for a
        reason."""
        for pair in self._sifted(drop):
            yield pair
            if self.noise is not None:
                yield from self.noise.copies(pair)

    def _sifted(self, drop: Drop) -> Iterator[SentencePair]:
        if self.kept is not None:
            yield from self.kept()
            return
        checks = [(step.reason, step.start()) for step in self.filters]
        begins = False
        for pair in self.read():
            begins |= pair.begins
            for reason, keeps in checks:
                if not keeps(pair):
                    if reason is None:  # a hole: pairs of another split
                        begins = True
                    else:
                        drop(reason, pair)
                    break
            else:
                yield replace(pair, begins=True) if begins else pair
                begins = False

    def content(self) -> str:
        """Returns a hash that changes when the pairs do."""
        decided = [step.content for step in (*self.filters, self.noise) if step is not None]
        return _hash([self.fingerprint(), *decided]) if decided else self.fingerprint()

    @property
    def parts(self) -> list["ParallelCorpus"]:
        """The corpora that this one consists of, one for each file: a change of one file leaves the others as they are.

        There is only one if a filter remembers pairs of earlier files.
        """
        if not self.shards or self.kept is not None or any(step.remembers for step in self.filters):
            return [self]
        return [replace(shard.filtered(self.filters), noise=self.noise) for shard in self.shards]

    def filtered(self, filters: Sequence[Filter], name: str | None = None) -> "ParallelCorpus":
        """Returns the same corpus, filtered further."""
        return replace(self, name=name or self.name, filters=(*self.filters, *filters), kept=None)

    @property
    def reversed(self) -> "ParallelCorpus":
        """The same pairs from target to source; filters decide as before."""
        kept = self.kept
        return ParallelCorpus(
            f"{self.name}, reversed",
            lambda: map(_swapped, self.read()),
            lambda: _hash(["reversed", self.fingerprint()]),
            tuple(map(ReversedFilter, self.filters)),
            None if kept is None else lambda: map(_swapped, kept()),
            tuple(shard.reversed for shard in self.shards),
        )

    @staticmethod
    def joined(name: str, corpora: Sequence["ParallelCorpus"]) -> "ParallelCorpus":
        """Joins several corpora, one after another."""
        return ParallelCorpus(
            name, lambda: _one_after_another(corpora), lambda: _hash([corpus.content() for corpus in corpora])
        )

    @staticmethod
    def of_shards(name: str, shards: Sequence["ParallelCorpus"]) -> "ParallelCorpus":
        """Joins the files of one corpus, of which stores can be made one by one."""
        return replace(ParallelCorpus.joined(name, shards), shards=tuple(shards))

    @staticmethod
    def of_pairs(name: str, pairs: Iterable[Pair]) -> "ParallelCorpus":
        """Makes a corpus of pairs in memory."""
        held = [as_pair(pair) for pair in pairs]

        def content() -> str:
            digest = hashlib.sha256()
            for pair in held:
                digest.update(f"{pair.source}\0{pair.target}{pair.document and chr(0)}{pair.document}\n".encode())
            return digest.hexdigest()

        return ParallelCorpus(name, lambda: iter(held), content)


@dataclass(frozen=True)
class ReversedFilter:
    """A filter that decides as another does on pairs with their sides swapped."""

    of: Filter

    @property
    def reason(self) -> str | None:
        """See Filter."""
        return self.of.reason

    @property
    def content(self) -> str:
        """See Filter."""
        return f"reversed {self.of.content}"

    @property
    def remembers(self) -> bool:
        """See Filter."""
        return self.of.remembers

    def start(self) -> Keeps:
        """See Filter."""
        keeps = self.of.start()
        return lambda pair: keeps(_swapped(pair))


def _swapped(pair: SentencePair) -> SentencePair:
    return SentencePair(pair.target, pair.source, pair.document, begins=pair.begins)


def _one_after_another(corpora: Iterable[ParallelCorpus]) -> Iterator[SentencePair]:
    for pairs in map(iter, corpora):
        yield from (replace(pair, begins=True) for pair in islice(pairs, 1))
        yield from pairs


@shown_by(_corpus_facts, _first_html)
@dataclass(frozen=True, repr=False)
class TextCorpus:
    """Lines of one language, read anew at each iteration."""

    name: str
    """The origin of the lines, for messages."""
    read: Callable[[], Iterator[str]]
    """Starts a new pass."""
    content: Callable[[], str]
    """A hash that changes when the lines do."""

    def __iter__(self) -> Iterator[str]:
        return self.read()

    @staticmethod
    def joined(name: str, texts: Sequence["TextCorpus"]) -> "TextCorpus":
        """Joins several texts, one after another."""
        return TextCorpus(name, lambda: chain.from_iterable(texts), lambda: _hash([text.content() for text in texts]))


def check_not_empty(corpus: ParallelCorpus) -> None:
    """Raises DataError, with the reasons why pairs were left out, for a corpus without any pair of two texts."""
    dropped: Counter[str] = Counter()
    for pair in corpus.sift(lambda reason, pair: dropped.update([reason])):
        if pair.source.strip() and pair.target.strip():
            return
        dropped["with a blank side"] += 1
    raise nothing_left(corpus.name, dropped)


def nothing_left(name: str, dropped: Mapping[str, int]) -> DataError:
    """Returns an error for a corpus without pairs, with the number left out for each reason."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())
    return DataError(f"{name}: no sentence pairs" + (f" are left ({reasons})" if reasons else ""))


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
