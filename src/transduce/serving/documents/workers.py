"""The processes of a server's documents: limited in number, divided among clients, a few started ahead.

An upload has its own process. Short texts of one client share one, one after the other, since starting a process takes
longer than translating a sentence; it ends after an error, a slow text, or a hundred texts.
"""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from transduce.budget import budgeted
from transduce.serving.documents.messages import Order, Result
from transduce.serving.documents.process import Answers, DocumentProcess
from transduce.serving.documents.worker import Limits
from transduce.serving.failures import RefusedError

T = TypeVar("T")
R = TypeVar("R", bound=Result)
AHEAD = 2
"""The number of processes started ahead for the next documents."""


@dataclass(eq=False)
class Work:
    """A document, as coroutines see it, that has a process or waits for one; the first order starts the process."""

    client: str
    is_upload: bool
    take: "Callable[[Work], DocumentProcess]"
    """Returns a process for the work."""
    has_begun: "asyncio.Future[None]"
    process: DocumentProcess | None = None
    is_over: bool = False
    """True if its process is no longer needed, even one that is being started."""

    async def ask(self, order: Order, kind: type[R], answers: Answers | None = None) -> R:
        """See DocumentProcess."""

        def ask() -> R:
            return (self.process or self.take(self)).ask(order, kind, answers)

        return await in_thread(ask)


class DocumentWorkers:
    """A limited number of processes at a time.

    The next one is for the client with the fewest. One client has at most three quarters of them. Uploads, which may
    take minutes, have at most three quarters, those of one client half: other clients and short texts wait little.
    """

    def __init__(self, count: int, limits: Limits, most_waiting: int) -> None:
        self._count = count
        self._limits = limits
        self._most_waiting = most_waiting
        self._running: list[Work] = []
        self._waiting: list[Work] = []
        self._ahead: deque[DocumentProcess] = deque()
        self._kept: deque[tuple[str, DocumentProcess]] = deque()
        self._changing = threading.Lock()
        self._filling = threading.Lock()
        self._is_open = False

    @property
    def busy(self) -> int:
        """The number of processes at work."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """The number of documents that wait for a process."""
        return len(self._waiting)

    def start(self) -> None:
        """Begins to start processes ahead."""
        self._is_open = True
        _in_background(self._fill)

    def close(self) -> None:
        """Ends all processes, at work or not."""
        with self._changing:
            self._is_open = False
            at_work = [work.process for work in self._running if work.process is not None]
            kept = [process for _, process in self._kept]
            self._kept.clear()
        for process in at_work:
            process.kill()
        for process in kept:
            process.release()
        self._release_ahead()

    @asynccontextmanager
    async def work(self, client: str, is_upload: bool) -> AsyncIterator[Work]:
        """Yields a process for a client, once it is its turn; after an upload it ends with the block.

        Raises RefusedError if a quarter of the queue is the client's (429), or the queue is full (503).
        """
        work, loop = await self._begin(client, is_upload), asyncio.get_running_loop()

        def end() -> None:
            unwanted = self._keep(work)
            if unwanted is not None:
                unwanted.release()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._end, work)
            self._fill()  # now, not when the process was taken: it would take time from its work

        try:
            yield work
        finally:
            _in_background(end)

    async def _begin(self, client: str, is_upload: bool) -> Work:
        waiting = sum(work.client == client for work in self._waiting)
        if waiting >= max(1, self._most_waiting // 4):
            raise RefusedError(429, f"{waiting:,} of your documents wait already; send the next one later", 10.0)
        if len(self._waiting) >= self._most_waiting:
            raise RefusedError(503, "Too many documents wait; try again soon", 10.0)
        work = Work(client, is_upload, self._take, asyncio.get_running_loop().create_future())
        self._waiting.append(work)
        self._go_on()
        try:
            await work.has_begun
        except asyncio.CancelledError:
            self._end(work)
            raise
        return work

    def _end(self, work: Work) -> None:
        for works in (self._waiting, self._running):
            if work in works:
                works.remove(work)
        self._go_on()

    def _go_on(self) -> None:
        """Starts the documents whose turn it is."""
        while True:
            of_clients = Counter(work.client for work in self._running)
            able = [work for work in self._waiting if self._may_begin(work)]
            if not able:
                return
            work = min(able, key=lambda work: of_clients[work.client])
            self._waiting.remove(work)
            self._running.append(work)
            if not work.has_begun.done():  # else it is given up just now
                work.has_begun.set_result(None)

    def _may_begin(self, work: Work) -> bool:
        if len(self._running) >= self._count:
            return False
        most, half = -(-3 * self._count // 4), -(-self._count // 2)
        if sum(running.client == work.client for running in self._running) >= most:
            return False
        uploads = [running.client for running in self._running if running.is_upload]
        return not work.is_upload or (len(uploads) < most and uploads.count(work.client) < half)

    def _take(self, work: Work) -> DocumentProcess:
        """Returns a process that has read short texts of the same client, or one that waits, or a new one."""
        process = None
        while process is None:
            with self._changing:
                waiting = None if work.is_upload else self._take_kept(work.client)
                waiting = waiting or (self._ahead.popleft() if self._ahead else None)
            process = waiting or DocumentProcess(self._limits)
            if waiting is not None and not waiting.is_alive:
                waiting.release()
                process = None
        with self._changing:
            work.process, process.is_usable = process, False
        if work.is_over:
            process.release()
        return process

    def _take_kept(self, client: str) -> DocumentProcess | None:
        for kept in self._kept:
            if kept[0] == client:
                self._kept.remove(kept)
                return kept[1]
        return None

    def _keep(self, work: Work) -> DocumentProcess | None:
        """Keeps a process for its client's next short text, if allowed; returns one to end instead."""
        with self._changing:
            work.is_over = True
            process = work.process
            if process is None or work.is_upload or not process.is_usable or not self._is_open:
                return process
            self._kept.append((work.client, process))
            return self._kept.popleft()[1] if len(self._kept) > self._count else None

    def _fill(self) -> None:
        """Starts processes ahead if some are missing."""
        if not self._filling.acquire(blocking=False):
            return
        try:
            while self._is_open and len(self._ahead) < min(AHEAD, self._count):
                process = DocumentProcess(self._limits)
                with self._changing:
                    self._ahead.append(process)
            if not self._is_open:
                self._release_ahead()
        except RefusedError:  # no process can be started now, as logged; work that needs one gets an error
            pass
        finally:
            self._filling.release()

    def _release_ahead(self) -> None:
        while self._ahead:
            with suppress(IndexError):  # one that another thread has taken
                self._ahead.popleft().release()


async def in_thread(work: Callable[[], T]) -> T:
    """Runs blocking work in its own daemon thread, within the request's budget; if it is cancelled, its result is
    lost."""
    loop, work = asyncio.get_running_loop(), budgeted(work)
    future: asyncio.Future[T] = loop.create_future()

    def settle(set_: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_(value)

    def run() -> None:
        outcome: tuple[Callable[[Any], None], Any]
        try:
            outcome = future.set_result, work()
        except BaseException as error:
            outcome = future.set_exception, error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, *outcome)

    _in_background(run)
    return await future


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="transduce-document", daemon=True).start()
