"""Validation needs no more memory at once than training, and tells what needs most."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.data.parts import needs, within
from transduce.data.sentence_pairs import BatchingConfig
from transduce.data.store import Side, TokenStore
from transduce.evaluation.metrics import find_metric
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.tasks.translation.translation_validation import UNKNOWN_NEEDS, TranslationValidator, usual_needs

SENTENCES = ["The dog sleeps.", "A cat.", "The old man buys a red car.", "The old woman sees a cat and a dog."]
PAIRS = [SentencePair(text, text) for text in SENTENCES for _ in range(5)]


@pytest.fixture(scope="module")
def bundle(tiny_run: Path) -> ModelBundle:
    return ModelBundle.load(tiny_run / "model")


def validator(
    bundle: ModelBundle, lengths: list[tuple[int, int]], most: tuple[int, ...] | None
) -> TranslationValidator:
    """Of pairs of so many source and target tokens."""
    sides = (Side.of(np.full(sum(side), 5, np.uint16), side) for side in zip(*lengths, strict=True))
    store = TokenStore(*sides, {})
    corpus = ParallelCorpus.of_pairs("few", PAIRS)
    fits = UNKNOWN_NEEDS if most is None else within(most)
    return TranslationValidator(
        bundle, store, corpus, fits, 20, {"bleu": find_metric("bleu")}, "loss", [], folds_case=False
    )


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=40),
    st.tuples(st.integers(1, 9), st.integers(2, 30), st.integers(2, 30)),
)
def test_no_batch_needs_more_than_training_does_unless_it_is_a_single_pair(
    bundle: ModelBundle, lengths: list[tuple[int, int]], largest: tuple[int, int, int]
) -> None:
    most = needs(*largest)
    plan = validator(bundle, lengths, most)._plan
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
    for pairs in plan:
        source, target = np.array(lengths)[pairs].max(0) + 1
        found = needs(len(pairs), source, target)
        assert len(pairs) == 1 or all(need <= known for need, known in zip(found, most, strict=True))


def test_long_validation_sources_make_smaller_batches_where_nothing_is_known_of_training(bundle: ModelBundle) -> None:
    plan = validator(bundle, [(1500, 10)] * 60 + [(10, 10)] * 60, None)._plan
    rows = [len(pairs) * (1501 + 11) for pairs in plan if pairs.min() < 60]
    assert max(rows) <= 4 * BatchingConfig().budget


def test_a_validation_pair_beyond_what_training_needs_is_tried_by_itself(bundle: ModelBundle) -> None:
    trials = validator(bundle, [(100, 90), *[(7, 7)] * 60], needs(50, 8, 8)).trials(bundle.model)
    remedies = {trial.what: trial.remedy for trial in trials[:-1]}
    assert remedies.keys() == {
        "a validation batch, 50 pairs of 800 tokens with padding,",
        "a validation pair of 101 source and 91 target tokens",
    }
    assert "leave it out" in remedies["a validation pair of 101 source and 91 target tokens"]


def test_the_shortest_and_the_longest_lines_are_translated_as_many_as_will_be(
    bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = []
    search = PyTorchEngine.search

    def remember(self: PyTorchEngine, pieces: list, *rest: object) -> object:
        searched.append([len(piece.source) + 1 for piece in pieces])
        return search(self, pieces, *rest)

    monkeypatch.setattr(PyTorchEngine, "search", remember)
    monkeypatch.setattr(PyTorchEngine, "workers", lambda *_: 1)
    validator(bundle, [(3, 3)], None).trials(bundle.model)[-1].take()
    by_length = sorted(len(ids) + 1 for ids in bundle.tokenizers.source.encode_batch([pair.source for pair in PAIRS]))
    assert sorted(map(len, searched))[-1] > 1
    assert {min(map(min, searched)), max(map(max, searched))} == {by_length[0], by_length[-1]}
    assert all(len(batch) * max(batch) <= 20 or len(batch) == 1 for batch in searched)
    assert sum(map(len, searched)) < len(PAIRS)


def test_where_memory_chooses_the_parts_validation_needs_no_more_than_a_batch_of_usual_size() -> None:
    assert usual_needs((100, 90, 190, 7, 8, 9)) == (100, 90, 190, 7, 8, 9)
    assert usual_needs((99_000, 98_000, 97_000, 7, 8, 9)) == (16_384, 4_096, 16_384, 7, 8, 9)
