"""Validation loss is a mean over real tokens, and an evaluation tells all a machine wants."""

import math
from pathlib import Path

import pytest

import transduce
from transduce.data.batch import make_batch
from transduce.evaluation.evaluate import evaluate, measure_loss
from transduce.search.beam import Beam


def test_loss_does_not_depend_on_how_pairs_are_batched(tiny_run: Path, corpus: Path) -> None:
    bundle = transduce.load(tiny_run).bundle
    sources = bundle.tokenizers.source.encode_batch((corpus / "test.en").read_text().splitlines())
    targets = bundle.tokenizers.target.encode_batch((corpus / "test.de").read_text().splitlines())

    def batches(size: int) -> list[object]:
        starts = range(0, len(sources), size)
        return [make_batch(sources[i : i + size], targets[i : i + size], bundle.special) for i in starts]

    together, apart = measure_loss(bundle.model, batches(17)), measure_loss(bundle.model, batches(1))  # type: ignore[arg-type]
    assert together["loss"] == pytest.approx(apart["loss"], rel=1e-5)
    assert together["perplexity"] == pytest.approx(math.exp(together["loss"]))


def test_an_evaluation_has_the_promised_fields(tiny_run: Path) -> None:
    texts = ["The dog sleeps.", "I see the old man."]
    translator = transduce.load(tiny_run)
    references = [translation.text for translation in translator.translate(texts, Beam(size=1))]
    found = evaluate(translator, texts, references, Beam(size=1)).to_dict()
    assert set(found) == {"bleu", "chrf", "ter", "exact_match", "sentences", "seconds"}
    assert set(found["bleu"]) == {"score", "signature", "interval"}
    assert found["exact_match"] == 1
    assert found["sentences"] == 2
