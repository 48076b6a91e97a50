"""A look tells what the model did: nothing is drawn that was not computed, and watching changes nothing."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

import transduce
from transduce.analysis.alignment import choose_head
from transduce.analysis.attribution import integrated_gradients, occlusion, rank_correlation
from transduce.analysis.look_at_text import Look, direction_of, linked_words, words_of_output
from transduce.analysis.recorded_attention import record_pass
from transduce.base.errors import InputError
from transduce.data.batch import make_batch
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.search.beam import Beam
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

SHORT: dict[str, Any] = {"max_ratio": 0.5, "max_extra": 4}  # of a model that has learned little, and goes on and on


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    loaded = transduce.load(tiny_run)
    assert isinstance(loaded, Translator)
    return loaded


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:10]


@pytest.fixture(scope="module")
def look(translator: Translator, sentences: list[str]) -> Look:
    return translator.look(sentences[0], search=Beam(**SHORT))


def recurrent(translator: Translator, attention: str) -> Translator:
    """A translator with a fresh recurrent model of the same vocabularies."""
    config = msgspec.convert({"dim": 12, "attention": {"kind": attention}}, RecurrentConfig)
    bundle = translator.bundle
    assert not isinstance(bundle, str)
    torch.manual_seed(1)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    return Translator(replace(bundle, model=model, config=msgspec.structs.replace(bundle.config, model=config)))


def test_each_row_of_weights_sums_to_one_and_padding_gets_none(translator: Translator, sentences: list[str]) -> None:
    bundle: Any = translator.bundle
    sources = bundle.tokenizers.source.encode_batch([max(sentences, key=len), min(sentences, key=len)])
    targets = [[5, 6, 7], [6]]
    batch = make_batch(sources, targets, bundle.special)
    recorded = record_pass(bundle.model, batch)
    assert [one.part for one in recorded.attention] == ["encoder", "decoder", "decoder", "cross", "cross"]
    is_padding = ~batch.source_is_real[1]
    assert is_padding.any()
    for one in recorded.attention:
        assert torch.allclose(one.weights.sum(-1), torch.ones(()), atol=1e-5)
        if one.part == "decoder":
            assert not one.weights.triu(1).any()
        else:
            assert not one.weights[1][..., is_padding].any()


def test_recording_leaves_the_output_as_it_is(translator: Translator, sentences: list[str]) -> None:
    bundle: Any = translator.bundle
    source = bundle.tokenizers.source.encode(sentences[0])
    batch = make_batch([source], [[5, 6, 7]], bundle.special)
    with torch.inference_mode():
        logits, _ = bundle.model.decoder(
            batch.target_in, bundle.model.start(bundle.model.encode(batch.source, batch.source_is_real))
        )
    assert torch.allclose(record_pass(bundle.model, batch).log_probabilities, logits.log_softmax(-1), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_tree_holds_the_numbers_of_the_search(translator: Translator, sentences: list[str], size: int) -> None:
    for sentence in sentences:
        search = Beam(size=size, n_best=size, **SHORT)
        best = translator.translate(sentence, search).n_best
        found = translator.look(sentence, search=search)
        assert found.search is not None
        assert found.target.text == best[0].text
        ended = [node for node in found.search.nodes if node.token == "<eos>" and node.state in ("chosen", "finished")]
        scores = sorted((node.score for node in ended), reverse=True)[: len(best)]
        assert scores == pytest.approx([one.score for one in best], abs=1e-5)
        (chosen,) = [node for node in ended if node.state == "chosen"]
        assert (chosen.text, chosen.total) == (best[0].text, pytest.approx(best[0].log_probability, abs=1e-5))
        for node in found.search.nodes[1:]:
            parent = found.search.nodes[node.parent or 0]
            assert node.total == pytest.approx(parent.total + node.log_probability, abs=1e-5)
            assert node.step == parent.step + 1
        greedy = [node for node in found.search.nodes if node.greedy]
        assert greedy[-1].text == translator.translate(sentence, Beam(size=1, **SHORT)).text


def test_confidence_is_the_probability_that_scoring_gives(translator: Translator, sentences: list[str]) -> None:
    target = "Der Hund schläft ."
    found = translator.look(sentences[0], target)
    score = translator.score((sentences[0], target))
    assert [one.token for one in found.confidence] == [one.piece for one in score.tokens]
    for one, expected in zip(found.confidence, score.tokens, strict=True):
        assert math.log(one.probability) == pytest.approx(expected.log_probability, abs=1e-4)
        better = [other for other in one.alternatives if other.probability > one.probability]
        assert len(better) == min(one.rank - 1, len(one.alternatives))
    assert found.search is None


def test_hiding_a_token_shows_what_it_is_worth(translator: Translator, sentences: list[str]) -> None:
    bundle: Any = translator.bundle
    source = bundle.tokenizers.source.encode(sentences[0])
    batch = make_batch([source], [[5, 6, 7]], bundle.special)
    drops = occlusion(bundle.model, batch)
    assert drops.shape == (4, len(source) + 1)
    assert torch.allclose(drops[:, -1], torch.zeros(4), atol=1e-5)  # the end token is what a hidden one looks like
    ended = make_batch([[bundle.special.source_eos, *source[1:]]], [[5, 6, 7]], bundle.special)
    both = [record_pass(bundle.model, one).log_probabilities[0] for one in (batch, ended)]
    plain, hidden = (one.gather(1, batch.target_out[0][:, None])[:, 0] for one in both)
    assert torch.allclose(drops[:, 0], plain - hidden, atol=1e-5)


def test_gradients_add_up_to_what_the_source_is_worth(translator: Translator, sentences: list[str]) -> None:
    bundle: Any = translator.bundle
    source = bundle.tokenizers.source.encode(sentences[0])
    batch = make_batch([source], [[5, 6, 7]], bundle.special)
    errors = [integrated_gradients(bundle.model, batch, steps).error for steps in (4, 64)]
    assert errors[1] < 0.05
    assert errors[1] <= errors[0]


def test_ranks_are_correlated_as_spearman_says() -> None:
    values = np.array([1.0, 2.0, 2.0, 5.0])
    assert rank_correlation(values, values * 3) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.8)
    assert rank_correlation(values, np.ones(4)) is None


def test_agreement_is_with_occlusion(look: Look) -> None:
    assert look.agreement is not None
    assert look.occlusion is not None
    assert look.gradient is not None
    totals = look.occlusion.drops[:, :-1].sum(0)
    assert look.agreement.gradient == rank_correlation(look.gradient.attributions[:-1], totals)


@pytest.mark.parametrize(("attention", "maps"), [("bahdanau", 1), ("luong", 1), ("local", 1), ("hard", 1), ("none", 0)])
def test_recurrent_models_are_looked_at_too(
    translator: Translator, sentences: list[str], attention: str, maps: int
) -> None:
    found = recurrent(translator, attention).look(sentences[0], search=Beam(**SHORT))
    assert [one.part for one in found.attention] == ["cross"] * maps
    assert (found.alignment is None) == (maps == 0)
    assert found.source is not None
    for one in found.attention:
        assert one.weights.shape == (1, len(found.read), len(found.source.tokens))
    assert found.occlusion is not None


def test_an_empty_output_is_looked_at(translator: Translator, sentences: list[str]) -> None:
    found = translator.look(sentences[0], "")
    assert (found.target.text, found.target.tokens) == ("", ["<eos>"])
    assert found.alignment is None
    assert found.html()


def test_a_head_is_chosen_on_pairs_that_the_model_can_read(translator: Translator) -> None:
    bundle: Any = translator.bundle
    config = msgspec.structs.replace(bundle.config.model, positions="learned", max_positions=7)
    torch.manual_seed(1)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target)).eval()
    short = replace(bundle, model=model, config=msgspec.structs.replace(bundle.config, model=config))
    pair, long = ([5, 6, 7], [6, 8]), ([5] * 7, [6])
    assert choose_head(short, [long, pair, long[::-1]]) == choose_head(short, [pair])
    with pytest.raises(InputError, match="no pairs to choose an alignment head on"):
        choose_head(short, [long, long[::-1]])


def test_each_token_of_an_output_is_of_a_word_that_it_has() -> None:
    tokenizer = train_tokenizer(SideConfig(kind="bytes"), ["a b"])

    def spelled(text: str) -> list[int]:
        return [tokenizer.backend.token_to_id(f"<0x{byte:02X}>") for byte in text.encode()]

    assert words_of_output(tokenizer, spelled("a b")) == [0, 0, 1]
    assert words_of_output(tokenizer, spelled("a \u00a0")) == [0, 0, 0, 0]  # half a character reads like a word
    assert words_of_output(tokenizer, []) == []
    assert linked_words(tokenizer, spelled("\u00a0")) == [range(0), range(0)]


@pytest.mark.slow
def test_it_is_saved_in_each_form(look: Look, tmp_path: Path) -> None:
    drawn = replace(look, attention=look.attention[:1], search=None)  # all figures are drawn in tests of plots
    for ending, begin in ((".html", b"<!doctype html"), (".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        drawn.save(tmp_path / f"look{ending}")
        assert (tmp_path / f"look{ending}").read_bytes()[:20].lower().startswith(begin.lower())
    look.save(tmp_path / "look.json")
    facts = json.loads((tmp_path / "look.json").read_text())
    assert facts["target"]["text"] == look.target.text
    assert np.allclose(facts["attention"][0]["weights"], look.attention[0].weights)
    assert len(facts["occlusion"]["total"]) == len(facts["source"]["tokens"])
    with pytest.raises(InputError, match=r"look\.gif: expected a name that ends in \.html"):
        look.save(tmp_path / "look.gif")


def test_notebooks_show_the_page(look: Look) -> None:
    assert look._repr_html_().startswith("<iframe srcdoc=")
    assert look.maps("cross").shape[:2] == (2, 3)


def test_writing_direction_follows_the_language() -> None:
    assert [direction_of(code) for code in ("de", "ar", "he-IL", "fa_IR", "en")] == ["ltr", "rtl", "rtl", "rtl", "ltr"]
    assert [direction_of(code) for code in ("es-AR", "arb_Arab", "ar-Latn-EG", "lumi", "")] == [
        "ltr",
        "rtl",
        *3 * ["ltr"],
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("  ", "no text to look at"),
        ("dog " * 200, "tokens, but the model reads at most"),
        (Request("dog", required=("Hund",)), "required phrases cannot be looked at"),
    ],
)
def test_what_cannot_be_looked_at_is_reported(translator: Translator, text: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        translator.look(text)


def test_an_ensemble_cannot_be_looked_at(translator: Translator) -> None:
    bundle: Any = translator.bundle
    with pytest.raises(InputError, match="only a single model"):
        Translator(bundle, bundle).look("The dog sleeps.")


def test_details_are_those_of_the_translation(translator: Translator, sentences: list[str]) -> None:
    texts = [*sentences[:3], ""]
    plain = translator.translate(texts, Beam(**SHORT))
    for one, expected in zip(translator.translate_chunk(texts, Beam(**SHORT), with_details=True), plain, strict=True):
        assert (one.text, one.n_best) == (expected.text, expected.n_best)
        assert one.details is not None
        if one.text:
            total = sum(math.log(token.probability) for token in one.details.tokens)
            assert total == pytest.approx(one.n_best[0].log_probability, abs=1e-3)
            assert " ".join(one.details.words) == one.text
            assert one.details.alignment is not None
            assert all(i < len(one.details.source_words) for i, _ in one.details.alignment)
        else:
            assert one.details.tokens == []
