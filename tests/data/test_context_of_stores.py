"""Sources of a store with the sentences before them: ids, lengths, documents, and dropout."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.splits import Splits, open_splits
from transduce.data.context import drop_context, in_context
from transduce.data.store import open_store
from transduce.inference.request import in_context as requests_in_context
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
    (first,), (again,), (other,) = (drop_context(0.5, [read], [1, epoch]) for epoch in (1, 1, 2))
    assert np.array_equal(first.source.lengths, again.source.lengths)
    assert not np.array_equal(first.source.lengths, other.source.lengths)
    are_alone = first.source.lengths == store.source.lengths
    assert 0 < are_alone.sum() < len(PAIRS)
    assert all(len(first.source[i]) == first.source.lengths[i] for i in range(len(PAIRS)))


def test_sources_follow_translations_too(tmp_path: Path) -> None:
    texts, config = [pair.source for pair in PAIRS], TokenizerConfig(kind="words", min_frequency=1)
    targets = [f"t{n}" for n in range(len(PAIRS))]
    pairs = [SentencePair(pair.source, target, pair.document) for pair, target in zip(PAIRS, targets, strict=True)]
    tokenizers = train_tokenizers(config, texts, targets, tmp_path).with_marks({BREAK: BREAK})
    store = open_store(ParallelCorpus.of_pairs("", pairs), tokenizers, None, tmp_path)
    context = ContextConfig(before=2, side="both", dropout=0.5)
    read = in_context(store, context, tokenizers)
    for number, pair in enumerate(pairs):
        before = [each for each in pairs[max(number - 2, 0) : number] if each.document == pair.document]
        earlier = tokenizers.source.encode_batch([text for each in before for text in (each.source, each.target)])
        expected = [i for ids in earlier for i in [*ids, tokenizers.source.marks[BREAK]]]
        assert read.source[number].tolist() == expected + tokenizers.source.encode(pair.source)
        assert read.source.lengths[number] == len(read.source[number])
    (drawn,) = drop_context(0.5, [read], [1, 1])
    (of_sources,) = drop_context(0.5, [in_context(store, ContextConfig(before=2), tokenizers)], [1, 1])
    kinds = set()
    for number in range(1, len(pairs)):
        ids = drawn.source[number].tolist()
        assert len(ids) == drawn.source.lengths[number]
        breaks = [each.source[number].tolist().count(tokenizers.source.marks[BREAK]) for each in (drawn, of_sources)]
        kinds.add(breaks[0] - breaks[1])
        assert breaks[0] in (breaks[1], 2 * breaks[1]), "alone where sources alone are, and else with all or none"
    assert kinds > {0}


def sources_with_those_before(splits: Splits, context: ContextConfig, cache: Path) -> Iterator[list[int]]:
    """The numbers of each source and of those that it is read with, in training and in held-out parts."""
    config, texts = TokenizerConfig(kind="words", min_frequency=1), list(map(str, range(777)))
    tokenizers = train_tokenizers(config, texts, texts, cache).with_marks({BREAK: BREAK})
    assert splits.test is not None
    for corpus in [each.corpus for each in splits.train]:
        store = in_context(open_store(corpus, tokenizers, None, cache), context, tokenizers)
        for number in range(len(store)):
            read = tokenizers.source.decode(list(store.source[number])).replace(BREAK, " ")
            yield list(map(int, read.split()))
    for held_out in (splits.validation, splits.test):
        for request in requests_in_context(held_out, context):
            if request.text.strip():
                yield list(map(int, [*request.before, request.text]))


@pytest.mark.parametrize("train", ["part-*.txt", ["part-1.txt", "part-2.txt"], ["table-1.tsv", "table-2.tsv"]])
def test_no_source_is_read_with_one_that_is_not_directly_before_it(
    tmp_path: Path, train: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    documents = {"1": [range(233)], "2": [range(300, 517), range(600, 777)]}
    for name, of_file in documents.items():
        lines = [line for document in of_file for line in ["", *map(str, document)]][1:]  # a blank line divides them
        for side in ("source", "target"):
            (tmp_path / f"part-{name}.{side}").write_text("\n".join([*lines, ""]))
        rows = [f"{n}\t{n}\t{number}\n" for number, document in enumerate(of_file) for n in document]
        (tmp_path / f"table-{name}.tsv").write_text("".join(rows))
    sides = ("source", "target")
    files = {
        "part-*.txt": ["part-*.source", "part-*.target"],
        "part-1.txt": [{"files": [f"part-{n}.{side}" for side in sides]} for n in (1, 2)],
        "table-1.tsv": [{"files": f"table-{n}.tsv"} for n in (1, 2)],
    }[train if isinstance(train, str) else train[0]]
    columns = {"columns": [1, 2, 3]} if "table-1.tsv" in train else {}
    settings = {"train": files, "context": {"before": 2}, "validation_share": 0.1, "test_share": 0.1, **columns}
    config = msgspec.convert(settings, DataConfig)
    read = list(sources_with_those_before(open_splits(config, tmp_path), ContextConfig(before=2), tmp_path))
    assert {numbers[-1] for numbers in read} == {n for of_file in documents.values() for each in of_file for n in each}
    assert all(numbers == list(range(numbers[-1] - len(numbers) + 1, numbers[-1] + 1)) for numbers in read)
    assert sum(len(numbers) == 3 for numbers in read) > 0.6 * len(read), "most have as many as are read"
