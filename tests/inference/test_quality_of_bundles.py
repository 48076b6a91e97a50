"""What a bundle tells of its translations: estimates, alarms, and the second search of what went wrong."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_quality import PAIRS, small_quality
from transduce.apps.projects.edits import PastEdit
from transduce.apps.projects.quality import QualityEstimator
from transduce.base.errors import CheckpointError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.constraints import Piece
from transduce.inference.quality.alarms import UNEXPLAINED, Alarms, forbids, stricter
from transduce.inference.quality.confidence import FEATURES, UNSEEN
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.quality_estimate import WORK, QualityEstimate, WorkInFile, combined
from transduce.inference.quality.quality_model import FILE, QualityModel, estimate_by
from transduce.inference.quality.regression import EditRegression
from transduce.inference.quality.word_translations import unexplained, word_translations
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.search.choices import MinimumBayesRisk
from transduce.search.loop import Hypothesis

pytest.importorskip("rapidfuzz")
LOOP = ["repeats itself", "is much longer than expected"]


@pytest.fixture
def quality() -> QualityModel:
    return small_quality()


@pytest.fixture
def model(tiny_run: Path, tmp_path: Path, quality: QualityModel) -> Path:
    """A trained model that can tell its quality."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_run / "model", folder)
    quality.save(folder)
    return folder


def test_a_refined_regression_knows_more_than_its_prior_and_than_the_edits_alone() -> None:
    draw = np.random.default_rng(5)
    features = draw.normal(size=(1400, 9))
    rates = 0.4 + features @ (0.05 * draw.normal(size=9)) + 0.05 * draw.normal(size=1400)
    prior = EditRegression.fit(features[:1000], rates[:1000])
    others = rates + 0.2 + 0.08 * features[:, 0]  # other texts, in which more is edited
    refined, alone = (EditRegression.fit(features[1000:1040], others[1000:1040], known) for known in (prior, None))
    errors = [np.abs(fit.predict(features[1040:]) - others[1040:]).mean() for fit in (refined, alone, prior)]
    assert errors[0] < min(errors[1:])
    both = zip(others, map(refined.interval, refined.predict(features)), strict=True)
    within = [low <= rate <= high for rate, (low, high) in both]
    assert np.mean(within[1040:]) > 0.85
    rise = refined.predict(features[:1] + 0.01 * np.eye(9)) - refined.predict(features[:1])
    np.testing.assert_allclose(refined.slopes(), rise / 0.01, atol=1e-9)


def test_a_project_starts_from_the_bundles_estimates(model: Path) -> None:
    estimator = QualityEstimator(ModelBundle.load(model))
    before = estimator.estimate(PAIRS[:40])
    assert estimator.count == 0 and estimator.reliability() == [] and all(each is not None for each in before)
    estimator.learn([PastEdit(source, f"{target} {target}", target) for source, target in PAIRS[40:80]])
    after = estimator.estimate([(source, f"{target} {target}") for source, target in PAIRS[:40]])
    assert np.mean([each.edit for each in after if each and each.edit is not None]) > 0.9
    assert estimator.learned_from == 40


def test_a_text_unlike_what_was_learned_has_a_reason_in_place_of_an_estimate(model: Path) -> None:
    known, unlike, blank = Translator.load(model, device="cpu").translate([PAIRS[0][0], "Zqx wvu kjh", " "])
    assert known.quality is not None and known.quality.edit is not None and known.quality.reason == ""
    assert known.quality.low <= known.quality.edit <= known.quality.high
    assert unlike.quality == QualityEstimate(None, reason="100% unseen words")
    assert blank.quality is None


def test_what_was_learned_is_no_longer_unlike(quality: QualityModel) -> None:
    features = np.zeros((40, len(FEATURES)))
    features[:, UNSEEN] = np.linspace(0, 0.8, 40)
    assert estimate_by(quality.regression, features[30]).edit is None
    refined = EditRegression.fit(features, np.linspace(0, 1, 40), quality.regression)
    assert estimate_by(refined, features[30]).edit is not None


def test_a_saved_file_gives_the_same_estimates_and_a_damaged_one_an_error(model: Path, quality: QualityModel) -> None:
    kept, row = QualityModel.load(model), np.linspace(0, 0.1, len(FEATURES))
    assert kept is not None and kept.alarms == quality.alarms
    assert kept.regression.estimate(row) == quality.regression.estimate(row)
    assert kept.training.words.counts_of(["the", "zqx"]) == quality.training.words.counts_of(["the", "zqx"])
    (model / FILE).write_bytes(b"no tensors")
    with pytest.raises(CheckpointError, match=r"quality\.safetensors is damaged; copy the model again, or delete it"):
        QualityModel.load(model)
    (model / FILE).unlink()
    (older,) = Translator.load(model, device="cpu").translate(["The dog sleeps."])
    assert older.quality is None and older.faults == [], "a bundle without the file translates as before"


def test_estimates_of_parts_make_one_of_the_whole_that_is_surer() -> None:
    short, long = QualityEstimate(0.6, 0.3, 0.9, 0.8), QualityEstimate(0.2, 0.1, 0.4, 0.1)
    both = combined([(short, "a" * 10), (None, "b" * 5), (long, "c" * 30)])
    assert both is not None and both.edit == pytest.approx(0.3) and both.work is not None
    assert both.edit - both.low < 0.25 * 0.3 + 0.75 * 0.1 and 0.05 < both.work < 0.5
    assert combined([(None, "a"), (short, "b")]) == short and combined([(None, "a")]) is None
    unknown = QualityEstimate(None, reason="60% unseen words")
    assert combined([(short, "a"), (unknown, "b")]) == unknown
    errors = np.random.default_rng(3).normal(scale=0.1, size=(500, 5))  # 90 % are within 0.1645
    parts = [QualityEstimate(0.5, 0.3355, 0.6645, 0.7)] * 5
    whole = combined((part, "ten letters") for part in parts)
    assert whole is not None and 0.87 <= np.mean(np.abs(errors.mean(1)) <= whole.high - 0.5) <= 0.95


def test_a_line_in_pieces_is_estimated_by_these_as_in_a_server(model: Path) -> None:
    translator = Translator.load(model, device="cpu")
    pieces = translator.translate([source for source, _ in PAIRS[:2]])
    joined = translator.join(Request(" ".join(source for source, _ in PAIRS[:2])), pieces, Beam())
    assert joined.quality == combined((each.quality, each.text) for each in pieces)
    translator.longest_source = max(len(ids) for line in translator.encode([s for s, _ in PAIRS[:2]]) for ids in line)
    whole = translator.translate(" ".join(source for source, _ in PAIRS[:2]))
    assert whole.was_split and whole.quality is not None and whole.quality.edit is not None


def test_the_number_of_segments_that_need_work_is_within_its_interval() -> None:
    draw, held = np.random.default_rng(7), 0
    for _ in range(200):
        shares = draw.beta(0.5, 2, size=120)
        work = WorkInFile()
        for share in shares:
            work.add(QualityEstimate(0.3, 0.1, 0.5, float(share)))
        low, high = work.interval(500)
        held += low <= (draw.random(120) < shares).sum() <= high
    assert held / 200 >= 0.88
    work.add(None)
    work.add(QualityEstimate(None, reason="60% unseen words"))
    line = work.describe(500)
    assert line.startswith(
        f"quality: of 120 segments {round(work.expected)} are likely to need work (over {WORK:.0%} of"
    )
    assert line.endswith("; 1 are too unlike what was learned to say")


def test_correct_translations_give_no_alarm_and_loops_and_lost_text_do() -> None:
    known = word_translations(PAIRS[:100])
    alarms = Alarms.of(PAIRS[:150], known)
    assert not any(alarms.faults(*pair, known) for pair in PAIRS[150:])
    source, target = PAIRS[3]
    assert alarms.faults(source, f"{target} " * 9, known) == LOOP
    assert alarms.faults(f"{source} " * 9, f"{target} " * 9, known) == [], "the source repeats itself as often"
    assert alarms.faults(f"{source} " * 9, target, known) == ["is much shorter than expected"]


def test_a_translation_of_another_sentence_hardly_has_the_meaning_of_its_source() -> None:
    known = word_translations(PAIRS[:100])
    alarms, others = Alarms.of(PAIRS[:150], known), [*PAIRS[160:], *PAIRS[150:160]]
    swapped = [(source, other) for (source, target), (_, other) in zip(PAIRS[150:], others, strict=True)]
    told = [UNEXPLAINED in alarms.faults(*pair, known) for pair in swapped]
    assert np.mean(told) > 0.9
    assert unexplained(known, "zqx wvu", "kjh") == 0.0, "nothing is known of unseen words"
    assert unexplained(KnownTexts.of([]), *PAIRS[0]) == 0.0


def test_a_stricter_search_forbids_repeated_and_very_long_or_short_outputs_alone() -> None:
    strict = stricter(Beam())
    assert forbids(strict, 9, [1, 2, 3, 1, 2, 3]) and not forbids(strict, 9, [1, 2, 3, 1, 2])
    are_forbidden = [forbids(strict, 9, range(length)) for length in (3, 4, 24, 25)]
    assert are_forbidden == [True, False, False, True], "10 and 25 tokens with the ends; limits are 5 and 25"


def test_a_stricter_search_keeps_its_own_settings() -> None:
    search = stricter(Beam(size=3, no_repeat_ngram=5, max_ratio=1.2, min_ratio=0.7))
    assert search == Beam(size=3, no_repeat_ngram=5, max_ratio=1.2, min_ratio=0.7, max_extra=10)
    short = stricter(Beam(max_ratio=0.1, max_extra=2))
    assert (short.min_ratio, short.max_ratio, short.max_extra) == (0.1, 0.1, 2)
    rule = stricter(MinimumBayesRisk(candidates=Beam(size=4, n_best=4)))
    assert isinstance(rule, MinimumBayesRisk) and rule.candidates.no_repeat_ngram == 3


@pytest.mark.parametrize("mends", [True, False])
def test_a_loop_is_searched_again_and_mended_or_marked(
    model: Path, monkeypatch: pytest.MonkeyPatch, mends: bool
) -> None:
    translator, searched = Translator.load(model, device="cpu"), []
    encode, targets = translator.bundle.tokenizers.target.encode, dict(PAIRS)
    looped = PAIRS[2][0]

    def search(pieces: Sequence[Piece], rule: Beam, tell: Any) -> list[list[Hypothesis]]:
        sources = [piece.text for piece in pieces]
        searched.extend([(sources, rule.no_repeat_ngram)] if pieces else [])
        goes_wrong = not mends or rule.no_repeat_ngram == 0
        texts = ["Der Hund " * 9 if goes_wrong and source == looped else targets[source] for source in sources]
        return [[Hypothesis(encode(text), -1.0, -1.0, False)] for text in texts]

    monkeypatch.setattr(translator._batched, "_search", search)
    lines = [source for source, _ in PAIRS[:4]]
    faults = [translation.faults for translation in translator.translate(lines)]
    assert searched == [(lines, 0), ([looped], 3)]
    assert faults == [[], [], [] if mends else [*LOOP, UNEXPLAINED], []]


def test_a_text_in_capitals_that_goes_wrong_is_searched_again_as_it_is_usually_written(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator, targets = Translator.load(model, device="cpu"), dict(PAIRS)
    tokenizers = translator.bundle.tokenizers

    def search(pieces: Sequence[Piece], rule: Beam, tell: Any) -> list[list[Hypothesis]]:
        read = [tokenizers.source.decode(piece.source) for piece in pieces]
        texts = [targets.get(source, "Der Hund " * 9) for source in read]
        return [[Hypothesis(tokenizers.target.encode(text), -1.0, -1.0, False)] for text in texts]

    monkeypatch.setattr(translator._batched, "_search", search)
    source, target = PAIRS[2]
    shouted, prefixed = translator.translate([source.upper(), Request(source.upper(), prefix="Der")])
    assert shouted.text == target and shouted.faults == [], "in small letters where the vocabulary has no capitals"
    assert prefixed.faults and "Hund" in prefixed.text, "what follows a prefix stays as it is"
