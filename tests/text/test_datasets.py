"""A data set is what its name says, wherever it comes from, or an error says what to do."""

import gzip
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from transduce.config import convert
from transduce.errors import ConfigError, DataError
from transduce.text import datasets
from transduce.text.datasets import DATASETS, DataConfig, fetch, find_dataset, open_split, open_splits

needs_multi30k = pytest.mark.skipif(
    not (Path(os.environ.get("TRANSDUCE_DATA") or "/nowhere") / "multi30k").is_dir(),
    reason="TRANSDUCE_DATA does not name a folder with multi30k",
)


@needs_multi30k
@pytest.mark.parametrize(("split", "pairs"), [("val", 1014), ("test_2016_flickr", 1000)])
def test_multi30k_is_found_in_the_folder_of_data(split, pairs, monkeypatch):
    monkeypatch.setattr(datasets.pooch, "retrieve", None)  # nothing is downloaded
    german_english = list(open_split("multi30k", split, "de", "en"))
    assert len(german_english) == pairs
    turned = [(pair.target, pair.source) for pair in open_split("multi30k", split, "en", "de")]
    assert [(pair.source, pair.target) for pair in german_english] == turned


@needs_multi30k
def test_a_built_in_data_set_gives_all_three_splits():
    splits = open_splits(DataConfig(dataset="multi30k", source="de", target="fr"), Path("anywhere"))
    assert [entry.weight for entry in splits.train] == [1.0]
    assert splits.test is not None
    contents = {splits.train[0].corpus.content(), splits.validation.content(), splits.test.content()}
    assert len(contents) == 3


def test_a_file_of_other_contents_in_the_folder_of_data_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "multi30k").mkdir()
    (tmp_path / "multi30k" / "val.de.gz").write_bytes(b"something else")
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"val\.de\.gz: its contents are not those of multi30k's val\.de\.gz"):
        open_split("multi30k", "val", "de", "en")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Files served on this machine, and what was asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_):
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("TRANSDUCE_DATA", raising=False)
        monkeypatch.setattr(datasets, "MULTI30K_HOME", f"http://127.0.0.1:{running.server_address[1]}")
        yield folder, asked
        running.shutdown()
        thread.join()


def serve(folder, monkeypatch, contents):
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        monkeypatch.setitem(datasets.MULTI30K_SHA256, name, hashlib.sha256(content).hexdigest())


def test_a_download_is_kept_and_not_repeated(server, tmp_path, monkeypatch):
    folder, asked = server
    serve(folder, monkeypatch, {"val.de.gz": gzip.compress(b"ja\n"), "val.en.gz": gzip.compress(b"yes\n")})
    for _ in range(2):
        assert [(pair.source, pair.target) for pair in open_split("multi30k", "val", "de", "en")] == [("ja", "yes")]
    assert sorted(asked) == ["/val.de.gz", "/val.en.gz"]
    kept = [path.name for path in (tmp_path / "cache" / "datasets" / "multi30k").iterdir()]
    assert sorted(kept) == ["val.de.gz", "val.en.gz"]


def test_a_download_of_other_contents_is_an_error_and_not_kept(server, tmp_path, monkeypatch):
    folder, _ = server
    serve(folder, monkeypatch, {"val.de.gz": b"right"})
    (folder / "val.de.gz").write_bytes(b"wrong")
    with pytest.raises(DataError, match=r"/val\.de\.gz: the download is not multi30k's val\.de\.gz \(SHA-256"):
        open_split("multi30k", "val", "de", "en")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_kept_file_that_was_damaged_is_downloaded_anew(server, tmp_path, monkeypatch):
    folder, asked = server
    serve(folder, monkeypatch, {"val.de.gz": b"right"})
    arguments = ("multi30k", "val.de.gz", f"{datasets.MULTI30K_HOME}/val.de.gz", datasets.MULTI30K_SHA256["val.de.gz"])
    fetch(*arguments).write_bytes(b"damaged")
    assert fetch(*arguments).read_bytes() == b"right"
    assert len(asked) == 2


def test_what_cannot_be_downloaded_says_where_to_put_it(server):
    with pytest.raises(DataError, match=r"/val\.de\.gz cannot be downloaded .*multi30k/val\.de\.gz.*TRANSDUCE_DATA"):
        open_split("multi30k", "val", "de", "en")


def test_the_folder_of_data_comes_before_the_download(server, tmp_path, monkeypatch):
    folder, asked = server
    serve(folder, monkeypatch, {"val.de.gz": b"right"})
    (tmp_path / "data" / "multi30k").mkdir(parents=True)
    (tmp_path / "data" / "multi30k" / "val.de.gz").write_bytes(b"right")
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path / "data"))
    path = fetch("multi30k", "val.de.gz", "http://127.0.0.1:9/none", datasets.MULTI30K_SHA256["val.de.gz"])
    assert path == tmp_path / "data" / "multi30k" / "val.de.gz"
    assert not asked


def test_an_unknown_data_set_lists_the_known():
    with pytest.raises(ConfigError, match=r"data\.dataset: no data set 'multi'; there are multi30k, grammar"):
        find_dataset("multi")


@pytest.mark.parametrize("name", DATASETS)
def test_an_unknown_split_or_language_lists_the_known(name):
    dataset = DATASETS[name]
    source, target = dataset.languages[:2]
    with pytest.raises(ConfigError, match=f"{name} has no split 'x'; it has {', '.join(dataset.splits)}"):
        open_split(name, "x", source, target)
    for languages in (("xx", target), (source, "xx")):
        with pytest.raises(ConfigError, match=f"{name} has no language 'xx'; it has {', '.join(dataset.languages)}"):
            open_split(name, dataset.train, *languages)
    with pytest.raises(ConfigError, match=f"source and target are both '{source}'"):
        open_split(name, dataset.train, source, source)


def test_files_are_sought_from_the_folder_that_names_them(tmp_path):
    for i, name in enumerate(("a.de", "a.en", "b.tsv", "v.tsv")):
        (tmp_path / name).write_text(f"{name}\tx{i}\n")
    tree = {
        "train": [{"files": ["a.de", "a.en"], "weight": 0.5}, {"files": "b.tsv"}],
        "validation": "v.tsv",
        "columns": [2, 1],
    }
    splits = open_splits(convert(tree, DataConfig, "x.toml"), tmp_path)
    assert [entry.weight for entry in splits.train] == [0.5, 1.0]
    assert [[pair.source for pair in entry.corpus] for entry in splits.train] == [["a.de\tx0"], ["x2"]]
    assert [pair.source for pair in splits.validation] == ["x3"]
    assert splits.test is None


@pytest.mark.parametrize("train", ["p.tsv", ["p.tsv"], ["s", "t"], [{"files": ["s", "t"]}], [{"files": "p.tsv"}]])
def test_training_files_may_be_written_in_any_of_the_ways(tmp_path, train):
    for name, text in (("p.tsv", "a\tb\n"), ("s", "a\n"), ("t", "b\n")):
        (tmp_path / name).write_text(text)
    config = convert({"train": train, "validation": ["s", "t"], "test": "p.tsv"}, DataConfig, "x.toml")
    splits = open_splits(config, tmp_path)
    (training,) = splits.train
    assert splits.test is not None
    for corpus in (training.corpus, splits.validation, splits.test):
        assert [(pair.source, pair.target) for pair in corpus] == [("a", "b")]


def test_file_names_and_tables_are_not_mixed(tmp_path):
    config = convert({"train": ["a", {"files": "b.tsv"}], "validation": "v.tsv"}, DataConfig, "x.toml")
    with pytest.raises(ConfigError, match=r"data\.train: file names and tables cannot be mixed.*\[\[data\.train\]\]"):
        open_splits(config, tmp_path)


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        ({}, "give either dataset or train"),
        ({"dataset": "multi30k", "train": "a.tsv"}, "give either dataset or train"),
        ({"train": "a.tsv"}, "training files need validation files"),
        ({"train": [{"files": "a.tsv", "weight": 0}], "validation": "v.tsv"}, r"train\[0\]: weight must be above 0"),
    ],
)
def test_settings_that_contradict_each_other_say_so(tree, pattern):
    with pytest.raises(ConfigError, match=pattern):
        convert(tree, DataConfig, "x.toml")
