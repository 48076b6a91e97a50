"""Tables of terms and pairs say the same however a program wrote them: marks, separators, quotes, and languages."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.memory import Memory
from docsegments.messages.tables import rows_in_direction, rows_of
from transduce.base.errors import InputError
from transduce.corpora.formats import parallel_files
from transduce.text.glossary import Glossary

EN_DE = Languages("en", "de")
WORDS = st.text(st.sampled_from("abcé %;,\"'ß1"), min_size=1, max_size=7).map(
    lambda text: f"x{' '.join(text.split())}x"
)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5, unique_by=lambda pair: pair[0])


@dataclass(frozen=True)
class Way:
    """A way in which a program writes a table."""

    sign: str
    has_mark: bool
    says_sign: bool
    quotes: bool
    languages: tuple[str, str] | None

    def written(self, pairs: list[tuple[str, str]]) -> bytes:
        """The table, where rows name their languages with one of the other direction after each."""
        named = [] if self.languages is None else list(self.languages)
        rows = [[*pair, *named] for pair in pairs]
        if named:
            rows = [each for row in rows for each in (row, [f"{row[1]}!", row[0], *reversed(named)])]
        text = io.StringIO()
        if self.sign == "\t":
            text.writelines("\t".join(row) + "\r\n" for row in rows)
        else:
            quoting = csv.QUOTE_ALL if self.quotes else csv.QUOTE_MINIMAL
            csv.writer(text, delimiter=self.sign, quoting=quoting).writerows(rows)
        before = f"sep={self.sign}\r\n" if self.says_sign else ""
        return (("\ufeff" if self.has_mark else "") + before + text.getvalue()).encode()


CODES = st.sampled_from([None, ("EN", "DE"), ("en-US", "de"), ("en", "de_AT")])
WAYS = st.builds(Way, st.sampled_from(",;\t"), st.booleans(), st.booleans(), st.booleans(), CODES)


def check_sign(way: Way) -> Way:
    """A sign that occurs in cells without quotes is told or quoted by each program that writes it."""
    return way if way.sign == "\t" else Way(way.sign, way.has_mark, True, way.quotes, way.languages)


@settings(max_examples=150)
@given(PAIRS, WAYS.map(check_sign))
def test_every_reader_finds_the_pairs_of_its_direction(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], way: Way
) -> None:
    """Glossaries, memories, and pairs to train with."""
    data, is_tab = way.written(pairs), way.sign == "\t"
    path = tmp_path_factory.mktemp("tables") / ("table.tsv" if is_tab else "table.csv")
    path.write_bytes(data)
    glossary = Glossary.read(path, "en", "de")
    assert [(entry.source, entry.target) for entry in glossary.entries] == pairs
    assert all(glossary.applying(f"- {source} -").required for source, _ in pairs)
    corpus = parallel_files([path], languages=("en", "de"))
    assert [(pair.source, pair.target) for pair in corpus] == pairs
    if is_tab:
        known = Memory.read(path, EN_DE).pairs
        assert {source: target.one_line for source, (_, target) in known.items()} == dict(pairs)


@settings(max_examples=60)
@given(PAIRS, WAYS.map(check_sign).filter(lambda way: way.sign in ",\t"))
def test_a_served_glossary_has_the_same_entries(pairs: list[tuple[str, str]], way: Way) -> None:
    """By the API of DeepL, whose clients read the file and send its text."""
    pytest.importorskip("starlette")
    from transduce.apps.serving.glossaries import pairs_of, read_entries

    text = way.written(pairs).decode()
    assert pairs_of(read_entries(text, "tsv" if way.sign == "\t" else "csv", ("en", "de"))) == pairs


def test_a_header_of_four_columns_is_no_row_and_languages_in_it_name_columns(tmp_path: Path) -> None:
    """The columns of a header may be called by languages, or be those of DeepL's tables."""
    (tmp_path / "named.csv").write_text("id,note,de,en\n1,x,Hund,dog\n2,y,no,is\n")
    entries = Glossary.read(tmp_path / "named.csv", "en", "de").entries
    assert [(entry.source, entry.target) for entry in entries] == [("dog", "Hund"), ("is", "no")]
    (tmp_path / "deepl.csv").write_text("Source,Target,source_lang,target_lang\ndog,Hund,EN,DE\nHund,dog,DE,EN\n")
    assert [entry.source for entry in Glossary.read(tmp_path / "deepl.csv", "en", "de").entries] == ["dog"]


def test_the_rows_of_another_direction_are_other_contents(tmp_path: Path) -> None:
    """By which stores and held-out pairs are found in the cache."""
    (tmp_path / "both.csv").write_text("dog,Hund,EN,DE\nHund,dog,DE,EN\n")
    there, back = (parallel_files([tmp_path / "both.csv"], languages=both) for both in (("en", "de"), ("de", "en")))
    assert there.content() != back.content() and next(iter(there)).source == next(iter(back)).target == "dog"


def test_rows_of_several_directions_need_the_languages() -> None:
    """With one direction alone, or with languages that are no codes, there is nothing to choose."""
    one, both = "dog,Hund,EN,DE\ncat,Katze,EN,DE", "dog,Hund,EN,DE\nHund,dog,DE,EN"
    for unknown in [("", ""), ("source", "target")]:
        rows = rows_in_direction(rows_of(one.split("\n"), "t.csv"), "t.csv", *unknown)
        assert [cells for _, cells in rows] == [["dog", "Hund"], ["cat", "Katze"]]
        with pytest.raises(InputError, match=r"t\.csv: line 2 is from DE to EN, others are not"):
            list(rows_in_direction(rows_of(both.split("\n"), "t.csv"), "t.csv", *unknown))


def test_line_numbers_count_the_line_that_names_the_sign() -> None:
    """In tables of pairs, and in documents."""
    for sign in ",\t":
        assert [number for number, _ in rows_of([f"\ufeffsep={sign}", "a", "b"], "t.csv")] == [2, 3]
    with pytest.raises(InputError, match="line 3"):
        list(rows_of(["sep=;", "a;b", 'c;"d" e'], "t.csv"))


def test_a_document_keeps_the_line_that_names_the_sign() -> None:
    """Its cells are translated, and those of the first row after it name the columns."""
    data = '\ufeffsep=|\r\nid|source\r\n1|"A dog, a cat; and"\r\n'.encode()
    document = read_document(data, "t.csv", EN_DE)
    assert [unit.source.text for unit in document.units] == ["A dog, a cat; and"]
    edits = [edit for unit in document.units for edit in unit.write(unit.source)]
    assert document.save(edits) == data
