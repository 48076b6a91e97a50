"""A run that has minutes makes as many updates as fit, and its rate falls to zero when they are over."""

import json
import time
from pathlib import Path

import pytest

from transduce.experiment import RunResult, preview, train
from transduce.training.checkpoint import before_decay, complete_checkpoints
from transduce.training.pace import Pace
from transduce.training.schedules import WarmupStableDecay

SMALL = ["model.dim=16", "model.heads=2", "model.feed_forward_dim=16"]
LAYERS = ["model.encoder_layers=1", "model.decoder_layers=1"]
QUICK = [*SMALL, *LAYERS, "batching.target_tokens=64", "optimizer.schedule=wsd", "validation.every_updates=100000"]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return clock


@pytest.mark.parametrize(("slower_from", "factor"), [(10**9, 1), (0, 3), (0, 1 / 3), (700, 2), (700, 0.5)])
def test_updates_end_with_the_minutes_whatever_the_machine_does(
    now: list[float], slower_from: int, factor: float
) -> None:
    pace, made = Pace(1000.0 + 600), 0
    pace.expect(0.4)
    while made < pace.updates(made):
        seconds = 0.4 * (factor if made >= slower_from else 1)
        now[0] += seconds
        pace.made(seconds)
        made += 1
        if made % 100 == 0:
            now[0] += 3.0
            pace.paused(3.0)
    assert 0.9 * 600 < now[0] - 1000 <= 600


def test_at_least_one_update_is_made(now: list[float]) -> None:
    pace = Pace(990.0)
    pace.expect(1e9)
    assert pace.updates(0) == 1
    assert pace.updates(1) == 1


@pytest.fixture
def pairs(corpus: Path) -> tuple[str, str]:
    return str(corpus / "train.en"), str(corpus / "train.de")


def rates(run: Path) -> list[float]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["learning_rate"] for line in lines if "learning_rate" in line]


@pytest.mark.slow
def test_a_run_is_prolonged_from_before_its_decay(
    pairs: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, overrides = tmp_path / "run", ["phrases=false", "training.report_every=1", *QUICK]

    def trained(updates: int, **options: bool) -> RunResult:
        monkeypatch.setattr(Pace, "updates", lambda self, made: updates)
        return train(pairs, run, overrides=overrides, minutes=1, **options)

    first, highest = trained(20), max(rates(run))
    assert (first.updates, before_decay(run).update) == (20, 14)
    assert rates(run)[13] == highest > rates(run)[14] and rates(run)[-1] < 0.2 * highest
    second = trained(40, resume=True)
    assert (second.updates, before_decay(run).update) == (40, 28)
    assert [rate == highest for rate in rates(run)] == [2 <= update <= 28 for update in range(1, 41)]
    assert [path.name for path in complete_checkpoints(run)][-1] == "000040"


def test_a_preview_trains_nothing_and_says_how_long_it_would_take(pairs: tuple[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    recipe = preview(pairs, overrides=QUICK, tell=told.append, minutes=5)
    assert recipe.config.training.minutes == 5
    assert isinstance(recipe.config.optimizer.schedule, WarmupStableDecay)
    assert "parameters" in told[-2] and "updates of about" in told[-1]
    assert [*tmp_path.iterdir()] == []


def test_a_preview_describes_what_would_learn(recipe_file: Path, tiny_run: Path) -> None:
    told: list[str] = []
    adapted = {"training.start_from": str(tiny_run / "model"), "training.adapters.rank": 4, "training.updates": 9}
    preview(recipe_file, overrides=adapted, tell=told.append)
    assert "parameters, of which" in told[-2]
