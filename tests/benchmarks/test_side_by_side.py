"""Side-by-side runs compare what was measured in the same round, and keep it."""

from pathlib import Path

import pytest
import torch

from peers import measurements
from peers.measurements import FailedError, OtherSettingsError, Spread, System, measure, paired
from peers.report import draw_bars, table, write_between
from peers.stopwatch import Finished, Stopwatch
from peers.weights import NotExpressibleError, check, joeynmt_weights, marian_weights
from transduce.models.transformer import TransformerConfig, build_transformer

SYSTEMS = [System("One", "transduce", "one"), System("Two fast", "transduce", "two")]


def test_what_is_measured_is_kept_and_goes_round_by_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def run(system: System, shared: dict[str, int]) -> dict[str, int]:
        runs.append(system.name)
        return {"speed": len(runs)}

    monkeypatch.setattr(measurements, "run", run)
    measure(SYSTEMS, 2, tmp_path, {"threads": 1})
    assert runs == ["One", "Two fast", "One", "Two fast"]
    found = measure(SYSTEMS, 3, tmp_path, {"threads": 1})
    assert len(runs) == 6
    assert found["Two fast"].rounds == {1: {"speed": 2}, 2: {"speed": 4}, 3: {"speed": 6}}
    with pytest.raises(OtherSettingsError, match="other settings"):
        measure(SYSTEMS, 3, tmp_path, {"threads": 2})


def test_a_peer_that_fails_is_reported_with_its_reason_and_tried_again_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(system: System, shared: dict[str, int]) -> dict[str, int]:
        if system.name == "One":
            raise FailedError("failed: no memory")
        return {"speed": 7}

    monkeypatch.setattr(measurements, "run", fail)
    found = measure(SYSTEMS, 2, tmp_path, {})
    assert found["One"].reason == "failed: no memory" and not found["One"].rounds
    assert len(found["Two fast"].rounds) == 2
    monkeypatch.setattr(measurements, "run", lambda system, shared: {"speed": 5})
    assert measure(SYSTEMS, 2, tmp_path, {})["One"].reason is None


def test_ratios_are_those_of_the_same_round() -> None:
    ratio = paired({1: 10.0, 2: 30.0, 3: 50.0}, {2: 10.0, 3: 10.0, 4: 1.0})
    assert ratio == Spread(4.0, 3.0, 5.0)
    assert paired({1: 2.0}, {2: 2.0}) is None
    assert Spread.of([1310.2, 1290.4, 1350.0]).show(",.0f") == "1,310 (1,290 to 1,350)"
    assert Spread.of([2.0, 2.01]).show(".1f") == "2.0"


def test_a_stopwatch_leaves_out_the_first_updates_and_stops_the_trainer() -> None:
    stopwatch = Stopwatch(warm_up=2, updates=3)
    with pytest.raises(Finished):
        for tokens in range(1, 100):
            stopwatch.update(tokens)
    assert stopwatch.made == 5
    assert stopwatch.target_tokens == 3 + 4 + 5


def test_a_report_replaces_the_text_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n", encoding="utf-8")
    for _ in range(2):
        write_between(page, "a", table([["", "speed"], ["One", "5"]]))
    assert page.read_text(encoding="utf-8") == (
        "before\n<!-- a: begin -->\n|  | speed |\n| --- | ---: |\n| One | 5 |\n<!-- a: end -->\nafter\n"
    )
    with pytest.raises(ValueError, match="lacks the lines"):
        write_between(page, "b", "new")


def test_a_chart_of_the_same_figures_is_the_same_file(tmp_path: Path) -> None:
    bars = {"Transduce": Spread(5, 4, 6), "another": Spread(2, 2, 3)}
    for name in ("one.svg", "two.svg"):
        draw_bars(bars, "sentences a second", tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_converted_weights_are_all_of_the_models_numbers() -> None:
    config = TransformerConfig(
        encoder_layers=2, decoder_layers=3, dim=8, heads=2, feed_forward_dim=12, norm="post", positions="sinusoidal"
    )
    check(config)
    model = build_transformer(config, 7, 11)
    total = sum(parameter.numel() for parameter in model.parameters())
    tied = model.decoder.output.weight.numel()
    for weights in (marian_weights(model), joeynmt_weights(model)):
        learned = {name: tensor for name, tensor in weights.items() if not name.endswith(".pe")}
        assert sum(tensor.numel() for tensor in learned.values()) == total + tied
        ours = torch.cat([p.flatten() for p in [*model.parameters(), model.decoder.output.weight]]).sort().values
        theirs = torch.cat([tensor.flatten() for tensor in learned.values()]).sort().values
        assert torch.equal(ours, theirs)


def test_a_model_that_the_others_do_not_know_is_refused() -> None:
    with pytest.raises(
        NotExpressibleError, match=r"model\.positions is rotary, but JoeyNMT and Marian need sinusoidal"
    ):
        check(TransformerConfig(norm="post", positions="rotary"))
    with pytest.raises(NotExpressibleError, match="as wide together"):
        check(TransformerConfig(norm="post", heads=2, key_dim=3, value_dim=3))
