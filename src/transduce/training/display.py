"""The terminal display of a run: a progress bar of its updates and its current activity, refreshed every second."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from transduce.base.reprs import in_notebook
from transduce.training.estimate import Estimate
from transduce.training.observers import Lines, Observer, Report, clock, describe_perplexity, describe_validation

TRAINING = "training"


class ProgressBar(Observer):
    """A bar of all updates, and below it the current phase with its duration."""

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            bar_column(),
            _Count(),
            TextColumn("{task.fields[status]}"),
            _Clock(),
        )
        self._progress = Progress(*columns, console=console)
        self._updates: TaskID | None = None
        self._phase: TaskID | None = None
        self._pace = _Pace()
        self._progress.start()
        self.phase("preparing")

    def phase(self, name: str) -> None:
        """Shows the phase; training is the bar itself."""
        if self._phase is not None:
            self._progress.remove_task(self._phase)
        self._phase = None
        if name == TRAINING:
            self._pace.go(self._progress.get_time())
        else:
            self._pace.pause()
            self._phase = self._progress.add_task(name, total=None, status="", pace=None)

    def started(self, estimate: Estimate) -> None:
        """Shows the number of updates to make."""
        self._pace = _Pace(estimate.seconds_per_update)
        self._updates = self._progress.add_task(
            TRAINING, total=estimate.updates, completed=estimate.update, status="", pace=self._pace
        )

    def updated(self, update: int) -> None:
        """Moves the bar."""
        self._pace.count(self._progress.get_time())
        if self._updates is not None:
            self._progress.update(self._updates, completed=update)

    def report(self, report: Report) -> None:
        """Shows the loss or perplexity, and the speed."""
        if self._updates is not None:
            loss = describe_perplexity(report) or f"loss {report.loss:.4f}  "
            status = f"{loss}{report.target_tokens_per_second:,.0f} {report.unit}/s"
            self._progress.update(self._updates, completed=report.update, total=report.updates, status=status)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(describe_validation(update, scores, is_best), highlight=False)

    def close(self) -> None:
        """Leaves the bar as it is, without a phase."""
        if self._phase is not None:
            self._progress.remove_task(self._phase)
            self._phase = None
        self._progress.stop()


def console_observer() -> Observer:
    """Returns a bar on a terminal or in a notebook, plain lines elsewhere."""
    if in_notebook():
        from transduce.training.notebook import NotebookBar

        return NotebookBar()
    return ProgressBar() if sys.stderr.isatty() else Lines()


def bar_column() -> BarColumn:
    """Returns a bar in neutral colours; rich's own is red until it is full."""
    return BarColumn(complete_style="cyan", finished_style="green", pulse_style="cyan")


class _Pace:
    """The time per update: as estimated, then the mean of those made without interruption."""

    def __init__(self, foreseen: float = 0.0) -> None:
        self._foreseen, self._made, self._seconds = foreseen, 0, 0.0
        self._last: float | None = None

    def go(self, now: float) -> None:
        self._last = now

    def pause(self) -> None:
        self._last = None

    def count(self, now: float) -> None:
        if self._last is not None:
            self._made, self._seconds = self._made + 1, self._seconds + now - self._last
            self._last = now

    def seconds_left(self, updates: float, now: float) -> float:
        """Returns the seconds until this many more updates are made; counts down within an update, but not below the
        time of the rest."""
        pace = self._seconds / self._made if self._made else self._foreseen
        since = 0.0 if self._last is None else now - self._last
        return max(updates * pace - since, (updates - 1) * pace, 1.0 if updates else 0.0)


class _Count(MofNCompleteColumn):
    """The number of updates made, if the total is known."""

    def render(self, task: Task) -> Text:
        """Returns the count, or nothing for a phase."""
        return Text("") if task.total is None else super().render(task)


class _Clock(ProgressColumn):
    """The time left of training, or the duration of a phase."""

    max_refresh = None

    def render(self, task: Task) -> Text:
        """Returns hours, minutes and seconds."""
        if task.total is None:
            return Text(clock(task.elapsed or 0.0))
        return Text(f"{clock(task.fields['pace'].seconds_left(task.total - task.completed, task.get_time()))} left")
