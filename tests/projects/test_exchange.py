"""Final units of files become segments once, and glossaries come in and go out without loss."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Languages
from transduce.apps.projects.project import Project, Projects
from transduce.apps.projects.project_files import glossary_ending, learn_file, write_glossary
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.project_store import StoreError
from transduce.apps.projects.translation_facts import Learning
from transduce.apps.projects.watching import Watcher
from transduce.base.errors import DataError, InputError
from transduce.text.glossary import Entry, Glossary

EN_DE = Languages("en", "de")
PO = """
msgid ""
msgstr "Language: de\\n"

msgctxt "verb"
msgid "Open"
msgstr "Öffnen"

msgctxt "adjective"
msgid "Open"
msgstr "Offen"

msgid "<b>%s</b> saved\\n"
msgstr "<b>%s</b> gespeichert\\n"

#, fuzzy
msgid "Close"
msgstr "Schließen"

msgid "Later"
msgstr ""
"""
XLIFF_1 = """<xliff version="1.2"><file source-language="en" target-language="de" original="a" datatype="x"><body>
<trans-unit id="1"><source>new</source><target state="new">neu</target></trans-unit>
<trans-unit id="2"><source>look</source><target state="needs-review-translation">schau</target></trans-unit>
<trans-unit id="3"><source>done</source><target state="final">fertig</target></trans-unit>
<trans-unit id="4" approved="yes"><source>good</source><target state="needs-adaptation">gut</target></trans-unit>
<trans-unit id="5"><source>A <g id="1">dog</g> &amp; a cat</source>
<target>Ein <g id="1">Hund</g> &amp; eine Katze</target></trans-unit>
<trans-unit id="6"><source>nothing</source></trans-unit>
</body></file></xliff>"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><file id="f">
<unit id="1"><segment state="translated"><source>look</source><target>schau</target></segment></unit>
<unit id="2"><segment state="final"><source>done</source><target>fertig</target></segment></unit>
<unit id="3"><segment state="reviewed"><source>good</source><target>gut</target></segment></unit>
<unit id="4"><segment state="initial"><source>new</source><target>neu</target></segment></unit></file></xliff>"""
# as OmegaT writes it: tags as text, and translations for one place only
TMX = """<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1"><header creationtool="OmegaT" o-tmf="OmegaT TMX" adminlang="EN-US" datatype="plaintext"
creationtoolversion="6.0" segtype="sentence" srclang="EN-US"/><body>
<tu><tuv lang="EN-US"><seg>A &lt;b0&gt;dog&lt;/b0&gt; runs.</seg></tuv>
<tuv lang="DE" changeid="me" changedate="20260101T000000Z"><seg>Ein &lt;b0&gt;Hund&lt;/b0&gt; rennt.</seg></tuv></tu>
<tu><prop type="file">a.txt</prop><prop type="id">2</prop><tuv lang="EN-US"><seg>A cat.</seg></tuv>
<tuv lang="DE"><seg>Eine Katze.</seg></tuv></tu>
<tu><prop type="file">a.txt</prop><prop type="id">3</prop><tuv lang="EN-US"><seg>A cat.</seg></tuv>
<tuv lang="DE"><seg>Ein Kater.</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        (
            "a.po",
            PO,
            [("Open", "Öffnen"), ("Open", "Offen"), ("<b>%s</b> saved", "<b>%s</b> gespeichert")],
        ),
        ("a.xlf", XLIFF_1, [("done", "fertig"), ("good", "gut"), ("A dog & a cat", "Ein Hund & eine Katze")]),
        ("a.xliff", XLIFF_2, [("done", "fertig"), ("good", "gut")]),
        (
            "project_save.tmx",
            TMX,
            [
                ("A <b0>dog</b0> runs.", "Ein <b0>Hund</b0> rennt."),
                ("A cat.", "Eine Katze."),
                ("A cat.", "Ein Kater."),
            ],
        ),
    ],
)
def test_final_units_are_confirmed_once(
    tmp_path: Path, project: Project, name: str, text: str, pairs: list[tuple[str, str]]
) -> None:
    if name.endswith(".po"):
        pytest.importorskip("polib")
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert [(segment.source, segment.target) for segment in learn_file(project, file)] == pairs
    assert learn_file(project, file) == []
    source, target = pairs[-1]
    written = target.rpartition(" ")[2]
    file.write_text(text.replace(written, f"{written}!"), encoding="utf-8")
    (changed,) = learn_file(project, file)
    assert (changed.source, changed.target) == (source, f"{target}!")
    assert [event.facts["segments"] for event in project.store.events()] == [len(pairs), 1]


def test_a_fuzzy_unit_is_confirmed_when_it_is_final(tmp_path: Path, project: Project) -> None:
    pytest.importorskip("polib")
    file = tmp_path / "a.po"
    file.write_text(PO, encoding="utf-8")
    learn_file(project, file)
    file.write_text(PO.replace("#, fuzzy\n", ""), encoding="utf-8")
    assert [segment.source for segment in learn_file(project, file)] == ["Close"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.docx", "x", "of the ending .tmx, .po"),
        ("a.txt", "x", "of the ending .tmx, .po"),
        ("a.tmx", TMX[:300], "not well-formed"),
        ("a.tmx", "", "is empty"),
        ("a.tmx", TMX.replace("EN-US", "FR"), "no text in 'en'"),
        ("a.xlf", XLIFF_1.replace('"de"', '"fr"'), "its target language is 'fr', not 'de'"),
        ("a.xlf", XLIFF_1.replace('"en"', '"it"'), "its source language is 'it', not 'en'"),
        ("a.po", PO.replace("Language: de", "Language: fr"), "its target language is 'fr', not 'de'"),
        ("a.po", PO + 'msgid "', "a.po"),
    ],
)
def test_other_files_are_refused_and_change_nothing(
    tmp_path: Path, project: Project, name: str, text: str, words: str
) -> None:
    pytest.importorskip("polib")
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        learn_file(project, file)
    assert project.store.revision() == 0


_FORMS = st.lists(st.text('ab;;,|"', min_size=1), max_size=2, unique=True).map(tuple)
_TERM = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1).filter(str.strip)


def read_glossary(data: bytes, kind: str) -> Glossary:
    """Read a glossary as a server does in a process of its own."""
    return Glossary.parse(io.BytesIO(data), f"glossary{glossary_ending(kind)}", "en", "de")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["text/tab-separated-values", "text/csv", "application/x-tbx"]),
    st.lists(st.builds(Entry, _TERM, _TERM, st.booleans(), _FORMS, _FORMS), min_size=1, max_size=4),
)
def test_a_glossary_out_and_in_is_the_same(kind: str, entries: list[Entry]) -> None:
    read = read_glossary(write_glossary(entries, kind, EN_DE), kind)
    assert list(read.entries) == entries


def test_glossaries_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="a term base cannot hold"):
        write_glossary([Entry("", "Hund")], "application/x-tbx", EN_DE)
    for kind in ("", "text/plain"):
        with pytest.raises(InputError, match="no kind of glossary"):
            read_glossary(b"a\tb\n", kind)
    with pytest.raises(DataError, match=r"^glossary\.tsv: line 2"):
        read_glossary(b"a\tb\nc\n", "text/tab-separated-values")
    with pytest.raises(InputError, match=r"^glossary\.tbx: "):
        read_glossary(b"<tbx>", "application/x-tbx")


@pytest.mark.parametrize("name", ["glossary.tsv", "glossary.csv"])
def test_of_a_table_with_too_many_entries_only_the_first_are_read(name: str) -> None:
    read = []

    def lines() -> Iterator[bytes]:
        for number in range(1000):
            read.append(number)
            yield b"a\tb\n" if name.endswith("tsv") else b"a,b\n"

    with pytest.raises(DataError, match="more than 20 entries"):
        Glossary.parse(lines(), name, "en", "de", most=20)  # type: ignore[arg-type]
    assert len(read) < 30


class _Told(Learning):
    def __init__(self) -> None:
        self.revisions: list[int] = []

    def changed(self, project: Project) -> None:
        self.revisions.append(project.store.revision())


def test_a_watched_file_is_learned_from_when_it_stays_and_what_others_confirm_is_told(tmp_path: Path) -> None:
    file, folder = tmp_path / "project_save.tmx", tmp_path / "projects"
    settings = ProjectSettings(source="en", target="de", watch=("../../project_save.tmx", "missing.tmx"))
    Project.create(folder / "shop", settings).close()
    projects, told = Projects(folder), _Told()
    project = projects.find("shop")
    watcher = Watcher(projects, told, pause=3600)
    stamps = iter(range(1_000_000_000, 2_000_000_000))

    def look_after(text: str, times: int = 2) -> int:
        file.write_text(text, encoding="utf-8")
        os.utime(file, (stamp := next(stamps), stamp))
        for _ in range(times):
            watcher.look(project)
        return project.store.count()

    try:
        watcher.look(project)
        assert told.revisions == [0]
        assert look_after(TMX[:-100], times=1) == 0  # half of it is written
        assert look_after(TMX) == 3
        assert look_after(TMX) == 3
        assert look_after(TMX[:-100]) == 3
        assert project.store.events(last=1)[0].kind == "refused"
        assert look_after(TMX.replace("Kater", "Tiger")) == 4
        other = Project.open(folder / "shop")
        other.store.confirm("from elsewhere", "", "von woanders")
        other.close()
        watcher.look(project)
        assert told.revisions == [0, 3, 4, 5]
        restored = Project.create(
            folder / "backup", project.settings
        )  # as if its file were put in the place of the other
        for _ in range(2):
            watcher.look(restored)
        assert restored.store.count() == 3
        restored.close()
    finally:
        watcher.close()
        projects.close()


@pytest.mark.parametrize("kind", ["waits", "fails"])
def test_one_project_that_cannot_be_watched_does_not_hold_up_others(
    tmp_path: Path, caplog: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    projects, told, end = Projects(tmp_path), _Told(), Event()
    broken, whole = projects.create("a", "en", "de"), projects.create("b", "en", "de")

    def revision() -> int:
        if kind == "waits":
            end.wait(60)
        raise StoreError("locked")

    monkeypatch.setattr(broken.store, "revision", revision)
    watcher = Watcher(projects, told, pause=0.01)
    whole.store.confirm("a", "", "b")
    for _ in range(1000):
        if told.revisions[-1:] == [1]:
            break
        watcher._is_closed.wait(0.01)
    watcher._is_closed.wait(0.1)  # for some looks
    end.set()
    watcher.close()
    projects.close()
    assert told.revisions[-1] == 1
    assert caplog.text.count("a cannot be watched now") == 1
