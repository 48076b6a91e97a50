"""Clients' glossaries are durable, belong to their owners, and are refused where they are wrong."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from transduce.apps.serving import glossaries as kept
from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.glossaries import Glossaries, glossary_of, pairs_of, read_entries, tsv_of
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError

PAIR = ("en", "de")


@pytest.fixture
def glossaries(tmp_path: Path) -> Glossaries:
    return Glossaries(tmp_path / "glossaries.sqlite")


def test_what_was_made_is_there_for_its_owner_alone_and_for_the_next_server(glossaries: Glossaries) -> None:
    made = glossaries.create("anna", " Words ", {PAIR: "dog\tHund\ncat\tKatze"})
    assert (made.name, dict(made.dictionaries)) == ("Words", {PAIR: 2})
    again = Glossaries(glossaries.path)
    assert again.list("anna") == [made] and again.list("bob") == []
    assert again.entries("anna", made.id, PAIR) == "dog\tHund\ncat\tKatze"
    for use in (again.info, again.delete, lambda owner, id: again.change(owner, id, "x", {})):
        with pytest.raises(RefusedError, match="not found"):
            use("bob", made.id)  # type: ignore[operator]
    with pytest.raises(RefusedError, match="no dictionary for de to en"):
        again.entries("anna", made.id, ("de", "en"))
    again.delete("anna", made.id)
    assert glossaries.list("anna") == []
    with sqlite3.connect(glossaries.path) as database:
        assert database.execute("select count(*) from dictionaries").fetchone() == (0,)


def test_dictionaries_are_extended_replaced_and_deleted(glossaries: Glossaries) -> None:
    id = glossaries.create("", "a", {PAIR: "dog\tHund\ncat\tKatze"}).id
    glossaries.change("", id, "b", {PAIR: "cat\tKater\ncow\tKuh", ("de", "en"): "Hund\tdog"})
    assert glossaries.entries("", id, PAIR) == "dog\tHund\ncat\tKater\ncow\tKuh"
    assert glossaries.change("", id, None, {PAIR: "ox\tOchse"}, replaces=True).dictionaries[PAIR] == 1
    glossaries.delete("", id, ("de", "en"))
    assert (glossaries.info("", id).name, dict(glossaries.info("", id).dictionaries)) == ("b", {PAIR: 1})
    with pytest.raises(RefusedError, match="no dictionary for de to en"):
        glossaries.delete("", id, ("de", "en"))


@pytest.mark.slow
def test_a_glossary_that_was_made_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "glossaries.sqlite"
    program = (
        "import os, signal, sys\nfrom transduce.apps.serving.glossaries import Glossaries\n"
        "kept = Glossaries(sys.argv[1])\nfor n in range(9):\n"
        "    kept.create('a', str(n), {('en', 'de'): 'dog\\tHund'})\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -9
    assert [info.name for info in Glossaries(path).list("a")] == [str(n) for n in range(9)]


@pytest.mark.parametrize(
    ("text", "form", "message"),
    [
        ("dog Hund", "tsv", "entry 1 has 1 cells"),
        ("dog\tHund\n\ncat\ta\tb", "tsv", "entry 3 has 3 cells"),
        ("dog\t", "tsv", "a term of entry 1 is blank"),
        ("d\x07g\tHund", "tsv", "control characters"),
        ("d\ud800g\tHund", "tsv", "control characters"),
        ("dog\t" + "ü" * 513, "tsv", "more than 1,024 bytes"),
        ("dog\tHund\ndog\tKöter", "tsv", "entry 2 has the source term of another"),
        (" \n", "tsv", "there are none"),
        ('"dog,Hund', "csv", "entries.csv: line 1: its cells cannot be distinguished"),
        ("dog,Hund,en", "csv", "entry 1 has 3 cells"),
    ],
)
def test_entries_that_cannot_be_used_are_refused(text: str, form: str, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as refused:
        read_entries(text, form, ("en", "de"))
    assert refused.value.status == 400


def test_entries_are_read_from_both_forms() -> None:
    expected = tsv_of({"a, b": 'x "y"', "c": "d"})
    assert read_entries('"a, b","x ""y"""\r\n\r\nc,d,EN,DE\r\nd,c,de,en\r\n', "csv", ("en", "de")) == expected
    assert read_entries('a, b\tx "y"\r\nc\td\n', "tsv", ("en", "de")) == expected
    assert tsv_of(dict(pairs_of(expected))) == expected
    assert glossary_of(expected).applying("An A, B and no c.").required == ('x "y"', "d")


def test_too_many_entries_are_refused_before_all_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.apps.serving.glossaries.MOST_ENTRIES", 2)
    with pytest.raises(RefusedError, match="more than 2 entries") as refused:
        read_entries("a\tb\nc\td\ne\tf\nno entry", "tsv", ("en", "de"))
    assert refused.value.status == 413


def test_too_much_of_one_owner_is_refused(glossaries: Glossaries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_GLOSSARIES", 2)
    monkeypatch.setattr(kept, "MOST_ENTRIES", 3)
    monkeypatch.setattr(kept, "MOST_BYTES", 40)
    with pytest.raises(RefusedError, match="has 4 entries, but at most 3"):
        glossaries.create("a", "x", {PAIR: tsv_of(dict.fromkeys("abcd", "e"))})
    assert glossaries.list("a") == []
    glossaries.create("a", "x", {PAIR: "dog\t" + "H" * 30})
    with pytest.raises(RefusedError, match="more than 40 bytes"):
        glossaries.create("a", "y", {PAIR: "dog\t" + "H" * 30})
    glossaries.create("b", "y", {PAIR: "dog\t" + "H" * 30})
    glossaries.create("a", "y", {PAIR: "d\te"})
    with pytest.raises(RefusedError, match="2 glossaries already"):
        glossaries.create("a", "z", {PAIR: "d\te"})
    with pytest.raises(RefusedError, match="name must be"):
        glossaries.create("c", " ", {PAIR: "d\te"})


def test_other_and_damaged_files_are_refused(tmp_path: Path, glossaries: Glossaries) -> None:
    Keys(tmp_path / "keys.sqlite").add("anna")
    with pytest.raises(InputError, match="SQLite file of something else"):
        Glossaries(tmp_path / "keys.sqlite")
    (tmp_path / "text").write_text("no database, but a text that is long enough" * 9)
    with pytest.raises(InputError, match="no file of glossaries that can be used"):
        Glossaries(tmp_path / "text")
    with pytest.raises(InputError, match="cannot be made"):
        Glossaries(tmp_path / "nowhere" / "glossaries.sqlite")
    with sqlite3.connect(glossaries.path) as database:
        database.execute("pragma user_version = 7")
    with pytest.raises(InputError, match="version 7 of glossaries is not known"):
        Glossaries(glossaries.path)
