"""The display of a run moves between reports, names what is being done, and shows nothing that it does not know."""

import io

import pytest
from rich.console import Console
from rich.progress import BarColumn

from transduce.training.display import ProgressBar, bar_column
from transduce.training.estimate import Estimate
from transduce.training.observers import Report


class Screen:
    """A bar on a terminal of its own, and a clock that is set by hand."""

    def __init__(self) -> None:
        console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
        self.bar = ProgressBar(console)
        self.bar.close()  # no thread: what is shown is asked for
        self.bar._phase = None
        self.console = console
        self.now = 0.0
        self.bar._progress.get_time = lambda: self.now  # type: ignore[method-assign]
        self.bar.phase("preparing")

    def shown(self) -> str:
        with self.console.capture() as captured:
            self.console.print(self.bar._progress.get_renderable())
        return captured.get()


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_what_is_done_before_training_has_a_name_and_a_time_but_no_count(screen: Screen) -> None:
    screen.now = 3.0
    shown = screen.shown()
    assert "preparing" in shown
    assert "0:00:03" in shown
    assert "?" not in shown
    assert "left" not in shown


def test_the_bar_moves_with_each_update_and_the_time_left_with_each_second(screen: Screen) -> None:
    screen.bar.started(Estimate(0, 200, 1.0))
    screen.bar.phase("training")
    assert "0/200" in screen.shown()
    assert "0:03:20 left" in screen.shown()
    screen.now = 1.0
    assert "0:03:19 left" in screen.shown()
    screen.bar.updated(1)
    assert "1/200" in screen.shown()
    for update in range(2, 12):
        screen.now += 3.0
        screen.bar.updated(update)
    pace = 31 / 11
    assert f"0:{round(189 * pace) // 60:02}:{round(189 * pace) % 60:02} left" in screen.shown()


def test_time_is_left_as_long_as_updates_are(screen: Screen) -> None:
    screen.bar.started(Estimate(0, 3, 1.0))
    screen.bar.phase("training")
    for update in (1, 2):
        screen.now += 1.0
        screen.bar.updated(update)
    screen.now += 500.0
    assert "0:00:01 left" in screen.shown()
    screen.bar.updated(3)
    assert "0:00:00 left" in screen.shown()


def test_a_validation_is_named_and_timed_and_does_not_count_as_training(screen: Screen) -> None:
    screen.bar.started(Estimate(0, 10, 1.0))
    screen.bar.phase("training")
    screen.now = 1.0
    screen.bar.updated(1)
    screen.bar.phase("validating")
    screen.now = 62.0
    shown = screen.shown()
    assert "validating" in shown
    assert "0:01:01" in shown
    assert "0:00:09 left" in shown
    screen.bar.phase("training")
    assert "validating" not in screen.shown()
    screen.now = 63.0
    screen.bar.updated(2)
    assert "0:00:08 left" in screen.shown()


def test_a_report_shows_what_training_has_reached(screen: Screen) -> None:
    screen.bar.started(Estimate(0, 10, 1.0))
    screen.bar.report(Report(5, 10, 0.5, 2.0, 1e-3, 0.7, 1234.5, 1.0, 5.0))
    shown = screen.shown()
    assert "5/10" in shown
    assert "perplexity     7.39" in shown
    assert "1,234 target tokens/s" in " ".join(shown.split())


def test_no_bar_is_red() -> None:
    assert not any("red" in str(style) or "249,38,114" in str(style) for style in vars(bar_column()).values())
    assert isinstance(bar_column(), BarColumn)
