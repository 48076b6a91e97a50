"""The processes of a server's documents: limited in number, divided among clients, a few started ahead.

An upload has its own process. Short texts of one client share one, one after the other, since starting a process takes
longer than translating a sentence; it ends after an error, a slow text, or a hundred texts.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from docsegments.budget import budgeted
from transduce.apps.serving.documents.messages import Order, Result
from transduce.apps.serving.documents.process import Answers, DocumentProcess
from transduce.apps.serving.documents.worker import ProcessLimits
from transduce.apps.serving.quotas import Quota, Turns, nothing
from transduce.apps.serving.refusals import RefusedError

T = TypeVar("T")
R = TypeVar("R", bound=Result)
AHEAD = 2
"""The number of processes started ahead for the next documents."""


@dataclass(eq=False)
class Work:
    """A document, as coroutines see it; the first order starts its process."""

    client: str
    is_upload: bool
    take: "Callable[[Work], DocumentProcess]"
    """Returns a process for the work."""
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

    def __init__(self, count: int, limits: ProcessLimits, most_waiting: int) -> None:
        self._count = count
        self._limits = limits
        most, half = -(-3 * count // 4), -(-count // 2)
        self._uploads, self._turns = Turns(most, half), Turns(count, most)
        self._waiting: Quota[None] = Quota("documents wait", most_waiting, max(1, most_waiting // 4), others=nothing)
        self._at_work: set[Work] = set()
        self._ahead: deque[DocumentProcess] = deque()
        self._kept: OrderedDict[str, DocumentProcess] = OrderedDict()
        """A process of each client that has read short texts, for its next ones."""
        self._changing = threading.Lock()
        self._filling = threading.Lock()
        self._is_open = False

    @property
    def busy(self) -> int:
        """The number of processes at work."""
        return self._turns.running

    def start(self) -> None:
        """Begins to start processes ahead."""
        self._is_open = True
        _in_background(self._fill)

    def close(self) -> None:
        """Ends all processes, at work or not."""
        with self._changing:
            self._is_open = False
            at_work = [work.process for work in self._at_work if work.process is not None]
            kept = [*self._kept.values()]
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
        has_ended = await self.begin(client, is_upload)
        work, loop = Work(client, is_upload, self._take), asyncio.get_running_loop()
        self._at_work.add(work)

        def end() -> None:
            unwanted = self._keep(work)
            if unwanted is not None:
                unwanted.release()
            self._at_work.discard(work)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(has_ended)
            self._fill()  # now, not when the process was taken: it would take time from its work

        try:
            yield work
        finally:
            _in_background(end)

    async def begin(self, client: str, is_upload: bool) -> Callable[[], None]:
        """Waits for a client's turn; returns a function that ends it."""
        with self._waiting.hold(client, None, seconds=10.0), ExitStack() as begun:
            if is_upload:
                begun.callback(await self._uploads.begin(client))
            begun.callback(await self._turns.begin(client))
            return begun.pop_all().close

    def _take(self, work: Work) -> DocumentProcess:
        """Returns a process that has read short texts of the same client, or one that waits, or a new one."""
        process = None
        while process is None:
            with self._changing:
                waiting = None if work.is_upload else self._kept.pop(work.client, None)
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

    def _keep(self, work: Work) -> DocumentProcess | None:
        """Keeps a process for its client's next short text, if allowed; returns one to end instead."""
        with self._changing:
            work.is_over = True
            process = work.process
            is_kept = not work.is_upload and self._is_open and work.client not in self._kept
            if process is None or not (is_kept and process.is_usable):
                return process
            self._kept[work.client] = process
            return self._kept.popitem(last=False)[1] if len(self._kept) > self._count else None

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
