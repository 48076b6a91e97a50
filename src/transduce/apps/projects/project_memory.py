"""A project's translation memory: what people confirmed, and a memory that was given."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from docsegments.memory import Memory
from docsegments.segment import Segment
from docsegments.text.placeholders import plain_segment
from transduce.apps.projects.project_store import Store

MOST_MATCHES = 3
"""The most similar translations that are shown for a sentence."""


@dataclass(frozen=True)
class Match:
    """A translation of the same or a similar source."""

    source: str
    target: str
    similarity: float
    """0 to 1, where 1 is the same text but for blanks."""
    segment: int | None
    """Number of the confirmed segment; None for a pair of the memory that was given."""
    in_context: bool = False
    """True if the segment before is the same, too."""


class ProjectMemory:
    """Exact and similar sources among confirmed segments and imported pairs; the newest confirmed one of a source wins,
    or of a source and the one before it.

    Its methods may be called from several threads, and see what other processes confirmed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known = (-1, -1)  # the store's imports and revision
        self._last = 0
        self._segments: dict[str | tuple[str, str], int] = {}
        self._memory = Memory({})
        self._shown: dict[str, str] = {}
        self._of_documents: tuple[Memory, dict[str, tuple[str, str]]] = (self._memory, {})

    def __len__(self) -> int:
        """Counts the sources."""
        return len(self._current()[0].pairs)

    def find(self, source: str, most: int = MOST_MATCHES, before: str = "") -> list[Match]:
        """Returns translations of a source: of the same one alone, after the same source `before` if there is one, or
        of the most similar ones, the closest first."""
        memory, segments = self._current()
        known, key = Segment((source,)), _key(before, source)
        if before and (match := memory.find_in_context(known, before)) and match.marked_source:
            return [Match(match.marked_source.text, match.target.text, 1.0, segments.get(key), in_context=True)]
        return [
            Match(memory.pairs[match.source][0].text, match.target.text, match.similarity, segments.get(match.source))
            for match in memory.matches(known, most)
        ]

    def translation(self, source: str) -> str | None:
        """Returns the translation of the same source; None without one."""
        exact = [match for match in self.find(source, 0) if match.similarity == 1]
        return exact[0].target if exact else None

    def for_documents(self) -> Mapping[str, tuple[str, str]]:
        """Returns all sources with their translations as they are now, by what a segment of a document shows of the
        source, without tags or with tags that are text; blanks are single. Those after a known source are there a
        second time, by both, one a line."""
        memory, _ = self._current()
        with self._lock:
            if self._of_documents[0] is not memory:
                named = {name: pair for pair in _texts(memory.pairs.values()) for name in self._names(pair[0])}
                after = zip(memory.in_context, _texts(memory.in_context.values()), strict=True)
                for (before, _), pair in after:
                    both = zip(self._names(before), self._names(pair[0]), strict=True)
                    named |= {"\n".join(names): pair for names in both}
                self._of_documents = memory, named
            return self._of_documents[1]

    def _names(self, source: str) -> tuple[str, str]:
        """Returns what a segment of a document may show of a source."""
        if source not in self._shown:
            self._shown[source] = plain_segment(source).one_line
        return self._shown[source], " ".join(source.split())

    def replace(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Replaces the memory that was given; confirmed segments stay."""
        self._store.replace_imported(pairs)

    def pairs(self) -> list[tuple[str, str]]:
        """Returns all sources with their translations."""
        return _texts(self._current()[0].pairs.values())

    def in_context(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Returns sources that were confirmed after a known one, with their translations, by the one before and the
        source, with single blanks."""
        known = self._current()[0].in_context
        return dict(zip(known, _texts(known.values()), strict=True))

    def _current(self) -> tuple[Memory, dict[str | tuple[str, str], int]]:
        """Returns the memory and the numbers of its confirmed segments, with what was confirmed since the last call."""
        with self._lock:
            imports, revision = self._store.imports(), self._store.revision()
            if (imports, revision) == self._known:
                return self._memory, self._segments
            added = self._store.segments(self._last)
            pairs, after, numbers = dict(self._memory.pairs), dict(self._memory.in_context), dict(self._segments)
            if (imports, revision - len(added)) != self._known:  # one was taken back, or another memory given
                pairs = dict(_pair(source, target) for source, target in self._store.imported())
                after, numbers, added = {}, {}, self._store.segments()
            for segment in added:
                source, pair = _pair(segment.source, segment.target)
                pairs[source] = pair
                numbers[source] = segment.id
                if segment.before:
                    key = _key(segment.before, segment.source)
                    after[key] = pair
                    numbers[key] = segment.id
            self._last = max([self._last, *(segment.id for segment in added)])
            self._known = imports, revision
            self._memory, self._segments = Memory(pairs, after), numbers
            return self._memory, self._segments


def _key(before: str, source: str) -> tuple[str, str]:
    return " ".join(before.split()), " ".join(source.split())


def _texts(pairs: Iterable[tuple[Segment, Segment]]) -> list[tuple[str, str]]:
    return [(source.text, target.text) for source, target in pairs]


def _pair(source: str, target: str) -> tuple[str, tuple[Segment, Segment]]:
    segment = Segment((source,))
    return segment.one_line, (segment, Segment((target,)))
