"""Scores of given pairs: what the search itself reports of its outputs, whatever the batch."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import transduce
from transduce.base.errors import InputError
from transduce.corpora.corpus import SentencePair
from transduce.inference.scorer import Scorer
from transduce.inference.translator import Translator
from transduce.models.families import build_model
from transduce.search.beam import Beam

TEXTS = ["The dog sleeps.", "The old man buys a red car.", "A cat."]


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return transduce.load(tiny_run)


def test_a_translation_scores_what_the_search_said(translator: Translator) -> None:
    found = translator.translate(TEXTS, Beam(size=3, max_extra=9, max_ratio=1))
    pairs = [SentencePair(text, translation.text) for text, translation in zip(TEXTS, found, strict=True)]
    scorer = Scorer(translator.bundle)
    for pair, score, translation in zip(pairs, scorer.score(pairs), found, strict=True):
        ids = translator.bundle.tokenizers.target.encode(pair.target)
        assert len(score.tokens) == len(ids) + 1
        assert score.log_probability == pytest.approx(translation.n_best[0].log_probability, abs=1e-4)
        assert score.log_probability == pytest.approx(sum(token.log_probability for token in score.tokens))
        assert score.per_token == pytest.approx(score.log_probability / (len(ids) + 1))
        assert score.perplexity == pytest.approx(math.exp(-score.per_token))
        (alone,) = scorer.score([pair])
        assert alone.log_probability == pytest.approx(score.log_probability, abs=1e-4)


def test_blank_sides_are_scored_too(translator: Translator) -> None:
    scores = Scorer(translator.bundle).score([SentencePair("", ""), SentencePair("A cat.", "")])
    assert [[token.piece for token in score.tokens] for score in scores] == [["<eos>"], ["<eos>"]]


def test_a_bounded_number_of_pairs_is_held(translator: Translator) -> None:
    read = 0

    def pairs() -> Iterator[SentencePair]:
        nonlocal read
        for _ in range(30):
            read += 1
            yield SentencePair("The dog sleeps.", "Der Hund schläft.")

    for done, _ in enumerate(Scorer(translator.bundle).stream(pairs(), pairs_at_once=7), 1):
        assert read - done < 7


def test_a_pair_beyond_the_models_positions_is_named(translator: Translator) -> None:
    bundle = translator.bundle
    config = msgspec.structs.replace(bundle.config.model, positions="learned", max_positions=5)
    sizes = len(bundle.tokenizers.source), len(bundle.tokenizers.target)
    scorer = Scorer(replace(bundle, model=build_model(config, *sizes).eval()))
    with pytest.raises(InputError, match="pair 2: its target has 7 tokens, but the model reads at most 5"):
        scorer.score([SentencePair("A cat", "Hund"), SentencePair("A cat", "Der alte Hund sieht Hund Hund")])
