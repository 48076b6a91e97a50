"""Ends a command: every kind of failure becomes one line on standard error, and an exit status."""

import contextlib
import errno
import os
import select
import sys
from collections.abc import Callable
from typing import IO, Any, TextIO

import click

from transduce.apps.cli.stopping import Stop, Terminated
from transduce.base.errors import Interrupted, TransduceError

FAILED, MISTAKE, INTERRUPTED, UNREAD, TERMINATED = 1, 2, 130, 141, 143
LONGEST = 900  # characters shown of a message
STREAMS = {0: "standard input", 1: "standard output"}


def run(command: Callable[[], object], stop: Stop | None = None) -> int:
    """Returns the exit status: 0 done, 1 failed, 2 the user's mistake, 130 interrupted, 143 terminated, 141 unread."""
    status = _attempt(command, stop) or _attempt(lambda: sys.stdout.flush(), stop)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _give_up(sys.stdout)
    return status


def _attempt(command: Callable[[], object], stop: Stop | None) -> int:
    try:
        command()
    except SystemExit as done:
        if isinstance(done.__context__, BrokenPipeError):  # which rich turns into SystemExit
            return UNREAD
        return done.code if isinstance(done.code, int) else FAILED if done.code else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except BaseException as error:  # a panic in a library's Rust is no Exception
        if isinstance(error, BrokenPipeError) and any([_is_unread(sys.stdout), _is_unread(sys.stderr)]):
            return UNREAD
        was_stopped = stop is not None and stop.number is not None
        line, status = describe(stop.error() if stop and was_stopped else error)  # a library may raise another error
        if line := _one_line("; ".join([line, *getattr(error, "__notes__", [])])):
            try:
                print(f"transduce: {line}", file=sys.stderr, flush=True)
            except (OSError, ValueError):  # standard error has gone too
                _give_up(sys.stderr)
        return status
    return 0


def describe(error: BaseException) -> tuple[str, int]:
    """Returns the message for a failure, and the exit status."""
    match error:
        case TransduceError():
            return str(error), MISTAKE
        case click.UsageError():
            return _usage(error), MISTAKE
        case Terminated():
            return "terminated", TERMINATED
        case Interrupted():
            return "interrupted; everything is saved", INTERRUPTED
        case KeyboardInterrupt() | click.Abort():
            return "interrupted", INTERRUPTED
        case FloatingPointError():
            return str(error), FAILED
        case OSError() if error.errno == errno.EBADF:
            closed = [name for descriptor, name in STREAMS.items() if is_closed(descriptor)]
            return (
                f"{' and '.join(closed) or 'standard input or output'} is closed; leave it open, or name a file",
                MISTAKE,
            )
        case UnicodeEncodeError() if any("\ud800" <= character <= "\udfff" for character in error.object):
            return f"{error.object!r} holds bytes that are not UTF-8; write it in UTF-8", MISTAKE
        case OSError():
            return _system(error), FAILED
    if _is_out_of_memory(error):
        return (
            "out of memory; to save memory, translate with a smaller --beam-size or fewer --threads, train with "
            "smaller batches, or stop other processes",
            FAILED,
        )
    message = _one_line(str(error), LONGEST // 3)
    return f"unexpected {type(error).__name__}{': ' if message else ''}{message}; --debug shows the traceback", FAILED


def _one_line(message: str, longest: int = LONGEST) -> str:
    """Returns a message without line ends and control characters, which file names may hold; a long one is cut."""
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() or c >= "\xa0" else repr(c)[1:-1] for c in line)
    return line if len(line) <= longest else f"{line[: longest // 2]} ... {line[-longest // 2 :]}"


def _usage(error: click.UsageError) -> str:
    """Describes a mistake in the command itself."""
    message = error.format_message().strip().removesuffix(".")
    command = "transduce" if error.ctx is None else error.ctx.command_path
    return f"{message[0].lower()}{message[1:]}; see {command} --help"


def _system(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" while writing {error.filename}" if error.filename else ""
        return f"the disk is full{where}; files saved before are intact"
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # PyTorch need not be imported
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def descriptor_of(stream: IO[Any]) -> int | None:
    """Returns the descriptor of a standard stream; None if it is not a stream of the system."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


def is_closed(descriptor: int) -> bool:
    """Returns True if a standard stream was closed when the command began: `main` gave it the wrong direction."""
    try:
        import fcntl

        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except ImportError:  # Windows, which does not tell
        return False
    except OSError:
        return True
    return mode == (os.O_WRONLY if descriptor == 0 else os.O_RDONLY)


def _is_unread(stream: TextIO) -> bool:
    """Returns True if the reader of a stream has closed it; then discards its output."""
    if (descriptor := descriptor_of(stream)) is None:
        return False
    gone = True  # on Windows, where only sockets can be asked
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, 0)
        gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if gone:
        _give_up(stream)
    return gone


def _give_up(stream: TextIO) -> None:
    """Discards a stream's buffered output, so that the interpreter does not complain at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
