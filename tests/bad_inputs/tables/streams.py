"""Streams that are closed, full, gone or of another encoding; signals; the terminal's settings; a full disk."""

import signal
from typing import Any

from bad_inputs.damages import write
from bad_inputs.row import Interrupt, Row, Stream, row

LINES = "The dog sleeps.\n" * 1000
OUT = write("out", "Der Hund schläft.\n" * 7)


def _quiet(command: str, status: int | tuple[int, ...], **options: Any) -> Row:
    """Ends with this status, and is not to say anything."""
    return row(command, "", OUT, status=status, harmless=True, **options)


ROWS = [
    # Standard output
    row("recipes", "the disk is full", OUT, status=1, stdout=Stream.FULL, leaves=("out2*",)),
    _quiet("recipes", (0, 141), stdout=Stream.GONE, leaves=("out2*",)),
    row("data list", "standard output", OUT, status=(1, 2), stdout=Stream.CLOSED),
    _quiet("recipes", 0, encoding="ascii", leaves=("out2*",)),
    row(["info", "schön"], "sch\\xf6n: no such model", encoding="ascii"),
    # Standard error
    _quiet("info nowhere", 2, stderr=Stream.CLOSED),
    _quiet("train tiny.toml --out new", 0, stderr=Stream.CLOSED, leaves=("new*",)),
    _quiet("info nowhere", (1, 2, 141), stderr=Stream.GONE),
    _quiet("info nowhere", 2, stdout=Stream.CLOSED, stderr=Stream.CLOSED),
    # Standard input
    row("translate run", "standard input", stdin=Stream.CLOSED),
    row("translate run --prefix-file -", "standard input", stdin=b"The dog sleeps.\n"),
    _quiet("translate run test.en -q -o /dev/null", 0),
    row("evaluate run --source test.en --reference test.de --json -o -", "standard output"),
    # Signals
    row(
        "translate run",
        "interrupted",
        status=130,
        stdin=Stream.OPEN,
        seconds=20,
        interrupt=Interrupt(signal.SIGINT, "stdout"),
    ),
    row("translate run --prefix-file p", "p ends before line 1", write("p", ""), stdin=Stream.OPEN, seconds=20),
    _quiet("translate run -q", (0, 141), stdin=Stream.OPEN, stdout=Stream.GONE, seconds=20),
    row("translate run -q", "the disk is full", status=1, stdin=Stream.OPEN, stdout=Stream.FULL, seconds=20),
    row(
        "translate run long -o new",
        "terminated",
        write("long", LINES * 10),
        status=143,
        leaves=("new.partial*",),
        interrupt=Interrupt(signal.SIGTERM, "new.partial*"),
    ),
    row(
        "train tiny.toml training.updates=1000000 --out new",
        ("interrupted", "--resume", "new"),
        status=130,
        leaves=("new*",),
        interrupt=Interrupt(signal.SIGINT, "new/checkpoints/0*"),
    ),
    # What a terminal says of itself
    _quiet("runs .", 0, environment={"COLUMNS": "1"}),
    _quiet("data list", 0, environment={"COLUMNS": "wide"}),
    _quiet("recipes", 0, environment={"TERM": "", "LC_ALL": "xx_YY.nothing", "LANG": "C"}),
    _quiet("train rnn.toml --out new -q", (0, 1), environment={"TMPDIR": "/nowhere"}, leaves=("new*",)),
    # A disk that is full, here a limit on the length of files
    row("translate run long -o new --beam-size 1 -q", "too large", write("long", LINES), status=1, megabytes=0.004),
    row("train tiny.toml --out new -q", "too large", status=1, megabytes=0.004, leaves=("new*",)),
    row("export run -o new", "too large", status=1, megabytes=0.004),
]
