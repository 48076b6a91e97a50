"""Those who watch a run tell what happened, once."""

import io
from pathlib import Path

import msgspec
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from transduce.training.estimate import Estimate
from transduce.training.observers import JsonLog, Lines, Report, StartLines
from transduce.training.trackers import tensorboard


def report(update: int, loss: float = 2.0) -> Report:
    return Report(
        update=update,
        updates=100,
        epoch=1.5,
        loss=loss,
        learning_rate=1e-3,
        gradient_norm=0.7,
        target_tokens_per_second=1234.5,
        seconds_per_update=2.0,
        seconds=61.0,
    )


def test_a_line_has_perplexity_speed_and_time_left() -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.report(report(40))
    lines.validated(40, {"loss": 1.5, "perplexity": 4.4817}, True)
    first, second = stream.getvalue().splitlines()
    assert "perplexity     7.39" in first
    assert "1,234 target tokens/s" in first
    assert first.endswith("0:01:01, 0:02:00 left")
    assert second == "validation at update 40: loss 1.5  perplexity 4.482  (best so far)"


def test_a_resumed_log_is_cut_after_the_checkpoint_and_a_half_line_goes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLog(path)
    for update in (5, 10, 15):
        log.report(report(update))
    log.close()
    path.write_bytes(path.read_bytes() + b'{"update": 9, "lo')
    JsonLog.cut_after(path, 10)
    assert [msgspec.json.decode(line)["update"] for line in path.read_bytes().splitlines()] == [5, 10]


def test_tensorboard_shows_each_update_once_after_a_resume(tmp_path: Path) -> None:
    board = tensorboard(tmp_path, 0)
    for update in (5, 10, 15):
        board.report(report(update, loss=3.0))
    board.validated(15, {"loss": 1.0}, True)
    board.close()
    again = tensorboard(tmp_path, 10)
    again.report(report(15, loss=2.5))
    again.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("training/loss")] == [(5, 3.0), (10, 3.0), (15, 2.5)]
    assert events.Scalars("training/learning_rate")[0].value == pytest.approx(1e-3)
    assert not events.Tags()["scalars"].count("validation/loss") or not events.Scalars("validation/loss")


@pytest.mark.parametrize(("foreseen", "told"), [(0.9, True), (1.1, False), (2.0, False), (3.9, False), (4.1, True)])
def test_an_estimate_that_is_wrong_by_a_factor_of_two_is_corrected_once(foreseen: float, told: bool) -> None:
    heard: list[str] = []
    lines = StartLines(heard.append)
    lines.started(Estimate(20, 100, foreseen))
    lines.report(report(22))
    assert len(heard) == 1, "four seconds are too few to tell"
    for update in (30, 40, 50):
        lines.report(report(update))
    corrections = heard[1:]
    assert len(corrections) == told
    for line in corrections:
        assert f"an update takes 2.00 s, not {foreseen:.2f} s as foreseen: about 2 minutes are left" in line
        assert ("training.updates" in line) == (foreseen < 2)
