"""What a model does to numbers is noticed, put right where a search can, and else told."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from docsegments.text.written_numbers import changes
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference import kept_numbers
from transduce.inference.constraints import Piece
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.search.beam import Beam
from transduce.search.choices import MinimumBayesRisk, Search
from transduce.search.diverse import DiverseBeam
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.sampling import Sampling
from transduce.text.tokenizer_settings import TokenizerConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizers

LINES = ["The dog sees 4711 cats.", "In 2010 1,234.5 km.", "No number.", "Call www.a.de (A380).", "15 men, 15 cats."]
NARROW = Beam(size=4, max_extra=25, max_ratio=1)
OFF = Beam(size=4, max_extra=25, max_ratio=1, keep_numbers="off")


def forgetful(corpus: Path, kind: TokenizerKind = "bpe", with_digits: bool = True) -> Translator:
    """A translator that has learned nothing, so that it writes a number only if the search makes it."""
    digits = [f"{'0123456789'[i:] + '0123456789'[:i]} www.,:/() A" for i in range(10)] if with_digits else []
    texts = [(corpus / f"train.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de")]
    config = TokenizerConfig(kind=kind, size=400 if kind == "bpe" else None, min_frequency=1, shared=False)
    tokenizers = train_tokenizers(config, *([*text, *digits] for text in texts))
    torch.manual_seed(3)
    sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, dim=12, heads=2, feed_forward_dim=14)
    model = build_model(sizes, len(tokenizers.source), len(tokenizers.target)).eval()
    bundle = BundleConfig(format=1, source="en", target="de", model=sizes, tokenizer=config, longest_source=90)
    return Translator(ModelBundle(bundle, model, tokenizers))


@pytest.fixture(scope="module")
def translator(corpus: Path) -> Translator:
    return forgetful(corpus)


@pytest.mark.parametrize("search", [NARROW, Beam(size=4, n_best=3, max_extra=25, max_ratio=1)])
def test_numbers_that_the_model_loses_are_in_the_translation_once_for_each_time(
    translator: Translator, search: Beam
) -> None:
    for line, found in zip(LINES, translator.translate(LINES, search), strict=True):
        assert found.changed_numbers == changes(line, found.text, ("en", "de")).changed == []
        assert found.n_best[0].text == found.text
        assert found.n_best == sorted(found.n_best, key=lambda candidate: -candidate.score)
    assert [bool(changes(line, translator.translate(line, OFF).text).changed) for line in LINES] == [1, 1, 0, 1, 1]


def test_a_line_without_numbers_and_a_search_with_it_off_stay_as_they_were(translator: Translator) -> None:
    assert translator.translate(LINES[2], NARROW) == translator.translate(LINES[2], OFF)
    assert translator.translate(LINES[0], OFF).changed_numbers == []
    assert [found.text for found in translator.translate(["4711", "", "***"], NARROW)] == ["4711", "", "***"]


def test_bytes_write_any_number(corpus: Path) -> None:
    found = forgetful(corpus, "bytes", with_digits=False).translate("On 4711 or 12.", Beam(size=4, max_extra=25))
    assert found.changed_numbers == [] and "4711" in found.text and "12" in found.text


@pytest.mark.parametrize("kind", ["words", "characters", "bert"])
@pytest.mark.parametrize("search", [NARROW, Sampling(max_ratio=1), DiverseBeam(size=4, groups=2, max_ratio=1)])
def test_what_the_vocabulary_cannot_write_is_told(corpus: Path, kind: TokenizerKind, search: Search) -> None:
    lines = [LINES[0], "The dog sees ٤٧ cats and 1,234.5 men."]
    found = forgetful(corpus, kind, with_digits=False).translate(lines, search)
    assert [each.changed_numbers for each in found] == [["4711"], ["٤٧", "1,234.5"]]


@pytest.mark.parametrize("search", [Sampling(max_ratio=1), DiverseBeam(size=4, groups=2, max_ratio=1)])
def test_a_search_that_requires_nothing_tells(translator: Translator, search: Search) -> None:
    assert translator.translate(LINES[0], search).changed_numbers == ["4711"]


def test_minimum_bayes_risk_keeps_numbers_too(translator: Translator) -> None:
    rule = MinimumBayesRisk(candidates=Beam(size=4, n_best=4, max_ratio=1, max_extra=25))
    assert translator.translate(LINES[0], rule).changed_numbers == []


def test_an_engine_that_requires_nothing_tells(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: PyTorchEngine, piece: Piece, search: Search) -> PyTorchEngine:
        if piece.required:
            raise InputError("no")
        return self

    monkeypatch.setattr(PyTorchEngine, "of", refuse)
    (found,) = translator.translate(LINES[:1], NARROW)
    assert (found.text, found.changed_numbers) == (translator.translate(LINES[0], OFF).text, ["4711"])


def test_an_improbable_output_is_not_taken_and_the_first_is_told(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_numbers, "MOST_LOST", -99.0)
    (found,) = translator.translate(LINES[:1], NARROW)
    assert (found.text, found.changed_numbers) == (translator.translate(LINES[0], OFF).text, ["4711"])


def test_each_piece_of_a_long_line_keeps_its_own_numbers(translator: Translator) -> None:
    lines = [f"The dog sees {number} cats, and the old man buys a red car." for number in (4711, 815, 4711)]
    long = " ".join(lines)
    found = translator.translate(long, NARROW)
    assert found.was_split and found.changed_numbers == []
    parts = translator.divide(Request(long, "Der"), translator.encode([long])[0])
    assert len(parts) > 1 and [part.prefix for part in parts] == ["Der", *[""] * (len(parts) - 1)]
    assert " ".join(part.text for part in parts) == long


def test_wrong_numbers_are_banned_and_required_phrases_stay(translator: Translator) -> None:
    found = translator.translate(Request(LINES[0], required=("Hund",), banned=("rot",)), NARROW)
    assert (found.satisfied, found.changed_numbers, found.violated) == (["Hund"], [], [])


@pytest.mark.parametrize(("tokens", "missing"), [([], 4), ([1, 2], 2), ([1, 2, 1], 1), ([1, 2, 3, 1, 2], 0)])
def test_a_phrase_that_is_to_occur_twice_is_missing_until_it_does(tokens: Sequence[int], missing: int) -> None:
    edges = WordEdges((False,) * 4, (False,) * 4)
    both = [Phrase(((1, 2),)), Phrase(((1, 2),), occurrence=2)]
    assert sum(phrase.missing(tokens, edges) for phrase in both) == missing
