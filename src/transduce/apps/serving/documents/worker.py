"""The process that reads and writes a document: its work, and its limits on itself.

It imports nothing that needs PyTorch or a web server, so that it is small and starts in milliseconds.
"""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from math import ceil
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar
from xml.parsers import expat

from docsegments.document import Document, Edit, Languages, Unit
from docsegments.document_formats import read_document, read_marked_up
from docsegments.memory import MemoryMatch, pairs_of_tmx
from docsegments.segment import Segment
from docsegments.text.placeholders import plain_segment
from docsegments.translating.document_translator import DocumentTranslator, is_open
from docsegments.translating.sentence_translator import Links, PartProgress, SentenceRequest, TranslatedSentence
from transduce.apps.serving.documents.messages import (
    Align,
    Counted,
    EntriesRead,
    Examine,
    Failed,
    File,
    OpenSegment,
    OutOfMemory,
    Question,
    Read,
    ReadEntries,
    ReadSample,
    Recall,
    Refused,
    Sampled,
    Sentences,
    Translate,
    WrittenFiles,
    decode,
    encode,
)
from transduce.base.errors import TransduceError
from transduce.text.glossary import Entry, Glossary

if sys.platform != "win32":
    import resource

HAS_LIMITS = sys.platform != "win32"
T = TypeVar("T")
MOST_TERMS = 10_000
"""The most entries of a glossary."""
SAMPLE_UNITS, SAMPLE_CHARACTERS = 50, 2000
SPARE_MEMORY = 32 * 2**20
"""Bytes beyond the limit with which a process that has reached it can still report so."""
MOST_FILES = 32
"""The most descriptors that a process may have open."""
MOST_INHERITED = 1024
"""A bound on the numbers of the descriptors that a process begins with: multiprocessing hands on 256 at most."""
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl


@dataclass(frozen=True)
class ProcessLimits:
    """Limits of what a process may use."""

    memory: int
    """Memory in bytes."""
    processor_seconds: int


def work(connection: Connection, limits: ProcessLimits) -> None:
    """Carries out the orders from the other end of a connection, one after the other, and ends with it."""
    confine(limits, connection.fileno())
    line = _Line(connection)
    with suppress(_GoneError):
        while True:
            line.send(_done_with_care(line, limits))
    os._exit(0)


def confine(limits: ProcessLimits, kept: int) -> None:
    """Limits this process, which keeps one file descriptor and no standard stream, and ends with its parent.

    Windows has no such limits; there a process inherits no descriptors, and ends when its connection is closed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its processes
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # a library's warning may hold the text of a document
        os.dup2(nowhere, standard)
    if not HAS_LIMITS:
        return
    os.closerange(3, kept)  # the server notices the end of a process, and a process that of the server, by what closes
    os.closerange(kept + 1, MOST_INHERITED)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(
                "1000", encoding="ascii"
            )  # if memory runs out, this goes and not the server
    _limit_time(limits)
    _limit("RLIMIT_DATA", limits.memory, is_final=False)
    _limit("RLIMIT_NOFILE", MOST_FILES)
    _limit("RLIMIT_FSIZE", 0)
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_NPROC", 0)


class _GoneError(Exception):
    """An error: the other end of the connection is closed."""


class _Line:
    """A connection that sends and receives messages."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, message: bytes) -> None:
        """Sends a message."""
        try:
            self._connection.send_bytes(message)
        except OSError:
            raise _GoneError from None

    def receive(self, kind: type[T]) -> T:
        """Waits for a message of a type, and returns it."""
        try:
            data = self._connection.recv_bytes()
        except (EOFError, OSError):
            raise _GoneError from None
        return decode(data, kind)


class _Asking:
    """A SentenceTranslator, and a memory, that ask the other end of a connection."""

    def __init__(self, line: _Line, order: Read) -> None:
        self.languages = Languages(order.source, order.target)
        self.can_require = order.can_require
        self.can_align = order.can_align
        self.context = order.context
        self.reads_both = order.reads_both
        self._line = line

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        """See SentenceTranslator."""
        return self._ask(Examine(list(sentences), list(texts)), tuple[list[list[str]], list[bool]])

    def translate(
        self, requests: Sequence[SentenceRequest], progress: PartProgress | None = None
    ) -> list[TranslatedSentence]:
        """See SentenceTranslator; the other end reports the progress."""
        shares = () if progress is None else (progress.before, progress.size)
        return self._ask(Sentences(list(requests), *shares), list[TranslatedSentence])

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        """See SentenceTranslator."""
        return self._ask(Align(list(pairs)), list[Links | None])

    def find(self, segment: Segment) -> MemoryMatch | None:
        """See Remembers: the same text alone, since no one reads what is similar."""
        return self._recall(segment, segment.one_line)

    def find_in_context(self, segment: Segment, before: str) -> MemoryMatch | None:
        """See Remembers."""
        match = self._recall(segment, f"{' '.join(before.split())}\n{segment.one_line}")
        return match and replace(match, is_in_context=True)

    def _recall(self, segment: Segment, name: str) -> MemoryMatch | None:
        known = self._ask(Recall(name), tuple[str, str] | None)  # type: ignore[arg-type]
        if known is None:
            return None
        source, target = plain_segment(known[0]), plain_segment(known[1])
        if " ".join(known[0].split()) == segment.one_line:  # it shows no tags: what looks like one is text
            source, target = map(segment.with_held, known)
        return MemoryMatch(segment.one_line, target, 1.0, source)

    def _ask(self, question: Question, kind: type[T]) -> T:
        self._line.send(encode(question))
        return self._line.receive(kind)


def _done_with_care(line: _Line, limits: ProcessLimits) -> bytes:
    """Carries out an order, and returns a message with its result, or the reason of its failure."""
    report: Refused | Failed
    try:
        return encode(_done(line, limits))
    except TransduceError as error:
        is_memory, report = _is_memory(error), Refused(str(error))
    except _GoneError:
        raise
    except BaseException as error:
        is_memory = _is_memory(error)
        lines = [] if is_memory else traceback.format_tb(error.__traceback__)[-20:]
        report = Failed(type(error).__name__, lines)
    if is_memory:
        _limit("RLIMIT_DATA", limits.memory + SPARE_MEMORY, is_final=False)
        return encode(OutOfMemory())
    return encode(report)


def _done(line: _Line, limits: ProcessLimits) -> Sampled | EntriesRead | WrittenFiles:
    order: ReadSample | Read | ReadEntries = line.receive(ReadSample | Read | ReadEntries)  # type: ignore[arg-type]
    _limit_time(limits)
    if isinstance(order, ReadEntries):
        data, name, wanted = order.file.data, order.file.name, Languages(order.source, order.target)
        if order.file.kind == "tmx":
            return EntriesRead([Entry(*pair) for pair in pairs_of_tmx(data, name, wanted)])
        read = Glossary.parse(BytesIO(data), name, wanted.source, wanted.target, most=MOST_TERMS)
        return EntriesRead(list(read.entries))
    if isinstance(order, ReadSample):
        units = _read(order.file, Languages("", order.target)).units
        return Sampled(" ".join(unit.source.text for unit in units[:SAMPLE_UNITS])[:SAMPLE_CHARACTERS])
    asking = _Asking(line, order)
    memory = asking if order.has_memory else None
    translator = DocumentTranslator(asking, memory=memory, splits_sentences=order.splits_sentences)
    documents = [_read(file, translator.languages) for file in order.files]
    go_on = Translate(with_progress=False)
    if order.longest is not None:
        line.send(encode(_counted(order.longest, documents)))
        go_on = line.receive(Translate)
    together = _Together(documents)
    tell = (lambda share: None) if go_on.with_progress else None  # the other end reports the progress
    translator.translate_document(together.document, go_on.retranslate, tell, order.before)
    return WrittenFiles(together.written)


def _read(file: File, languages: Languages) -> Document:
    if file.tags is None:
        return read_document(file.data, file.name, languages, file.kind)
    return read_marked_up(file.data, file.name, "xml" if file.kind == "xml" else "html", file.tags)


def _counted(longest: int, documents: Sequence[Document]) -> Counted:
    sizes = [(len(unit.source.text), unit.where) for document in documents for unit in document.units]
    too_large = (where for size, where in sizes if size > longest)
    return Counted(sum(size for size, _ in sizes), next(too_large, ""), _open_segments(documents))


def _open_segments(documents: Sequence[Document]) -> list[OpenSegment]:
    """Returns the segments to translate; those that a mark divides, such as a line break, only the model translates."""
    listed: dict[str, OpenSegment] = {}
    for unit in filter(is_open, (unit for document in documents for unit in document.units)):
        core = unit.source.split_edges()[1]
        if not any(mark.breaks for mark in core.marks):
            held = [mark.shown for mark in core.marks if mark.is_held]
            listed.setdefault(core.one_line, OpenSegment(core.one_line, unit.where, held))
    return list(listed.values())


class _Together:
    """Several documents as one, so that sentences of all are translated at the same time."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents: list[tuple[Document, list[Edit]]] = [(document, []) for document in documents]
        self.written: list[bytes] = []
        """The documents as bytes, once the joint one has been saved."""
        units = [
            _collecting(unit, edits, number == 0)
            for document, edits in self._documents
            for number, unit in enumerate(document.units)
        ]
        self.document = Document(units, self._save)

    def _save(self, edits: Sequence[Edit]) -> bytes:
        self.written = [document.save(edits_of_document) for document, edits_of_document in self._documents]
        return b""


def _collecting(unit: Unit, edits: list[Edit], begins: bool) -> Unit:
    """Returns a unit whose edits go to those of its document, and to no joint one."""

    def write(segment: Segment) -> list[Edit]:
        edits.extend(unit.write(segment))
        return []

    return replace(unit, write=write, begins=begins)


def _is_memory(error: BaseException | None) -> bool:
    """Returns True if memory ran out, also where a library or a reader has raised another error for it."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, expat.ExpatError) and error.code == 1):
            return True
        error = error.__cause__ or error.__context__
    return False


def _limit_time(limits: ProcessLimits) -> None:
    """Limits the processor time from now on."""
    if not HAS_LIMITS:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit("RLIMIT_CPU", ceil(used.ru_utime + used.ru_stime) + limits.processor_seconds, is_final=False)


def _limit(name: str, most: int, is_final: bool = True) -> None:
    """Sets a resource limit, if the system supports it and has no lower one; it may be raised again unless final."""
    if not HAS_LIMITS:
        return
    kind = getattr(resource, name)
    highest = resource.getrlimit(kind)[1]
    if highest != resource.RLIM_INFINITY:
        most = min(most, highest)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (most, most if is_final else highest))
