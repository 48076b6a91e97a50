"""What became of a row, and what is wrong with that."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from bad_inputs.row import Row, Stream

MAX_LINES = 15  # on standard error: the message, and what was told before it
LONGEST_LINE = 1000  # characters of the message
SHOWN, LONGEST_SHOWN = 2, 300  # last lines of each stream, and characters of each
BREAKDOWNS = (
    "Traceback (most recent",
    "Fatal Python error",
    "panicked at",
    "terminate called",
    "Exception ignored",
    "--debug shows the traceback",  # what nobody foresaw
)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    status: int | None
    """Below 0: the signal that killed it; None: it was not run, because the row itself failed."""
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    added: list[str] = field(default_factory=list)
    """Files that were not there before."""
    changed: list[str] = field(default_factory=list)
    """Files that were there before, and are gone or are not as they were."""

    def save(self, path: Path) -> None:
        """Write a file."""
        path.write_text(json.dumps(self.__dict__), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Outcome":
        """Read a file."""
        return Outcome(**json.loads(path.read_text(encoding="utf-8")))


def describe(row: Row, outcome: Outcome) -> str:
    """A row, what is wrong with its outcome, and the last lines it left; empty where nothing is wrong."""
    found = "; ".join(problems(row, outcome))
    if not found:
        return ""
    said = [("out", line) for line in outcome.stdout.splitlines()[-SHOWN:]]
    said += [("err", line) for line in outcome.stderr.splitlines()[-SHOWN:]]
    told = [str(row), f"status {outcome.status} in {outcome.seconds} s; {found}"]
    return "\n  ".join(line[:LONGEST_SHOWN] for line in [*told, *(f"{name}: {line}" for name, line in said)])


def problems(row: Row, outcome: Outcome) -> Iterator[str]:
    """All that is not as the row says, or as no answer may be."""
    if outcome.status is None:
        yield f"the row itself fails: {outcome.stderr}"
        return
    if outcome.timed_out:
        yield f"still running after {row.seconds:g} s"
    elif outcome.status < 0 and outcome.status not in row.status:
        yield f"killed by signal {-outcome.status}"
    elif outcome.status not in row.status:
        yield f"exit status {outcome.status}, expected {' or '.join(map(str, row.status))}"
    for word in BREAKDOWNS:
        if word in outcome.stderr or word in outcome.stdout:
            yield f"{word!r} in the answer"
    for word in row.words:
        if word not in outcome.stderr:
            yield f"no {word!r} in the answer"
    if row.shows not in outcome.stdout:
        yield f"no {row.shows!r} on standard output"
    yield from _problems_of_form(row, outcome)
    for what, names in (("left behind", outcome.added), ("changed", outcome.changed)):
        wrong = [name for name in names if not _may_be(name, row)]
        if wrong:
            yield f"{what}: {wrong[0]}" + f" and {len(wrong) - 1} more" * (len(wrong) > 1)


def _may_be(name: str, row: Row) -> bool:
    return any(fnmatch(name, pattern) for pattern in row.leaves)


def _problems_of_form(row: Row, outcome: Outcome) -> Iterator[str]:
    """The message is one line that stands alone."""
    lines = outcome.stderr.splitlines()
    if outcome.status and len(lines) > MAX_LINES:
        yield f"{len(lines)} lines on standard error"
    if any(len(line) > LONGEST_LINE for line in lines):
        yield f"a line of {max(map(len, lines)):,} characters on standard error"
    if any(ord(character) < 32 and character not in "\n\t" for character in outcome.stderr):
        yield "control characters on standard error"
    if outcome.status not in (1, 2) or (row.harmless and not lines):
        return
    if outcome.stdout and not row.prints:
        yield f"something on standard output: {outcome.stdout[:80]!r}"
    if row.stderr in (Stream.CLOSED, Stream.GONE):
        return
    messages = [line for line in lines if line.startswith("transduce: ")]
    if not messages or lines[-1] != messages[-1]:
        yield "the last line is no message that begins with 'transduce: '"
    elif not all(word in messages[-1] for word in row.words):
        yield "the message is more than one line"
