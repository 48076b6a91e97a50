"""Hidden tokens: as many as asked for, in whole words if asked for, replaced as BERT's paper says."""

import numpy as np
import pytest

from transduce.corpora.documents import Document
from transduce.data.batch import SpecialIds
from transduce.data.examples import TextBatchingConfig
from transduce.data.masking import Masking, MaskingConfig
from transduce.data.sentence_pairs import MaskedData, MaskedRow, store_sentences
from transduce.text.tokenizer import Tokenizer, TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer

WORDS = [f"{first}{second}{third}" for first in "abcd" for second in "efg" for third in "hij"]
SENTENCES = [" ".join(WORDS[(i * k) % 36] for k in range(1, 3 + i % 7)) for i in range(1, 90)]
DOCUMENTS = [Document(tuple(SENTENCES[i : i + 9]), f"line {i + 1}") for i in range(0, 89, 9)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TokenizerConfig(kind="bert", size=40, min_frequency=1), SENTENCES)


def masking(tokenizer: Tokenizer, **settings: float) -> Masking:
    return Masking.of(MaskingConfig(**settings), tokenizer)  # type: ignore[arg-type]


def data(tokenizer: Tokenizer, next_sentence: bool = True, **settings: float) -> MaskedData:
    special = SpecialIds(tokenizer.pad, tokenizer.eos, tokenizer.pad, tokenizer.bos, tokenizer.eos)
    config = TextBatchingConfig(examples=5, max_tokens=30)
    store = store_sentences(DOCUMENTS, tokenizer, "test")
    return MaskedData(store, masking(tokenizer, **settings), special, config, next_sentence, seed=4)


def test_eighty_of_a_hundred_are_masked_ten_random_and_ten_stay(tokenizer: Tokenizer) -> None:
    hides, random = masking(tokenizer), np.random.default_rng(1)
    tokens = np.array(tokenizer.encode(" ".join(SENTENCES)))
    counts = np.zeros(3)
    for _ in range(60):
        changed, places = hides.hide(tokens, random)
        assert len(places) == round(0.15 * len(tokens))
        others = np.delete(np.arange(len(tokens)), places)
        assert (changed[others] == tokens[others]).all()
        masked, same = changed[places] == tokenizer.mask, changed[places] == tokens[places]
        counts += masked.sum(), same.sum(), (~masked & ~same).sum()
    shares = counts / counts.sum()
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.02)


def test_random_tokens_are_no_special_ones(tokenizer: Tokenizer) -> None:
    special = {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos, tokenizer.mask}
    assert not special & set(masking(tokenizer).ordinary.tolist())


def test_whole_words_are_hidden_or_none_of_their_pieces(tokenizer: Tokenizer) -> None:
    hides, random = masking(tokenizer, whole_words=True), np.random.default_rng(2)
    tokens = np.array(tokenizer.encode(" ".join(SENTENCES[:20])))
    starts = ~hides.continues[tokens]
    assert 0 < starts.sum() < len(tokens)
    word = np.cumsum(starts)
    for _ in range(20):
        _, places = hides.hide(tokens, random)
        hidden = set(word[places].tolist())
        assert len(places) == np.isin(word, list(hidden)).sum()
        assert 0.05 * len(tokens) < len(places) <= round(0.15 * len(tokens)) + 3


def test_at_least_one_token_is_hidden(tokenizer: Tokenizer) -> None:
    _, places = masking(tokenizer).hide([7], np.random.default_rng(0))
    assert places.tolist() == [0]


def test_other_tokens_are_hidden_in_each_epoch_unless_masking_is_static(tokenizer: Tokenizer) -> None:
    dynamic, static = data(tokenizer), data(tokenizer, dynamic=False)
    assert not np.intersect1d(np.concatenate(dynamic.plan(0)), np.concatenate(dynamic.plan(1))).size
    first, second = (np.sort(np.concatenate(static.plan(epoch))) for epoch in (0, 1))
    assert (first == second).all()
    again = data(tokenizer)
    for epoch in (1, 0, 1):
        for one, other in zip(dynamic.plan(epoch), again.plan(epoch), strict=True):
            left, right = dynamic.batch(one), again.batch(other)
            assert (left.text.tokens == right.text.tokens).all() and (left.words == right.words).all()


def test_a_batch_tells_what_was_hidden_and_where(tokenizer: Tokenizer) -> None:
    found = data(tokenizer)
    for rows in found.plan(0):
        batch = found.batch(rows)
        originals = [found._row(number) for number in rows.tolist()]
        tokens = batch.text.tokens.clone()
        tokens.view(-1)[batch.places] = batch.words
        for row, original in enumerate(originals):
            whole = tokens[row][batch.text.is_real[row]].tolist()
            ends = [tokenizer.bos, *original.first.tolist(), tokenizer.eos]
            assert original.second is not None
            assert whole == [*ends, *original.second.tolist(), tokenizer.eos]
            assert len(whole) <= 30
        assert batch.follows is not None
        assert batch.follows.tolist() == [int(original.follows) for original in originals]


def test_half_of_the_second_texts_follow_the_first(tokenizer: Tokenizer) -> None:
    found = data(tokenizer)
    whole = found.store.ids.tolist()
    rows: list[MaskedRow] = [row for epoch in range(9) for row in found._draw(epoch)]
    share = sum(row.follows for row in rows) / len(rows)
    assert 0.3 < share < 0.55  # documents of an odd end leave a last sentence that nothing follows
    for row in rows[:50]:
        assert row.second is not None
        joined = [*row.first.tolist(), *row.second.tolist()]
        stands = any(whole[i : i + len(joined)] == joined for i in range(len(whole)))
        assert stands or not row.follows or len(joined) == 27  # cut to what fits


def test_without_next_sentences_rows_are_the_whole_text(tokenizer: Tokenizer) -> None:
    found = data(tokenizer, next_sentence=False)
    rows = found._draw(0)
    assert np.concatenate([row.first for row in rows]).tolist() == found.store.ids.tolist()
    assert found.batch(found.plan(0)[0]).follows is None
