"""Scores are sacreBLEU's, signed, and repeatable."""

import pytest
import sacrebleu

from transduce.evaluation.metrics import exact_match, score_bleu, score_chrf, score_ter

OUTPUTS = ["The dog runs over the grass.", "A man sleeps.", "Two children play in the snow today."]
REFERENCES = ["The dog runs across the grass.", "A man is sleeping.", "two children play in the snow today."]


def test_scores_are_sacrebleus() -> None:
    assert score_bleu(OUTPUTS, REFERENCES).score == pytest.approx(sacrebleu.corpus_bleu(OUTPUTS, [REFERENCES]).score)
    assert score_chrf(OUTPUTS, REFERENCES).score == pytest.approx(sacrebleu.corpus_chrf(OUTPUTS, [REFERENCES]).score)
    assert score_ter(OUTPUTS, REFERENCES).score == pytest.approx(
        sacrebleu.corpus_ter(OUTPUTS, [REFERENCES], case_sensitive=True).score
    )


def test_each_score_is_signed_and_has_an_interval_around_it() -> None:
    for score in (score_bleu(OUTPUTS, REFERENCES), score_chrf(OUTPUTS, REFERENCES), score_ter(OUTPUTS, REFERENCES)):
        low, high = score.interval
        assert low <= high
        assert "version:" in score.signature


def test_the_interval_is_the_same_each_time() -> None:
    assert score_bleu(OUTPUTS, REFERENCES) == score_bleu(OUTPUTS, REFERENCES)


def test_lowercase_and_tokenization_are_in_the_signature_and_matter() -> None:
    cased, lower = score_bleu(OUTPUTS, REFERENCES), score_bleu(OUTPUTS, REFERENCES, lowercase=True)
    assert lower.score > cased.score
    assert "case:lc" in lower.signature
    assert "tok:intl" in score_bleu(OUTPUTS, REFERENCES, tokenize="intl").signature


def test_exact_match_is_a_share() -> None:
    assert exact_match(["a", "b", "c"], ["a", "x", "c"]) == pytest.approx(2 / 3)
    assert exact_match(["a", "B"], ["A", "b"]) == 0
    assert exact_match(["a", "B"], ["A", "b"], lowercase=True) == 1
