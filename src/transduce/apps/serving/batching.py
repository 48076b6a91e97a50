"""One model shared by many requests: sentences that wait at the same time are searched together."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

from docsegments.budget import budgeted
from transduce.apps.serving.clients import CLIENT
from transduce.apps.serving.fair_queue import FairQueue, QueuedJob, QueuedPiece, QueuedSentence
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import WantedTokens
from transduce.base.errors import InputError
from transduce.inference.request import Request, with_drafts
from transduce.inference.translation import Translation
from transduce.inference.translator import Result, Translator
from transduce.search.choices import DecisionRule

WINDOW = 0.002
"""Seconds for which a batch waits for more sentences, when the queue was empty."""
ROWS_AT_ONCE = 3072
"""Padded tokens times hypotheses of a batch: half of a file's, since other requests wait for its end."""
PAUSE = 0.5
"""The pause in seconds between an error that ends the batcher's thread and a restart."""
log = logging.getLogger("transduce.serving")


class Batcher:
    """Runs a translator in a thread of its own, the only one that uses its model.

    `FairQueue` chooses the next work. A batch holds sentences of several requests with equal settings and similar
    lengths; a sentence that is too long for the model is translated piece by piece, so that no batch takes long.
    """

    def __init__(self, translator: Translator, metrics: Metrics | None = None) -> None:
        self.translator = translator
        self.restarts = 0
        """The number of times its thread had to be restarted."""
        self._metrics = metrics or Metrics()
        self._queue = FairQueue()
        self._dropped: set[QueuedJob] = set()
        """Jobs with cancelled sentences."""
        self._changed = threading.Condition()
        self._is_closed = False
        self._at_work: list[tuple[Future[Any], Callable[[], None]]] = []
        """The futures of the work in progress, each with a function to call if the thread dies."""
        self._busy_since: float | None = None
        threading.Thread(target=self._run, name="transduce-batcher", daemon=True).start()

    @property
    def waiting(self) -> int:
        """The number of sentences that wait."""
        with self._changed:
            self._forget_dropped()
            return self._queue.sentences

    @property
    def seconds(self) -> float:
        """The estimated seconds that the waiting work will take."""
        with self._changed:
            return self._queue.seconds_per_token * self._queue.tokens

    @property
    def busy_seconds(self) -> float:
        """The seconds since the current batch began; 0 without one."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def waiting_of(self, client: str) -> int:
        """Returns the number of sentences of a client that wait."""
        with self._changed:
            self._forget_dropped()
            return self._queue.sentences_of(client)

    def submit(
        self,
        requests: Sequence[Request],
        search: DecisionRule,
        with_details: bool = False,
        tell: Callable[[], None] = lambda: None,
        translator: Translator | None = None,
        client: str | None = None,
        encoded: Sequence[list[list[int]]] | None = None,
    ) -> list["Future[Translation]"]:
        """Queues sentences; a future that is cancelled before its batch begins costs nothing more.

        `tell` is called in the batcher's thread, once after each batch with some of them, since waking another thread
        takes time. `translator` is the one for the direction, if the model has several. The client is by default that
        of the current request. `encoded` is the result of `Translator.encode` for the texts, if it is known.
        """
        translator = translator or self.translator
        if encoded is None:
            encoded = self.translator.encode(requests)
        client = CLIENT.get() if client is None else client
        job = QueuedJob(time.monotonic(), client, translator, search, with_details)
        length = WantedTokens(translator).of
        sentences = []
        for request, ids in zip(requests, encoded, strict=True):
            sentence = QueuedSentence(request, Future(), tell)
            sentence.pieces = _divided(sentence, ids, translator.divide(request, ids) or [request], length, client)
            sentence.future.add_done_callback(lambda future: self._dropped.add(job) if future.cancelled() else None)
            job.waiting += sentence.pieces
            sentences.append(sentence)
        self._add(job)
        return [sentence.future for sentence in sentences]

    def run(self, work: Callable[[], Result], client: str | None = None) -> "Future[Result]":
        """Queues other work with the model, within the budget of the request."""
        job = QueuedJob(time.monotonic(), CLIENT.get() if client is None else client, work=budgeted(work))
        job.done.add_done_callback(lambda future: self._dropped.add(job) if future.cancelled() else None)
        self._add(job)
        return job.done

    def close(self) -> None:
        """Ends the thread once the queued work is done."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _add(self, job: QueuedJob) -> None:
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the batcher is closed")
            self._queue.add(job)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            try:
                self._serve()
                return
            except BaseException as error:  # of any kind: others wait for this thread
                log.error("the batcher failed and begins anew", exc_info=error)
                with self._changed:
                    self._count_restart()
                time.sleep(PAUSE)

    def _count_restart(self) -> None:
        self.restarts += 1
        self._busy_since = None
        self._metrics.restarts.inc()
        owed, self._at_work = self._at_work, []
        for future, _ in owed:
            fail(future, RefusedError(503, "The translation failed; try again", 1.0))
        _tell({tell for _, tell in owed})

    def _serve(self) -> None:
        was_idle = True
        while True:
            with self._changed:
                while self._queue.is_empty and not self._is_closed:
                    was_idle = True
                    self._changed.wait()
                if self._queue.is_empty:
                    return
            if was_idle:
                time.sleep(WINDOW)
                was_idle = False
            with self._changed:
                job, batch = self._next_batch()
            if job is not None:
                self._do(job, batch)

    def _next_batch(self) -> tuple[QueuedJob | None, list[QueuedPiece]]:
        """Takes the next work, or sentences that are searched together, off the queue."""
        self._forget_dropped()
        return self._queue.next(time.monotonic(), ROWS_AT_ONCE)

    def _forget_dropped(self) -> None:
        while self._dropped:
            self._queue.drop(self._dropped.pop())

    def _do(self, job: QueuedJob, batch: list[QueuedPiece]) -> None:
        began = self._busy_since = time.monotonic()
        self._at_work = [(job.done, lambda: None), *((piece.sentence.future, piece.sentence.tell) for piece in batch)]
        if job.work is not None:
            settle(job.done, job.work)
        else:
            self._settle_batch(job, batch)
            _tell({piece.sentence.tell for piece in batch})
        self._at_work, self._busy_since = [], None
        seconds, tokens = time.monotonic() - began, sum(piece.tokens for piece in batch)
        with self._changed:
            if not batch:
                self._queue.charge(job.client, seconds)
                return
            for piece in batch:
                self._queue.charge(piece.client, seconds * piece.tokens / tokens)
            self._queue.seconds_per_token += 0.1 * (seconds / tokens - self._queue.seconds_per_token)
        self._metrics.batch(len(batch), sum(piece.source_tokens for piece in batch), seconds)

    def _settle_batch(self, job: QueuedJob, batch: list[QueuedPiece]) -> None:
        assert job.rule is not None and job.translator is not None
        try:
            translations = job.translator.translate_chunk(
                [piece.request for piece in batch],
                job.rule,
                with_details=job.with_details,
                encoded=[piece.encoded for piece in batch],
            )
        except Exception as error:
            if len(batch) == 1 or not isinstance(error, InputError):
                for piece in batch:
                    fail(piece.sentence.future, error)
            else:  # an invalid request must not fail the others
                for piece in batch:
                    if not piece.sentence.is_over:
                        self._settle_batch(job, [piece])
            return
        for piece, translation in zip(batch, translations, strict=True):
            _put(job, piece, translation)


def _tell(tells: set[Callable[[], None]]) -> None:
    for tell in tells:
        try:
            tell()
        except Exception:
            log.exception("a client could not be told of its translations")


def _divided(
    sentence: QueuedSentence,
    encoded: list[list[int]],
    requests: Sequence[Request],
    length: Callable[[str], int],
    client: str,
) -> list[QueuedPiece]:
    """Returns the pieces of a sentence, given their token ids, none for a blank one, and their requests."""
    pieces = []
    for number, (ids, request) in enumerate(zip(encoded or [[]], requests, strict=True)):
        written = length(request.prefix) + sum(map(length, request.required))
        pieces.append(QueuedPiece(sentence, number, request, [ids] if ids else [], len(ids) + 1 + written, client))
    return pieces


def _put(job: QueuedJob, piece: QueuedPiece, translation: Translation) -> None:
    """Keeps a piece's translation, and completes the sentence's if it was the last one."""
    translator, rule, sentence = job.translator, job.rule, piece.sentence
    assert translator is not None and rule is not None
    sentence.found[piece.number] = translation
    if sentence.is_over or len(sentence.found) < len(sentence.pieces):
        return
    if len(sentence.pieces) > 1:
        translations = [sentence.found[number] for number in range(len(sentence.pieces))]
        settle(sentence.future, lambda: translator.join(sentence.request, translations, rule))
    elif sentence.future.set_running_or_notify_cancel():
        sentence.future.set_result(translation)


def settle(future: "Future[Any]", work: Callable[[], Any]) -> None:
    """Gives a future, unless it is cancelled, the result of work, or its error."""
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else RuntimeError(f"ended by {error!r}"))
            if not isinstance(error, Exception):
                raise


def fail(future: "Future[Any]", error: Exception) -> None:
    """Gives a future an error, unless it is done."""
    if not future.done() and (future.running() or future.set_running_or_notify_cancel()):
        future.set_exception(error)


class SharedTranslator:
    """A batcher's translator for documents, which are translated in a thread that may wait."""

    def __init__(self, batcher: Batcher, translator: Translator | None = None) -> None:
        self.batcher = batcher
        self.translator = translator or batcher.translator
        self.bundle = self.translator.bundle
        self.engine = self.translator.engine
        self.longest_source = self.translator.longest_source
        self._client = CLIENT.get()
        self._lock = threading.Lock()
        self._futures: list[Future[Any]] = []
        self._is_cancelled = False

    def translate_chunk(
        self, texts: Sequence[Request], search: DecisionRule, tell: Callable[[float], None] | None = None
    ) -> list[Translation]:
        """See Translator; shares are of sentences here. Raises CancelledError once it is cancelled.

        Too many required phrases are left out of a search, which would take too long; the document translator puts them
        in afterwards.
        """
        wanted = WantedTokens(self.translator)
        texts = [replace(text, required=()) if wanted.are_too_many(text) else text for text in texts]

        def draft(texts: Sequence[Request]) -> list[str]:
            found = self._wait(lambda: self.batcher.submit(texts, search, False, lambda: None, *others))
            return [translation.text for translation in found]

        others = self.translator, self._client
        texts = with_drafts(texts, self.bundle.config.context, draft)
        futures: list[Future[Any]] = []

        def hear() -> None:
            if tell is not None and futures:
                tell(sum(future.done() for future in futures) / len(futures))

        def begin() -> list[Future[Any]]:
            futures.extend(self.batcher.submit(texts, search, False, hear, *others))
            return futures

        return cast(list[Translation], self._wait(begin))

    def exclusively(self, work: Callable[[], Result]) -> Result:
        """See Translator."""
        return cast(Result, self._wait(lambda: [self.batcher.run(work, self._client)])[0])

    def cancel(self) -> None:
        """Cancels the waiting work, and ends the wait for it."""
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
