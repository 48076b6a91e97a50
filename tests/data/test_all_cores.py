"""Work on files is shared out among processes, whose errors come back."""

import multiprocessing
import os
import signal
import time

import pytest

from transduce.base.errors import DataError
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.data import all_cores
from transduce.data.all_cores import for_each
from transduce.data.store import open_store, open_stores
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer


@pytest.fixture(autouse=True)
def _three_cores(monkeypatch):
    monkeypatch.setattr(all_cores, "cores", lambda: 3)


def test_each_item_is_done_once_by_other_processes(tmp_path):
    for_each(lambda name: (tmp_path / name).write_text(str(os.getpid())), [str(n) for n in range(7)])
    done = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert sorted(done) == [str(n) for n in range(7)]
    assert os.getpid() not in done.values()
    assert len(set(done.values())) <= 3


def test_a_single_item_or_core_needs_no_other_process(monkeypatch):
    done = []
    for_each(done.append, [1])
    monkeypatch.setattr(all_cores, "cores", lambda: 1)
    for_each(done.append, [2, 3])
    assert done == [1, 2, 3]


def test_a_worker_of_a_pool_does_the_work_itself(tmp_path):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        (worker,) = pool.map(_work_in_worker, [tmp_path])
    assert {path.read_text() for path in tmp_path.iterdir()} == {str(worker)}


def _work_in_worker(folder):
    for_each(lambda name: (folder / name).write_text(str(os.getpid())), ["a", "b"])
    return os.getpid()


def test_an_error_ends_the_others():
    def work(number):
        if number == 1:
            raise DataError("a.tsv: line 7 has too many columns")
        time.sleep(3600)  # whoever waited for it would not come to an end

    with pytest.raises(DataError, match=r"a\.tsv: line 7"):
        for_each(work, [0, 1, 2])


def test_a_process_that_is_killed_is_an_error():
    with pytest.raises(DataError, match="was ended, perhaps for want of memory"):
        for_each(lambda number: os.kill(os.getpid(), signal.SIGKILL), [0, 1])


def test_stores_are_those_that_one_process_builds(tmp_path):
    tokenizer = train_tokenizer(SideConfig(kind="bytes"), [])
    both = Tokenizers(tokenizer, tokenizer)

    def corpora(seen):
        def part(number):
            pairs = [SentencePair(f"s {number} {i}", f"t {i}") for i in range(5)]
            return ParallelCorpus(f"{number}", lambda: (seen.append(number), iter(pairs))[1], lambda: f"{number}")

        return list(map(part, range(4)))

    read = []
    stores = open_stores(corpora(read), both, None, tmp_path / "forks")
    assert read == [], "other processes read the files"
    for store, corpus in zip(stores, corpora([]), strict=True):
        alone = open_store(corpus, both, None, tmp_path / "alone")
        assert store.source.ids.tolist() == alone.source.ids.tolist()
        assert store.target.lengths.tolist() == alone.target.lengths.tolist()
        assert store.content == alone.content
