"""The choice is the candidate of highest expected chrF, by a slow and obvious count; it repeats with its seed."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

import transduce
from transduce.search.beam import Beam
from transduce.search.choices import MinimumBayesRisk
from transduce.search.loop import Hypothesis
from transduce.search.sampling import Sampling

WORDS = ["A dog", "A dog runs", "A cat runs", "Dogs", "", "Rain"]
LINES = ["The dog sleeps.", "", "A cat.", "The old man sees the house."]
LENGTHS = {"max_ratio": 1.0, "max_extra": 9}


def decode(tokens: list[int]) -> str:
    return " ".join(WORDS[token] for token in tokens)


def slow(hypotheses: list[Hypothesis], weights: list[float]) -> dict[str, float]:
    """The expected chrF of each text, a pair at a time."""
    metric, texts = CHRF(), [decode(hypothesis.tokens) for hypothesis in hypotheses]
    return {
        output: sum(w * metric.sentence_score(output, [text]).score for text, w in zip(texts, weights, strict=True))
        / sum(weights)
        for output in texts
    }


CANDIDATES = st.lists(st.tuples(st.integers(0, 5), st.floats(-9, 0)), min_size=1, max_size=9)


@given(CANDIDATES)
def test_outputs_come_in_the_order_of_their_expected_chrf(found: list[tuple[int, float]]) -> None:
    hypotheses = [Hypothesis([token], log_probability, log_probability, False) for token, log_probability in found]
    chosen = MinimumBayesRisk(candidates=Beam(size=9, n_best=9), n_best=9).choose(hypotheses, decode)
    expected = slow(hypotheses, [math.exp(one.log_probability) for one in hypotheses])
    assert sorted(decode(one.tokens) for one in chosen) == sorted(expected)
    assert [one.score for one in chosen] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-6)
    assert [expected[decode(one.tokens)] for one in chosen] == pytest.approx([one.score for one in chosen], abs=1e-6)


def test_a_translator_chooses_among_the_outputs_of_its_own_beam(tiny_run: Path) -> None:
    translator = transduce.load(tiny_run)
    beam = Beam(size=8, n_best=8, **LENGTHS)
    chosen = translator.translate(LINES, MinimumBayesRisk(candidates=beam, n_best=3))
    for of_line, found in zip(chosen, translator.translate(LINES, beam), strict=True):
        texts = {candidate.text for candidate in found.n_best}
        assert {candidate.text for candidate in of_line.n_best} <= texts
        assert len(of_line.n_best) == min(3, len(texts))
        scores = [candidate.score for candidate in of_line.n_best]
        assert scores == sorted(scores, reverse=True)
    assert chosen[1].text == ""


def test_a_line_in_pieces_has_the_mean_of_their_expected_chrf(tiny_run: Path) -> None:
    translator = transduce.load(tiny_run)
    rule = MinimumBayesRisk(candidates=Beam(n_best=4, **LENGTHS))
    (whole,) = translator.translate([" ".join(["The old man buys a red car."] * 30)], rule)
    assert whole.was_split
    assert 0 <= whole.n_best[0].score <= 100


def test_a_beams_outputs_may_be_chosen_among_with_required_phrases(tiny_run: Path) -> None:
    translator = transduce.load(tiny_run)
    rule = MinimumBayesRisk(candidates=Beam(size=6, n_best=6, **LENGTHS))
    (found,) = translator.translate([transduce.Request(LINES[0], required=("Frau",))], rule)
    assert found.satisfied == ["Frau"]
    assert 0 < found.n_best[0].score <= 100


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"candidates": Beam()}, "a choice needs n_best of 2 or more"),
        ({"candidates": Sampling(n_best=9)}, "give a Beam; a choice among samples was worse"),
        ({"n_best": 33}, "n_best must be from 1 to the number of candidates, 16"),
        ({"n_best": 0}, "n_best must be"),
    ],
)
def test_a_choice_that_is_none_is_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        MinimumBayesRisk(**settings)  # type: ignore[arg-type]


def test_weights_of_a_beam_do_not_vanish() -> None:
    hypotheses = [Hypothesis([token], -2000.0 - token, 0.0, False) for token in (1, 2, 5)]
    chosen = MinimumBayesRisk(candidates=Beam(size=3, n_best=3), n_best=3).choose(hypotheses, decode)
    assert np.isfinite([one.score for one in chosen]).all()
    assert chosen[0].tokens == [1]
