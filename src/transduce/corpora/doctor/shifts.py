"""Finds which lines of two texts belong together where lines were lost, added or divided, by a best path over offsets.

Lengths say where lines are off; there, words say how. The path is that of Viterbi: each line of the source has the
target line at its own place plus an offset, and a change of the offset costs.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from docsegments.orthography.joining import join_sentences
from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.evidence import Experience, Values, judge_by_other_half
from transduce.corpora.doctor.joined_lines import Judge, Places, join_lines

FARTHEST = 6
"""Lines by which a text may be ahead of the other, more than it was some lines before."""
OFFSETS = np.arange(-FARTHEST, FARTHEST + 1)
CHANGE, STEP = 12.0, 4.0
"""Cost of a change of the offset, and for each line of it, as natural logarithms of probabilities."""
FLOOR, CEILING, CEILING_OF_WORDS = -4.0, 3.0, 6.0
"""Bounds of the gain of one line: the least, the most by its length, and the most by its words."""
BLOCK = 100
"""Lines of a block: blocks are judged by what was learned from every other one."""
REACHED = 0.25
"""Share of the blocks whose lines are within reach at least, when the texts begin to part."""
AROUND = 50
"""Lines before and after each change of the offset, and in the middle between two, whose words are looked at."""
LEARNED = 20_000
"""Lines from which words are learned at most."""
LINES_AT_ONCE = 100_000
ALONE = 2
"""The number of a line of the source without a translation, beside those that `join_lines` returns."""
SIDES: Sequence[Literal["", "target", "none", "source"]] = ("", "target", "none", "source")
"""Values of `Shift.joined` by the numbers of lines: 1 and -1 of `join_lines`, ALONE, and 0 for lines as they are."""
MANY_WORDS = 12.0
"""Words of a line from which on it says no more."""


@dataclass(frozen=True)
class Shift:
    """Lines of a source whose translations are not beside them, or which are beside them as two lines for one."""

    first: int
    """Number of the first line, from 1."""
    last: int
    offset: int
    """Number of lines by which the translations come later."""
    joined: Literal["", "source", "target", "none"] = ""
    """The side of which two lines are one: the lines of the shift, or the translation of its only line and the next;
    `none` for lines that have no translation."""

    def __str__(self) -> str:
        """Describes the shift in words."""
        other = self.last + self.offset
        if self.joined == "source":
            return f"lines {self.first:,} and {self.last:,}, for line {other:,} of the target"
        if self.joined == "target":
            return f"lines {other:,} and {other + 1:,} of the target, for line {self.first:,}"
        if self.joined == "none":
            return f"lines {self.first:,} to {self.last:,}: no translation"
        lines = f"{abs(self.offset)} line{'s' if abs(self.offset) > 1 else ''}"
        return f"lines {self.first:,} to {self.last:,}: {lines} {'later' if self.offset > 0 else 'earlier'}"


Shifts = tuple[Shift, ...]
"""The shifts of a text, in the order of its lines."""


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
        offsets, joined = find_offsets(part, window)
        far = _far(offsets)
        if len(far):  # nothing farther can be found from here: goes on from there
            end = int(far[0]) + AROUND
            part, offsets, joined = part[:end], offsets[:end], joined[:end]
        offsets += offset
        changes = (np.diff(offsets) != 0) | (np.diff(joined) != 0)
        for some in np.split(np.arange(len(part)), np.flatnonzero(changes) + 1):
            begin, end, off = first + int(some[0]) + 1, first + int(some[-1]) + 1, int(offsets[some[0]])
            side = SIDES[joined[some[0]]]
            if shifts and not side and shifts[-1] == Shift(shifts[-1].first, begin - 1, off):
                begin = shifts.pop().first
            if off or side:
                shifts.append(Shift(begin, end, off, side))
        window = window[max(len(part) + int(offsets[-1]) - offset, 0) :]
        first, offset = first + len(part), int(offsets[-1])
        held = held[len(part) :]
        held += islice(lines, 2 * LINES_AT_ONCE - len(held))
    return shifts


def pairs_in_step(
    sources: Iterable[str],
    targets: Iterable[str],
    shifts: Iterable[Shift] = (),
    documents: Iterable[str] | None = None,
) -> Iterator[SentencePair]:
    """Yields each line of the source with the line that belongs to it, as of the document of the source; a line without
    one is left out."""
    others, coming = iter(targets), iter(shifts)
    held: deque[str] = deque(maxlen=4 * FARTHEST)
    read = 0
    shift = next(coming, None)
    for number, (source, document) in enumerate(zip(sources, documents or repeat(""), strict=False), 1):
        while shift is not None and number > shift.last:
            shift = next(coming, None)
        own = shift if shift is not None and number >= shift.first else Shift(number, number, 0)
        if own.joined == "none":
            continue
        if own.joined == "source" and number == own.first:
            before = source
            continue
        if own.joined == "source":
            source = join_sentences([before, source])
        wanted = number + own.offset
        for target in islice(others, max(wanted + (own.joined == "target") - read, 0)):
            held.append(target)
            read += 1
        if read - len(held) < wanted <= read:
            place = wanted - read - 1 + len(held)
            target = join_sentences([held[place], held[place + 1]]) if own.joined == "target" else held[place]
            yield SentencePair(source, target, document)


def find_offsets(sources: Sequence[str], targets: Sequence[str]) -> tuple[Places, Places]:
    """Returns, for each line of the source, by how many lines the target's line that belongs to it comes later, and
    which lines are to be joined, as `join_lines` does.
    """
    gains = _by_length(sources, targets)
    offsets = _best_path(gains)
    joined = np.zeros_like(offsets)
    if (offsets != 0).any() and min(len(sources), len(targets)) > BLOCK + FARTHEST:
        changes = np.flatnonzero(np.append(offsets[0] != 0, np.diff(offsets) != 0))
        middles = (changes + np.append(changes[1:], len(sources))) // 2
        part = np.zeros(len(sources), bool)
        for place in np.concatenate([changes, middles]):
            part[max(place - AROUND, 0) : place + AROUND] = True
        judge = _judge(sources, targets, offsets)
        _judge_by_words(gains, sources, targets, judge, np.flatnonzero(part))
        offsets = _best_path(gains)
        joined = join_lines(sources, targets, offsets, judge)
        joined[_alone(gains, offsets, joined)] = ALONE
    return offsets, joined


def _best_path(gains: Values) -> Places:
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


def _far(offsets: Places) -> Places:
    """Returns the lines that are as far off as can be found, as are most of the BLOCK lines from each on: of a few, as
    where texts are noisy, the path comes back by itself."""
    is_far = np.abs(offsets) >= FARTHEST - 1
    sums = np.insert(np.cumsum(is_far), 0, 0)
    ends = np.minimum(np.arange(len(offsets)) + BLOCK, len(offsets))
    return np.flatnonzero(is_far & (2 * (sums[ends] - sums[:-1]) >= BLOCK))


def _alone(gains: Values, offsets: Places, joined: Places) -> NDArray[np.bool_]:
    """Returns the lines that share their translation with another one, which gains more by it: where the offset falls
    by k, k lines in a row have none."""
    alone = np.zeros(len(offsets), bool)
    falls = (np.diff(offsets) < 0) & (joined[1:] == 0) & (joined[:-1] == 0)
    for change in (np.flatnonzero(falls) + 1).tolist():
        before, after = (int(offsets[line]) + FARTHEST for line in (change - 1, change))
        lost = before - after
        first, last = max(change - lost, 0), min(change + lost, len(offsets))
        kept_before = np.append(0.0, np.cumsum(gains[first:change, before]))
        kept_after = np.append(np.cumsum(gains[change:last, after][::-1])[::-1], 0.0)
        most = min(len(kept_before), len(kept_after))
        begin = first + int((kept_before[:most] + kept_after[:most]).argmax())
        alone[begin : begin + lost] = True
    return alone


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
    near = np.minimum(differences, 99.0)  # inf less inf is no number
    blocks = [np.median(part, axis=0).min() for part in np.array_split(near, max(len(sources) // BLOCK, 1))]
    same = min(max(1.4826 * float(np.quantile(blocks, REACHED)), 0.05), 0.9 * any_lines)
    gains = 0.5 * near**2 * (any_lines**-2 - same**-2) + np.log(any_lines / same)
    return np.clip(np.where(np.isinf(differences), FLOOR, gains), FLOOR, CEILING)


def _judge(sources: Sequence[str], targets: Sequence[str], offsets: Places) -> Judge:
    """Returns a judge of lines that learned from lines of other blocks and from the lines at their offsets."""
    linked = np.arange(len(sources)) + offsets
    known = np.flatnonzero((linked >= 0) & (linked < len(targets)))
    experience = []
    for half in (0, 1):
        learned = known[known // BLOCK % 2 == half]
        learned = learned[:: len(learned) // LEARNED + 1]
        experience.append(Experience([sources[i] for i in learned], [targets[i] for i in linked[learned]]))
    return lambda lines, *sides: judge_by_other_half(experience, lines // BLOCK % 2, *sides)


def _judge_by_words(
    gains: Values, sources: Sequence[str], targets: Sequence[str], judge: Judge, judged: Places
) -> None:
    """Puts into the gains of some lines what they gain by their words."""
    gains[judged] = FLOOR
    for column, offset in enumerate(OFFSETS.tolist()):
        lines = judged[(judged + offset >= 0) & (judged + offset < len(targets))]
        if len(lines):
            found = judge(lines, [sources[i] for i in lines], [targets[i + offset] for i in lines])
            mean = found.lexical_source + found.lexical_target
            gains[lines, column] = np.clip(mean * np.minimum(found.words / MANY_WORDS, 1.0), FLOOR, CEILING_OF_WORDS)
