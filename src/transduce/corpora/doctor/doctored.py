"""A corpus as a doctor leaves it: repaired, without what is certainly faulty; examined once, kept in the cache."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import msgspec

from transduce.base.files import found_or_made, sha256
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.doctor.doctor import FEWEST, Finding
from transduce.corpora.doctor.examination import MOST_LEARNED, Sides, examine
from transduce.corpora.formats import Columns
from transduce.corpora.shards import shards_of

FORMAT = 4
DOUBTFUL = frozenset({"repeated", "other numbers", "other addresses"})
"""Faults for which no pair is left out unasked: a reason may be found, or a step of `data.cleaning` deals with them."""
SECONDS_TO_JUDGE, SECONDS_TO_LEARN = 0.5e-3, 3e-3
"""Processor time of a pair, as measured on captions and administrative texts: AVX2, one core."""
ENOUGH = 3_000
"""Pairs, or all that there are, from which a doctor should learn at least."""


Parts = Sequence[tuple[str, Sides]]
"""The files of a corpus by name, as texts that may be some lines off."""


def parts_of(paths: Sequence[str | Path], columns: Columns | None, languages: tuple[str, str]) -> Parts:
    """Opens the parts of the corpus that `open_corpus` opens from files."""
    return [(Path(files[0]).name, Sides.of_files(files, columns, languages)) for files in shards_of(paths)]


def affordable(parts: Parts, seconds: float, tell: Callable[[str], None] = lambda line: None) -> int:
    """Returns the number of pairs that a doctor can learn from, if it may take so many seconds on a usual processor; 0
    if there are too few to learn from, or if time does not suffice, of which `tell` is told."""
    lines = sum(1 for _, sides in parts for _ in sides.sources())
    if lines < FEWEST:
        return 0
    most = min(lines, MOST_LEARNED)
    learned = min(round((seconds - lines * SECONDS_TO_JUDGE) / SECONDS_TO_LEARN), most)
    if learned >= min(lines, ENOUGH):
        return learned
    tell("doctor: the time is too short to examine the pairs; `transduce data doctor` does it")
    return 0


class Doctored:
    """Examines a corpus when its pairs are first read."""

    def __init__(self, corpus: ParallelCorpus, parts: Parts, learned: int, cache: Path) -> None:
        """Takes a corpus, its parts, the number of pairs to learn from at most, and the folder of the cache."""
        self._corpus, self._parts, self._learned, self._cache = corpus, parts, learned, cache

    @property
    def corpus(self) -> ParallelCorpus:
        """The pairs that are left."""
        return ParallelCorpus(self._corpus.name, self._read, self._content)

    @property
    def actions(self) -> list[str]:
        """Lines for people that say what was moved, repaired and left out, and a verdict; none for a clean corpus."""
        return list(self._kept[1])

    def _content(self) -> str:
        parts = ["doctored", FORMAT, self._learned, self._corpus.content()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def _kept(self) -> tuple[Path, list[str]]:
        folder = self._cache / "doctored" / self._content()[:32]
        return found_or_made(folder, _read_kept, self._examine)

    def _read(self) -> Iterator[SentencePair]:
        with (self._kept[0] / "pairs.jsonl").open("rb") as lines:
            yield from map(partial(msgspec.json.decode, type=SentencePair), lines)

    def _examine(self, folder: Path) -> None:
        with (folder / "pairs.jsonl").open("wb") as lines:

            def keep(finding: Finding) -> None:
                if finding.fault is None or finding.fault in DOUBTFUL:
                    lines.write(msgspec.json.encode(finding.pair) + b"\n")

            found = examine(self._parts, keep, self._learned, DOUBTFUL)
        is_changed = found.faults or found.repairs or found.shifts or found.unpaired
        actions = [*found.actions, found.verdict] if is_changed else []
        facts = {"sha256": sha256(folder / "pairs.jsonl"), "actions": actions}
        (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


def _read_kept(folder: Path) -> tuple[Path, list[str]] | None:
    """Returns the folder and what was done; None if it has changed."""
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    if sha256(folder / "pairs.jsonl") != facts["sha256"]:
        return None
    return folder, [str(action) for action in facts["actions"]]
