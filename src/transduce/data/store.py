"""Token ids of a corpus on disk, mapped into memory: built once, in a stream, and found again by its contents."""

import hashlib
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transduce.base.errors import DataError
from transduce.base.files import found_or_made
from transduce.base.reprs import shown_by
from transduce.corpora.corpus import ParallelCorpus, SentencePair, nothing_left
from transduce.data.all_cores import for_each
from transduce.text.tokenizer import Tokenizers

FORMAT = 5
SIDES = ("source", "target")
DOCUMENTS = "documents"
FILES = [*(f"{side}.{kind}" for side in SIDES for kind in ("ids", "offsets", "lengths")), DOCUMENTS]
PAIRS_AT_ONCE = 4096
MAX_UNKNOWN = 0.3  # a share of unknown tokens beyond this is a mistake, not a rare word
REMEDY = (
    "are source and target exchanged, or is it that of another language (training.start_from, tokenizer.file)? If not, "
    'take subwords (tokenizer.kind = "bpe"), more words (tokenizer.size, tokenizer.min_frequency), or add the words of '
    "this text to those of the model to start from (training.new_words)"
)
SHOWN = 3


@dataclass(frozen=True)
class Dropped:
    """The number of pairs left out of a store for one reason, and the first few."""

    count: int
    examples: list[str]


@dataclass(frozen=True)
class Side:
    """The ids of one language, all mapped from files: sentence i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: NDArray[np.integer]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int32]
    """The number of tokens of each sentence."""

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @staticmethod
    def of(ids: NDArray[np.integer], lengths: ArrayLike) -> "Side":
        """Returns sentences of these lengths, whose ids follow one another."""
        of_each = np.asarray(lengths, np.int32)
        return Side(ids, np.concatenate([[0], np.cumsum(of_each, dtype=np.int64)]), of_each)


@shown_by(
    lambda store: {"pairs": f"{len(store):,}", "left out": sum(each.count for each in store.dropped.values()) or None}
)
@dataclass(frozen=True, repr=False)
class TokenStore:
    """A corpus as ids without special tokens, source and target aligned."""

    source: Side
    target: Side
    dropped: dict[str, Dropped]
    """The pairs left out, by reason."""
    content: str = ""
    """A hash that changes when the ids do."""
    documents: NDArray[np.int32] | None = None
    """The number of the document that each pair is from, which rises from pair to pair; None if all are from one."""

    def __len__(self) -> int:
        return len(self.source.lengths)


def all_dropped(stores: Iterable[TokenStore]) -> dict[str, Dropped]:
    """Returns the pairs left out of several stores, by reason."""
    together: dict[str, Dropped] = {}
    for store in stores:
        for reason, dropped in store.dropped.items():
            before = together.get(reason, Dropped(0, []))
            together[reason] = Dropped(before.count + dropped.count, (before.examples + dropped.examples)[:SHOWN])
    return together


Watch = Callable[[ParallelCorpus, Iterable[SentencePair]], Iterator[SentencePair]]
"""Yields the pairs of a pass over a corpus as they are, and sees them."""


def open_store(
    corpus: ParallelCorpus,
    tokenizers: Tokenizers,
    max_tokens: int | None,
    cache: Path,
    watch: Watch | None = None,
    may_be_empty: bool = False,
) -> TokenStore:
    """Returns the store of a corpus, built if the cache has none of these contents, tokenizers and limit.

    A pass that builds it is also given to `watch`, so that what else is to be known of the pairs needs no further pass.

    Pairs with a blank side or, if max_tokens is given, with more tokens on a side are left out whole. Raises DataError
    for a corpus that has nothing else, unless it may be empty, or whose tokens are mostly unknown.
    """

    def build(new: Path) -> None:
        _build(corpus, tokenizers, max_tokens, new, watch)

    store = found_or_made(_folder_of(corpus, tokenizers, max_tokens, cache), _read, build)
    if not len(store) and not may_be_empty:
        raise nothing_left(corpus.name, {reason: dropped.count for reason, dropped in store.dropped.items()})
    return store


def open_stores(
    corpora: Sequence[ParallelCorpus],
    tokenizers: Tokenizers,
    max_tokens: int | None,
    cache: Path,
    watch: Watch | None = None,
) -> list[TokenStore]:
    """Returns the store of each corpus, which may be empty; all cores build those that the cache has not, each one."""

    def build(corpus: ParallelCorpus) -> TokenStore:
        return open_store(corpus, tokenizers, max_tokens, cache, watch, may_be_empty=True)

    folders = [_folder_of(corpus, tokenizers, max_tokens, cache) for corpus in corpora]
    missing = [corpus for corpus, folder in zip(corpora, folders, strict=True) if not (folder / "store.json").exists()]
    for_each(build, missing)
    return list(map(build, corpora))


def _folder_of(corpus: ParallelCorpus, tokenizers: Tokenizers, max_tokens: int | None, cache: Path) -> Path:
    made_from = [FORMAT, corpus.content(), tokenizers.source.content, tokenizers.target.content, max_tokens]
    return cache / "stores" / hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]


def _read(folder: Path) -> TokenStore | None:
    """Returns the store in a folder; None if its files have changed."""
    facts = json.loads((folder / "store.json").read_text(encoding="utf-8"))
    if any(_checksum(folder / name) != checksum for name, checksum in facts["checksums"].items()):
        return None
    source, target = (
        Side(
            _mapped(folder / f"{side}.ids", np.dtype(facts["dtype"])),
            _mapped(folder / f"{side}.offsets", np.dtype(np.int64)),
            _mapped(folder / f"{side}.lengths", np.dtype(np.int32)),
        )
        for side in SIDES
    )
    documents = _mapped(folder / DOCUMENTS, np.dtype(np.int32))
    dropped = {reason: Dropped(**counted) for reason, counted in facts["dropped"].items()}
    return TokenStore(source, target, dropped, folder.name, documents)


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Maps the numbers in a file; an empty one cannot be mapped."""
    return np.memmap(path, dtype=dtype, mode="r") if path.stat().st_size else np.empty(0, dtype)


def _checksum(path: Path) -> int:
    """Returns a file's CRC-32, which detects damage at the speed of reading."""
    value = 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 16):
            value = zlib.crc32(chunk, value)
    return value


def _build(
    corpus: ParallelCorpus,
    tokenizers: Tokenizers,
    max_tokens: int | None,
    folder: Path,
    watch: Watch | None,
) -> None:
    """Writes the files of a store into an empty folder."""
    largest = max(len(tokenizers.source), len(tokenizers.target))
    dtype: np.dtype[np.unsignedinteger] = np.dtype(np.uint16 if largest <= 2**16 else np.uint32)
    with _Writer(folder, dtype, (tokenizers.source.unknown, tokenizers.target.unknown)) as writer:
        sifted = corpus.sift(writer.drop) if watch is None else watch(corpus, corpus.sift(writer.drop))
        while pairs := list(itertools.islice(sifted, PAIRS_AT_ONCE)):
            _write_chunk(pairs, tokenizers, max_tokens, writer)
    _check_unknown(corpus.name, writer.unknown, writer.tokens)
    facts = {
        "dtype": writer.dtype.name,
        "checksums": {name: _checksum(folder / name) for name in FILES},
        "dropped": {r: {"count": d.count, "examples": d.examples} for r, d in writer.dropped.items()},
    }
    (folder / "store.json").write_text(json.dumps(facts), encoding="utf-8")


def _write_chunk(pairs: list[SentencePair], tokenizers: Tokenizers, max_tokens: int | None, writer: "_Writer") -> None:
    encoded = [
        tokenizers.source.encode_batch([pair.source for pair in pairs]),
        tokenizers.target.encode_batch([pair.target for pair in pairs]),
    ]
    lengths = np.array([[len(ids) for ids in side] for side in encoded], np.int32)  # [2, pairs]
    is_blank = lengths.min(0) == 0
    is_long = ~is_blank & (lengths.max(0) > (np.iinfo(np.int32).max if max_tokens is None else max_tokens))
    for i in np.flatnonzero(is_blank | is_long):
        writer.drop("with a blank side" if is_blank[i] else f"longer than {max_tokens} tokens", pairs[i])
    is_kept = ~(is_blank | is_long)
    documents = np.array([writer.document_of(pair) for pair in pairs], np.int32)
    writer.add([list(itertools.compress(side, is_kept)) for side in encoded], lengths[:, is_kept], documents[is_kept])


class _Writer:
    """Appends sentences to the files of a store."""

    def __init__(self, folder: Path, dtype: np.dtype[np.unsignedinteger], unknown: tuple[int, int]) -> None:
        self.dtype = dtype
        self.kept = 0
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        self.dropped: dict[str, Dropped] = {}
        self._unknown_id = unknown
        self._document = (0, "")  # of the last pair: number and name
        self._files = {name: (folder / name).open("wb") for name in FILES}

    def __enter__(self) -> "_Writer":
        for side in SIDES:
            self._files[f"{side}.offsets"].write(np.int64(0).tobytes())
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def document_of(self, pair: SentencePair) -> int:
        """Returns the number of the next pair's document."""
        number, name = self._document
        if pair.document != name or pair.begins:
            self._document = (number + 1, pair.document)
        return self._document[0]

    def add(
        self, ids: Sequence[Sequence[Sequence[int]]], lengths: NDArray[np.int32], documents: NDArray[np.int32]
    ) -> None:
        """Appends sentences: the ids of each on both sides, their lengths, [2, sentences], and their documents."""
        self.kept += len(documents)
        self._files[DOCUMENTS].write(documents.tobytes())
        for side, name in enumerate(SIDES):
            ends = self.tokens[side] + np.cumsum(lengths[side], dtype=np.int64)
            flat = np.fromiter(itertools.chain.from_iterable(ids[side]), self.dtype, int(lengths[side].sum()))
            self.tokens[side] += len(flat)
            self.unknown[side] += int(np.count_nonzero(flat == self._unknown_id[side]))
            self._files[f"{name}.ids"].write(flat.tobytes())
            self._files[f"{name}.offsets"].write(ends.tobytes())
            self._files[f"{name}.lengths"].write(lengths[side].tobytes())

    def drop(self, reason: str, pair: SentencePair) -> None:
        before = self.dropped.get(reason, Dropped(0, []))
        example = [f"{pair.source[:80]} | {pair.target[:80]}"] if before.count < SHOWN else []
        self.dropped[reason] = Dropped(before.count + 1, before.examples + example)


def _check_unknown(name: str, unknown: list[int], tokens: list[int]) -> None:
    for side, unknown_count, count in zip(("source", "target"), unknown, tokens, strict=True):
        if unknown_count > MAX_UNKNOWN * count:
            raise DataError(
                f"{name}: {unknown_count / count:.0%} of the {side} tokens are unknown to the tokenizer; {REMEDY}"
            )
