"""Writes translations chunk by chunk: an interruption loses no finished chunk, and `--resume` continues there."""

import copy
import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import msgspec

from transduce.apps.cli.fields import flag
from transduce.apps.cli.line_requests import RequestReport
from transduce.apps.cli.output import (
    is_empty,
    is_new_file,
    open_partial,
    open_stream,
    partial_of,
    publish,
    remove_partial,
)
from transduce.base.errors import InputError
from transduce.base.files import sha256, sync, write_text
from transduce.base.ranges import NonNegativeInt
from transduce.base.verification import read_json
from transduce.base.version import VERSION
from transduce.bundle.model_bundle import find_bundle, model_content
from transduce.inference.shortlist.shortlist import FILE as SHORTLIST

CHANGES_NOTHING = ("output", "resume", "quiet", "threads", "ray")
FILES = ("input", "prefix_file", "glossary", "shortlist_file")


@dataclass
class Done:
    """The contents of PATH.partial.json, on PATH.partial."""

    task: dict[str, Any]
    """The task: all that determines the output."""
    bytes: NonNegativeInt = 0
    """The number of bytes that are whole chunks."""
    sha256: str = hashlib.sha256().hexdigest()
    """The SHA-256 of the last chunk."""
    report: RequestReport = field(default_factory=RequestReport)
    """The report on the lines of these bytes."""
    last: NonNegativeInt | None = None
    """The number of bytes of the last chunk; None in journals of earlier versions, whose checksum is of all bytes."""


@contextmanager
def growing_output(path: str, parameters: Mapping[str, Any], resume: bool) -> Iterator["Growing"]:
    """Opens the output of a command with these parameters; with `resume`, after the chunks written before.

    Raises InputError if those are of another command.
    """
    task = task_of(parameters) if is_new_file(path) else None
    if resume and task is None:
        raise InputError("--resume needs an input file and an output file (-o)")
    if not is_new_file(path):
        with open_stream(path) as stream:
            streamed = _Stream(stream)
            with _told_of(streamed, ""):
                yield streamed
        return
    final = Path(path)
    with open_partial(final) as file:
        partial = _Partial(file, final, task, resume)
        with _told_of(partial, f", in {partial_of(final)}" + ("; add --resume to go on" if task else "")):
            try:
                yield partial
            except BaseException:
                partial.keep()
                raise
        publish(file, final)
        partial.journal.unlink(missing_ok=True)


def task_of(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns all that determines an output: the command's parameters, checksums of the files and models that they
    name, and the program's version; None if the text to translate can be read only once."""
    if not Path(parameters["input"]).is_file():
        return None
    task = {name: value for name, value in parameters.items() if name not in CHANGES_NOTHING}
    task |= {name: None if task[name] is None else _content(Path(task[name])) for name in FILES}
    task["model"] = model_content(Path(task["model"]))
    task["with_"] = [model_content(Path(other)) for other in task["with_"] or ()]
    task["then"] = task["then"] and model_content(Path(task["then"]))
    if task["shortlist"]:
        task["shortlist"] = _content(find_bundle(Path(parameters["model"])) / SHORTLIST)
    plain: dict[str, Any] = msgspec.to_builtins(task | {"version": VERSION})
    return plain


@contextmanager
def _told_of(growing: "Growing", where: str) -> Iterator[None]:
    """Adds a note with the number of finished lines to an error that stops the command."""
    try:
        yield
    except BaseException as error:
        if lines := growing.report.lines:
            error.add_note(f"{lines:,} {'lines are' if lines > 1 else 'line is'} done{where}")
        raise


class _Stream:
    """Standard output, or another stream that cannot be resumed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.report = RequestReport()
        """The report on the lines that are done."""

    def add(self, text: str, report: RequestReport) -> None:
        """Writes a chunk; the report is on all lines up to its last."""
        done = copy.deepcopy(report)
        self._stream.write(text)
        self.report = done
        self._stream.flush()


class _Partial:
    """A file that gets its name when it is complete, and until then has a journal beside it."""

    def __init__(self, file: io.BufferedRandom, final: Path, task: dict[str, Any] | None, resume: bool) -> None:
        self._file = file
        self._final = final
        self._path = partial_of(final)
        self.journal = self._path.with_name(f"{self._path.name}.json")
        self._is_resumable = task is not None
        if is_empty(file):
            self._done = Done(task or {})
            self._write_journal()  # before any text: without it nobody would know whose text that is
        else:
            self._done = self._read(task, resume)

    @property
    def report(self) -> RequestReport:
        """The report on the lines that are done."""
        return self._done.report

    def add(self, text: str, report: RequestReport) -> None:
        """Writes a chunk and the journal; the report is on all lines up to its last."""
        data = text.encode()
        self._file.write(data)
        self._file.flush()
        digest = hashlib.sha256(data).hexdigest()
        self._done = Done(self._done.task, self._done.bytes + len(data), digest, copy.deepcopy(report), len(data))
        self._write_journal()

    def _write_journal(self) -> None:
        if self._is_resumable:
            sync(self._path)
            write_text(self.journal, msgspec.json.encode(self._done).decode())

    def keep(self) -> None:
        """Cuts the file to its whole chunks; removes it if there are none."""
        if self._done.bytes:
            self._file.truncate(self._done.bytes)
            return
        remove_partial(self._file, self._final)
        self.journal.unlink(missing_ok=True)

    def _read(self, task: dict[str, Any] | None, resume: bool) -> Done:
        if task is None or not self.journal.exists():
            raise InputError(f"{self._path} is left from an earlier command; remove it or choose another name")
        done = read_json(self.journal, Done, f"remove it and {self._path} to start again")
        if not resume:
            raise InputError(
                f"{self._path} holds {done.report.lines:,} finished lines; add --resume to continue, or "
                "remove it to start again"
            )
        if changed := [name for name in task if task[name] != done.task.get(name)]:
            raise InputError(
                f"{self._path} was started with a different {_describe(changed[0], done.task)}; use the same to "
                "continue, or remove it to start again"
            )
        last = done.bytes if done.last is None else done.last
        self._file.seek(max(done.bytes - last, 0))
        chunk = self._file.read(last)
        if len(chunk) < last or hashlib.sha256(chunk).hexdigest() != done.sha256:
            raise InputError(f"{self._path} has changed since it was left; remove it to start again")
        self._file.seek(done.bytes)
        self._file.truncate()
        return done


Growing = _Stream | _Partial
"""An output to which chunks are added."""


def _describe(name: str, task: Mapping[str, Any]) -> str:
    """Describes a parameter by its option, with its value if it is short."""
    if name in ("model", "input", "version"):
        return {"model": "model", "input": "input", "version": f"version of Transduce, {task.get(name)}"}[name]
    shown = "" if name in (*FILES, "with_", "shortlist", "quality") else f" ({task.get(name)})"
    return f"{flag(name)}{shown}"


def _content(path: Path) -> str | None:
    """Returns a checksum; None for a missing file, or no regular file, which reading would use up."""
    return sha256(path) if path.is_file() else None
