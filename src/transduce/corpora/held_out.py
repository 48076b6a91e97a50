"""Validation and test pairs of corpora without a split of their own: drawn in one pass, and kept in the cache."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from transduce.base.files import found_or_made, sha256
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.splitting import BLOCK, Part, PartFilter, Side, Split, SplitRule

FORMAT = 3
PAIRS_AT_ONCE = 1000  # pairs after which shares that follow their number are computed anew


@dataclass(frozen=True)
class HeldOutPairs:
    """The parts of cleaned corpora. Held-out pairs are found in one pass over all corpora, which also counts them."""

    cleaned: Sequence[ParallelCorpus]
    rule: SplitRule
    grouped_by: Sequence[Side]
    """For each corpus, the side whose sentences stay in one part."""
    cache: Path

    @cached_property
    def split(self) -> Split:
        """The split, whose shares may follow the number of pairs before cleaning."""
        return self.rule.of(self._drawn.pairs) if self.rule.follows_number else self.rule.split

    def part(self, number: int, part: Part) -> ParallelCorpus:
        """Returns a part of one of the corpora; held-out pairs are read from the cache."""
        corpus = self.cleaned[number].filtered([PartFilter(part, self.split, self.grouped_by[number])])
        return corpus if part == "train" else replace(corpus, kept=lambda: self._read(number, part))

    def _read(self, number: int, part: Part) -> Iterator[SentencePair]:
        with (self._drawn.folder / f"{number}.jsonl").open("rb") as lines:
            for line in lines:
                drawn, begins, *pair = msgspec.json.decode(line)
                if self.split.part_of(drawn) == part:
                    yield SentencePair(*pair, begins=begins)

    @cached_property
    def _drawn(self) -> "_Drawn":
        """Reads the candidates from the cache, or draws them; one process at a time."""
        contents = [FORMAT, repr(self.rule), *self.grouped_by, *(corpus.content() for corpus in self.cleaned)]
        folder = self.cache / "held-out" / hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:32]
        return found_or_made(folder / "drawn", _read_drawn, self._draw)

    def _draw(self, folder: Path) -> None:
        """Writes the pairs that may be held out: shares fall as pairs are counted, so that these are a few too many."""
        pairs = 0

        def counted(corpus: ParallelCorpus) -> ParallelCorpus:
            def read() -> Iterator[SentencePair]:
                nonlocal pairs
                for pair in corpus.read():
                    pairs += 1
                    yield pair

            return replace(corpus, read=read)

        files = [folder / f"{number}.jsonl" for number in range(len(self.cleaned))]
        for file, corpus, side in zip(files, self.cleaned, self.grouped_by, strict=True):
            draw = self.rule.split.draws(side)
            with file.open("wb") as lines:
                for number, pair in enumerate(counted(corpus)):
                    if number % PAIRS_AT_ONCE == 0:
                        share = self.rule.held_out(pairs)
                    drawn = draw(pair)
                    if drawn < share:
                        begins = pair.begins or (self.rule.split.kind == "blocks" and number % BLOCK == 0)
                        row = drawn, begins, pair.source, pair.target, pair.document
                        lines.write(msgspec.json.encode(row) + b"\n")
        facts = {"pairs": pairs, "sha256": {file.name: sha256(file) for file in files}}
        (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


@dataclass(frozen=True)
class _Drawn:
    folder: Path
    pairs: int
    """The number of pairs before cleaning."""


def _read_drawn(folder: Path) -> _Drawn | None:
    """Returns what was drawn; None if it has changed."""
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    if any(sha256(folder / name) != checksum for name, checksum in facts["sha256"].items()):
        return None
    return _Drawn(folder, int(facts["pairs"]))
