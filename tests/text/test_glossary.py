"""Glossary files: which entries a source line calls for."""

from pathlib import Path

import pytest

from transduce.errors import DataError
from transduce.text.glossary import Glossary


def glossary(folder: Path, text: str) -> Glossary:
    path = folder / "glossary.tsv"
    path.write_text(text, encoding="utf-8")
    return Glossary.read(path)


def test_entries_apply_to_lines_that_hold_their_term_as_whole_words(tmp_path: Path) -> None:
    found = glossary(tmp_path, "Hund\thound\n\tplease\n\nder Hund\tthe hound\nHund\tdog\tban\n\tugly\tban\n")
    assert found.required("Hier ist der hund!") == ("hound", "please", "the hound")
    assert found.banned("Hier ist der hund!") == ("dog", "ugly")
    assert found.required("Hunde bellen.") == ("please",)
    assert found.banned("Hunde bellen.") == ("ugly",)
    assert found.requires_any
    assert not glossary(tmp_path, "\tugly\tban\n").requires_any


@pytest.mark.parametrize(
    ("term", "line"),
    [
        ("自行车", "我有一辆自行车。"),
        ("จักรยาน", "เขามีจักรยานสองคัน"),
        ("Fahrrad", "Ein Fahr\u00adrad."),
        ("café", "Un cafe\u0301 !"),
    ],
)
def test_a_term_is_found_in_every_script_and_however_it_is_encoded(tmp_path: Path, term: str, line: str) -> None:
    assert glossary(tmp_path, f"{term}\tX\n").required(line) == ("X",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Hund\thound\nHund\n", "line 2 is 'Hund'; expected a source term, a tab and a target phrase"),
        ("Hund\t\n", "line 1"),
        ("Hund\tdog\tbanned\n", "line 1"),
        ("\n", "the glossary is empty"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        glossary(tmp_path, text)
