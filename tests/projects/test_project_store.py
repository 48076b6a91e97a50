"""What people confirmed stays, whatever happens to the program; damaged and foreign files are refused as they are."""

import os
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.apps.projects.project_store import FileUnit, Store, StoreError, UnknownSegmentError
from transduce.base.errors import InputError
from transduce.text.glossary import Entry


def test_segments_come_back_in_order_and_those_taken_back_do_not(store: Store) -> None:
    segments = [store.confirm(f"source {n}", "machine", f"target {n}") for n in range(5)]
    store.take_back(segments[1].id)
    store.take_back(segments[4].id)
    reopened = Store(store.path)
    assert reopened.segments() == [segments[0], *segments[2:4]]
    assert reopened.segments(after=segments[0].id, most=1) == [segments[2]]
    assert (reopened.revision(), reopened.count()) == (7, 3)
    reopened.close()


def test_a_segment_is_taken_back_once(store: Store) -> None:
    id = store.confirm("a", "", "b").id
    store.take_back(id)
    for unknown in (id, 0, -1, 2**80):
        with pytest.raises(UnknownSegmentError, match="there is no segment"):
            store.take_back(unknown)


@pytest.mark.parametrize(
    ("source", "target", "words"), [(" ", "b", "source"), ("a", "\n", "target"), ("a", "\ud800", "half")]
)
def test_what_is_no_translation_is_not_confirmed(store: Store, source: str, target: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        store.confirm(source, "", target)
    with pytest.raises(InputError, match=words):
        store.confirm_units("f", [FileUnit("0", "a", "b"), FileUnit("1", source, target)], "po")
    assert store.revision() == 0


def test_threads_lose_nothing(store: Store) -> None:
    with ThreadPoolExecutor(5) as pool:
        ids = list(pool.map(lambda n: store.confirm(f"source {n}", "", f"target {n}").id, range(60)))
    assert sorted(ids) == list(range(1, 61))
    assert {segment.id: segment.source for segment in store.segments()} == {
        id: f"source {n}" for n, id in enumerate(ids)
    }


def test_each_call_waits_for_the_disk(store: Store) -> None:
    assert store._database.execute("pragma journal_mode").fetchone() == ("wal",)
    assert store._database.execute("pragma synchronous").fetchone() == (2,)  # FULL


def _confirm_until_killed(path: Path, answers: int) -> None:
    """Confirms segments, takes every third one back, and writes a line for each call that has returned."""
    store = Store(path)
    with os.fdopen(answers, "w", buffering=1) as stream:
        while True:
            id = store.confirm("source", "machine", f"by {os.getpid()}").id
            print("confirmed", id, file=stream)
            if id % 3 == 0:
                store.take_back(id)
                print("back", id, file=stream)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 2, 11, 37])
def test_a_killed_process_loses_nothing_that_was_answered(store: Store, calls: int) -> None:
    answered: dict[int, str] = {}
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _confirm_until_killed(store.path, writer)
        os.close(writer)
        with os.fdopen(reader) as stream:
            lines = [stream.readline() for _ in range(calls)]
            os.kill(child, signal.SIGKILL)
            lines += stream.readlines()  # what it wrote before it died
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        for kind, id in (line.split() for line in lines if line.endswith("\n")):
            answered[int(id)] = kind
    reopened = Store(store.path)
    left = {segment.id for segment in reopened.segments()}
    assert {id for id, kind in answered.items() if kind == "back"}.isdisjoint(left)
    unsure = {max(answered), max(answered) // 3 * 3} | {
        id for id in answered if id % 3 == 0
    }  # taken back, not yet told
    assert {id for id, kind in answered.items() if kind == "confirmed"} - unsure <= left
    assert reopened.revision() >= len(answered) + sum(kind == "back" for kind in answered.values())
    assert reopened.confirm("one more", "", "after all").id == reopened.segments()[-1].id
    reopened.close()


def test_units_of_a_file_are_confirmed_when_they_are_new_or_changed(store: Store) -> None:
    def confirmed(file: str, **targets: str) -> list[str]:
        units = [FileUnit(name, name.rstrip("12"), target) for name, target in targets.items()]
        return [segment.target for segment in store.confirm_units(file, units, "po")]

    assert confirmed("a.po", open1="öffnen", open2="offen", close="zu") == ["öffnen", "offen", "zu"]
    assert confirmed("a.po", open1="öffnen", open2="offen", close="zu") == []
    assert confirmed("a.po", open1="öffnen", open2="geöffnet", close="zu") == ["geöffnet"]
    assert confirmed("b.po", open1="öffnen", open2="offen", close="schließen") == ["schließen"]
    assert confirmed("a.po", open1="öffnen", open2="geöffnet", close="zu") == []  # however often files take turns
    assert confirmed("b.po", open1="öffnen", open2="offen", close="schließen") == []
    assert confirmed("b.po", close="zu") == ["zu"]  # back to what it was
    store.take_back(store.segments()[-1].id)
    assert confirmed("b.po", close="zu") == []


def test_terms_memories_and_events_come_back(store: Store) -> None:
    entries = [Entry("dog", "Hund"), Entry("", "Köter", is_banned=True), Entry("dog", "Tier")]
    store.replace_terms(entries)
    store.replace_imported([("a", "1"), ("b", "2"), ("a", "3")])
    store.log("learned", {"segments": [1, 2], "gain": 0.5})
    store.log("undone", {})
    assert store.terms() == entries
    assert store.imported() == [("b", "2"), ("a", "3")]
    assert [(event.kind, event.facts) for event in store.events()] == [
        ("learned", {"segments": [1, 2], "gain": 0.5}),
        ("undone", {}),
    ]
    assert [event.kind for event in store.events(last=1)] == ["undone"]
    assert store.events(after=2) == []


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    store = Store.create(tmp_path_factory.mktemp("any") / "project.sqlite")
    store.confirm(text, text, text)
    (segment,) = store.segments()
    assert segment.source == segment.machine == segment.target == text
    store.close()


def test_a_file_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table notes (text)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program's"):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["other.sqlite"]


def test_damaged_missing_and_newer_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "project.sqlite"
    with pytest.raises(InputError, match="no such file"):
        Store(path)
    store = Store.create(path)
    for number in range(300):
        store.confirm(f"source {number} " * 20, "", "target")
    store.close()
    whole = path.read_bytes()
    for damaged in (
        b"no database at all, but text\n" * 40,
        whole[: len(whole) // 2],
        whole[:4096] + b"\xff" * 9000 + whole[13096:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged or no project's file"):
            Store(path)
        assert path.read_bytes() == damaged
        assert [file.name for file in tmp_path.iterdir()] == ["project.sqlite"]
    path.write_bytes(whole)
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 7")
    database.close()
    with pytest.raises(InputError, match="of version 7"):
        Store(path)
    with pytest.raises(InputError, match="exists"):
        Store.create(path)


def test_a_file_of_the_version_before_is_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "project.sqlite"
    with closing(Store.create(path)) as store:
        store.confirm("a", "", "b")
    with closing(sqlite3.connect(path)) as database:
        database.executescript("alter table segments drop column before; pragma user_version = 1;")
    with closing(Store(path)) as store, closing(Store(path)) as other:
        store.confirm("c", "", "d", before="a")
        assert [(segment.source, segment.before) for segment in other.segments()] == [("a", ""), ("c", "a")]


def test_a_file_that_another_process_holds_is_not_called_damaged(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.apps.projects.project_store.PATIENCE", 0.01)
    with sqlite3.connect(store.path, isolation_level=None) as other:
        store.close()
        other.execute("pragma locking_mode = exclusive")
        other.execute("begin exclusive")
        with pytest.raises(StoreError, match=r"cannot be opened now .*locked"):
            Store(store.path)
        assert store.path.with_name("project.sqlite-wal").exists()
    other.close()


@pytest.mark.parametrize("place", [0, 40, 4100, -1, None])
def test_damage_in_the_log_of_writes_loses_nothing(store: Store, tmp_path: Path, place: int | None) -> None:
    """The file -wal, as a kill leaves it; None for one that is missing."""
    for number in range(40):
        store.confirm(f"source {number} " * 9, "", f"target {number}")
    store.take_back(7)
    left = Path(shutil.copytree(store.path.parent, tmp_path / "left")) / "project.sqlite"
    log = left.with_name("project.sqlite-wal")
    data = bytearray(log.read_bytes())
    if place is None:
        log.unlink()
    else:
        data[place] ^= 255
        log.write_bytes(data)
    again = Store(left)
    assert again.segments() == store.segments() and again.count() == 39
    again.close()


def test_a_file_grows_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was confirmed before stays, and can be taken back."""
    monkeypatch.setattr("transduce.apps.projects.project_store.MOST_PAGES", 40)
    store = Store.create(tmp_path / "small.sqlite")
    with pytest.raises(StoreError, match="full"):
        for _ in range(40):
            store.confirm("source " * 1000, "", "target")
    count = store.count()
    assert count and store.path.stat().st_size <= 40 * 4096
    store.take_back(1)
    assert store.count() == count - 1
    store.close()


def test_a_call_that_waits_for_another_ends_soon(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.apps.projects.project_store.PATIENCE", 0.01)
    with store._lock, ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="other calls wait"):
        pool.submit(store.count).result()
    assert store.count() == 0


def test_a_disk_that_takes_nothing_is_told_and_leaves_what_was_there(store: Store) -> None:
    kept = store.confirm("a", "", "b")
    store._database.execute("pragma query_only = on")
    with pytest.raises(StoreError, match="cannot be used now"):
        store.confirm("c", "", "d")
    store._database.execute("pragma query_only = off")
    assert store.segments() == [kept]
    assert store.confirm("c", "", "d").id == kept.id + 1
