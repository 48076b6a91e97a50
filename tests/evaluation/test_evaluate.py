"""Validation loss is a mean over real tokens, and an evaluation tells all a machine wants."""

import math
import time
from pathlib import Path

import pytest

import transduce
from transduce.base.errors import DataError
from transduce.data.batch import make_batch
from transduce.evaluation.evaluate import evaluate, evaluate_outputs
from transduce.evaluation.loss import measure_loss
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
    began = time.perf_counter()
    found = evaluate(translator, texts, references, Beam(size=1)).to_dict()
    assert 0 < found["seconds"] < time.perf_counter() - began
    assert set(found) == {"bleu", "chrf", "ter", "exact_match", "length_ratio", "sentences", "seconds"}
    assert set(found["bleu"]) == {"score", "signature", "interval"}
    assert found["exact_match"] == 1
    assert found["sentences"] == 2


def test_finished_outputs_score_as_the_model_that_wrote_them(tiny_run: Path, corpus: Path) -> None:
    sources, references = ((corpus / f"test.{language}").read_text().splitlines() for language in ("en", "de"))
    by_model = evaluate(transduce.load(tiny_run), sources, references, Beam(size=1), all_bleu=True).to_dict()
    outputs = [translation.text for translation in transduce.load(tiny_run).translate(sources, Beam(size=1))]
    assert evaluate_outputs(outputs, references, all_bleu=True).to_dict() == by_model | {"seconds": None}
    assert len(by_model["all_bleu"]) == 4
    assert set(by_model["all_bleu"][0]) == {"score", "signature", "interval", "tokenize", "lowercase"}


def test_sources_that_do_not_fit_are_refused_before_they_are_translated(tiny_run: Path) -> None:
    with pytest.raises(DataError, match="sources: 2 lines, but there are 1 references"):
        evaluate(transduce.load(tiny_run), ["a", "b"], ["a"])


def test_a_bleu_of_zero_of_lines_too_short_for_it_is_explained() -> None:
    lines = ["Ja.", "Nein.", "Gut."]
    found = evaluate_outputs(lines, lines)
    assert found.bleu.score == 0 and "no translation has four words" in found.describe()
    assert "four words" in found.to_dict()["note"]
    longer = evaluate_outputs([*lines, "Der Hund schläft nicht."], [*lines, "Der Hund schläft nicht."])
    assert longer.note is None and "note" not in longer.to_dict()
