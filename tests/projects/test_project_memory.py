"""A project's memory has what was confirmed last, then what was given, and is never behind the store."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document import Languages
from docsegments.memory import pairs_of_tmx
from docsegments.messages.tmx import write_tmx
from transduce.apps.projects.project_memory import ProjectMemory
from transduce.apps.projects.project_store import Store
from transduce.base.errors import InputError

EN_DE = Languages("en", "de")


def test_the_newest_of_a_source_wins_and_taking_it_back_gives_the_one_before(store: Store) -> None:
    memory = ProjectMemory(store)
    memory.replace([("A dog runs.", "given"), ("A cat.", "Eine Katze.")])

    def target() -> tuple[str, int | None]:
        (match,) = memory.find("A  dog\nruns.")
        assert match.similarity == 1
        return match.target, match.segment

    assert target() == ("given", None)
    first, second = (store.confirm("A dog runs.", "", target).id for target in ("first", "second"))
    assert target() == ("second", second)
    store.take_back(second)
    assert target() == ("first", first)
    memory.replace([("A dog runs.", "other")])
    assert target() == ("first", first)
    store.take_back(first)
    assert target() == ("other", None)
    assert memory.find("A cat.") == [] and len(memory) == 1


def test_a_source_after_the_same_one_has_its_own_translation(store: Store) -> None:
    memory = ProjectMemory(store)
    first, second = (
        store.confirm("Open", "", target, before=before).id
        for target, before in (("Öffnen", "File  menu"), ("Offen", "State of the shop"))
    )
    found = [memory.find("Open", before=before) for before in ("File menu", "State of  the shop", "other", "")]
    assert [(one.target, one.segment, one.in_context) for (one,) in found] == [
        ("Öffnen", first, True), ("Offen", second, True), ("Offen", second, False), ("Offen", second, False),
    ]  # fmt: skip
    assert memory.in_context()["File menu", "Open"] == ("Open", "Öffnen")
    documents = memory.for_documents()
    assert documents["File menu\nOpen"][1] == "Öffnen" and documents["Open"][1] == "Offen"
    store.take_back(first)
    (one,) = memory.find("Open", before="File menu")
    assert (one.target, one.in_context) == ("Offen", False)


def test_similar_sources_come_closest_first(store: Store) -> None:
    pytest.importorskip("rapidfuzz")
    memory = ProjectMemory(store)
    for animal in ("big dog", "dog", "small brown dog", "horse and a cow"):
        store.confirm(f"A {animal} runs on the beach.", "", animal)
    matches = memory.find("A dog runs on the peach.")
    assert [match.target for match in matches] == ["dog", "big dog", "small brown dog"]
    similarities = [match.similarity for match in matches]
    assert similarities == sorted(similarities, reverse=True) and 0.7 <= similarities[-1] < similarities[0] < 1
    assert memory.find("A dog runs on the peach.", 1) == matches[:1]
    assert memory.find("A dog runs on the peach.", 0) == []


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=12))
def test_it_is_that_of_a_store_read_anew(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, bool, bool]]
) -> None:
    path = tmp_path_factory.mktemp("memory") / "project.sqlite"
    ours, theirs = Store.create(path), Store(path)  # as two processes
    memory = ProjectMemory(ours)
    for number, (source, is_ours, is_back) in enumerate(changes):
        store = ours if is_ours else theirs
        segment = store.confirm(source, "", f"{source} {number}", before=source if number % 3 else "")
        if number % 2:
            memory.find(source)
        if is_back:
            theirs.take_back(segment.id)
    anew = ProjectMemory(theirs)
    assert (memory.pairs(), memory.in_context()) == (anew.pairs(), anew.in_context())
    ours.close()
    theirs.close()


_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"])).map(str.strip).filter(lambda text: text.split())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=4, unique_by=lambda pair: " ".join(pair[0].split())))
def test_tmx_out_and_in_gives_the_same(pairs: list[tuple[str, str]]) -> None:
    assert pairs_of_tmx(write_tmx(pairs, EN_DE), "memory.tmx", EN_DE) == pairs


def test_a_note_names_the_characters_that_a_tmx_file_cannot_hold() -> None:
    data = write_tmx([("a\x07b\x07", "c\x0b"), ("d", "e")], Languages("en", "de"))
    assert data.count(b"<note>") == 1 and b"<note>left out, since XML cannot hold it: U+0007 U+000B</note>" in data
    assert pairs_of_tmx(data, "a.tmx", Languages("en", "de")) == [("ab", "c"), ("d", "e")]


def test_other_programs_read_our_tmx(tmp_path: Path) -> None:
    tmxfile = pytest.importorskip("translate.storage.tmx").tmxfile
    pairs = [("A <b>dog</b> & cat", "Ein <b>Hund</b> & Katze"), ("one\ntwo", "eins\nzwei")]
    read = tmxfile.parsestring(write_tmx(pairs, EN_DE), sourcelanguage="en", targetlanguage="de")
    assert [(unit.source, unit.target) for unit in read.units] == pairs


def test_a_memory_in_other_languages_is_refused() -> None:
    tmx = write_tmx([("a", "b")], Languages("en", "fr"))
    with pytest.raises(InputError, match="no translations from 'en' to 'de'"):
        pairs_of_tmx(tmx, "memory.tmx", EN_DE)
    with pytest.raises(InputError, match="'it'"):
        pairs_of_tmx(tmx, "memory.tmx", Languages("it", "de"))
