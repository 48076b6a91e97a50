"""Tasks on the files of a corpus, each of which is read and written by itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from transduce.base.errors import DataError
from transduce.base.files import new_file
from transduce.corpora.corpus import Filter, Keeps, ParallelCorpus, SentencePair
from transduce.corpora.formats import Columns, parallel_files
from transduce.corpora.overlap import Scope, scope_fingerprint
from transduce.corpora.pair_files import write_pairs
from transduce.text.tokenizer import Tokenizer

PAIRS_AT_ONCE = 4096


@dataclass(frozen=True)
class Shard:
    """The input files of one shard (one file of pairs, or two aligned files) and its output files."""

    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    columns: Columns | None = None
    languages: tuple[str, str] = ("", "")

    @property
    def is_finished(self) -> bool:
        """True if the output is there, which gets its name when it is complete."""
        return all(path.exists() for path in self.outputs)

    def open(self, filters: Sequence[Filter] = ()) -> ParallelCorpus:
        """Opens the pairs that the filters keep."""
        return parallel_files(self.inputs, self.columns, self.languages).filtered(filters)


@dataclass(frozen=True)
class Marked:
    """Keeps the pairs that are marked in a file of bits, one for each pair that comes so far."""

    marks: Path
    reason: str
    content: str = ""
    remembers: bool = True

    def start(self) -> Keeps:
        """See Filter."""
        bits = iter(np.unpackbits(np.fromfile(self.marks, np.uint8)).tolist())

        def keeps(pair: SentencePair) -> bool:
            bit = next(bits, None)
            if bit is None:
                raise DataError(f"{self.marks.name}: a file has changed while it was cleaned; remove the output folder")
            return bool(bit)

        return keeps


@dataclass
class ShardCounts:
    """The number of pairs that are kept, and of those left out by reason."""

    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def add(self, other: "ShardCounts") -> None:
        """Adds the counts of another shard."""
        self.kept += other.kept
        for reason, count in other.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count


def clean(shard: Shard, filters: Sequence[Filter]) -> ShardCounts:
    """Writes the pairs of a shard that the filters keep."""
    dropped: Counter[str] = Counter()
    pairs = shard.open(filters).sift(lambda reason, pair: dropped.update([reason]))
    return ShardCounts(write_pairs(shard.outputs, pairs), dict(dropped))


def take_fingerprints(shard: Shard, filters: Sequence[Filter], scope: Scope, file: Path) -> None:
    """Writes the fingerprint of the compared part of each pair that the filters keep, unless the file is there."""
    if file.exists():
        return
    values = np.fromiter((scope_fingerprint(pair, scope) for pair in shard.open(filters)), np.uint64)
    with new_file(file) as new, new.open("wb") as stream:
        values.tofile(stream)


def tokenize(shard: Shard, model: Path, as_ids: bool) -> ShardCounts:
    """Writes the pairs of a shard with a space between the tokens of each text, or between the tokens' numbers."""
    from transduce.inference.engines.exported import open_tokenizers  # imports PyTorch, which cleaning does not need

    tokenizers = open_tokenizers(model)

    def tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[str]:
        for ids in tokenizer.encode_batch(texts):
            yield " ".join(map(str, ids) if as_ids else tokenizer.pieces(ids))

    def tokenized() -> Iterator[SentencePair]:
        pairs = iter(shard.open())
        while group := list(islice(pairs, PAIRS_AT_ONCE)):
            sources = tokens(tokenizers.source, [pair.source for pair in group])
            targets = tokens(tokenizers.target, [pair.target for pair in group])
            yield from map(SentencePair, sources, targets)

    return ShardCounts(write_pairs(shard.outputs, tokenized()))
