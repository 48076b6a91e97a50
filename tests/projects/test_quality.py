"""Estimates of edits: the regression, what it learns from, and the commands that write them."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from sacrebleu.metrics.lib_ter import BeamEditDistance

from small_corpus import small_corpus
from transduce.apps.projects import quality
from transduce.apps.projects.edits import PastEdit, read_edits
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.quality import ProjectQuality, QualityEstimator
from transduce.apps.projects.report import Course, render_report
from transduce.base.errors import DataError, InputError
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.evaluation.edit_rate import edit_rate, reliability_of
from transduce.evaluation.translations import score_ter
from transduce.inference.quality.confidence import FEATURES, confidence_features
from transduce.inference.quality.regression import FEWEST, PENALTIES, EditRegression
from transduce.inference.translator import Translator

pytest.importorskip("rapidfuzz")


@pytest.fixture(scope="module")
def bundle(tiny_run: Path) -> ModelBundle:
    return ModelBundle.load(find_bundle(tiny_run))


def log_of(count: int, seed: int = 0) -> list[PastEdit]:
    """Edits in which a person deletes the words that the machine has added."""
    draw, edits = np.random.default_rng(seed), []
    for pair in small_corpus(count):
        words = pair.target.split()
        more = " ".join([*words, *words[: draw.integers(0, len(words))]])
        edits.append(PastEdit(pair.source, more, pair.target))
    return edits


def made_rows(rows: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Features, and rates that depend on them; the greater, the less surely."""
    draw = np.random.default_rng(seed)
    features = np.column_stack([draw.normal(size=(rows, 4)), np.full(rows, 7.0)])
    mean = 0.4 + 0.1 * features[:, 0] - 0.05 * features[:, 1]
    return features, np.clip(mean + 0.3 * mean * draw.normal(size=rows), 0, 1)


def test_held_out_errors_are_those_of_fits_without_each_row() -> None:
    features, rates = made_rows(37)
    fit = EditRegression.fit(features, rates)
    scaled = (features - fit.means) / fit.scales
    distances = []
    for penalty in PENALTIES:
        predicted = []
        for row in range(len(rates)):
            others = np.delete(np.arange(len(rates)), row)
            rows = np.column_stack([np.ones(36), scaled[others]])  # the intercept is not shrunk
            matrix = rows.T @ rows + penalty * np.diag([0.0, *np.ones(5)])
            weights = np.linalg.solve(matrix, rows.T @ rates[others])
            predicted.append(weights[0] + scaled[row] @ weights[1:])
        distances.append(np.abs(np.sort(predicted) - fit.held_out).max())
    assert min(distances) < 1e-9


def test_intervals_hold_the_stated_share_also_among_high_and_low_estimates() -> None:
    features, rates = made_rows(2400)
    fit = EditRegression.fit(features[:400], rates[:400])
    groups = reliability_of([fit.estimate(row) for row in features[400:]], rates[400:].tolist())
    assert 0.87 < np.mean([group.covered for group in groups]) < 0.93
    assert all(0.8 < group.covered < 0.97 for group in groups), groups
    assert all(abs(group.estimated - group.actual) < 0.05 for group in groups), groups


def test_beyond_the_log_an_estimate_is_that_of_its_edge() -> None:
    features, rates = made_rows(60)
    fit = EditRegression.fit(features, rates)
    assert fit.estimate(features.max(0) + 100) == fit.estimate(features.max(0))
    assert fit.estimate(features[0] + np.array([0, 0, 0, 0, 50])) == fit.estimate(features[0]), "it was constant"


def test_the_edit_rate_is_the_share_of_edited_words() -> None:
    assert edit_rate("der Hund schläft", "der Hund schläft") == 0
    assert edit_rate("der Hund rennt schnell", "der Hund schläft schnell") == 0.25
    assert edit_rate("a b c d e f", "x") == 1


def test_an_edit_rate_costs_little_however_much_was_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moved phrases are sought where that takes few steps; elsewhere the rate is at most higher."""
    read = []
    distance = BeamEditDistance.__call__

    def counted(self: BeamEditDistance, words: list[str]) -> object:
        read.append(len(words))
        return distance(self, words)

    monkeypatch.setattr(BeamEditDistance, "__call__", counted)
    chance = Random(3)
    for words in (5, 9, 40, 300, 3000):
        before = [f"w{number}" for number in range(words)]
        moved = [*before[words // 2 :], *before[: words // 2]]
        for after in (before, moved, chance.sample(before, words), [*before[1:], "x"]):
            machine, target = " ".join(before), " ".join(after)
            rate = edit_rate(machine, target)
            assert 0 <= rate <= 1
            if words < 10:
                assert rate == pytest.approx(min(1, score_ter([machine], [target]).score / 100))
    assert edit_rate("a b c d e f", "d e f a b c") == pytest.approx(1 / 6)
    assert sum(read) < 60_000
    assert edit_rate("我们去学校", "我们去医院") == pytest.approx(2 / 5)


def test_features_do_not_depend_on_the_pairs_beside_them(bundle: ModelBundle) -> None:
    pairs = [(edit.source, edit.machine) for edit in log_of(9)]
    together = confidence_features(bundle, [*pairs, ("", "Der"), ("The dog", " "), ("dog " * 400, "Hund")])
    for pair, row in zip(pairs, together, strict=False):
        (alone,) = confidence_features(bundle, [pair])
        assert row is not None and alone is not None and row.shape == (len(FEATURES),)
        np.testing.assert_allclose(row, alone, atol=1e-4)
    assert together[len(pairs) :] == [None, None, None], "blank, blank, and longer than any in training"


def test_there_is_no_estimate_of_too_few_edits(bundle: ModelBundle) -> None:
    estimator, log = QualityEstimator(bundle), log_of(FEWEST)
    by_hand = [PastEdit(edit.source, "", edit.target) for edit in log]
    estimator.learn([*by_hand, *log[:-1]])
    assert estimator.count == FEWEST - 1 and estimator.reliability() == []
    assert estimator.estimate([("The dog sleeps.", "Der Hund schläft.")]) == [None]
    estimator.learn([*by_hand, *log])
    (estimate,) = estimator.estimate([("The dog sleeps.", "Der Hund schläft.")])
    assert estimate is not None and 0 <= estimate.low <= estimate.edit <= estimate.high <= 1


def test_estimates_find_what_is_edited_more(bundle: ModelBundle) -> None:
    log, new = log_of(120)[:80], log_of(120, seed=5)[80:]
    estimator = QualityEstimator(bundle)
    estimator.learn(log)
    estimates = estimator.estimate([(edit.source, edit.machine) for edit in new])
    shown = [estimate.edit for estimate in estimates if estimate is not None]
    rates = [edit_rate(edit.machine, edit.target) for edit in new]
    assert np.corrcoef(shown, rates)[0, 1] > 0.7
    assert sum(group.count for group in estimator.reliability()) == 80
    page = render_report("one", Course([], [], [], reliability=estimator.reliability()))
    assert "The 80 newest translations" in page and "actual edit rate" in page and "made for 90%" in page
    assert "Estimates of edits" not in render_report("one", Course([], [], []))


def test_a_log_that_grew_and_shrank_gives_what_it_gives_at_once(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "MOST", 40)
    monkeypatch.setattr(quality, "STEP", 5)
    log, pairs = log_of(53), [(edit.source, edit.machine) for edit in log_of(60)[53:]]
    grown, at_once = QualityEstimator(bundle), QualityEstimator(bundle)
    for stop in (31, 36, 53, 47):
        grown.learn(log[:stop])
    grown.learn([*log[:9], *log[10:]])
    at_once.learn([*log[:9], *log[10:]])
    assert at_once.count <= 40 and grown.count == at_once.count
    for one, other in zip(grown.estimate(pairs), at_once.estimate(pairs), strict=True):
        assert one is not None and other is not None
        np.testing.assert_allclose([one.edit, one.low, one.high], [other.edit, other.low, other.high], atol=0.002)


def test_a_project_learns_from_its_own_segments(tiny_run: Path, tmp_path: Path) -> None:
    translator = Translator.load(tiny_run, device="cpu")
    estimate = ProjectQuality(lambda project: translator)
    project = Project.create(tmp_path / "shop", ProjectSettings(source="en", target="de"))
    log = log_of(FEWEST + 5)
    (translation,) = translator.translate(["The dog sleeps."])
    for edit in log[:5]:
        project.store.confirm(edit.source, edit.machine, edit.target)
    assert estimate(project, "The dog sleeps.", [translation]) is None
    for edit in log[5:]:
        project.store.confirm(edit.source, edit.machine, edit.target)
    assert estimate(project, "The dog sleeps.", [translation]) is None, "it does not wait for a long log"
    estimate.wait(project)
    assert estimate(project, "The dog sleeps.", [translation]) is not None
    for segment in project.store.segments()[:10]:
        project.store.take_back(segment.id)
    assert estimate(project, "The dog sleeps.", [translation]) is None
    assert read_edits(tmp_path / "shop") == log[10:]
    project.close()


def test_past_edits_are_read_from_files(tmp_path: Path) -> None:
    rows = [["a b", "c", "d"], ["e", "", "f"]]
    table, objects = tmp_path / "log.tsv", tmp_path / "log.jsonl"
    table.write_text("Source\tMachine\tTarget\n" + "\n".join("\t".join(row) for row in rows))
    objects.write_text("".join(json.dumps({"source": s, "machine": m, "target": t}) + "\n" for s, m, t in rows))
    assert read_edits(table) == read_edits(objects) == [PastEdit(*row) for row in rows]
    table.write_text("a\tb\n")
    with pytest.raises(DataError, match="line 1 has 2 columns; expected source, machine, target"):
        read_edits(table)
    (tmp_path / "log.pdf").touch()
    with pytest.raises(InputError, match="past edits are in a project"):
        read_edits(tmp_path / "log.pdf")
