"""chrF of every two texts is sacreBLEU's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from transduce.text.chrf import pairwise_chrf

SENTENCES = ["A dog runs.", "A dog is running.", "", "a", "Zwei Kinder spielen im Schnee 中文 .", "aaaaaaa", "aaa aaa"]


def of_sacrebleu(texts: list[str]) -> np.ndarray:
    metric = CHRF()
    return np.array([[metric.sentence_score(output, [reference]).score for reference in texts] for output in texts])


@given(st.lists(st.text("ab c.ä", max_size=12) | st.sampled_from(SENTENCES), min_size=1, max_size=6))
def test_it_is_what_sacrebleu_counts(texts: list[str]) -> None:
    assert pairwise_chrf(texts) == pytest.approx(of_sacrebleu(texts), abs=1e-6)


def test_no_texts_are_no_numbers() -> None:
    assert pairwise_chrf([]).shape == (0, 0)
