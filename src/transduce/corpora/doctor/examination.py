"""Examines a whole corpus: what is faulty in it, what was repaired, and whether cleaning it will help."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import sqrt
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.corpus import Keeps, ParallelCorpus, SentencePair
from transduce.corpora.doctor.doctor import FEWEST, Doctor, Finding, reason_of
from transduce.corpora.doctor.faults import MADE, TESTS
from transduce.corpora.doctor.shifts import Shifts, find_shifts, pairs_in_step
from transduce.corpora.doctor.signs import PERSONAL, REASONS, key_of, masked
from transduce.corpora.fingerprints import fingerprint
from transduce.corpora.formats import SUBTITLES, Columns, is_file_of_pairs, parallel_files
from transduce.corpora.lines import file_kind, read_lines

MOST_LEARNED = 200_000
"""Pairs that are learned from, spread evenly over the corpus."""
EXAMPLES = 5
LITTLE = 0.02
"""Share of faulty pairs below which cleaning hardly changes what a model learns."""
SHOWN = 60  # characters of an example on a screen


@dataclass(frozen=True)
class Sides:
    """Texts and their translations, line by line, which are read anew each time and may be some lines off."""

    sources: Callable[[], Iterable[str]]
    targets: Callable[[], Iterable[str]]
    documents: Callable[[], Iterable[str]] | None = None
    """The document of each source; None where all are from one."""

    @staticmethod
    def of_files(
        paths: Sequence[str | Path], columns: Columns | None = None, languages: tuple[str, str] = ("", "")
    ) -> "Sides":
        """Opens two files of lines, which need not have the same number of them, or what `parallel_files` opens."""
        kinds = {file_kind(path).lower() for path in paths}
        if len(paths) == 2 and not any(map(is_file_of_pairs, paths)) and kinds.isdisjoint([*SUBTITLES, ".sgm"]):
            return Sides(*(partial(read_lines, path) for path in paths))
        return Sides.of_corpus(parallel_files(paths, columns, languages))

    @staticmethod
    def of_corpus(corpus: ParallelCorpus) -> "Sides":
        """Opens the sides of a corpus."""
        texts = (attrgetter(name) for name in ("source", "target", "document"))
        return Sides(*(partial(map, text, corpus) for text in texts))

    def shifts(self) -> Shifts:
        """Finds the lines whose translations are not beside them."""
        return tuple(find_shifts(self.sources(), self.targets()))

    def lines(self, shifts: Shifts) -> int:
        """Returns the number of lines of the longer side, in which two that are joined are one."""
        joined = Counter(shift.joined for shift in shifts)
        return max(sum(1 for _ in self.sources()) - joined["source"], sum(1 for _ in self.targets()) - joined["target"])

    def pairs(self, shifts: Shifts) -> Iterator[SentencePair]:
        """Yields the pairs of lines that belong together."""
        return pairs_in_step(self.sources(), self.targets(), shifts, self.documents and self.documents())


@dataclass(frozen=True)
class Fault:
    """How often a fault is in a corpus."""

    reason: str
    """The fault in words that follow a number of pairs."""
    found: int
    """Pairs that are left out for it; those with several faults count once, for the first."""
    estimated: int | None = None
    """Estimated number of all pairs that have it; None for a fault that can be seen."""
    error: int = 0
    """Standard error of the estimate."""
    good: int = 0
    """Estimated number of good pairs among those found."""
    examples: tuple[SentencePair, ...] = ()

    def __str__(self) -> str:
        """Returns a line that says how many pairs are left out for it."""
        return f"left out: {self.found:,} {self.reason}"

    @staticmethod
    def joined(parts: Sequence["Fault"]) -> "Fault":
        """Joins how often one fault is in several files."""
        estimates = [part.estimated for part in parts if part.estimated is not None]
        return Fault(
            parts[0].reason,
            sum(part.found for part in parts),
            sum(estimates) if estimates else None,
            sum(part.error for part in parts),
            sum(part.good for part in parts),
            tuple(chain.from_iterable(part.examples for part in parts))[:EXAMPLES],
        )


@dataclass(frozen=True)
class Examination:
    """What an examination found."""

    pairs: int
    learned_from: int
    faults: dict[str, Fault]
    """Faults by name, those that were found."""
    repairs: dict[str, int]
    """Pairs by what was repaired in them."""
    shifts: dict[str, Shifts] = field(default_factory=dict)
    """Lines that were moved or joined, by the file of their sources."""
    personal: dict[str, int] = field(default_factory=dict)
    """Pairs with personal data, by their kind."""
    unpaired: int = 0
    """Lines that stand beside none."""

    @property
    def left_out(self) -> int:
        """Pairs with a fault."""
        return sum(fault.found for fault in self.faults.values())

    @property
    def good_lost(self) -> int:
        """Estimated number of good pairs among those with a fault."""
        return sum(fault.good for fault in self.faults.values())

    @property
    def verdict(self) -> str:
        """Whether cleaning will help, on one line."""
        moved = sum(shift.last - shift.first + 1 for shifts in self.shifts.values() for shift in shifts)
        changed = min(self.left_out + sum(self.repairs.values()) + moved, self.pairs)
        if not self.pairs:
            return "no pairs were examined"
        if not changed:
            return "clean: nothing to do"
        if changed < LITTLE * self.pairs:
            return f"nearly clean: with {changed / self.pairs:.1%} of faulty pairs expect no gain from cleaning"
        left = f"{self.pairs - self.left_out:,} of {self.pairs:,} pairs are left"
        return f"cleaning pays: {left}; about {self.good_lost:,} good ones are lost with the others"

    @property
    def actions(self) -> list[str]:
        """Lines for people that say what was moved, joined, repaired and left out."""
        return [*self._moves_and_repairs(), *map(str, self.faults.values())]

    def _moves_and_repairs(self) -> list[str]:
        lines = []
        for name, shifts in self.shifts.items():
            for verb, kinds in (("moved", [""]), ("joined", ["source", "target"])):
                some = [shift for shift in shifts if shift.joined in kinds]
                lines += [f"{verb} in {name}: {shift}" for shift in some[:EXAMPLES]]
                lines += [f"{verb} in {name}: {len(some) - EXAMPLES:,} parts more"] if len(some) > EXAMPLES else []
        lines += [f"repaired: {kind} of {count:,} pairs" for kind, count in self.repairs.items()]
        return lines + ([f"left out: {self.unpaired:,} lines that stand beside none"] if self.unpaired else [])

    def describe(self) -> str:
        """Describes the examination on one screen."""
        lines = [f"{self.pairs:,} pairs, learned from {self.learned_from:,}"]
        if self.learned_from < FEWEST:
            lines.append(f"fewer than {FEWEST} pairs say little: only what a pair shows alone was looked for")
        lines += self._moves_and_repairs()
        for fault in self.faults.values():
            lines.append(str(fault))
            if fault.estimated is not None:
                have_it = f"{fault.estimated:,} ± {fault.error:,} have it; {fault.good:,} of the found do not"
                lines[-1] += f" (estimated: {have_it})"
            lines += [f"    {_short(pair.source)} | {_short(pair.target)}" for pair in fault.examples[:1]]
        lines += [f"personal data: {kind} in {count:,} pairs" for kind, count in self.personal.items()]
        return "\n".join([*lines, self.verdict])

    @staticmethod
    def joined(parts: Sequence["Examination"]) -> "Examination":
        """Joins what was found in the files of a corpus by one doctor."""
        found = {name: [part.faults[name] for part in parts if name in part.faults] for name in [*REASONS, *TESTS]}
        repairs = sum((Counter(part.repairs) for part in parts), Counter[str]())
        return Examination(
            sum(part.pairs for part in parts),
            max((part.learned_from for part in parts), default=0),
            {name: Fault.joined(faults) for name, faults in found.items() if faults},
            dict(sorted(repairs.items())),
            _by_file(chain.from_iterable(part.shifts.items() for part in parts)),
            dict(sum((Counter(part.personal) for part in parts), Counter[str]())),
            sum(part.unpaired for part in parts),
        )


def examine(
    parts: Sequence[tuple[str, Sides]],
    each: Callable[[Finding], None] | None = None,
    learned: int = MOST_LEARNED,
    ignored: Container[str] = (),
) -> Examination:
    """Examines the texts of a corpus and their translations.

    Args:
        parts: both sides of each part of the corpus, and its name.
        each: is called with what is found about each pair, in order.
        learned: pairs that are learned from, at most.
        ignored: names of faults that are not counted.
    """
    shifts = [sides.shifts() for _, sides in parts]

    def pairs() -> Iterator[SentencePair]:
        return chain.from_iterable(sides.pairs(moved) for (_, sides), moved in zip(parts, shifts, strict=True))

    keys = np.fromiter(map(repeat_key, pairs()), np.uint64)
    doctor = Doctor(spread(pairs(), len(keys), learned))
    tally = Tally()
    for finding in tally.counted(doctor.judge(pairs()), {"repeated": firsts(keys)}):
        if each is not None:
            each(finding)
    lines = sum(sides.lines(moved) for (_, sides), moved in zip(parts, shifts, strict=True))
    found = tally.examination(doctor, zip((name for name, _ in parts), shifts, strict=True), lines)
    return replace(found, faults={name: fault for name, fault in found.faults.items() if name not in ignored})


class Tally:
    """Counts what is found."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._repairs: Counter[str] = Counter()
        self._personal: Counter[str] = Counter()
        self._examples: dict[str, list[SentencePair]] = {}

    def counted(self, findings: Iterable[Finding], further: Mapping[str, Keeps]) -> Iterator[Finding]:
        """Yields what a doctor found about each pair, in order, and counts it.

        Args:
            findings: what was found.
            further: faults by name, with a test that is asked about each pair; False says that it has the fault.
        """
        for finding in findings:
            unkept = [fault for fault, keeps in further.items() if not keeps(finding.pair)]
            if finding.fault is None and unkept:
                finding = replace(finding, fault=unkept[0])
            self._found[finding.fault or ""] += 1
            if finding.fault is None:
                self._repairs.update(finding.repairs)
                self._personal.update(sorted(masked(finding.pair)[1]))
            elif len(shown := self._examples.setdefault(finding.fault, [])) < EXAMPLES:
                shown.append(finding.pair)
            yield finding

    def examination(self, doctor: Doctor, shifts: Iterable[tuple[str, Shifts]], lines: int) -> Examination:
        """Returns what was found.

        Args:
            doctor: the judge of the pairs.
            shifts: the lines that were moved, after the name of their file.
            lines: the number of lines of the longer side, of which those in no pair are unpaired.
        """
        pairs = self._found.total()
        faults = {
            name: _fault(name, self._found[name], doctor, pairs, self._examples[name])
            for name in [*REASONS, *TESTS]
            if self._found[name]
        }
        personal = {kind: self._personal[kind] for kind in PERSONAL if self._personal[kind]}
        repairs, unpaired = dict(sorted(self._repairs.items())), lines - pairs
        return Examination(pairs, doctor.learned_from, faults, repairs, _by_file(shifts), personal, unpaired)


def repeat_key(pair: SentencePair) -> int:
    """Returns a number that pairs share which differ in case, numbers and punctuation alone."""
    return fingerprint(f"{key_of(pair.source)}\0{key_of(pair.target)}")


def firsts(keys: NDArray[np.uint64]) -> Keeps:
    """Returns a test that is True for pairs whose key came not before; it is asked about each pair in order."""
    is_first = np.zeros(len(keys), bool)
    is_first[np.unique(keys, return_index=True)[1]] = True
    bits = iter(is_first.tolist())
    return lambda pair: bool(next(bits))


def spread(pairs: Iterable[SentencePair], count: int, most: int = MOST_LEARNED) -> list[SentencePair]:
    """Returns pairs at even distances, at most so many of a number of pairs."""
    most = min(count, most)
    places = {number * count // most for number in range(most)}
    return [pair for place, pair in enumerate(pairs) if place in places]


def _by_file(shifts: Iterable[tuple[str, Shifts]]) -> dict[str, Shifts]:
    """Returns shifts by the name of the file that has any; files in several folders may have one name."""
    by_file: dict[str, Shifts] = {}
    for name, moved in shifts:
        if moved:
            by_file[name] = by_file.get(name, ()) + moved
    return by_file


def _fault(name: str, found: int, doctor: Doctor, pairs: int, examples: Sequence[SentencePair]) -> Fault:
    reason = reason_of(name)
    if name not in TESTS:
        return Fault(reason, found, examples=tuple(examples))
    limit = doctor.limits[name]
    estimated = limit.share * pairs
    error = estimated * sqrt(1 / found + (1 - limit.caught) / (limit.caught * MADE))
    good = min(round(limit.lost * pairs), found)
    return Fault(reason, found, round(estimated), round(error), good, tuple(examples))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
