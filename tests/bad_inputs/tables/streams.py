"""Streams that are closed, full, gone or of another encoding; signals; the terminal's settings; a full disk."""

import signal
from typing import Any

from bad_inputs.damages import write
from bad_inputs.row import Interrupt, Row, Stream, row

LINES = "The dog sleeps.\n" * 1000
PRINTING = (
    "recipes",
    "recipes --json",
    "info run",
    "info run --json",
    "runs .",
    "data list",
    "data list --json",
    "translate run test.en -q",
    "translate run test.en -q --json",
    "score run --pairs test.tsv -q",
    "evaluate test.de --reference test.de",
    "evaluate run --source test.en --reference test.de --json",
    "compare test.de out --source test.en --reference test.de -q",
    "average run --out out2",
)
OUT = write("out", "Der Hund schläft.\n" * 7)


def _quiet(name: str, command: str, status: int | tuple[int, ...], **options: Any) -> Row:
    """Ends with this status, and is not to say anything."""
    return row(name, command, status, "", OUT, harmless=True, **options)


ROWS = [
    # Standard output
    *(
        row(
            f"a full disk at the end of: {command}",
            command,
            1,
            "the disk is full",
            OUT,
            stdout=Stream.FULL,
            leaves=("out2*",),
        )
        for command in PRINTING
    ),
    *(
        _quiet(f"a reader that has gone: {command}", command, (0, 141), stdout=Stream.GONE, leaves=("out2*",))
        for command in PRINTING
    ),
    *(
        row(
            f"a closed standard output: {command}",
            command,
            (1, 2),
            "standard output",
            OUT,
            stdout=Stream.CLOSED,
            leaves=("out2*",),
        )
        for command in PRINTING
    ),
    *(
        _quiet(f"an old encoding: {command}", command, 0, encoding=encoding, leaves=("out2*",))
        for command in ("recipes", "info run", "runs .", "data list", "translate run test.en -q")
        for encoding in ("ascii",)
    ),
    row("an old encoding: an error's name", ["info", "schön"], 2, "sch\\xf6n: no such model", encoding="ascii"),
    # Standard error
    _quiet("a closed standard error: a mistake", "info nowhere", 2, stderr=Stream.CLOSED),
    _quiet(
        "a closed standard error: a training", "train tiny.toml --out new", 0, stderr=Stream.CLOSED, leaves=("new*",)
    ),
    _quiet("a closed standard error: a translation", "translate run test.en", 0, stderr=Stream.CLOSED),
    _quiet("a standard error that has gone: a mistake", "info nowhere", (1, 2, 141), stderr=Stream.GONE),
    _quiet(
        "a standard error that has gone: a training",
        "train tiny.toml --out new",
        (0, 1, 2, 141),
        stderr=Stream.GONE,
        leaves=("new*",),
    ),
    _quiet("a full standard error: a mistake", "info nowhere", (1, 2), stderr=Stream.FULL),
    _quiet(
        "a full standard error: a training",
        "train tiny.toml --out new",
        (0, 1, 2),
        stderr=Stream.FULL,
        leaves=("new*",),
    ),
    _quiet("output and error closed: a mistake", "info nowhere", 2, stdout=Stream.CLOSED, stderr=Stream.CLOSED),
    # Standard input
    *(
        row(f"a closed standard input: {command}", command, 2, "standard input", stdin=Stream.CLOSED)
        for command in (
            "translate run",
            "evaluate - --reference test.de",
            "compare - test.de --source test.en --reference test.de",
            "translate run test.en --prefix-file -",
            "translate run test.en --glossary -",
        )
    ),
    *(
        row(f"standard input twice: {command}", command, 2, "standard input", stdin=b"The dog sleeps.\n")
        for command in (
            "translate run --prefix-file -",
            "translate run --glossary -",
            "translate run test.en --glossary - --prefix-file -",
            "evaluate - --reference -",
            "compare test.de - --source test.en --reference -",
            "compare test.de test.en --source - --reference -",
        )
    ),
    row(
        "standard input for a test set of pairs",
        "evaluate run --source - --reference test.de",
        2,
        "standard input",
        stdin=b"The dog sleeps.\n",
    ),
    row("two systems on standard input", "compare - - --source test.en --reference test.de", 2, "- is named twice"),
    row(
        "outputs and figures on one stream",
        "evaluate run --source test.en --reference test.de --json -o -",
        2,
        "standard output",
    ),
    _quiet("an output that goes nowhere", "translate run test.en -q -o /dev/null", 0),
    _quiet("scores that go nowhere", "score run --pairs test.tsv -q -o /dev/null", 0),
    # Signals
    row(
        "Ctrl-C while it waits for a line",
        "translate run",
        130,
        "interrupted",
        stdin=Stream.OPEN,
        seconds=20,
        interrupt=Interrupt(signal.SIGINT, "stdout"),
    ),
    row(
        "SIGTERM while it waits for a line",
        "translate run",
        (143, -15),
        "",
        stdin=Stream.OPEN,
        seconds=20,
        harmless=True,
        interrupt=Interrupt(signal.SIGTERM, "stdout"),
    ),
    row(
        "a prefix file that ends while it waits for a line",
        "translate run --prefix-file p",
        2,
        "p ends before line 1",
        write("p", ""),
        stdin=Stream.OPEN,
        seconds=20,
    ),
    _quiet(
        "a reader that has gone while it waits for a line",
        "translate run -q",
        (0, 141),
        stdin=Stream.OPEN,
        stdout=Stream.GONE,
        seconds=20,
    ),
    row(
        "a full disk while it waits for a line",
        "translate run -q",
        1,
        "the disk is full",
        stdin=Stream.OPEN,
        stdout=Stream.FULL,
        seconds=20,
    ),
    row("no such model while it waits for a line", "translate nowhere", 2, "nowhere: no such model", stdin=Stream.OPEN),
    *(
        row(
            f"{name} while it writes: {verb}",
            f"{verb} -o new",
            status,
            words,
            write("long", LINES * 10),
            write("long.tsv", "a\tb\n" * 10_000),
            interrupt=Interrupt(number, "new.partial*"),
            harmless=not words,
            leaves=("new.partial*",),
        )
        for verb in ("translate run long", "score run --pairs long.tsv")
        for name, number, status, words in (
            ("Ctrl-C", signal.SIGINT, 130, "interrupted"),
            ("SIGTERM", signal.SIGTERM, 143, "terminated"),
        )
    ),
    *(
        row(
            f"{name} while it trains",
            "train tiny.toml training.updates=1000000 --out new",
            130,
            ("interrupted", "--resume", "new"),
            interrupt=Interrupt(number, "new/checkpoints/0*"),
            leaves=("new*",),
        )
        for name, number in (("Ctrl-C", signal.SIGINT), ("SIGTERM", signal.SIGTERM))
    ),
    # What a terminal says of itself
    *(
        _quiet(f"a terminal with {name}={value}: {command}", command, 0, environment={name: value})
        for command in (
            "recipes",
            "info run",
            "runs .",
            "data list",
            "compare test.de out --source test.en --reference test.de -q",
        )
        for name, value in (("COLUMNS", "1"), ("COLUMNS", "wide"))
    ),
    _quiet("a terminal of no kind", "recipes", 0, environment={"TERM": ""}),
    _quiet("a language of no kind", "recipes", 0, environment={"LC_ALL": "xx_YY.nothing", "LANG": "C"}),
    _quiet(
        "no place for temporary files",
        "train rnn.toml --out new -q",
        (0, 1),
        environment={"TMPDIR": "/nowhere"},
        leaves=("new*",),
    ),
    # A disk that is full, here a limit on the length of files
    *(
        row(
            f"a disk that is full: {command}",
            command,
            1,
            "too large",
            write("long", LINES),
            write("long.tsv", "a\tb\n" * 1000),
            megabytes=0.004,
            leaves=leaves,
        )
        for command, leaves in (
            ("translate run long -o new --beam-size 1 -q", ()),
            ("score run --pairs long.tsv -o new -q", ()),
            ("train tiny.toml --out new -q", ("new*",)),
            ("average run --out new", ()),
            ("shortlist run --out new -q", ()),
            ("export run -o new", ()),
        )
    ),
]
