"""How a command ends: every kind of failure as one line on standard error, and an exit status."""

import contextlib
import errno
import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

import typer

from transduce.cli.stopping import Stop, Terminated
from transduce.errors import TransduceError

FAILED, MISTAKE, INTERRUPTED, UNREAD, TERMINATED = 1, 2, 130, 141, 143
LONGEST = 300  # characters shown of a library's own message

UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # click's, or in newer versions typer's own copy of it


def run(command: Callable[[], object], stop: Stop | None = None) -> int:
    """The exit status: 0 done, 1 failed, 2 the user's mistake, 130 interrupted, 143 terminated, 141 nobody reads on."""
    status = _attempt(command, stop)
    if status:
        with contextlib.suppress(Exception):
            _flush()
        return status
    return _attempt(_flush, stop)


def _attempt(command: Callable[[], object], stop: Stop | None) -> int:
    try:
        command()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else FAILED if done.code else 0
    except typer.Exit as done:
        return done.exit_code
    except BaseException as error:  # a panic in a library's Rust is no Exception
        if isinstance(error, BrokenPipeError) and any([_is_unread(sys.stdout), _is_unread(sys.stderr)]):
            return UNREAD
        was_stopped = stop is not None and stop.number is not None
        line, status = describe(stop.error() if stop and was_stopped else error)  # a library may make another of it
        line = " ".join("; ".join([line, *getattr(error, "__notes__", [])]).split())
        if line:
            with contextlib.suppress(OSError, ValueError):  # standard error may have gone too
                print(f"transduce: {line}", file=sys.stderr, flush=True)
        return status
    return 0


def describe(error: BaseException) -> tuple[str, int]:
    """What a user is told of a failure, and the exit status."""
    match error:
        case TransduceError():
            return str(error), MISTAKE
        case UsageError():
            return _usage(error), MISTAKE
        case Terminated():
            return "terminated", TERMINATED
        case KeyboardInterrupt() | typer.Abort():
            return "interrupted", INTERRUPTED
        case FloatingPointError():
            return str(error), FAILED
        case UnicodeEncodeError() if any("\ud800" <= character <= "\udfff" for character in error.object):
            return f"{error.object!r} holds bytes that are not UTF-8; write it in UTF-8", MISTAKE
        case OSError():
            return _system(error), FAILED
    if _is_out_of_memory(error):
        return (
            "out of memory; to translate takes less with a smaller --beam-size or fewer --threads, to train with "
            "smaller batches, and any process where others leave it more",
            FAILED,
        )
    message = " ".join(str(error).split())
    shown = message if len(message) <= LONGEST else f"{message[:LONGEST]} ..."
    return f"unexpected {type(error).__name__}{': ' if shown else ''}{shown}; --debug shows it whole", FAILED


def _usage(error: Exception) -> str:
    """A mistake in the command itself; empty where help has been printed instead."""
    message = str(error.format_message()).strip().removesuffix(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = "transduce" if context is None else context.command_path
    return f"{message[0].lower()}{message[1:]}; see {command} --help" if message else ""


def _system(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" while writing {error.filename}" if error.filename else ""
        return f"the disk is full{where}; what was saved before is whole"
    if error.errno == errno.EBADF:
        return "standard input or output is closed; leave it open, or name a file"
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # PyTorch need not be imported
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _give_up(sys.stdout)
        raise


def _is_unread(stream: TextIO) -> bool:
    """Whether nobody reads any more what is written to a stream, which then gives up."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # no stream of the system
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    gone = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if gone:
        _give_up(stream)
    return gone


def _give_up(stream: TextIO) -> None:
    """Let what is still held of a stream go nowhere, so that the interpreter does not complain at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
