"""A process that reads a document, seen from the server: started by a fork server, answered, and killed.

A parser of a stranger's file may loop inside one call that holds the interpreter, or ask for any amount of memory, and
no thread can be stopped. Pools of loky and pebble have no way to ask back while a task runs, and unpickle what their
workers send.
"""

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from docsegments.translating.sentence_translator import PartProgress, Tell
from transduce.apps.serving.documents import worker
from transduce.apps.serving.documents.messages import (
    Examine,
    Failed,
    Order,
    OutOfMemory,
    Question,
    Recall,
    Refused,
    Report,
    Result,
    Sentences,
    decode,
    encode,
)
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.inference.sentence_model import SentenceModel

R = TypeVar("R", bound=Result)
PRELOADED = "transduce.apps.serving.documents.preloaded"
LARGEST_MESSAGE = 256 * 2**20
"""The largest message from a process, in bytes."""
PATIENCE = 1.0
"""Seconds of silence after which a process yields to others: the model and other answers go first."""
NICE = 10
MOST_ORDERS = 100
END_SECONDS = 10.0
log = logging.getLogger("transduce.serving")
_lock = threading.Lock()  # multiprocessing keeps a list of processes that several threads must not change at once


class ProcessFailedError(Exception):
    """An error of the program in a document's process; with the lines of code that led to it."""


@dataclass(frozen=True)
class Answers:
    """Answers to the questions of a process that translates a document."""

    sentences: SentenceModel
    tell: Tell | None = None
    """Called now and then with the share that is done."""
    memory: Mapping[str, tuple[str, str]] | None = None
    """Sources with their translations, by what a segment shows of the source."""

    def to(self, question: Question) -> object:
        """Returns the answer to a question."""
        match question:
            case Recall(text):
                return None if self.memory is None else self.memory.get(text)
            case Examine(of_document, texts):
                return self.sentences.examine(of_document, texts)
            case Sentences(requests, before, size):
                progress = None if self.tell is None else PartProgress(self.tell, before, size)
                return self.sentences.translate(requests, progress)
        return self.sentences.align(question.pairs)


class DocumentProcess:
    """A process with a document's limits; it starts empty and waits for an order.

    Raises RefusedError (503) where the system has no process left.
    """

    def __init__(self, limits: worker.ProcessLimits) -> None:
        self._limits = limits
        self._orders = 0
        self._is_killed = self._is_polite = False
        self.is_usable = False
        """True if it may take another order: its last one was done, fast, and it had not too many."""
        self._asking = threading.Lock()
        try:
            with _lock:
                context = _context()
                self._connection, theirs = context.Pipe()
                self._process = context.Process(
                    target=worker.work, args=(theirs, limits), name="transduce-document", daemon=True
                )
                self._process.start()
            theirs.close()
        except (OSError, EOFError) as error:
            log.error("no process for a document: %s", error)
            raise RefusedError(503, "The server has no process left for documents; try again soon", 10.0) from None

    @property
    def is_alive(self) -> bool:
        """True if the process runs, or waits for an order."""
        with _lock:
            return self._process.is_alive()

    def ask(self, order: Order, kind: type[R], answers: Answers | None = None) -> R:
        """Gives an order, answers its questions, and returns its result; this blocks, and ends soon when it is killed.

        Raises InputError for documents that cannot be read or translated, RefusedError for those that need too much,
        ProcessFailedError for mistakes of the program.
        """
        with self._asking:
            self.is_usable, self._orders = False, self._orders + 1
            try:
                self._connection.send_bytes(encode(order))
                while True:
                    report = self._receive()
                    if isinstance(report, kind):
                        self.is_usable = self._orders < MOST_ORDERS and not self._is_polite
                        return report
                    if answers is None or not isinstance(report, Question):
                        raise msgspec.ValidationError(f"{type(report).__name__} in place of {kind.__name__}")
                    self._connection.send_bytes(encode(answers.to(report)))
            except (EOFError, OSError):
                raise self._ended() from None
            except msgspec.MsgspecError as error:
                raise ProcessFailedError(f"a document's process sent what it must not: {error}") from None

    def kill(self) -> None:
        """Kills the process; a wait for it in another thread ends with an error."""
        with _lock, suppress(ValueError):  # it has been released
            self._is_killed = True
            if self._process.is_alive():
                self._process.kill()

    def release(self) -> None:
        """Kills the process, and waits until all its resources are free again."""
        self.kill()
        self._wait()
        with self._asking, _lock, suppress(ValueError):
            self._connection.close()
            self._process.close()

    def _wait(self) -> int | None:
        """Waits for the process's end; returns its exit status, None if it goes on."""
        with suppress(ValueError):
            multiprocessing.connection.wait([self._process.sentinel], END_SECONDS)
            with _lock:
                return self._process.exitcode
        return None

    def _receive(self) -> Report:
        """Waits for a report; raises the error that one names."""
        while not self._connection.poll(None if self._is_polite else PATIENCE):
            self._is_polite = True
            with suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid or 0, NICE)
        report: Report = decode(self._connection.recv_bytes(LARGEST_MESSAGE), Report)  # type: ignore[arg-type]
        match report:
            case Refused(reason):
                raise InputError(reason)
            case OutOfMemory():
                most = self._limits.memory // 2**20
                raise RefusedError(413, f"This document needs more than the {most:,} MiB of memory allowed; divide it")
            case Failed(error, lines):
                raise ProcessFailedError("".join([f"{error} in the process of a document\n", *lines]))
        return report

    def _ended(self) -> RefusedError:
        """Returns an error for a process that ended without a report and was not killed."""
        code = self._wait()
        if code == -getattr(signal, "SIGXCPU", 0):
            most = self._limits.processor_seconds
            return RefusedError(
                413, f"This document needs more than the {most:,} seconds of processor time allowed; divide it"
            )
        if not self._is_killed:
            log.error("a document's process ended with status %s", code)
        return RefusedError(503, "The process that read this document has ended; try again, or divide it", 10.0)


def _context() -> Any:
    """Returns what starts processes: a fork server that has imported all, or new interpreters where there is none."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOADED])
    return context
