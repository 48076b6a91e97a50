"""CSV: every text of the column is translated, and nothing else changes."""

import csv
import io
from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from docsegments.messages.tables import Columns
from documents.chance import said, tags
from documents.theorem import in_capitals
from transduce.base.errors import InputError


def rows(data: bytes) -> list[list[str]]:
    text = data.decode("utf-8-sig")
    first = text.split("\n")[0]
    delimiter = max(",;\t", key=first.count)
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def shown(data: bytes) -> list[str]:
    return [said(row[1]) for row in rows(data)[1:] if len(row) > 1]


def skeleton(data: bytes) -> Any:
    found = rows(data)
    others = [[cell if n != 1 else tags(cell) for n, cell in enumerate(row)] for row in found[1:]]
    return [found[0][0], *found[0][2:]], others, data.count(b"\r\n"), data[:3]


def test_a_filled_target_stays_and_an_empty_one_is_filled() -> None:
    data = b'id;en;de\r\n1;the dog;\r\n2;"a; ""b"" cat";"Die ""Katze"""\r\n3;three\r\n;;\r\n'
    assert in_capitals(data, "a.csv").data == data.replace(b"dog;", b"dog;THE DOG").replace(b";three", b";three;THREE")
    again = in_capitals(data, "a.csv", retranslate=True).data
    assert again.splitlines()[2] == b'2;"a; ""b"" cat";"A; ""B"" CAT"'


def test_what_weblate_marks_as_fuzzy_is_translated_anew() -> None:
    data = b"source,target,fuzzy\nthe dog,x,True\nthe cat,y,False\n"
    assert in_capitals(data, "a.csv").data == b"source,target,fuzzy\nthe dog,THE DOG,True\nthe cat,y,False\n"


def test_columns_are_chosen_by_names_or_by_numbers() -> None:
    data = b"one,two,Deutsch\nthe dog,the cat,\n"
    for columns, wanted in (
        (Columns("two"), b"one,two,Deutsch\nthe dog,THE CAT,\n"),
        (Columns("TWO", "deutsch"), b"one,two,Deutsch\nthe dog,the cat,THE CAT\n"),
        (Columns("2"), b"one,TWO,Deutsch\nthe dog,THE CAT,\n"),
        (Columns("2", "3"), b"one,two,Deutsch\nthe dog,the cat,THE CAT\n"),
    ):
        assert in_capitals(data, "a.csv", columns=columns).data == wanted
    for columns, words in ((Columns("four"), "no column 'four'"), (Columns("9"), "no column '9'")):
        with pytest.raises(InputError, match=f"{words}; its first row is 'one', 'two', 'Deutsch'"):
            read_document(data, "a.csv", columns=columns)
    with pytest.raises(InputError, match="only CSV has columns"):
        read_document(b"{}", "a.json", columns=Columns("a"))


def test_a_column_called_by_the_language_is_called_by_the_other_one() -> None:
    assert in_capitals(b"keys,en\nA,the dog\n", "a.csv").data == b"keys,de\nA,THE DOG\n"


def test_quotation_marks_of_tsv_may_be_text() -> None:
    data = b'source\ttarget\n"the" dog\t\nit is "so"\tx\n'
    assert in_capitals(data, "a.tsv").data == b'source\ttarget\n"the" dog\t"THE" DOG\nit is "so"\tx\n'


def test_rows_have_names() -> None:
    units = read_document(b"id,source\nhome,the dog\n", "a.csv", Languages("en", "de")).units
    assert [(unit.id, unit.where) for unit in units] == [("home", "line 2")]
