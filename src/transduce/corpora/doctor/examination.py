"""Examines a whole corpus: what is faulty in it, what was repaired, and whether cleaning it will help."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import FEWEST, REASONS, Doctor, Finding, Repeats
from transduce.corpora.doctor.faults import TESTS
from transduce.corpora.doctor.shifts import aligned
from transduce.corpora.doctor.signs import PERSONAL, masked
from transduce.corpora.formats import is_file_of_pairs, parallel_files, read_lines

MOST_LEARNED = 200_000
"""Pairs that are learned from, spread evenly over the corpus."""
EXAMPLES = 3
LITTLE = 0.02
"""Share of faulty pairs below which cleaning hardly changes what a model learns."""
SHOWN = 60  # characters of an example on a screen


@dataclass(frozen=True)
class Fault:
    """How often a fault is in a corpus."""

    reason: str
    """The fault in words that follow a number of pairs."""
    found: int
    """Pairs that are left out for it; those with several faults count once, for the first."""
    estimated: int | None = None
    """Estimated number of all pairs that have it; None for a fault that can be seen."""
    good: int = 0
    """Estimated number of good pairs among those found."""
    examples: tuple[SentencePair, ...] = ()


@dataclass(frozen=True)
class Shift:
    """Lines of the source that were beside wrong lines of the target."""

    first: int
    """Number of the first line, from 1."""
    last: int
    offset: int
    """Lines by which the right lines of the target come later."""


@dataclass(frozen=True)
class Examination:
    """What an examination found."""

    pairs: int
    learned_from: int
    faults: dict[str, Fault]
    """Faults by name, those that were found or are estimated."""
    repairs: dict[str, int]
    """Pairs by what was repaired in them."""
    shifts: tuple[Shift, ...] = ()
    personal: dict[str, int] = field(default_factory=dict)
    """Pairs with personal data, by their kind."""

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
        changed = self.left_out + sum(self.repairs.values()) + sum(s.last - s.first + 1 for s in self.shifts)
        if not changed:
            return "clean: nothing to do"
        if changed < LITTLE * self.pairs:
            return f"nearly clean: of {changed / self.pairs:.1%} of the pairs expect no gain"
        left = self.pairs - self.left_out
        return f"cleaning pays: {left:,} of {self.pairs:,} pairs are left, some of them repaired"

    def describe(self) -> str:
        """Describes the examination on one screen."""
        lines = [f"{self.pairs:,} pairs, learned from {self.learned_from:,}"]
        if self.learned_from < FEWEST:
            lines.append(f"fewer than {FEWEST} sound pairs say little: only what a pair shows alone was looked for")
        lines += [
            f"moved: lines {shift.first:,} to {shift.last:,}, whose translations were {abs(shift.offset)} "
            f"line{'s' if abs(shift.offset) > 1 else ''} {'later' if shift.offset > 0 else 'earlier'}"
            for shift in self.shifts
        ]
        lines += [f"repaired: {count:,} with wrong {kind}" for kind, count in self.repairs.items()]
        for fault in self.faults.values():
            estimate = (
                "" if fault.estimated is None else f" (estimated {fault.estimated:,}; {fault.good:,} found are good)"
            )
            lines.append(f"left out: {fault.found:,} {fault.reason}{estimate}")
            lines += [f"    {_short(pair.source)} | {_short(pair.target)}" for pair in fault.examples[:1]]
        lines += [
            f"personal data: {count:,} pairs with an {kind}".replace("an p", "a p")
            for kind, count in self.personal.items()
        ]
        return "\n".join([*lines, self.verdict])


def read_texts(files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Reads a file of pairs, or two files of lines, which need not have the same number of them."""
    if len(files) == 2 and not any(map(is_file_of_pairs, files)) and not all(map(_is_subtitles, files)):
        return list(read_lines(files[0])), list(read_lines(files[1]))
    pairs = list(parallel_files(files))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def examine(
    sources: Sequence[str],
    targets: Sequence[str],
    each: Callable[[Finding], None] | None = None,
    mask: bool = False,
) -> Examination:
    """Examines texts and their translations, line by line.

    Args:
        sources: the texts.
        targets: their translations, which may be some lines off, and a few lines more or fewer.
        each: is called with what is found about each pair, in order.
        mask: replaces personal data in the pairs that `each` is called with.
    """
    lines = aligned(sources, targets) if sources and targets else np.zeros(0, np.int64)
    pairs = [SentencePair(source, targets[line]) for source, line in zip(sources, lines, strict=False) if line >= 0]
    doctor = Doctor([pairs[place] for place in _spread(len(pairs))])
    found: Counter[str] = Counter()
    repairs: Counter[str] = Counter()
    personal: Counter[str] = Counter()
    examples: dict[str, list[SentencePair]] = {}
    repeats = Repeats()
    for finding in doctor.judge(pairs):
        if finding.fault is None and repeats.came_before(finding.pair):
            finding = Finding(finding.pair, finding.repairs, "repeated", finding.scores)
        if finding.fault is not None:
            found[finding.fault] += 1
            examples.setdefault(finding.fault, [])
            if len(examples[finding.fault]) < EXAMPLES:
                examples[finding.fault].append(finding.pair)
        else:
            repairs.update(finding.repairs)
        (source, one), (target, other) = masked(finding.pair.source), masked(finding.pair.target)
        personal.update(sorted(one | other))
        if each is not None:
            pair = SentencePair(source, target) if mask else finding.pair
            each(Finding(pair, finding.repairs, finding.fault, finding.scores))
    return Examination(
        len(pairs),
        doctor.learned_from,
        {
            name: _fault(name, found[name], doctor, len(pairs), examples[name])
            for name in [*REASONS, *TESTS]
            if found[name]
        },
        dict(sorted(repairs.items())),
        tuple(_shifts(lines)),
        {kind: personal[kind] for kind in PERSONAL if personal[kind]},
    )


def _fault(name: str, found: int, doctor: Doctor, pairs: int, examples: Sequence[SentencePair]) -> Fault:
    if name not in TESTS:
        return Fault(REASONS[name], found, examples=tuple(examples))
    limit = doctor.limits[name]
    return Fault(
        TESTS[name].reason, found, round(limit.share * pairs), min(round(limit.lost * pairs), found), tuple(examples)
    )


def _spread(count: int) -> Iterable[int]:
    most = min(count, MOST_LEARNED)
    return (place * count // most for place in range(most))


def _shifts(lines: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Iterable[Shift]:
    offsets = np.where(lines >= 0, lines - np.arange(len(lines)), 0)
    changes = np.flatnonzero(np.diff(offsets)) + 1
    for part in np.split(np.arange(len(lines)), changes):
        if len(part) and offsets[part[0]]:
            yield Shift(int(part[0]) + 1, int(part[-1]) + 1, int(offsets[part[0]]))


def _is_subtitles(file: str) -> bool:
    return Path(file).suffix.lower() in {".srt", ".vtt"}


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
