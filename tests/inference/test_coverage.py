"""The coverage penalty: the paper's formula over the attention of each output, alone or in a batch."""

from pathlib import Path

import numpy as np
import pytest
import torch

import transduce
from transduce.data.batch import make_batch
from transduce.inference.coverage import coverage, coverage_of
from transduce.inference.translator import Translator
from transduce.nn.recording import record_attention
from transduce.search.beam import Beam

TEXTS = ["The dog sleeps.", "The old man buys a red car.", "A cat sees the old dog."]
WIDE = Beam(size=5, n_best=5, max_extra=9, max_ratio=1)


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


def formula(translator: Translator, source: list[int], target: list[int]) -> float:
    """Equation 14 of Wu et al. with numpy, for one pair alone; attention is known by the modules' names."""
    batch = make_batch([source], [target], translator.bundle.special)
    model = translator.engine.model
    with torch.inference_mode(), record_attention(translator.bundle.model) as tape:
        model.decoder(batch.target_in, model.start(model.encode(batch.source, batch.source_is_real)))
    maps = [calls[0][0].numpy() for name, calls in tape.items() if "cross_attention" in name]
    attention = np.mean([heads.mean(0) for heads in maps], 0)  # [target_time, source_time]
    return float(np.log(np.minimum(attention.sum(0)[: len(source)], 1.0)).sum())


def test_coverage_is_the_formula_whatever_the_batch(translator: Translator) -> None:
    sources = translator.bundle.tokenizers.source.encode_batch(TEXTS)
    targets = [[5, 6, 7, 8, 9, 5, 6], sources[1][:3], [4, *range(5, 5 + len(sources[2]) - 1)]]
    assert len(targets[2]) == len(sources[2])  # as long as its source
    found = coverage(translator.bundle, translator.engine.model, sources, targets)
    expected = [formula(translator, source, target) for source, target in zip(sources, targets, strict=True)]
    assert found == pytest.approx(expected, abs=1e-4)
    assert all(value <= 0 for value in found)


def test_a_source_attended_to_in_full_costs_nothing() -> None:
    assert coverage_of(torch.tensor([[[1.0, 0.2, 0.4], [0.0, 0.8, 0.1]]]), [2]) == pytest.approx([0.0], abs=1e-6)


def test_finished_hypotheses_are_ranked_by_score_and_coverage(translator: Translator) -> None:
    weight, encode = 3.0, translator.bundle.tokenizers.source.encode
    plain = translator.translate(TEXTS, WIDE)
    best = translator.translate(TEXTS, Beam(size=5, n_best=2, max_extra=9, max_ratio=1, coverage_penalty=weight))
    for text, before, after in zip(TEXTS, plain, best, strict=True):
        target = translator.bundle.tokenizers.target
        scores = {
            candidate.text: candidate.score + weight * formula(translator, encode(text), target.encode(candidate.text))
            for candidate in before.n_best
        }
        expected = sorted(scores.items(), key=lambda item: -item[1])[:2]
        assert [c.text for c in after.n_best] == [text for text, _ in expected]
        assert [c.score for c in after.n_best] == pytest.approx([score for _, score in expected], abs=1e-3)
