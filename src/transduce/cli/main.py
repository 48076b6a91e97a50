"""The command `transduce`: its verbs, and how each kind of failure ends."""

import errno
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from transduce import __version__
from transduce.cli.average import average
from transduce.cli.compare import compare
from transduce.cli.data import data
from transduce.cli.evaluate import evaluate
from transduce.cli.export import export
from transduce.cli.info import info
from transduce.cli.quickstart import quickstart
from transduce.cli.recipes import recipes
from transduce.cli.runs import runs
from transduce.cli.score import score
from transduce.cli.shortlist import shortlist
from transduce.cli.sweep import sweep
from transduce.cli.train import train
from transduce.cli.translate import translate
from transduce.errors import TransduceError

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130

app = typer.Typer(
    help="Train, understand and use attention models that turn one sequence into another.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for verb in (
    quickstart,
    recipes,
    train,
    sweep,
    runs,
    average,
    translate,
    score,
    evaluate,
    compare,
    info,
    shortlist,
    export,
):
    app.command()(verb)
app.add_typer(data, name="data")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"transduce {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train, understand and use attention models that turn one sequence into another."""


def main() -> None:
    """Run the command; every failure is one line on standard error and an exit status."""
    _share_cores()
    os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")  # what Apple's GPUs cannot compute, the processor does
    sys.exit(run(app))


def _share_cores() -> None:
    """Let threads that wait for each other sleep soon, before PyTorch starts them; what the user has set stays.

    GNU's OpenMP lets them spin for about a millisecond, which starves everybody on a machine that has other work.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")


def run(command: Callable[[], object]) -> int:
    """The exit status: 0 done, 1 failed, 2 the user's mistake, 130 interrupted."""
    try:
        command()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else FAILED
    except TransduceError as error:
        return _fail(str(error), MISTAKE)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 0
    except FloatingPointError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" while writing {error.filename}" if error.filename else ""
            return _fail(f"the disk is full{where}; what was saved before is whole", FAILED)
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    return 0


def _fail(line: str, status: int) -> int:
    print(f"transduce: {line}", file=sys.stderr)
    return status
