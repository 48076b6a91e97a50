"""A data set is what its name says, wherever it comes from, or an error says what to do."""

import gzip
import os
from pathlib import Path

import msgspec
import pytest

from transduce.base.config import convert
from transduce.base.errors import ConfigError, DataError
from transduce.corpora.catalogue import dataset_files
from transduce.corpora.catalogue.download import Remote
from transduce.corpora.catalogue.registry import DATASETS, Dataset, find_dataset
from transduce.corpora.cleaning import Identical
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.generated.sequences import SequencesConfig
from transduce.corpora.overlap import plain
from transduce.corpora.splits import Splits, open_split, open_splits, open_text
from transduce.corpora.splitting import default_share, letters_of

needs_multi30k = pytest.mark.skipif(
    not (Path(os.environ.get("TRANSDUCE_DATA") or "/nowhere") / "multi30k").is_dir(),
    reason="TRANSDUCE_DATA does not name a folder with multi30k",
)


@needs_multi30k
@pytest.mark.parametrize(("split", "pairs"), [("val", 1014), ("test_2016_flickr", 1000)])
def test_multi30k_is_found_in_the_folder_of_data(split, pairs, monkeypatch):
    monkeypatch.setattr(dataset_files, "retrieve", None)  # nothing is downloaded
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


@needs_multi30k
@pytest.mark.parametrize("name", ["iwslt15-en-vi", "tanaka-en-ja", "newstest"])
def test_what_the_folder_of_data_holds_is_read_in_both_directions(name):
    dataset = find_dataset(name)
    source, target = dataset.languages[:2]
    pairs = list(open_split(name, dataset.validation, source, target))
    turned = open_split(name, dataset.validation, target, source)
    assert len(pairs) >= 500
    assert [(pair.target, pair.source) for pair in turned] == [(pair.source, pair.target) for pair in pairs]


@needs_multi30k
def test_the_years_of_newstest_are_joined():
    years = [len(list(open_split("newstest", f"newstest{year}", "de", "fr"))) for year in range(2008, 2013)]
    assert years == [2051, 2525, 2489, 3003, 3003]
    splits = open_splits(DataConfig(dataset="newstest", source="de", target="fr"), Path())
    assert len(list(splits.train[0].corpus)) == sum(years)
    assert len(list(splits.validation)) == 3000
    assert splits.test is None


@needs_multi30k
def test_a_part_says_so():
    assert "the first 30,000 of 133,317 pairs" in open_split("iwslt15-en-vi", "train", "en", "vi").name
    assert open_split("iwslt15-en-vi", "tst2012", "en", "vi").name == "iwslt15-en-vi tst2012"


@needs_multi30k
def test_text_of_one_language_is_read_line_by_line():
    train, validation = (list(open_text("tinyshakespeare", split)) for split in ("train", "validation"))
    characters = [sum(len(line) + 1 for line in lines) for lines in (train, validation)]
    assert sum(characters) == 1_115_394
    assert characters[0] == pytest.approx(0.9 * sum(characters), abs=3)
    assert len(list(open_text("ptb", "validation"))) == 3370
    contents = {open_text("tinyshakespeare", split).content() for split in ("train", "validation")}
    assert len(contents) == 2


def test_a_set_in_one_piece_is_cleaned_and_then_split(tmp_path, monkeypatch):
    (tmp_path / "toys").mkdir()
    rows = [f"{'We' if n % 7 else 'You'} sleep {n % 100}.\tschlafen {n % 130}" for n in range(400)]
    (tmp_path / "toys" / "all.txt").write_text("".join(f"{row}\n" for row in rows))
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path))
    monkeypatch.setitem(DATASETS, "toys", Dataset("toys", "Toys", "none", ("en", "de"), 400, {"all": ("all.txt",)}))
    config = convert(
        {
            "dataset": "toys",
            "source": "de",
            "target": "en",
            "validation_share": 0.2,
            "test_share": 0.1,
            "cleaning": [
                {"kind": "prefix", "side": "target", "prefixes": ["we "]},
                {"kind": "overlap", "of": "source"},
            ],
        },
        DataConfig,
        "x.toml",
    )
    splits = open_splits(config, Path())
    assert splits.test is not None
    train, validation, test = (list(part) for part in (splits.train[0].corpus, splits.validation, splits.test))
    for part in (train, validation, test):
        assert part
        assert all(pair.target.startswith("We ") and pair.source.startswith("schlafen") for pair in part)
    assert {letters_of(p.target) for p in train}.isdisjoint(letters_of(p.target) for p in [*validation, *test])
    assert {plain(p.source) for p in train}.isdisjoint(plain(p.source) for p in [*validation, *test])
    assert open_splits(msgspec.structs.replace(config, test_share=0.0), Path()).test is None


def test_a_folder_of_data_needs_only_the_languages_asked_for(tmp_path, monkeypatch):
    (tmp_path / "toys").mkdir()
    for language, text in (("de", "Hund\n"), ("en", "dog\n")):
        (tmp_path / "toys" / f"all.{language}").write_text(text)
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path))
    toys = Dataset("toys", "Toys", "none", ("de", "en", "fr"), 1, {"all": ("all.{language}",)})
    monkeypatch.setitem(DATASETS, "toys", toys)
    monkeypatch.setattr(dataset_files, "retrieve", None)  # nothing is downloaded
    shelf = dataset_files.find_split(toys, "all", languages=("de", "en"))
    assert shelf.files == (str(tmp_path / "toys" / "all.{language}"),)
    assert dataset_files.place_of(toys) == "a part in TRANSDUCE_DATA"
    assert dataset_files.what_is_missing(toys) == ["all: only de and en"]


def test_a_file_of_other_contents_in_the_folder_of_data_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "multi30k").mkdir()
    for file in ("val.de.gz", "val.en.gz", "val.fr.gz"):
        (tmp_path / "multi30k" / file).write_bytes(b"something else")
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"val\.de\.gz: its contents are not those of multi30k's val\.de\.gz"):
        open_split("multi30k", "val", "de", "en")


def served(server, monkeypatch, files):
    """A data set `toys` of these files, not yet downloaded."""
    remotes = []
    for name, lines in files.items():
        (server.folder / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        remotes.append(Remote(f"{server.address}/{name}", {name: ""}))
    splits = {part: (f"{part}.{{language}}.gz",) for part in ("train", "validation", "test")}
    dataset = Dataset(
        "toys",
        "Toys",
        "none",
        ("de", "en"),
        3,
        splits,
        tuple(remotes),
        {"train": ("part.{language}.gz",)},
        {"train": "the first pair"},
    )
    monkeypatch.setitem(DATASETS, "toys", dataset)
    return dataset


FILES = {"train.de.gz": ["ja", "nein"], "train.en.gz": ["yes", "no"], "test.de.gz": ["ja"], "test.en.gz": ["yes"]}


def sources(split, language="de"):
    return [pair.source for pair in open_split("toys", split, language, "en" if language == "de" else "de")]


def test_only_what_is_needed_is_downloaded_and_kept(file_server, monkeypatch):
    dataset = served(file_server, monkeypatch, FILES)
    assert dataset_files.place_of(dataset) == "to download"
    for _ in range(2):
        assert sources("test") == ["ja"]
        assert sources("test", "en") == ["yes"]
    assert sorted(name for name, _ in file_server.asked) == ["test.de.gz", "test.en.gz"]


def test_the_folder_of_data_comes_before_a_download_and_a_whole_before_a_part(file_server, tmp_path, monkeypatch):
    dataset = served(file_server, monkeypatch, FILES)
    (tmp_path / "data" / "toys").mkdir(parents=True)
    for language, word in (("de", "vielleicht"), ("en", "perhaps")):
        (tmp_path / "data" / "toys" / f"part.{language}.gz").write_bytes(gzip.compress(f"{word}\n".encode()))
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path / "data"))
    assert sources("train") == ["vielleicht"]
    assert file_server.asked == []
    assert dataset_files.place_of(dataset) == "a part in TRANSDUCE_DATA"
    assert dataset_files.what_is_missing(dataset) == [
        "train: only the first pair",
        "validation: not there",
        "test: not there",
    ]
    dataset_files.download(dataset, ["train.de.gz", "train.en.gz"])
    assert sources("train") == ["ja", "nein"]
    for name in FILES:
        (tmp_path / "data" / "toys" / name).write_bytes(gzip.compress(b"own\n"))
    assert sources("train") == ["own"]


def test_what_was_downloaded_whole_is_in_the_cache(file_server, monkeypatch):
    more = {f"validation.{language}.gz": ["x"] for language in ("de", "en")}
    dataset = served(file_server, monkeypatch, FILES | more)
    folder = dataset_files.download(dataset)
    assert dataset_files.place_of(dataset) == "cache"
    assert {path.name for path in folder.glob("*.gz")} == set(FILES | more)


def test_every_data_set_is_described_and_its_files_have_an_address():
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.description and dataset.licence and dataset.size and dataset.languages
        offered = {file for remote in dataset.remotes for file in remote.keep}
        wanted = {file for files in dataset.splits.values() for file in dataset_files._names(files, dataset.languages)}
        assert offered == wanted or not offered, name  # some are only in folders of their users
        assert {dataset.validation} <= set(dataset.split_names)
        assert dataset.test is None or dataset.test in dataset.split_names
        assert all(remote.address.startswith("https://") for remote in dataset.remotes)


def test_an_unknown_data_set_lists_the_known():
    with pytest.raises(ConfigError, match=r"data\.dataset: no data set 'multi'; there are multi30k, .*grammar"):
        find_dataset("multi")


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.kind in ("pairs", "generated")])
def test_an_unknown_split_or_language_lists_the_known(name):
    dataset = DATASETS[name]
    source, target = dataset.languages[:2]
    with pytest.raises(ConfigError, match=f"{name} has no split 'x'; it has {', '.join(dataset.split_names)}"):
        open_split(name, "x", source, target)
    for languages in (("xx", target), (source, "xx")):
        with pytest.raises(ConfigError, match=f"{name} has no language 'xx'; it has {', '.join(dataset.languages)}"):
            open_split(name, "train", *languages)
    with pytest.raises(ConfigError, match=f"source and target are both '{source}'"):
        open_split(name, "train", source, source)


def test_text_of_one_language_is_no_data_for_translation():
    with pytest.raises(ConfigError, match="ptb is text of one language, without translations"):
        open_splits(DataConfig(dataset="ptb"), Path())
    with pytest.raises(ConfigError, match=r"multi30k holds sentence pairs; .* tinyshakespeare, ptb, wikitext-2"):
        open_text("multi30k", "train")
    with pytest.raises(ConfigError, match="ptb has no split 'x'; it has train, validation, test"):
        open_text("ptb", "x")


def test_settings_of_generated_sequences_reach_them():
    sizes = SequencesConfig(symbols=4, train=30, validation=20, test=10)
    splits = open_splits(DataConfig(dataset="reverse", sequences=sizes), Path())
    assert splits.test is not None
    assert [len(list(part)) for part in (splits.train[0].corpus, splits.validation, splits.test)] == [30, 20, 10]
    for pair in splits.validation:
        assert pair.target.split() == pair.source.split()[::-1]


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


def write_pairs(path: Path, numbers: range) -> None:
    path.write_text("".join(f"source {n}\ttarget {n % 1000}\n" for n in numbers), encoding="utf-8")


def parts_of(splits: Splits) -> list[set[str]]:
    assert splits.test is not None
    training = {pair.target for each in splits.train for pair in each.corpus}
    return [training, *({pair.target for pair in corpus} for corpus in (splits.validation, splits.test))]


def test_training_files_alone_are_split_by_their_target_sentences_the_same_each_time(tmp_path):
    write_pairs(tmp_path / "a.tsv", range(1500))  # 500 targets come twice
    splits = open_splits(DataConfig(train="a.tsv"), tmp_path)
    training, validation, test = parts_of(splits)
    assert training | validation | test == {f"target {n}" for n in range(1000)}
    assert not training & validation
    assert not training & test
    assert not validation & test
    assert parts_of(open_splits(DataConfig(train="a.tsv"), tmp_path)) == [training, validation, test]
    other = parts_of(open_splits(DataConfig(train="a.tsv", split_seed=2), tmp_path))
    assert other[1] != validation


def test_a_sentence_of_two_training_corpora_is_in_one_part(tmp_path):
    write_pairs(tmp_path / "a.tsv", range(600))
    write_pairs(tmp_path / "b.tsv", range(300, 900))
    corpora = [{"files": "a.tsv"}, {"files": "b.tsv", "weight": 2.0}]
    splits = open_splits(convert({"train": corpora}, DataConfig, "x.toml"), tmp_path)
    training, validation, test = parts_of(splits)
    assert [each.weight for each in splits.train] == [1.0, 2.0]
    assert not training & (validation | test)
    assert splits.validation.name.startswith("the validation part of ")


def test_validation_and_test_parts_of_files_are_cleaned(tmp_path):
    pairs = [f"source {n}\ttarget {n}\n" for n in range(200)] + [f"same {n}\tsame {n}\n" for n in range(200)]
    (tmp_path / "a.tsv").write_text("".join(pairs), encoding="utf-8")
    splits = open_splits(DataConfig(train="a.tsv", cleaning=(Identical(),), validation_share=0.2), tmp_path)
    assert {target.split()[0] for part in parts_of(splits) for target in part} == {"target"}
    dropped: list[str] = []
    list(splits.train[0].corpus.sift(lambda reason, pair: dropped.append(reason)))
    assert dropped == ["with equal sides"] * 200, "counted once, in the training data"


def test_with_test_files_only_a_validation_part_is_drawn(tmp_path):
    write_pairs(tmp_path / "a.tsv", range(900))
    write_pairs(tmp_path / "t.tsv", range(7))
    splits = open_splits(DataConfig(train="a.tsv", test="t.tsv"), tmp_path)
    training, validation, test = parts_of(splits)
    assert len(training) + len(validation) == 900
    assert len(test) == 7


def test_no_test_part_is_drawn_where_its_share_is_0(tmp_path):
    write_pairs(tmp_path / "a.tsv", range(900))
    splits = open_splits(DataConfig(train="a.tsv", test_share=0.0), tmp_path)
    assert splits.test is None
    assert {pair.target for pair in splits.validation}


@pytest.mark.parametrize(
    ("pairs", "held_out"), [(160, 16), (400, 40), (3_000, 164), (29_000, 511), (169_197, 1_234), (2_000_000, 2_000)]
)
def test_the_default_share_gives_enough_pairs_to_measure_and_no_more(pairs, held_out):
    assert pairs * default_share(pairs) == pytest.approx(held_out, rel=0.01)


def test_file_names_and_tables_are_not_mixed(tmp_path):
    config = convert({"train": ["a", {"files": "b.tsv"}], "validation": "v.tsv"}, DataConfig, "x.toml")
    with pytest.raises(ConfigError, match=r"data\.train: file names and tables cannot be mixed.*\[\[data\.train\]\]"):
        open_splits(config, tmp_path)


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        ({}, "give either dataset or train"),
        ({"dataset": "multi30k", "train": "a.tsv"}, "give either dataset or train"),
        ({"dataset": "copy", "validation_share": 0.6, "test_share": 0.4}, "together must be below 1"),
        ({"train": "a.tsv", "validation": "v.tsv", "split": "random"}, "split: validation files are given"),
        ({"train": "a.tsv", "test": "t.tsv", "test_share": 0.1}, "test_share: test files are given"),
        ({"dataset": "multi30k", "sequences": {}}, "sequences: only for the data sets copy and reverse"),
        ({"train": [{"files": "a.tsv", "weight": 0}], "validation": "v.tsv"}, r"train\[0\]\.weight: must be above 0"),
    ],
)
def test_settings_that_contradict_each_other_say_so(tree, pattern):
    with pytest.raises(ConfigError, match=pattern):
        convert(tree, DataConfig, "x.toml")


def test_a_split_for_a_data_set_that_has_one_is_refused():
    with pytest.raises(ConfigError, match=r"data\.split_seed: multi30k has a split of its own; leave it out"):
        open_splits(DataConfig(dataset="multi30k", source="de", target="en", split_seed=2), Path())
