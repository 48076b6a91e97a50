"""The progress of a run in a notebook: the notebook's own bar, with validations below."""

from collections.abc import Callable
from datetime import timedelta
from html import escape
from importlib import import_module
from threading import Event, Thread
from time import monotonic
from typing import Any

from transduce.training.estimate import Estimate
from transduce.training.observers import Observer, Report

SHOWN = 8  # validations


class NotebookBar(Observer):
    """A bar of all updates, with a countdown each second."""

    def __init__(self) -> None:
        notebook: Any = import_module("IPython.display")
        self._html: Callable[[str], Any] = notebook.HTML
        self._update, self._updates, self._status = 0, 0, "preparing"
        self._end: float | None = None
        self._validations: list[tuple[int, dict[str, float], bool]] = []
        self._output: Any = notebook.display(self._html(self._page()), display_id=True)
        self._closed = Event()
        self._clock = Thread(target=self._tick, daemon=True)
        self._clock.start()

    def started(self, estimate: Estimate) -> None:
        """Shows the number of updates to make."""
        self._move(estimate.update, estimate.updates, estimate.seconds, "training")

    def report(self, report: Report) -> None:
        """Moves the bar."""
        perplexity = f", perplexity {report.perplexity:,.2f}" if report.unit == "target tokens" else ""
        speed = f"{report.target_tokens_per_second:,.0f} {report.unit}/s"
        status = f"training: loss {report.loss:.4f}{perplexity}, {speed}"
        self._move(report.update, report.updates, report.seconds_left, status)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Adds a line below the bar."""
        self._validations.append((update, scores, is_best))
        self._draw()

    def close(self) -> None:
        """Leaves the bar as it is, without a time left."""
        self._closed.set()
        self._clock.join()
        self._end = None
        self._draw()

    def _move(self, update: int, updates: int, seconds_left: float, status: str) -> None:
        self._update, self._updates, self._status = update, updates, status
        self._end = monotonic() + seconds_left
        self._draw()

    def _tick(self) -> None:
        while not self._closed.wait(1):
            self._draw()

    def _draw(self) -> None:
        self._output.update(self._html(self._page()))

    def _page(self) -> str:
        total = f' max="{self._updates}" value="{self._update}"' if self._updates else ""
        count = f"{self._update:,} / {self._updates:,}" if self._updates else ""
        left = "" if self._end is None else f"{timedelta(seconds=round(max(self._end - monotonic(), 0)))} left"
        line = " &nbsp; ".join(escape(part) for part in (count, self._status, left) if part)
        rows = "".join(
            f"<div>validation at update {update:,}: "
            + escape(", ".join(f"{name} {score:.4g}" for name, score in scores.items()))
            + ("<b> (best so far)</b></div>" if is_best else "</div>")
            for update, scores, is_best in self._validations[-SHOWN:]
        )
        earlier = len(self._validations) - SHOWN
        more = f"<div>({earlier:,} earlier validations)</div>" if earlier > 0 else ""
        return f'<div><progress style="width: 320px"{total}></progress> {line}</div>{more}{rows}'
