"""One bad input: a command, what is wrong with the folder it runs in, and what its answer must be."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Stream(Enum):
    """What a standard stream is connected to, where it is no file."""

    CLOSED = "closed"
    OPEN = "a pipe that stays open and brings no more"
    GONE = "a pipe whose reader has gone"
    FULL = "a full disk"


@dataclass(frozen=True)
class Damage:
    """Makes one thing wrong in the working folder."""

    path: str
    """The file that is meant, for those who count which files have rows."""
    do: Callable[[], None]


@dataclass(frozen=True)
class Interrupt:
    """A signal that is sent once a file is there, or standard output is not empty."""

    signal: int
    when: str
    """The file, as a pattern, or "stdout"."""


@dataclass(frozen=True)
class Row:
    """One line of a table; see `row`."""

    command: tuple[str, ...]
    words: tuple[str, ...]
    """Words of the answer, on standard error."""
    damages: tuple[Damage, ...]
    status: tuple[int, ...] = (2,)
    stdin: bytes | Stream = b""
    stdout: Stream | None = None
    stderr: Stream | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    encoding: str = "utf-8"
    leaves: tuple[str, ...] = ()
    shows: str = ""
    prints: bool = False
    harmless: bool = False
    interrupt: Interrupt | None = None
    seconds: float = 60.0
    megabytes: float = 200

    def __str__(self) -> str:
        """The command as a person would type it, and the files that are damaged before."""
        damaged = ", ".join(damage.path for damage in self.damages)
        return f"transduce {shlex.join(self.command)[:300]}" + (f"   # damaged: {damaged}" if damaged else "")


def row(
    command: str | Sequence[str],
    words: str | tuple[str, ...],
    *damages: Damage,
    status: int | tuple[int, ...] = 2,
    **options: object,
) -> Row:
    """A row of a table.

    Args:
        command: what follows `transduce`, as a shell would split it, or split already.
        words: what the answer on standard error must hold, each of them.
        damages: done one after another in a fresh copy of the prepared folder, in which the command then runs.
        status: the exit status expected, or those allowed.
        options: stdin (bytes, or a Stream); stdout and stderr (a Stream); environment (None takes a variable away);
            encoding of the standard streams; shows (what standard output must hold); leaves (patterns of files
            that may be there, or be changed, afterwards);
            prints (whether standard output may hold something although the command fails); harmless (it disturbs
            nothing, so that no warning is needed); interrupt; seconds it may take; megabytes that a file may have.
    """
    return Row(
        tuple(shlex.split(command)) if isinstance(command, str) else tuple(command),
        (words,) if isinstance(words, str) else words,
        damages,
        (status,) if isinstance(status, int) else status,
        **options,  # type: ignore[arg-type]
    )
