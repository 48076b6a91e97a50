"""A corpus of several files is read as one, and each file has a store of its own."""

import gzip
from pathlib import Path

import pytest

from transduce.base.errors import DataError
from transduce.corpora.cleaning import Duplicates, Identical
from transduce.corpora.corpus import SentencePair
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.shards import open_corpus, shards_of
from transduce.corpora.splits import open_splits
from transduce.corpora.splitting import PartFilter, Split


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")


def pairs(*texts: str) -> list[SentencePair]:
    return [SentencePair(*text.split()) for text in texts]


def test_patterns_name_files_in_the_order_of_their_names(tmp_path):
    write(tmp_path, b_tsv="b\tB\n", a_tsv="a\tA\n", c_jsonl='{"source": "c", "target": "C"}\n', d_en="d\n", e_en="e\n")
    write(tmp_path, d_de="D\n", e_de="E\n")
    assert list(open_corpus([tmp_path / "*.tsv"])) == pairs("a A", "b B")
    assert list(open_corpus([tmp_path / "c.jsonl", tmp_path / "?.tsv"])) == pairs("c C", "a A", "b B")
    assert list(open_corpus([tmp_path / "*.en", tmp_path / "*.de"])) == pairs("d D", "e E")
    assert shards_of([tmp_path / name for name in ("d.en", "e.en", "d.de", "e.de")]) == [
        [tmp_path / "d.en", tmp_path / "d.de"],
        [tmp_path / "e.en", tmp_path / "e.de"],
    ]
    write(tmp_path / ".", **{"[x]_tsv": "x\tX\n"})
    assert list(open_corpus([tmp_path / "[x].tsv"])) == pairs("x X")


def test_patterns_that_match_nothing_or_too_little_are_errors(tmp_path):
    write(tmp_path, a_en="a\n", b_en="b\n", c_en="c\n", a_de="A\n")
    with pytest.raises(DataError, match=r"\*\.fr: no file matches this pattern"):
        open_corpus([tmp_path / "*.en", tmp_path / "*.fr"])
    with pytest.raises(DataError, match=r"3 and 1 files; expected files of pairs, or sources and then as many targets"):
        open_corpus([tmp_path / "*.en", tmp_path / "*.de"])


def test_a_changed_or_added_file_leaves_the_parts_of_the_others_as_they_are(tmp_path):
    write(tmp_path, a_tsv="a\tA\n", b_tsv="b\tB\n")

    def parts(*filters):
        return [part.content() for part in open_corpus([tmp_path / "*.tsv"]).filtered(filters).parts]

    filters = (Identical(), PartFilter("train", Split(), "target"))
    first, second = parts(*filters)
    write(tmp_path, b_tsv="b\tC\n", c_tsv="c\tC\n")
    changed = parts(*filters)
    assert changed[0] == first
    assert second not in changed
    assert len(set(changed)) == 3
    assert len(parts(Duplicates())) == 1, "what a file keeps depends on those before"
    assert len(parts(PartFilter("train", Split("random"), "target"))) == 1


def test_settings_name_patterns_and_columns(tmp_path):
    write(tmp_path, a_tsv="de\ten\nA\ta\n", b_tsv="de\ten\nB\tb\n", dev_tsv="v\tV\n")
    for train in ("?.tsv", ["?.tsv"], ["a.tsv", "b.tsv"]):
        splits = open_splits(DataConfig(train=train, validation="dev.tsv", columns=["en", "de"]), tmp_path)
        assert list(splits.train[0].corpus) == pairs("a A", "b B")
        assert [list(part) for part in splits.train[0].corpus.reversed.parts] == [pairs("A a"), pairs("B b")]


@pytest.mark.parametrize(
    ("paths", "languages", "is_refused"),
    [
        (("dev.de", "dev.en"), ("en", "de"), True),
        (("dev.de", "dev.en"), ("de", "en"), False),
        (("dev.de", "dev.en"), UNKNOWN, False),
        (("dev.deu.gz", "dev.eng.gz"), ("eng", "deu"), True),
        (("dev-de.txt", "dev-en.txt"), ("en", "de"), True),
        (("dev.a", "dev.b"), ("en", "de"), False),
        (("dev.fr", "dev.it"), ("en", "de"), False),
    ],
)
def test_two_files_in_the_other_order_by_their_names_are_refused(
    tmp_path: Path, paths: tuple[str, str], languages: tuple[str, str], is_refused: bool
) -> None:
    files = [tmp_path / name for name in paths]
    for file in files:
        text = b"a line\n"
        file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    if not is_refused:
        assert len(list(open_corpus(files, None, languages))) == 1
        return
    with pytest.raises(DataError, match=f"the source is {languages[0]} and the target {languages[1]}"):
        open_corpus(files, None, languages)
