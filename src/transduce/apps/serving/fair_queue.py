"""The queue for a model: each client gets an equal share of the model's time."""

import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from transduce.apps.serving.clients import UNKNOWN
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule, search_of

SPREAD = 2.0
"""The largest ratio of the longest to the shortest sentence of a batch, for sentences beyond SHORT tokens."""
SHORT = 16
SLACK = 0.1
"""Clients whose model time differs by at most these seconds may share a batch."""
PARTS = 4
"""The number of parts of a batch; a client gets at most one beside others, who wait for its end."""
LOOKED_AT = 256
"""The most sentences of a job that are considered for a batch."""


@dataclass(eq=False)
class QueuedSentence:
    """A sentence that waits, and its pieces if it is divided."""

    request: Request
    future: "Future[Translation]"
    tell: Callable[[], None]
    pieces: list["QueuedPiece"] = field(default_factory=list)
    found: dict[int, Translation] = field(default_factory=dict)
    """The translations of its pieces so far, by number."""

    @property
    def is_over(self) -> bool:
        """True if nobody waits for it any more, or one of its pieces has failed."""
        return self.future.done()


@dataclass(eq=False)
class QueuedPiece:
    """Text that is translated at once: a sentence, or a part of one that is too long for the model."""

    sentence: QueuedSentence
    number: int
    request: Request
    encoded: list[list[int]]
    """The token ids; none for a blank line."""
    tokens: int
    """The number of tokens that are read or must be written."""
    client: str = UNKNOWN

    @property
    def source_tokens(self) -> int:
        """The number of tokens that are read, the end token included."""
        return sum(map(len, self.encoded)) + 1

    @property
    def is_constrained(self) -> bool:
        """True if the request asks for more than a translation; its search may fail, so no other should share it."""
        return bool(self.request.prefix or self.request.required or self.request.banned)


@dataclass(eq=False)
class QueuedJob:
    """Sentences of one request that are searched in the same way, or other work with the model."""

    arrived: float
    client: str
    translator: Translator | None = None
    rule: DecisionRule | None = None
    with_details: bool = False
    waiting: list[QueuedPiece] = field(default_factory=list)
    tokens: int = 0
    """The number of tokens that wait."""
    work: Callable[[], Any] | None = None
    done: "Future[Any]" = field(default_factory=Future)
    """The result of other work."""

    @property
    def is_over(self) -> bool:
        """True if no piece of the job waits any more."""
        return not self.waiting if self.work is None else self.done.cancelled()

    def goes_with(self, other: "QueuedJob") -> bool:
        """Returns True if both can be searched for together."""
        if self.work is not None or self.translator is not other.translator:
            return False
        return (self.rule, self.with_details) == (other.rule, other.with_details)


@dataclass
class FairQueue:
    """Jobs by client; not for several threads at once.

    The next client is the one that has had the least of the model's time (start-time fair queueing, Goyal et al. 1996);
    a new client begins level with the others. Its next job is that of the highest response ratio, (waiting time +
    expected time) / expected time (Brinch Hansen 1971): short jobs go ahead of long ones, and none waits for ever.
    """

    seconds_per_token: float = 0.001  # a guess until the first batch
    _jobs: dict[str, list[QueuedJob]] = field(default_factory=dict)
    """The jobs of each client that wait."""
    _had: dict[str, float] = field(default_factory=dict)
    """Seconds of the model that clients have had, from a common beginning."""
    _level: float = 0.0
    """The model's time, in seconds, that the client served last has had."""

    @property
    def sentences(self) -> int:
        """The number of sentences, and pieces of divided ones, that wait."""
        return sum(map(self.sentences_of, self._jobs))

    @property
    def tokens(self) -> int:
        """The number of tokens that wait."""
        return sum(job.tokens for jobs in self._jobs.values() for job in jobs)

    @property
    def is_empty(self) -> bool:
        """True if nothing waits."""
        return not self._jobs

    def sentences_of(self, client: str) -> int:
        """Returns the number of sentences of a client that wait."""
        return sum(len(job.waiting) for job in self._jobs.get(client, ()))

    def add(self, job: QueuedJob) -> None:
        """Adds a job."""
        if job.client not in self._jobs:
            self._had[job.client] = max(self._level, self._had.get(job.client, 0.0))
        self._jobs.setdefault(job.client, []).append(job)
        job.tokens = sum(piece.tokens for piece in job.waiting)

    def drop(self, job: QueuedJob) -> None:
        """Removes the parts of a job that nobody waits for any more."""
        self._keep(job, [piece for piece in job.waiting if not piece.sentence.is_over])
        self._tidy(job.client)

    def charge(self, client: str, seconds: float) -> None:
        """Counts time that the model has worked for a client."""
        self._had[client] = self._had.get(client, self._level) + seconds
        if len(self._had) > 1000:
            self._had = {name: had for name, had in self._had.items() if name in self._jobs or had > self._level}

    def next(self, now: float, rows: int) -> tuple[QueuedJob | None, list[QueuedPiece]]:
        """Takes the next work out of the queue, or sentences that are searched together.

        These have at most `rows` rows, padded tokens times hypotheses, or are one alone.
        """
        while self._jobs:
            clients = sorted(self._jobs, key=self._had.__getitem__)
            self._level = max(self._level, self._had[clients[0]])
            first = max(self._jobs[clients[0]], key=partial(self._ratio, now))
            if first.work is not None:
                self._jobs[first.client].remove(first)
                self._tidy(first.client)
                return first, []
            batch = self._batch(now, first, clients, rows)
            if batch:
                return first, batch
        return None, []

    def _batch(self, now: float, first: QueuedJob, clients: list[str], rows: int) -> list[QueuedPiece]:
        assert first.rule is not None
        batch = _Batch(max(1, rows // search_of(first.rule).rows))
        share = batch.room if len(clients) == 1 else batch.room // min(PARTS, len(clients))
        latest = self._had[clients[0]] + SLACK
        for client in [name for name in clients if self._had[name] <= latest]:
            begun = len(batch.pieces)  # the client's first piece in the batch
            ranked = sorted(self._jobs[client], key=partial(self._ratio, now), reverse=True)
            for job in [other for other in ranked if other.goes_with(first)]:
                left = []
                looked_at, others = job.waiting[:LOOKED_AT], job.waiting[LOOKED_AT:]
                for piece in looked_at:
                    if piece.sentence.is_over:
                        continue
                    is_welcome = client == first.client or not (piece.is_constrained or batch.is_constrained)
                    taken = len(batch.pieces) - begun
                    if is_welcome and (taken == 0 or (taken + 1) * piece.tokens <= share) and batch.fits(piece):
                        batch.add(piece)
                    else:
                        left.append(piece)
                self._keep(job, left + others)
            self._tidy(client)
        return batch.pieces

    def _keep(self, job: QueuedJob, pieces: list[QueuedPiece]) -> None:
        job.waiting = pieces
        job.tokens = sum(piece.tokens for piece in pieces)

    def _tidy(self, client: str) -> None:
        """Removes finished jobs."""
        left = [job for job in self._jobs.pop(client, ()) if not job.is_over]
        if left:
            self._jobs[client] = left

    def _ratio(self, now: float, job: QueuedJob) -> float:
        service = max(self.seconds_per_token * max(job.tokens, 1), 1e-6)  # expected seconds of the model
        return (now - job.arrived + service) / service


class _Batch:
    """Pieces that are searched together, of like lengths."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces: list[QueuedPiece] = []
        self.is_constrained = False
        self._shortest, self._longest = sys.maxsize, 0

    def fits(self, piece: QueuedPiece) -> bool:
        """Returns True if the piece is like the others in length, and there is room for it."""
        if not self.pieces:
            return True
        shortest, longest = min(self._shortest, piece.tokens), max(self._longest, piece.tokens)
        return (len(self.pieces) + 1) * longest <= self.room and longest <= max(SHORT, SPREAD * shortest)

    def add(self, piece: QueuedPiece) -> None:
        """Adds a piece."""
        self.pieces.append(piece)
        self.is_constrained |= piece.is_constrained
        self._shortest, self._longest = min(self._shortest, piece.tokens), max(self._longest, piece.tokens)
