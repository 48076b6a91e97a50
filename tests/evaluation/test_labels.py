"""Figures of classes and scores are those of their definitions, on all texts and on resamples."""

import numpy as np
import pytest

from transduce.evaluation.labels import PredictedClasses, ranks
from transduce.evaluation.metric import SentenceCounts, Texts
from transduce.evaluation.metrics import METRICS, count_all

RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.integers(3, size=200)
LOGITS = RANDOM.normal(size=(200, 3)) + 1.2 * np.eye(3)[TRUTH]
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
PREDICTED = PROBABILITIES.argmax(1)


def count_classes(probabilities: np.ndarray, truth: np.ndarray) -> dict[str, SentenceCounts]:
    return count_all(METRICS["classes"], PredictedClasses("abc"[: probabilities.shape[1]], probabilities, truth))


def count_scores(scores: np.ndarray, truth: np.ndarray) -> dict[str, SentenceCounts]:
    return count_all(METRICS["numbers"], Texts(scores.tolist(), truth.tolist()))


def test_accuracy_and_f1_are_those_of_the_definitions() -> None:
    counts = count_classes(PROBABILITIES, TRUTH)
    assert counts["accuracy"].score == pytest.approx((PREDICTED == TRUTH).mean())
    f1 = []
    for one in range(3):
        true, told = one == TRUTH, one == PREDICTED
        precision, recall = (true & told).sum() / told.sum(), (true & told).sum() / true.sum()
        f1.append(2 * precision * recall / (precision + recall))
    assert counts["macro_f1"].score == pytest.approx(np.mean(f1))


def test_the_correlation_of_matthews_is_pearsons_for_two_classes() -> None:
    truth = (TRUTH > 0).astype(np.int64)
    told = np.stack([PROBABILITIES[:, 0], 1 - PROBABILITIES[:, 0]], 1)
    found = count_classes(told, truth)["matthews"].score
    assert found == pytest.approx(np.corrcoef(told.argmax(1), truth)[0, 1])


def test_the_calibration_error_is_its_definition() -> None:
    certainty, is_right = PROBABILITIES.max(1), PREDICTED == TRUTH
    expected = 0.0
    for low in np.arange(15) / 15:
        within = (certainty >= low) & (certainty < low + 1 / 15)
        if within.any():
            expected += within.mean() * abs(is_right[within].mean() - certainty[within].mean())
    assert count_classes(PROBABILITIES, TRUTH)["calibration_error"].score == pytest.approx(expected)


def test_a_model_that_is_always_right_and_sure_has_no_error() -> None:
    counts = count_classes(np.eye(3)[TRUTH], TRUTH)
    assert {name: round(one.score, 9) for name, one in counts.items()} == {
        "accuracy": 1,
        "macro_f1": 1,
        "matthews": 1,
        "calibration_error": 0,
    }


def test_correlations_are_numpys() -> None:
    truth, scores = LOGITS[:, 0], np.round(LOGITS[:, 0] + RANDOM.normal(size=200), 1)
    counts = count_scores(scores, truth)
    assert counts["pearson"].score == pytest.approx(np.corrcoef(scores, truth)[0, 1])
    assert counts["spearman"].score == pytest.approx(np.corrcoef(ranks(scores), ranks(truth))[0, 1])
    assert counts["squared_error"].score == pytest.approx(((scores - truth) ** 2).mean())


def test_a_resample_s_correlation_is_its_own() -> None:
    truth, scores = 1000 + LOGITS[:, 0], 1000 + LOGITS[:, 0] + RANDOM.normal(size=200)
    some = RANDOM.integers(200, size=150)
    found = count_scores(scores, truth)["pearson"].choose(some).score
    assert found == pytest.approx(np.corrcoef(scores[some], truth[some])[0, 1])


def test_rows_of_two_systems_make_up_one_s_when_outputs_are_exchanged() -> None:
    truth = LOGITS[:, 0]
    one, other = truth + RANDOM.normal(size=200), 5 + truth + RANDOM.normal(size=200)
    swap = RANDOM.random(200) < 0.5
    counts, others = (count_scores(scores, truth)["pearson"] for scores in (one, other))
    mixed = np.where(swap[:, None], others.counts, counts.counts).sum(0)
    expected = np.corrcoef(np.where(swap, other, one), truth)[0, 1]
    assert counts.score_rows(mixed[None])[0] == pytest.approx(expected)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks(np.array([5.0, 1.0, 5.0, 2.0])).tolist() == [3.5, 1, 3.5, 2]


def test_scores_that_are_all_the_same_correlate_with_nothing() -> None:
    counts = count_scores(np.full(4, 2.0), np.arange(4.0))
    assert counts["pearson"].score == counts["spearman"].score == 0


def test_a_confusion_matrix_counts_true_classes_in_rows() -> None:
    assert PredictedClasses("abc", np.eye(3)[[0, 1, 1]], np.array([0, 0, 2])).confusion.tolist() == [
        [1, 1, 0],
        [0, 0, 0],
        [0, 1, 0],
    ]
