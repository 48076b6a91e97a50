"""Token ids of a corpus on disk, mapped into memory: built once, in a stream, and found again by its contents."""

import hashlib
import itertools
import json
import os
import shutil
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.corpus import ParallelCorpus, SentencePair, nothing_left
from transduce.errors import DataError
from transduce.files import unique_folder, write_text
from transduce.reprs import shown_by
from transduce.text.tokenizer import Tokenizers

FORMAT = 2
SIDES = ("source", "target")
FILES = [f"{side}.{kind}" for side in SIDES for kind in ("ids", "offsets")]
PAIRS_AT_ONCE = 4096
MAX_UNKNOWN = 0.3  # a share of unknown tokens beyond this is a mistake, not a rare word
REMEDY = (
    "are source and target exchanged, or is it that of another language (training.start_from, tokenizer.file)? If not, "
    'take subwords (tokenizer.kind = "bpe"), more words (tokenizer.size, tokenizer.min_frequency), or add the words of '
    "this text to those of the model to start from (training.new_words)"
)
SHOWN = 3
ABANDONED = 3600.0  # seconds without a write after which an unfinished store counts as abandoned


@dataclass(frozen=True)
class Dropped:
    """The number of pairs left out of a store for one reason, and the first few."""

    count: int
    examples: list[str]


@dataclass(frozen=True)
class Side:
    """The ids of one language: sentence i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: NDArray[np.integer]
    offsets: NDArray[np.int64]

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sentence."""
        return np.diff(self.offsets)


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

    def __len__(self) -> int:
        return len(self.source.offsets) - 1


def open_store(corpus: ParallelCorpus, tokenizers: Tokenizers, max_tokens: int | None, cache: Path) -> TokenStore:
    """Returns the store of a corpus, built if the cache has none of these contents, tokenizers and limit.

    Pairs with a blank side or, if max_tokens is given, with more tokens on a side are left out whole. Raises DataError
    for a corpus that has nothing else, or whose tokens are mostly unknown.
    """
    made_from = [FORMAT, corpus.content(), tokenizers.source.content, tokenizers.target.content, max_tokens]
    folder = cache / "stores" / hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]
    store = _read(folder)
    if store is None:
        shutil.rmtree(folder, ignore_errors=True)
        _build(corpus, tokenizers, max_tokens, folder)
        store = _read(folder)
    if store is None:
        raise DataError(f"{folder}: reading back what was just written failed; check the disk")
    return store


def _read(folder: Path) -> TokenStore | None:
    """Returns the store in a folder; None if there is none, or if its files have changed."""
    try:
        facts = json.loads((folder / "store.json").read_text())
        if any(_checksum(folder / name) != checksum for name, checksum in facts["checksums"].items()):
            return None
        source, target = (
            Side(
                np.memmap(folder / f"{side}.ids", dtype=facts["dtype"], mode="r"),
                np.fromfile(folder / f"{side}.offsets", dtype=np.int64),
            )
            for side in SIDES
        )
        dropped = {reason: Dropped(**counted) for reason, counted in facts["dropped"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return TokenStore(source, target, dropped)


def _checksum(path: Path) -> int:
    """Returns a file's CRC-32, which detects damage at the speed of reading."""
    value = 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 16):
            value = zlib.crc32(chunk, value)
    return value


def _build(corpus: ParallelCorpus, tokenizers: Tokenizers, max_tokens: int | None, folder: Path) -> None:
    """Builds a store beside the folder, then renames it, so that a half-built store is never opened."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder.parent)
    building = unique_folder(folder.parent, "building-")
    try:
        largest = max(len(tokenizers.source), len(tokenizers.target))
        writer = _Writer(building, np.dtype(np.uint16 if largest <= 2**16 else np.uint32))
        with writer:
            sifted = corpus.sift(writer.drop)
            while pairs := list(itertools.islice(sifted, PAIRS_AT_ONCE)):
                _write_chunk(pairs, tokenizers, max_tokens, writer)
        if not writer.kept:
            raise nothing_left(corpus.name, {reason: dropped.count for reason, dropped in writer.dropped.items()})
        _check_unknown(corpus.name, writer.unknown, writer.tokens)
        facts = {
            "dtype": writer.dtype.name,
            "checksums": {name: _checksum(building / name) for name in FILES},
            "dropped": {r: {"count": d.count, "examples": d.examples} for r, d in writer.dropped.items()},
        }
        write_text(building / "store.json", json.dumps(facts))
        try:
            building.rename(folder)
        except OSError:
            if not (folder / "store.json").exists():  # else another process built the same meanwhile
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _remove_abandoned(stores: Path) -> None:
    """Removes what killed builds left behind; builds of other processes, which write all the time, stay."""
    for building in stores.glob("building-*"):
        try:
            newest = max(path.stat().st_mtime for path in (building, *building.iterdir()))
        except OSError:  # its process has just finished
            continue
        if time.time() - newest > ABANDONED:
            shutil.rmtree(building, ignore_errors=True)


def _write_chunk(pairs: list[SentencePair], tokenizers: Tokenizers, max_tokens: int | None, writer: "_Writer") -> None:
    sources = tokenizers.source.encode_batch([pair.source for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.target for pair in pairs])
    for pair, source, target in zip(pairs, sources, targets, strict=True):
        if not source or not target:
            writer.drop("with a blank side", pair)
        elif max_tokens is not None and max(len(source), len(target)) > max_tokens:
            writer.drop(f"longer than {max_tokens} tokens", pair)
        else:
            writer.add(source, target, source.count(tokenizers.source.unknown), target.count(tokenizers.target.unknown))


class _Writer:
    """Appends sentences to the four files of a store."""

    def __init__(self, folder: Path, dtype: np.dtype[np.unsignedinteger]) -> None:
        self.dtype = dtype
        self.kept = 0
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        self.dropped: dict[str, Dropped] = {}
        self._ids = [(folder / f"{side}.ids").open("wb") for side in ("source", "target")]
        self._offsets = [(folder / f"{side}.offsets").open("wb") for side in ("source", "target")]

    def __enter__(self) -> "_Writer":
        for offsets in self._offsets:
            offsets.write(np.int64(0).tobytes())
        return self

    def __exit__(self, *_: object) -> None:
        for file in (*self._ids, *self._offsets):
            file.flush()
            os.fsync(file.fileno())
            file.close()

    def add(self, source: list[int], target: list[int], *unknown: int) -> None:
        self.kept += 1
        for side, ids in enumerate((source, target)):
            self.tokens[side] += len(ids)
            self.unknown[side] += unknown[side]
            self._ids[side].write(np.array(ids, dtype=self.dtype).tobytes())
            self._offsets[side].write(np.int64(self.tokens[side]).tobytes())

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
