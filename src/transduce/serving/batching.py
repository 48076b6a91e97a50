"""One model shared by many requests: sentences that wait at the same time are searched together."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from transduce.errors import InputError
from transduce.inference.requests import Request
from transduce.inference.translator import Result, Translation, Translator
from transduce.search.choices import DecisionRule, search_of
from transduce.serving.metrics import Metrics

WINDOW = 0.002
"""Seconds for which a batch waits for company, when nothing else is waiting."""
ROWS_AT_ONCE = 3072
"""Padded source tokens times hypotheses of a batch: half of a file's, since others wait for its end."""
SPREAD = 2.0
"""How many times as long as its shortest sentence the longest of a batch may be, beyond SHORT tokens."""
SHORT = 16


@dataclass
class _Item:
    """A sentence that waits."""

    request: Request
    encoded: list[list[int]]
    """Token ids of the sentence, or of the pieces that it is divided into."""
    tokens: int
    future: "Future[Translation]"
    tell: Callable[[], None]


@dataclass
class _Job:
    """Sentences of one request that are searched in the same way, or other work with the model."""

    arrived: float
    translator: Translator | None = None
    search: DecisionRule | None = None
    with_details: bool = False
    waiting: list[_Item] = field(default_factory=list)
    work: Callable[[], Any] | None = None
    done: "Future[Any]" = field(default_factory=Future)
    """Of other work."""

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.waiting) or 1

    def goes_with(self, other: "_Job") -> bool:
        """Whether both can be searched for together."""
        if self.work is not None or self.translator is not other.translator:
            return False
        return (self.search, self.with_details) == (other.search, other.with_details)


class Batcher:
    """Runs a translator in a thread of its own, the only one that uses its model.

    The next batch begins with the request of the highest response ratio, waiting time plus expected time over expected
    time (Brinch Hansen 1971): short ones go ahead of long ones, and none waits for ever. Sentences of other requests of
    the same settings and of like lengths fill it up.
    """

    def __init__(self, translator: Translator, metrics: Metrics | None = None) -> None:
        self.translator = translator
        self._metrics = metrics
        self._jobs: list[_Job] = []
        self._changed = threading.Condition()
        self._is_closed = False
        self._seconds_per_token = 0.001  # a guess until the first batch
        self._thread = threading.Thread(target=self._run, name="transduce-batcher", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Sentences that wait."""
        with self._changed:
            return sum(len(job.waiting) for job in self._jobs)

    @property
    def seconds(self) -> float:
        """How long what waits will take, about."""
        with self._changed:
            return self._seconds_per_token * sum(job.tokens for job in self._jobs)

    def submit(
        self,
        requests: Sequence[Request],
        search: DecisionRule,
        with_details: bool = False,
        tell: Callable[[], None] = lambda: None,
        translator: Translator | None = None,
    ) -> list["Future[Translation]"]:
        """Queue sentences; a future that is cancelled before its batch begins costs nothing more.

        `tell` is called in the batcher's thread after each batch that held some of them: once, since it costs time
        there to wake another thread. Of a model of several directions, `translator` is the one for the direction.
        """
        encoded = self.translator.encode([request.text for request in requests])
        items = [
            _Item(request, own, sum(map(len, own)) + 1, Future(), tell)
            for request, own in zip(requests, encoded, strict=True)
        ]
        self._add(_Job(time.monotonic(), translator or self.translator, search, with_details, list(items)))
        return [item.future for item in items]

    def run(self, work: Callable[[], Result]) -> "Future[Result]":
        """Queue other work with the model."""
        job = _Job(time.monotonic(), work=work)
        self._add(job)
        return job.done

    def close(self) -> None:
        """Do what is queued, and end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _add(self, job: _Job) -> None:
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the batcher is closed")
            self._jobs.append(job)
            self._changed.notify()

    def _run(self) -> None:
        was_idle = True
        while True:
            with self._changed:
                while not self._jobs and not self._is_closed:
                    was_idle = True
                    self._changed.wait()
                if not self._jobs:
                    return
            if was_idle:
                time.sleep(WINDOW)
                was_idle = False
            with self._changed:
                job, batch = self._next_batch()
            if job is not None and job.work is not None:
                _settle(job.done, job.work)
            elif job is not None and batch:
                self._search(job, batch)

    def _next_batch(self) -> tuple[_Job | None, list[_Item]]:
        """Take the next work, or sentences that are searched together, off the queue."""
        for job in self._jobs:
            job.waiting = [item for item in job.waiting if not item.future.cancelled()]
        self._jobs = [job for job in self._jobs if job.waiting or (job.work and not job.done.cancelled())]
        if not self._jobs:
            return None, []
        now = time.monotonic()
        ranked = sorted(self._jobs, key=partial(self._ratio, now), reverse=True)
        first = ranked[0]
        if first.work is not None:
            self._jobs.remove(first)
            return first, []
        assert first.search is not None
        batch: list[_Item] = []
        room = max(1, ROWS_AT_ONCE // search_of(first.search).rows)
        shortest = longest = first.waiting[0].tokens
        for job in [one for one in ranked if one.goes_with(first)]:
            left = []
            for item in job.waiting:
                low, high = min(shortest, item.tokens), max(longest, item.tokens)
                fits = not batch or ((len(batch) + 1) * high <= room and high <= max(SHORT, SPREAD * low))
                if not fits:
                    left.append(item)
                elif item.future.set_running_or_notify_cancel():
                    batch.append(item)
                    shortest, longest = low, high
            job.waiting = left
        self._jobs = [job for job in self._jobs if job.waiting or job.work]
        return first, batch

    def _ratio(self, now: float, job: _Job) -> float:
        service = max(self._seconds_per_token * job.tokens, 1e-6)
        return (now - job.arrived + service) / service

    def _search(self, job: _Job, batch: list[_Item]) -> None:
        self._settle_batch(job, batch)
        for tell in {item.tell for item in batch}:
            tell()

    def _settle_batch(self, job: _Job, batch: list[_Item]) -> None:
        assert job.search is not None and job.translator is not None
        began = time.monotonic()
        requests = [item.request for item in batch]
        try:
            found = job.translator.translate_chunk(
                requests, job.search, with_details=job.with_details, encoded=[item.encoded for item in batch]
            )
        except Exception as error:
            if len(batch) == 1 or not isinstance(error, InputError):
                for item in batch:
                    item.future.set_exception(error)
            else:  # one that cannot be followed is no other's mistake
                for item in batch:
                    self._settle_batch(job, [item])
            return
        for item, translation in zip(batch, found, strict=True):
            item.future.set_result(translation)
        seconds, tokens = time.monotonic() - began, sum(item.tokens for item in batch)
        with self._changed:
            self._seconds_per_token += 0.1 * (seconds / tokens - self._seconds_per_token)
        if self._metrics is not None:
            self._metrics.batch(len(batch), tokens, seconds)


def _settle(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)


class SharedTranslator:
    """Stands for a batcher's translator where documents are translated, in a thread that may wait."""

    def __init__(self, batcher: Batcher, translator: Translator | None = None) -> None:
        self.batcher = batcher
        self.translator = translator or batcher.translator
        self.bundle = self.translator.bundle
        self.engine = self.translator.engine
        self.longest_source = self.translator.longest_source
        self._lock = threading.Lock()
        self._futures: list[Future[Any]] = []
        self._is_cancelled = False

    def translate_chunk(
        self, texts: Sequence[Request], search: DecisionRule, tell: Callable[[float], None] | None = None
    ) -> list[Translation]:
        """See Translator, but that shares are of sentences; raises CancelledError once it is cancelled."""
        futures: list[Future[Any]] = []

        def hear() -> None:
            if tell is not None and futures:
                tell(sum(future.done() for future in futures) / len(futures))

        def begin() -> list[Future[Any]]:
            futures.extend(self.batcher.submit(texts, search, tell=hear, translator=self.translator))
            return futures

        return cast(list[Translation], self._wait(begin))

    def exclusively(self, work: Callable[[], Result]) -> Result:
        """See Translator."""
        return cast(Result, self._wait(lambda: [self.batcher.run(work)])[0])

    def cancel(self) -> None:
        """Drop what waits, and let whoever waits for it end."""
        with self._lock:
            self._is_cancelled = True
            for future in self._futures:
                future.cancel()

    def _wait(self, begin: Callable[[], list["Future[Any]"]]) -> list[Any]:
        with self._lock:
            self._futures = begin()
            if self._is_cancelled:
                for future in self._futures:
                    future.cancel()
            futures = self._futures
        return [future.result() for future in futures]
