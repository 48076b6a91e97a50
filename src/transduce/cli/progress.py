"""Shows the progress of a translation."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import Progress, TextColumn

from transduce.training.display import bar_column

EVERY = 30  # seconds from one plain line to the next

Tell = Callable[[float], None]
"""A function that is called with the number of lines done."""


@contextmanager
def show_progress(total: int | None, begun: int = 0, is_shown: bool = True, what: str = "lines") -> Iterator[Tell]:
    """Shows a bar on a terminal, elsewhere a plain line now and then if the total is known; `begun` lines are done."""
    pace = _Pace(total, begun, what)
    if not (is_shown and sys.stderr.isatty()):
        yield _plain_lines(pace) if is_shown and total is not None else lambda lines: None
        return
    columns = (TextColumn("translating"), bar_column(), TextColumn("{task.fields[status]}"))
    # No thread that redraws: workers are forked, and one might be forked while it holds a lock.
    bar = Progress(
        *columns, console=Console(stderr=True), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
    with bar:
        task = bar.add_task("translating", total=total, completed=begun, status=pace.describe(begun))

        def tell(lines: float) -> None:
            bar.update(task, completed=lines, status=pace.describe(lines), refresh=True)

        tell(begun)
        yield tell


class _Pace:
    def __init__(self, total: int | None, begun: int, what: str) -> None:
        self.total, self.what = total, what
        self.begun = begun
        self.started = time.monotonic()

    def describe(self, lines: float) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        shown = f"{int(lines):,}{of} {self.what}"
        rate = (lines - self.begun) / max(time.monotonic() - self.started, 1e-9)
        if lines <= self.begun:
            return shown
        shown += f", {rate:,.1f} a second"
        if self.total is None:
            return shown
        return f"{shown}, {timedelta(seconds=round((self.total - lines) / rate))} left"


def _plain_lines(pace: _Pace) -> Tell:
    last = time.monotonic()

    def tell(lines: float) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            print(f"transduce: {pace.describe(lines)}", file=sys.stderr, flush=True)
            last = time.monotonic()

    return tell
