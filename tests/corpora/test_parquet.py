"""Pairs in Parquet files are read by the names of their columns, and written."""

import pytest

from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import parallel_files
from transduce.corpora.pair_files import write_pairs

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed (transduce[parquet])")
parquet = pytest.importorskip("pyarrow.parquet")

PAIRS = [SentencePair(f"s {i}\n\t", f"t {i}") for i in range(5000)]


def write(path, columns):
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_what_is_written_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("transduce.corpora.parquet.ROWS_OF_A_GROUP", 1500)
    assert write_pairs([tmp_path / "a.parquet"], iter(PAIRS)) == len(PAIRS)
    assert list(parallel_files([tmp_path / "a.parquet"])) == PAIRS
    assert parquet.ParquetFile(tmp_path / "a.parquet").num_row_groups == 4
    assert write_pairs([tmp_path / "none.parquet"], []) == 0
    assert list(parallel_files([tmp_path / "none.parquet"])) == []


@pytest.mark.parametrize(
    ("columns", "asked", "languages"),
    [
        ({"source": ["a", "b"], "target": ["A", "B"]}, None, ("", "")),
        ({"id": [1, 2], "de": ["A", "B"], "en": ["a", "b"]}, None, ("en", "de")),
        ({"translation": [{"de": "A", "en": "a"}, {"de": "B", "en": "b"}]}, None, ("en", "de")),
        ({"x": ["a", "b"], "y": ["A", "B"]}, ["x", "y"], ("", "")),
        ({"x": ["A", "B"], "y": ["a", "b"]}, [2, 1], ("", "")),
    ],
)
def test_columns_are_found_by_names_languages_and_numbers(tmp_path, columns, asked, languages):
    corpus = parallel_files([write(tmp_path / "a.parquet", columns)], asked, languages)
    assert list(corpus) == [SentencePair("a", "A"), SentencePair("b", "B")]


def test_what_is_no_text_or_no_parquet_is_an_error(tmp_path):
    rows = write(tmp_path / "a.parquet", {"source": ["a", None], "target": ["A", "B"]})
    with pytest.raises(DataError, match=r"a\.parquet: row 2 has no text in column 'source'"):
        list(parallel_files([rows]))
    with pytest.raises(DataError, match=r"a\.parquet: no column 'x'; it has source, target \(set data\.columns\)"):
        list(parallel_files([rows], ["x", "target"]))
    (tmp_path / "b.parquet").write_bytes(rows.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"b\.parquet: cannot be read as Parquet"):
        list(parallel_files([tmp_path / "b.parquet"]))
