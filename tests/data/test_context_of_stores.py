"""Sources of a store with the sentences before them: ids, lengths, documents, and dropout."""

from pathlib import Path

import numpy as np

from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.data.context import ContextDropout, in_context
from transduce.data.store import open_store
from transduce.text.tokenizer_settings import BREAK, TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers

PAIRS = [SentencePair(f"{'x ' * n}{n}", str(n), "a" if n < 4 else "b") for n in range(7)]
WITH_BLANK = [*PAIRS[:2], SentencePair(" ", "?", "a"), *PAIRS[2:]]


def test_sources_follow_those_before_them_in_their_document(tmp_path: Path) -> None:
    texts = [pair.source for pair in PAIRS]
    config = TokenizerConfig(kind="words", min_frequency=1)
    tokenizers = train_tokenizers(config, texts, [pair.target for pair in PAIRS], tmp_path).with_marks({BREAK: BREAK})
    store = open_store(ParallelCorpus.of_pairs("", WITH_BLANK), tokenizers, None, tmp_path)
    mark = tokenizers.source.marks[BREAK]
    read = in_context(store, ContextConfig(before=2, dropout=0.5), tokenizers)
    for number, pair in enumerate(PAIRS):
        before = [each for each in PAIRS[max(number - 2, 0) : number] if each.document == pair.document]
        expected = [i for each in before for i in [*tokenizers.source.encode(each.source), mark]]
        expected += tokenizers.source.encode(pair.source)
        assert read.source[number].tolist() == expected, number
        assert read.source.lengths[number] == len(expected)
        assert list(tokenizers.source.without_context(expected)) == tokenizers.source.encode(pair.source)
    assert in_context(store, None, tokenizers) is store
    (first,), (again,), (other,) = (ContextDropout(0.5)([read], [1, epoch]) for epoch in (1, 1, 2))
    assert np.array_equal(first.source.lengths, again.source.lengths)
    assert not np.array_equal(first.source.lengths, other.source.lengths)
    are_alone = first.source.lengths == store.source.lengths
    assert 0 < are_alone.sum() < len(PAIRS)
    assert all(len(first.source[i]) == first.source.lengths[i] for i in range(len(PAIRS)))
