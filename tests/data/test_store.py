"""A store holds a corpus's pairs as ids, aligned, and is built once for the same contents."""

import shutil
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from transduce.base.errors import DataError
from transduce.corpora.cleaning import Identical
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.data import store as module
from transduce.data.store import open_store
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

BYTES = train_tokenizer(SideConfig(kind="bytes"), [])
CASELESS = train_tokenizer(SideConfig(kind="bytes", lowercase=True), [])
BOTH = Tokenizers(BYTES, BYTES)


def corpus(*pairs):
    return ParallelCorpus.of_pairs("toys", [SentencePair(*pair) for pair in pairs])


def texts(store, tokenizers=BOTH):
    return [
        (tokenizers.source.decode(store.source[i].tolist()), tokenizers.target.decode(store.target[i].tolist()))
        for i in range(len(store))
    ]


def built(cache):
    return [folder for folder in (cache / "stores").iterdir() if not folder.name.startswith(".")]


def counted(pairs):
    """A corpus, and how many pairs were read of it."""
    read = Counter()

    def start():
        for pair in pairs:
            read["pairs"] += 1
            yield pair

    return replace(corpus(*((pair.source, pair.target) for pair in pairs)), read=start), read


sentences = st.text("ab c", max_size=7)


@given(st.lists(st.tuples(sentences, sentences), max_size=9))
def test_pairs_with_a_blank_side_are_left_out_whole_and_the_others_stay_aligned(tmp_path_factory, pairs):
    cache = tmp_path_factory.mktemp("cache")
    kept = [tuple(" ".join(side.split()) for side in pair) for pair in pairs if all(side.strip() for side in pair)]
    if not kept:
        with pytest.raises(DataError, match="toys: no sentence pairs"):
            open_store(corpus(*pairs), BOTH, None, cache)
        return
    store = open_store(corpus(*pairs), BOTH, None, cache)
    assert texts(store) == kept
    assert sum(dropped.count for dropped in store.dropped.values()) == len(pairs) - len(kept)
    for side in (store.source, store.target):
        assert side.lengths.tolist() == [len(side[i]) for i in range(len(store))]


def test_what_is_left_out_is_counted_and_the_first_few_are_shown(tmp_path):
    blank = [(f"left {i}", " \t") for i in range(5)]
    long = [("abcdefgh", f"{i}") for i in range(2)]
    store = open_store(corpus(("ab", "cd"), *blank, *long), BOTH, 7, tmp_path)
    assert {reason: found.count for reason, found in store.dropped.items()} == {
        "with a blank side": 5,
        "longer than 7 tokens": 2,
    }
    assert store.dropped["with a blank side"].examples == [f"left {i} |  \t" for i in range(module.SHOWN)]
    assert store.dropped["longer than 7 tokens"].examples == ["abcdefgh | 0", "abcdefgh | 1"]


def test_a_pair_longer_than_the_limit_on_either_side_is_left_out(tmp_path):
    pairs = [("a" * source, "b" * target) for source in (1, 5, 6) for target in (2, 5, 6)]
    store = open_store(corpus(*pairs), BOTH, 5, tmp_path)
    assert texts(store) == [pair for pair in pairs if max(map(len, pair)) <= 5]


@pytest.mark.parametrize(("pairs", "pattern"), [([], "no sentence pairs$"), ([("a", " ")], "1 with a blank side")])
def test_a_corpus_with_nothing_in_it_is_an_error_that_counts_what_was_left_out(tmp_path, pairs, pattern):
    with pytest.raises(DataError, match=f"toys: .*{pattern}"):
        open_store(corpus(*pairs), BOTH, None, tmp_path)
    with pytest.raises(DataError, match=f"toys: .*{pattern}"):  # what is kept says the same
        open_store(corpus(*pairs), BOTH, None, tmp_path)


def test_nothing_is_read_again_when_nothing_changed(tmp_path):
    pairs = [SentencePair(f"s{i}", f"t{i}") for i in range(7)]
    toys, read = counted(pairs)
    first = open_store(toys, BOTH, None, tmp_path)
    assert read["pairs"] == 7
    again = open_store(toys, BOTH, None, tmp_path)
    assert read["pairs"] == 7
    assert texts(first) == texts(again) == [(pair.source, pair.target) for pair in pairs]


def test_a_changed_text_tokenizer_or_limit_makes_another_store(tmp_path):
    variants = [
        (corpus(("Aa", "B")), BOTH, None),
        (corpus(("Aa", "C")), BOTH, None),
        (corpus(("Aa", "B"), ("Aa", "B")), BOTH, None),
        (corpus(("Aa", "B")), Tokenizers(CASELESS, BYTES), None),
        (corpus(("Aa", "B")), Tokenizers(BYTES, CASELESS), None),
        (corpus(("Aa", "B")), BOTH, 7),
    ]
    expected = [[("Aa", "B")], [("Aa", "C")], [("Aa", "B")] * 2, [("aa", "B")], [("Aa", "b")], [("Aa", "B")]]
    for count, (variant, wanted) in enumerate(zip(variants, expected, strict=True), 1):
        assert texts(open_store(*variant, tmp_path)) == wanted
        assert len(built(tmp_path)) == count


def test_a_corpus_is_read_no_further_than_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 5)
    waiting = []
    toys, read = counted([SentencePair(f"s{i}", f"t{i}") for i in range(23)])
    write = module._write_chunk

    def watched(pairs, tokenizers, limit, writer):
        waiting.append(read["pairs"] - writer.kept)
        write(pairs, tokenizers, limit, writer)

    monkeypatch.setattr(module, "_write_chunk", watched)
    assert len(open_store(toys, BOTH, None, tmp_path)) == 23
    assert max(waiting) <= 5


def test_memory_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 100)

    def peak(count):
        def pairs():
            return (SentencePair(f"{i} {'x' * 200}", f"{i} {'y' * 300}") for i in range(count))

        tracemalloc.start()
        try:
            store = open_store(ParallelCorpus("toys", pairs, lambda: f"{count} toys"), BOTH, None, tmp_path)
            assert len(store) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(3)  # what is made once
    assert peak(2000) < 1.3 * peak(300)


def test_a_tokenizer_that_knows_little_of_the_text_is_refused(tmp_path):
    german = train_tokenizer(SideConfig(kind="words", min_frequency=1), ["ein Hund läuft"])
    english = train_tokenizer(SideConfig(kind="words", min_frequency=1), ["a dog runs"])
    toys = corpus(("a dog runs", "ein Hund läuft"), ("a dog", "ein Hund"))
    assert len(open_store(toys, Tokenizers(english, german), None, tmp_path)) == 2
    with pytest.raises(DataError, match=r"toys: 100% of the source tokens are unknown .*tokenizer.file"):
        open_store(toys, Tokenizers(german, german), None, tmp_path)
    with pytest.raises(DataError, match="toys: 100% of the target tokens are unknown"):
        open_store(toys, Tokenizers(english, english), None, tmp_path)


def test_a_few_unknown_words_are_no_mistake(tmp_path):
    english = train_tokenizer(SideConfig(kind="words", min_frequency=1), ["a dog runs far away"])
    store = open_store(corpus(("a dog runs far beyond", "a dog runs")), Tokenizers(english, english), None, tmp_path)
    assert store.source[0].tolist().count(english.unknown) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError("they must be aligned")])
def test_an_interrupted_build_leaves_nothing_that_is_taken_for_a_store(tmp_path, error):
    whole = corpus(("a", "b"), ("c", "d"))

    def breaks():
        yield SentencePair("a", "b")
        raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        open_store(replace(whole, read=breaks), BOTH, None, tmp_path)
    assert not built(tmp_path)
    assert texts(open_store(whole, BOTH, None, tmp_path)) == [("a", "b"), ("c", "d")]


def test_what_a_killed_build_left_behind_is_not_taken_for_a_store(tmp_path, monkeypatch):
    whole = corpus(("a", "b"), ("c", "d"))

    def killed(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process does not clean up
        patch.setattr(module, "_check_unknown", killed)
        with pytest.raises(SystemExit):
            open_store(whole, BOTH, None, tmp_path)
    assert len(list((tmp_path / "stores").glob(".*-*"))) == 1
    assert texts(open_store(whole, BOTH, None, tmp_path)) == [("a", "b"), ("c", "d")]
    assert not list((tmp_path / "stores").glob(".*-*"))
    assert len(built(tmp_path)) == 1


@pytest.mark.parametrize(("size", "dtype"), [(2**16, np.uint16), (2**16 + 1, np.uint32)])
def test_ids_are_wide_enough_for_the_vocabulary(tmp_path, size, dtype):
    names = ["<pad>", "<unk>", "<bos>", "<eos>", *(f"w{i}" for i in range(4, size))]
    backend = Backend(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    large = Tokenizer(backend)
    store = open_store(corpus((f"w{size - 1} w7", "x")), Tokenizers(large, BYTES), None, tmp_path)
    assert store.source.ids.dtype == dtype
    assert store.source[0].tolist() == [size - 1, 7]


@pytest.mark.parametrize(
    "damage", ["a byte is turned", "a file is cut", "a file is gone", "the record is cut", "a length is turned"]
)
def test_a_damaged_store_is_built_anew(tmp_path, damage):
    toys, read = counted([SentencePair("ab", "cd"), SentencePair("ef", "gh")])
    whole = texts(open_store(toys, BOTH, None, tmp_path))
    (folder,) = built(tmp_path)
    names = {"the record is cut": "store.json", "a length is turned": "source.lengths"}
    file = folder / names.get(damage, "target.ids")
    content = file.read_bytes()
    if damage == "a file is gone":
        file.unlink()
    else:
        file.write_bytes(content[:-2] if "cut" in damage else bytes([content[0] ^ 1]) + content[1:])
    assert texts(open_store(toys, BOTH, None, tmp_path)) == whole
    assert read["pairs"] == 4
    open_store(toys, BOTH, None, tmp_path)
    assert read["pairs"] == 4


def test_what_cleaning_leaves_out_is_counted_and_makes_another_store(tmp_path):
    toys = corpus(("a", "a"), ("a", "b"), ("c", "c"), ("d", " "))
    cleaned = toys.filtered([Identical()])
    assert len(open_store(toys, BOTH, None, tmp_path)) == 3
    for _ in range(2):  # built, and found again
        store = open_store(cleaned, BOTH, None, tmp_path)
        assert texts(store) == [("a", "b")]
        assert {reason: found.count for reason, found in store.dropped.items()} == {
            "with equal sides": 2,
            "with a blank side": 1,
        }
        assert store.dropped["with equal sides"].examples == ["a | a", "c | c"]
