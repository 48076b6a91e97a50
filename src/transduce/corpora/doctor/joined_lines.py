"""Finds lines that two lines of the other text translate together, where the offset of the lines changes by one."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from docsegments.orthography.joining import join_sentences
from transduce.corpora.doctor.evidence import Evidence

Places = NDArray[np.int64]
Judge = Callable[[Places, Sequence[str], Sequence[str]], Evidence]
"""Returns the evidence on pairs of texts at given lines of the source."""
NEAR = 8
"""Lines before and after a change of the offset among which two are sought that translate one."""
BETTER = 0.2
"""Minimum gain of the fit by which two lines are joined, over leaving one of them out; in nats a word."""
LENGTH = 2.0
"""Weight of a log-ratio of lengths beside the log-ratios of words."""


def join_lines(sources: Sequence[str], targets: Sequence[str], offsets: Places, judge: Judge) -> Places:
    """Returns 1 for each line of the source that two lines of the target translate: its own and the next; -1 for two
    lines of the source that one translates; else 0. The offsets near by become right for that.
    """
    joined = np.zeros_like(offsets)
    ratio = np.log((sum(map(len, sources)) + 1) / (sum(map(len, targets)) + 1))
    changes = np.flatnonzero(np.diff(offsets)) + 1
    between = (np.array([0, *changes]) + np.array([*changes, len(offsets) - 1])) // 2
    for first, change, last in zip(between[:-1].tolist(), changes.tolist(), between[1:].tolist(), strict=True):
        ahead, behind = offsets[change - 1 : change + 1].tolist()
        first, last = max(first, change - NEAR), min(last, change + NEAR)
        if abs(behind - ahead) != 1:
            continue
        is_source = behind < ahead  # two lines of the source translate one of the target
        ones, twos = (targets, sources) if is_source else (sources, targets)
        begin, end = (first + ahead, last + behind) if is_source else (first, last)
        apart = -ahead if is_source else ahead
        begin, end = max(begin, -apart, 0), min(end, len(ones), len(twos) - apart - 1)
        if begin >= end:
            continue
        two = twos[begin + apart : end + apart], twos[begin + apart + 1 : end + apart + 1]
        both = [*two[0], *two[1], *(join_sentences(lines) for lines in zip(*two, strict=True))]
        sides = (both, [*ones[begin:end]] * 3) if is_source else ([*ones[begin:end]] * 3, both)
        found = judge(np.full(len(both), change), *sides)
        fits = found.lexical_source + found.lexical_target - LENGTH * np.abs(found.length - ratio)
        before, after, as_one = fits.reshape(3, -1)  # each of the two lines alone, and both
        sums = np.insert(np.cumsum(before), 0, 0.0) + np.append(np.cumsum(after[::-1])[::-1], 0.0)
        best = int((sums[:-1] - after + as_one).argmax())
        if (sums[:-1] - after + as_one)[best] > sums.max() + BETTER:
            line = begin + best - (ahead if is_source else 0)
            offsets[first : line + (not is_source)] = ahead
            offsets[line + (not is_source) : last] = behind
            joined[line : line + 1 + is_source] = -1 if is_source else 1
    return joined
