"""Shows the progress of a translation."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from transduce.apps.cli.printing import teller

EVERY = 30  # seconds from one plain line to the next

Tell = Callable[[float], None]
"""A function that is called with the number of lines done."""


@contextmanager
def show_progress(total: int | None, begun: int = 0, is_shown: bool = True, what: str = "lines") -> Iterator[Tell]:
    """Shows a bar on a terminal, elsewhere a plain line now and then if the total is known; `begun` lines are done."""
    started = time.monotonic()

    def describe(lines: float) -> str:
        shown = f"{int(lines):,}{'' if total is None else f' of {total:,}'} {what}"
        if lines <= begun:
            return shown
        rate = (lines - begun) / max(time.monotonic() - started, 1e-9)
        shown += f", {rate:,.1f} a second"
        return shown if total is None else f"{shown}, {timedelta(seconds=round((total - lines) / rate))} left"

    if not (is_shown and sys.stderr.isatty()):
        yield _plain_lines(describe) if is_shown and total is not None else lambda lines: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    from transduce.training.display import bar_column

    columns = (TextColumn("translating"), bar_column(), TextColumn("{task.fields[status]}"))
    # No thread that redraws: workers are forked, and one might be forked while it holds a lock.
    bar = Progress(
        *columns, console=Console(stderr=True), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
    with bar:
        task = bar.add_task("translating", total=total, completed=begun, status=describe(begun))

        def tell(lines: float) -> None:
            bar.update(task, completed=lines, status=describe(lines), refresh=True)

        tell(begun)
        yield tell


def _plain_lines(describe: Callable[[float], str]) -> Tell:
    last = time.monotonic()

    def tell(lines: float) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            teller()(describe(lines))
            last = time.monotonic()

    return tell
