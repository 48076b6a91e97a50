"""Hidden tokens: as many as asked for, in whole words if asked for, replaced as BERT's paper says."""

import numpy as np
import pytest
import torch

from transduce.corpora.text_documents import TextDocument
from transduce.data.batch import SpecialIds
from transduce.data.examples import TextBatchingConfig
from transduce.data.masked_texts import MaskedBatch, MaskedRow, MaskedTexts, SentenceStore, store_sentences
from transduce.data.masking import Masking, MaskingConfig
from transduce.data.planned import Epoch
from transduce.models.bert import BertConfig
from transduce.models.families import build_model
from transduce.models.heads import WordHeadConfig
from transduce.objectives.masked_words import MaskedWords
from transduce.text.phrase_encoder import PhraseEncoder
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer

WORDS = [f"{first}{second}{third}" for first in "abcd" for second in "efg" for third in "hij"]
SENTENCES = [" ".join(WORDS[(i * k) % 36] for k in range(1, 3 + i % 7)) for i in range(1, 90)]
DOCUMENTS = [TextDocument(tuple(SENTENCES[i : i + 9]), f"line {i + 1}") for i in range(0, 89, 9)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TokenizerConfig(kind="bert", size=40, min_frequency=1), SENTENCES)


def masking(tokenizer: Tokenizer, **settings: float) -> Masking:
    return Masking.of(MaskingConfig(**settings), tokenizer)  # type: ignore[arg-type]


def data(tokenizer: Tokenizer, next_sentence: bool = True, **settings: float) -> MaskedTexts:
    special = SpecialIds(tokenizer.pad, tokenizer.eos, tokenizer.pad, tokenizer.bos, tokenizer.eos)
    config = TextBatchingConfig(examples=5, max_tokens=30)
    store = store_sentences(DOCUMENTS, tokenizer, "test")
    return MaskedTexts(store, masking(tokenizer, **settings), special, config, next_sentence, seed=4)


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


def test_at_least_one_token_is_hidden(tokenizer: Tokenizer) -> None:
    _, places = masking(tokenizer).hide([7], np.random.default_rng(0))
    assert places.tolist() == [0]


def test_other_tokens_are_hidden_in_each_epoch_unless_masking_is_static(tokenizer: Tokenizer) -> None:
    dynamic, static = data(tokenizer).planned(), data(tokenizer, dynamic=False).planned()
    assert not hidden_rows(dynamic.epoch(0)) & hidden_rows(dynamic.epoch(1))
    assert hidden_rows(static.epoch(0)) == hidden_rows(static.epoch(1))
    again = data(tokenizer).planned()
    for number in (1, 0, 1):
        one, other = dynamic.epoch(number), again.epoch(number)
        for left, right in zip(map(one.make, one.batches), map(other.make, other.batches), strict=True):
            assert (left.text.tokens == right.text.tokens).all() and (left.words == right.words).all()


def hidden_rows(epoch: Epoch[MaskedBatch]) -> set[tuple[int, ...]]:
    """The tokens of each row, some of them hidden."""
    texts = [epoch.make(rows).text for rows in epoch.batches]
    return {tuple(row[real].tolist()) for text in texts for row, real in zip(text.tokens, text.is_real, strict=True)}


def test_a_batch_has_the_hidden_tokens_and_their_positions(tokenizer: Tokenizer) -> None:
    found = data(tokenizer)
    drawn, epoch = found.draw(0), found.planned().epoch(0)
    for rows in epoch.batches:
        batch = epoch.make(rows)
        originals = [drawn[number] for number in rows]
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
    rows: list[MaskedRow] = [row for epoch in range(9) for row in found.draw(epoch)]
    share = sum(row.follows for row in rows) / len(rows)
    assert 0.3 < share < 0.55  # documents of an odd end leave a last sentence that nothing follows
    for row in rows[:50]:
        assert row.second is not None
        joined = [*row.first.tolist(), *row.second.tolist()]
        stands = any(whole[i : i + len(joined)] == joined for i in range(len(whole)))
        assert stands or not row.follows or len(joined) == 27  # cut to what fits


def test_without_next_sentences_rows_are_the_whole_text(tokenizer: Tokenizer) -> None:
    found = data(tokenizer, next_sentence=False)
    rows = found.draw(0)
    assert np.concatenate([row.first for row in rows]).tolist() == found.store.ids.tolist()
    epoch = found.planned().epoch(0)
    assert epoch.make(epoch.batches[0]).follows is None


@pytest.mark.parametrize(
    ("kind", "size"), [("bytes", None), ("bpe", 300), ("unigram", 290), ("wordpiece", 300), ("bert", 60)]
)
def test_pieces_of_a_word_are_known_whatever_the_tokenizer(kind: str, size: int | None) -> None:
    tokenizer = train_tokenizer(TokenizerConfig(kind=kind, size=size, min_frequency=1), SENTENCES)  # type: ignore[arg-type]
    continues, tokens = np.array(PhraseEncoder(tokenizer).continues), tokenizer.encode(" ".join(SENTENCES[:9]))
    words = sum(len(sentence.split()) for sentence in SENTENCES[:9])
    assert (~continues[tokens]).sum() in (words - 1, words)  # the first word has no space before it


def test_without_second_texts_rows_are_filled_with_whole_sentences(tokenizer: Tokenizer) -> None:
    found = data(tokenizer, next_sentence=False)
    rows = found.draw(0)
    begins = {int(start) for start in found.store.sentences}
    room, longest = 28, max(len(tokenizer.encode(sentence)) for sentence in SENTENCES)
    assert longest < room
    ends = np.cumsum([len(row.first) for row in rows])
    assert ends[-1] == len(found.store) and begins.issuperset(ends.tolist())
    full = sum(len(row.first) > room - longest for row in rows)
    assert full > 0.7 * len(rows)  # others were to be short, or end a document


def test_a_single_document_has_no_true_next_text_among_the_others(tokenizer: Tokenizer) -> None:
    store = SentenceStore(np.arange(5, 105, dtype=np.int32), np.arange(0, 101, 5), np.array([0, 20]))
    special, config = SpecialIds(0, 0, 0, 0, 0), TextBatchingConfig(examples=5, max_tokens=30)
    found = [MaskedTexts(store, masking(tokenizer), special, config, True, seed=seed).draw(0) for seed in range(90)]
    others = [(row.first[-1], row.second[0]) for rows in found for row in rows if not row.follows]  # type: ignore[index]
    assert len(others) > 200
    assert all(after != before + 1 for before, after in others)


def test_the_losses_of_parts_add_up_to_that_of_their_batch(tokenizer: Tokenizer) -> None:
    found = data(tokenizer).planned().epoch(0)
    torch.manual_seed(3)
    config = BertConfig(layers=1, dim=12, heads=3, feed_forward_dim=20, max_positions=30, dropout=0.0)
    model = build_model(config, len(tokenizer), len(tokenizer), WordHeadConfig()).eval()
    rows = np.arange(24)
    whole = MaskedWords()(model, found.make(rows), None)
    parts = [MaskedWords()(model, found.make(part), None) for part in (rows[:3], rows[3:10], rows[10:])]
    assert sum(part.total.item() for part in parts) == pytest.approx(whole.total.item(), rel=1e-6)
    assert sum(int(part.tokens) for part in parts) == int(whole.tokens)
    follows = whole.total - whole.plain
    weights = found.make(rows).words_per_row * len(rows) / int(whole.tokens)
    assert 0.5 < weights < 1.5 and float(follows) > 0  # the means of both tasks count alike
