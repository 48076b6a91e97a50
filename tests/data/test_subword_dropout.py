"""Epochs are segmented anew, as a function of seed and epoch; pairs, limits and memory are those of the plain data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from small_corpus import small_corpus
from transduce.corpora.corpus import ParallelCorpus
from transduce.data import subword_dropout
from transduce.data.batch import SpecialIds
from transduce.data.parts import needs
from transduce.data.sentence_pairs import BatchingConfig, SentencePairs
from transduce.data.store import open_store
from transduce.data.subword_dropout import SubwordDropout
from transduce.text.bpe_dropout import BpeDropout, BpeMerges
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

PAIRS = small_corpus()
SOURCE = train_tokenizer(SideConfig(kind="bpe", size=400), [pair.source for pair in PAIRS])
TARGET = train_tokenizer(SideConfig(kind="bpe", size=450), [pair.target for pair in PAIRS])
SPECIAL = SpecialIds(SOURCE.pad, SOURCE.eos, TARGET.pad, TARGET.bos, TARGET.eos)
RATE = 0.3


@pytest.fixture
def plain(tmp_path: Path) -> SentencePairs:
    both = Tokenizers(SOURCE, TARGET)
    parts = [PAIRS[:150], PAIRS[150:]]
    stores = [open_store(ParallelCorpus.of_pairs(f"{i}", part), both, None, tmp_path) for i, part in enumerate(parts)]
    return SentencePairs(stores, [1.0, 1.0], SPECIAL, BatchingConfig(target_tokens=300, groups=2), 5)


def with_dropout(plain: SentencePairs, source: bool = True, target: bool = True) -> SentencePairs:
    of_source = BpeDropout(BpeMerges(SOURCE), RATE) if source else None
    dropout = SubwordDropout(of_source, BpeDropout(BpeMerges(TARGET), RATE) if target else None)
    return replace(plain, of_epoch=dropout)


def texts_of(data: SentencePairs, number: int) -> list[tuple[str, str, tuple[int, ...], tuple[int, ...]]]:
    """Each pair of an epoch, as text and as tokens, by its text."""
    found = []
    epoch = data.planned().epoch(number)
    for batch in map(epoch.make, epoch.batches):
        for source, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
            source, target = (
                tuple(token for token in row if token not in (own.pad, own.eos))
                for row, own in ((source, SOURCE), (target, TARGET))
            )
            found.append((SOURCE.decode(source), TARGET.decode(target), source, target))
    return sorted(found)


def test_every_epoch_has_all_pairs_as_text_and_other_tokens(plain: SentencePairs) -> None:
    data = with_dropout(plain)
    epochs = [texts_of(data, epoch) for epoch in range(3)]
    texts = [(source, target) for source, target, *_ in texts_of(plain, 0)]
    for epoch in epochs:
        assert [(source, target) for source, target, *_ in epoch] == texts
    changed = np.mean([one[2:] != other[2:] for one, other in zip(epochs[0], epochs[1], strict=True)])
    assert changed > 0.9


def test_a_side_without_dropout_stays_as_it_is(plain: SentencePairs) -> None:
    of_plain = {row[:2]: row[2:] for row in texts_of(plain, 0)}
    drawn = {row[:2]: row[2:] for row in texts_of(with_dropout(plain, target=False), 0)}
    assert all(drawn[text][1] == of_plain[text][1] for text in of_plain)
    assert any(drawn[text][0] != of_plain[text][0] for text in of_plain)


def test_an_epoch_is_a_function_of_seed_and_epoch_whatever_was_read_before(plain: SentencePairs) -> None:
    data = with_dropout(plain)
    planned = data.planned()
    third = [planned.epoch(number) for number in (0, 1, 2)][2]
    fresh = with_dropout(plain).planned().epoch(2)
    for one, other in zip(map(third.make, third.batches), map(fresh.make, fresh.batches), strict=True):
        assert torch.equal(one.source, other.source) and torch.equal(one.target_out, other.target_out)
    assert texts_of(with_dropout(replace(plain, seed=6)), 2) != texts_of(data, 2)


def test_batches_keep_the_budget_with_the_tokens_that_are_drawn(plain: SentencePairs) -> None:
    data = with_dropout(plain)
    tokens = [sum(map(len, (row[3] for row in texts_of(one, 1)))) for one in (plain, data)]
    assert tokens[1] > 1.15 * tokens[0]
    assert len(data.planned().epoch(1).batches) > len(plain.planned().epoch(1).batches)


@pytest.mark.parametrize("parts", [1, 3])
def test_no_part_of_any_epoch_needs_more_than_the_memory_check_tried(plain: SentencePairs, parts: int) -> None:
    data = with_dropout(plain).planned()
    most = data.largest(parts)
    assert most.has_several
    for epoch in map(data.epoch, range(4)):
        for pairs in epoch.batches:
            split = epoch.split(pairs, parts)
            assert sorted(np.concatenate(split).tolist()) == sorted(pairs.tolist())
            for part in split:
                batch = epoch.make(part)
                found = needs(len(part), batch.source.shape[1], batch.target_out.shape[1])
                assert len(part) == 1 or all(np.less_equal(found, most.needs))
                assert epoch.tokens(part) == len(part) * (batch.source.shape[1] + batch.target_out.shape[1])


def test_no_sentence_becomes_longer_than_the_longest_is(plain: SentencePairs) -> None:
    data = with_dropout(plain)
    longest = [max(int(getattr(store, side).lengths.max()) for store in plain.stores) for side in ("source", "target")]
    for epoch in range(5):
        found = texts_of(data, epoch)
        assert max(len(row[2]) for row in found) <= longest[0]
        assert max(len(row[3]) for row in found) <= longest[1]


def test_sentences_that_are_segmented_apart_are_all_there(
    plain: SentencePairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subword_dropout, "SENTENCES_AT_ONCE", 7)
    texts = [(source, target) for source, target, *_ in texts_of(with_dropout(plain), 1)]
    assert texts == [(source, target) for source, target, *_ in texts_of(plain, 1)]
