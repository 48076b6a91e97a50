"""Finds which lines of two texts belong together where lines were lost or added, by a best path over offsets.

Lengths say where lines are off; there, words say how. The path is that of Viterbi: each line of the source has the
target line at its own place plus an offset, and a change of the offset costs.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.evidence import Experience, Values

FARTHEST = 6
"""Lines by which a text may be ahead of the other, more than it was some lines before."""
OFFSETS = np.arange(-FARTHEST, FARTHEST + 1)
CHANGE, STEP = 12.0, 4.0
"""Cost of a change of the offset, and for each line of it, as natural logarithms of probabilities."""
FLOOR, CEILING = -4.0, 3.0
"""What one line may say at most."""
BLOCK = 100
"""Lines of a block: blocks are judged by what was learned from every other one."""
AROUND = 50
"""Lines before and after each change of the offset, and in the middle between two, whose words are looked at."""
LEARNED = 20_000
"""Lines from which words are learned at most."""
LINES_AT_ONCE = 100_000
MANY_WORDS = 12.0
"""Words of a line from which on it says no more."""


@dataclass(frozen=True)
class Shift:
    """Lines of a source whose translations are not beside them."""

    first: int
    """Number of the first line, from 1."""
    last: int
    offset: int
    """Number of lines by which the translations come later."""

    def __str__(self) -> str:
        """Describes the shift in words."""
        lines = f"{abs(self.offset)} line{'s' if abs(self.offset) > 1 else ''}"
        return f"lines {self.first:,} to {self.last:,}: {lines} {'later' if self.offset > 0 else 'earlier'}"


def find_shifts(sources: Iterable[str], targets: Iterable[str]) -> list[Shift]:
    """Finds the lines of the source whose translations are not beside them.

    The texts may have different numbers of lines. A part of each is held in memory.
    """
    lines, others = iter(sources), iter(targets)
    held, window = list(islice(lines, 2 * LINES_AT_ONCE)), list[str]()
    first = offset = 0  # of the first line held, which the first line of the window is beside
    shifts: list[Shift] = []
    while held:
        part = held[:LINES_AT_ONCE] if len(held) == 2 * LINES_AT_ONCE else held
        window += islice(others, max(len(part) + FARTHEST - len(window), 0))
        if not window:
            break
        offsets = offset + find_offsets(part, window)
        for some in np.split(np.arange(len(part)), np.flatnonzero(np.diff(offsets)) + 1):
            begin, end, off = first + int(some[0]) + 1, first + int(some[-1]) + 1, int(offsets[some[0]])
            if shifts and shifts[-1].last == begin - 1 and shifts[-1].offset == off:
                begin = shifts.pop().first
            if off:
                shifts.append(Shift(begin, end, off))
        window = window[max(len(part) + int(offsets[-1]) - offset, 0) :]
        first, offset = first + len(part), int(offsets[-1])
        held = held[len(part) :]
        held += islice(lines, 2 * LINES_AT_ONCE - len(held))
    return shifts


def pairs_in_step(
    sources: Iterable[str], targets: Iterable[str], shifts: Iterable[Shift] = ()
) -> Iterator[SentencePair]:
    """Yields each line of the source with the line that belongs to it; a line without one is left out."""
    others, coming = iter(targets), iter(shifts)
    held: deque[str] = deque(maxlen=4 * FARTHEST)
    read = 0
    shift = next(coming, None)
    for number, source in enumerate(sources, 1):
        while shift is not None and number > shift.last:
            shift = next(coming, None)
        wanted = number + (0 if shift is None or number < shift.first else shift.offset)
        for target in islice(others, max(wanted - read, 0)):
            held.append(target)
            read += 1
        if read - len(held) < wanted <= read:
            yield SentencePair(source, held[wanted - read - 1])


def find_offsets(sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.int64]:
    """Returns, for each line of the source, by how many lines the target's line that belongs to it comes later."""
    gains = _by_length(sources, targets)
    offsets = _best_path(gains)
    if (offsets != 0).any():
        changes = np.flatnonzero(np.append(offsets[0] != 0, np.diff(offsets) != 0))
        middles = (changes + np.append(changes[1:], len(sources))) // 2
        part = np.zeros(len(sources), bool)
        for place in np.concatenate([changes, middles]):
            part[max(place - AROUND, 0) : place + AROUND] = True
        _judge_by_words(gains, sources, targets, offsets, part)
        offsets = _best_path(gains)
    return offsets


def _best_path(gains: Values) -> NDArray[np.int64]:
    """Returns the offset of each line that gains most in all, [lines]; gains are [lines, offsets]."""
    steps = np.abs(OFFSETS[:, None] - OFFSETS[None, :])
    cost = np.where(steps > 0, CHANGE + STEP * steps, 0.0)  # [before, after]
    best = gains[0] - cost[FARTHEST]
    came_from = np.zeros(gains.shape, np.int8)
    for line in range(1, len(gains)):
        total = best[:, None] - cost
        came_from[line] = total.argmax(0)
        best = total.max(0) + gains[line]
    path = np.zeros(len(gains), np.int64)
    state = int(best.argmax())
    for line in range(len(gains) - 1, -1, -1):
        path[line] = state
        state = int(came_from[line, state])
    return OFFSETS[path]


def _differences(source: Values, target: Values) -> Values:
    """Returns how much each line differs from the one with each offset, `inf` where there is none: [lines, offsets]."""
    grid = np.full((len(source), len(OFFSETS)), np.inf)
    for column, offset in enumerate(OFFSETS.tolist()):
        chosen = np.arange(max(0, -offset), min(len(source), len(target) - offset))
        grid[chosen, column] = np.abs(source[chosen] - target[chosen + offset])
    return grid


def _by_length(sources: Sequence[str], targets: Sequence[str]) -> Values:
    lengths = [np.log([len(text) + 2.0 for text in texts]) for texts in (sources, targets)]
    middle = float(np.median(lengths[0]) - np.median(lengths[1]))
    differences = _differences(lengths[0] - middle, lengths[1])
    any_lines = max(float(np.hypot(lengths[0].std(), lengths[1].std())), 0.05)
    blocks = [np.median(part, axis=0).min() for part in np.array_split(differences, max(len(sources) // BLOCK, 1))]
    same = min(max(1.4826 * float(np.median(blocks)), 0.05), 0.9 * any_lines)
    squares = np.minimum(differences, 99.0) ** 2  # inf less inf is no number
    gains = 0.5 * squares * (any_lines**-2 - same**-2) + np.log(any_lines / same)
    return np.clip(np.where(np.isinf(differences), FLOOR, gains), FLOOR, CEILING)


def _judge_by_words(
    gains: Values, sources: Sequence[str], targets: Sequence[str], offsets: NDArray[np.int64], part: NDArray[np.bool_]
) -> None:
    """Puts into a part of the gains what its lines gain by their words, learned from lines of other blocks."""
    blocks = np.arange(len(sources)) // BLOCK % 2
    linked = np.arange(len(sources)) + offsets
    known = (linked >= 0) & (linked < len(targets))
    for half in (0, 1):
        learned = np.flatnonzero(known & (blocks != half))
        learned = learned[:: len(learned) // LEARNED + 1]
        judged = np.flatnonzero(part & (blocks == half))
        if not len(learned) or not len(judged):
            continue
        experience = Experience(
            [sources[line] for line in learned.tolist()], [targets[line] for line in linked[learned].tolist()]
        )
        gains[judged] = FLOOR
        for column, offset in enumerate(OFFSETS.tolist()):
            lines = judged[(judged + offset >= 0) & (judged + offset < len(targets))]
            if len(lines):
                gains[lines, column] = _gain(
                    experience, [sources[i] for i in lines.tolist()], [targets[i + offset] for i in lines.tolist()]
                )


def _gain(experience: Experience, sources: Sequence[str], targets: Sequence[str]) -> Values:
    evidence = experience.judge(sources, targets)
    mean = evidence.lexical_source + evidence.lexical_target
    return np.clip(mean * np.minimum(evidence.words, MANY_WORDS) / 4, FLOOR, CEILING)
