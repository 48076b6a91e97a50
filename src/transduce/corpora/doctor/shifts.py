"""Finds which lines of two texts belong together where lines were lost or added, by a best path over offsets.

Lengths say where lines are off; there, words say how. The path is that of Viterbi: each line of the source has the
target line at its own place plus an offset, and a change of the offset costs.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.doctor.evidence import Experience, Values

FARTHEST = 6
"""Lines by which a text may be ahead of the other."""
OFFSETS = np.arange(-FARTHEST, FARTHEST + 1)
CHANGE, STEP = 12.0, 4.0
"""Cost of a change of the offset, and for each line of it, as natural logarithms of probabilities."""
FLOOR, CEILING = -4.0, 3.0
"""What one line may say at most."""
BLOCK = 100
"""Lines of a block: blocks are judged by what was learned from every other one."""
AROUND = 50
"""Lines beside a part that is off which are looked at with it."""
LINES_AT_ONCE = 2_000
MANY_WORDS = 12.0
"""Words of a line from which on it says no more."""


def aligned(sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.int64]:
    """Returns, for each line of the source, the number of the target's line that belongs to it, -1 for none.

    Lines that are not off have their own number. The texts may have different numbers of lines, as long as one is never
    more than `FARTHEST` lines ahead.
    """
    lines = np.arange(len(sources))
    offsets = _best_path(_by_length(sources, targets))
    if (offsets != 0).any():
        part = np.zeros(len(sources), bool)
        for place in np.flatnonzero(np.append(offsets[0] != 0, np.diff(offsets) != 0)):
            part[max(place - AROUND, 0) : place + AROUND] = True
        part |= offsets != 0
        gains = _by_words(sources, targets, offsets, part)
        offsets = _best_path(gains)
    found = lines + offsets
    found[(found < 0) | (found >= len(targets))] = -1
    return found


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


def _grid(lines: int, others: int, gain: Callable[[NDArray[np.int64], NDArray[np.int64]], Values]) -> Values:
    """Returns what each line gains with each offset, `FLOOR` where there is no line: [lines, offsets]."""
    grid = np.full((lines, len(OFFSETS)), FLOOR)
    for column, offset in enumerate(OFFSETS):
        chosen = np.arange(max(0, -offset), min(lines, others - offset))
        if len(chosen):
            grid[chosen, column] = np.clip(gain(chosen, chosen + offset), FLOOR, CEILING)
    return grid


def _by_length(sources: Sequence[str], targets: Sequence[str]) -> Values:
    lengths = [np.log([len(text) + 2.0 for text in texts]) for texts in (sources, targets)]
    middle = float(np.median(lengths[0]) - np.median(lengths[1]))
    differences = _grid_of_differences(lengths[0] - middle, lengths[1])
    any_lines = max(float(np.hypot(lengths[0].std(), lengths[1].std())), 0.05)
    blocks = [np.median(part, axis=0).min() for part in np.array_split(differences, max(len(sources) // BLOCK, 1))]
    same = min(max(1.4826 * float(np.median(blocks)), 0.05), 0.9 * any_lines)

    def gain(source: NDArray[np.int64], target: NDArray[np.int64]) -> Values:
        difference = lengths[0][source] - middle - lengths[1][target]
        likely = [-0.5 * (difference / spread) ** 2 - np.log(spread) for spread in (same, any_lines)]
        return np.asarray(likely[0] - likely[1])

    return _grid(len(sources), len(targets), gain)


def _grid_of_differences(source: Values, target: Values) -> Values:
    grid = np.full((len(source), len(OFFSETS)), 9.0)
    for column, offset in enumerate(OFFSETS):
        chosen = np.arange(max(0, -offset), min(len(source), len(target) - offset))
        grid[chosen, column] = np.abs(source[chosen] - target[chosen + offset])
    return grid


def _by_words(
    sources: Sequence[str], targets: Sequence[str], offsets: NDArray[np.int64], part: NDArray[np.bool_]
) -> Values:
    """Returns what each line of a part gains by its words; other lines stay where they are."""
    grid = np.full((len(sources), len(OFFSETS)), FLOOR)
    grid[~part, FARTHEST] = CEILING
    blocks = np.arange(len(sources)) // BLOCK % 2
    linked = np.arange(len(sources)) + offsets
    known = (linked >= 0) & (linked < len(targets))
    for half in (0, 1):
        learned = np.flatnonzero(known & (blocks != half))
        judged = np.flatnonzero(part & (blocks == half))
        if not len(learned) or not len(judged):
            grid[judged, FARTHEST] = CEILING
            continue
        experience = Experience([sources[line] for line in learned], [targets[linked[line]] for line in learned])
        for column, offset in enumerate(OFFSETS):
            lines = judged[(judged + offset >= 0) & (judged + offset < len(targets))]
            for some in np.array_split(lines, len(lines) // LINES_AT_ONCE + 1):
                if len(some):
                    grid[some, column] = _gain(
                        experience, [sources[i] for i in some], [targets[i + offset] for i in some]
                    )
    return grid


def _gain(experience: Experience, sources: Sequence[str], targets: Sequence[str]) -> Values:
    evidence = experience.judge(sources, targets)
    mean = evidence.lexical_source + evidence.lexical_target
    return np.clip(mean * np.minimum(evidence.words, MANY_WORDS) / 4, FLOOR, CEILING)
