"""Projects are whole or absent, by names that stay in their folder, and held by one server at a time."""

import multiprocessing
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from transduce.apps.projects.project import DamagedProjectError, Project, Projects, UnknownProjectError
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.project_store import StoreError
from transduce.base.errors import ConfigError, InputError
from transduce.base.files import remove
from transduce.text.glossary import Entry, Glossary


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[Projects]:
    projects = Projects(tmp_path / "projects")
    yield projects
    projects.close()


def test_a_project_is_the_same_after_a_restart(projects: Projects) -> None:
    project = projects.create("shop-1.2", "en", "de")
    project.store.confirm("A dog", "Ein Hund", "Der Hund")
    project.replace_glossary(Glossary([Entry("dog", "Hund")]))
    projects.create("app", "de", "en")
    projects.close()
    again = Projects(projects.folder)
    assert [(p.name, p.source, p.target) for p in again.all] == [("app", "de", "en"), ("shop-1.2", "en", "de")]
    assert again.find("shop-1.2").memory.find("A dog")[0].target == "Der Hund"
    assert again.find("shop-1.2").glossary == Glossary([Entry("dog", "Hund")])
    assert again.find("app").glossary is None
    assert again.create("app", "de", "en") is again.find("app")
    again.close()


@pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "../a", "a\\b", "a b", "ä", "a\n", "x" * 65, "a\0"])
def test_names_stay_in_the_folder(projects: Projects, name: str) -> None:
    with pytest.raises(InputError, match="no name of a project"):
        projects.create(name, "en", "de")
    with pytest.raises(UnknownProjectError, match="there is no project"):
        projects.find(name)
    assert [path.name for path in projects.folder.iterdir()] == [".lock"]


@pytest.mark.parametrize(("source", "target"), [("", "de"), ("en", " "), ("en", "en"), ("en-US", "en")])
def test_a_project_has_two_languages(projects: Projects, source: str, target: str) -> None:
    with pytest.raises(InputError, match="from one language to another"):
        projects.create("a", source, target)


def test_other_languages_need_another_name(projects: Projects) -> None:
    projects.create("a", "en", "de")
    with pytest.raises(InputError, match="the project a is from en to de"):
        projects.create("a", "de", "en")


def _open(folder: Path, answer: "multiprocessing.Queue[str]") -> None:
    try:
        Projects(folder)
        answer.put("open")
    except InputError as error:
        answer.put(str(error))


def test_another_process_is_refused_until_the_first_ends(projects: Projects) -> None:
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[str] = context.Queue()
    for is_closed in (False, True):
        if is_closed:
            projects.close()
        process = context.Process(target=_open, args=(projects.folder, answers))
        process.start()
        assert ("open in another process" in answers.get(timeout=20)) != is_closed
        process.join()


def test_a_project_that_another_process_made_is_there(projects: Projects) -> None:
    Project.create(projects.folder / "late", ProjectSettings(source="en", target="de")).close()
    assert projects.find("late").source == "en"
    assert [project.name for project in projects.all] == ["late"]


def test_what_a_kill_left_of_a_new_project_is_removed(tmp_path: Path) -> None:
    half = tmp_path / ".shop-1a2b3c4d"
    half.mkdir()
    (half / "project.toml").write_text("")
    projects = Projects(tmp_path)
    assert projects.all == [] and not half.exists()
    projects.close()


@pytest.mark.parametrize(
    ("name", "settings", "store", "words"),
    [
        ("shop", "source = 'en'", None, "'target' is missing"),
        ("shop", "source = 'en'\ntarget = 'de'\nwach = []", None, "did you mean 'watch'"),
        ("shop", "source = 'en'\ntarget = 'de'", b"x" * 5000, "damaged or no project's file"),
        ("shop", "source = 'en'\ntarget = 'de'", None, "no such file"),
        ("shop", "source = '\\", None, "project.toml"),
        ("my shop", "source = 'en'\ntarget = 'de'", None, "no name of a project"),
    ],
)
def test_a_damaged_project_is_told_of_once_and_the_others_are_there(
    tmp_path: Path, name: str, settings: str, store: bytes | None, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    Project.create(tmp_path / "whole", ProjectSettings(source="en", target="de")).close()
    (tmp_path / name).mkdir()
    (tmp_path / name / "project.toml").write_text(settings)
    if store is not None:
        (tmp_path / name / "project.sqlite").write_bytes(store)
    with closing(Projects(tmp_path)) as projects:
        assert [project.name for project in projects.all] == ["whole"]
        for _ in range(2):
            with pytest.raises(UnknownProjectError if " " in name else DamagedProjectError):
                projects.find(name)
        (told,) = caplog.messages
        assert words in told
        remove(tmp_path / name)
        with pytest.raises(UnknownProjectError):
            projects.find(name)


def test_a_project_that_is_repaired_is_served_again(projects: Projects) -> None:
    projects.create("a", "en", "de").store.confirm("a", "", "b")
    projects.close()
    path = projects.folder / "a" / "project.sqlite"
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    with closing(Projects(projects.folder)) as again:
        with pytest.raises(DamagedProjectError):
            again.find("a")
        path.write_bytes(whole)
        os.utime(path, ns=(1, 1))
        assert again.find("a").store.count() == 1


@pytest.mark.parametrize("is_whole", [True, False], ids=["folder", "file"])
def test_nothing_is_confirmed_in_a_folder_that_was_removed_or_restored(
    projects: Projects, tmp_path: Path, is_whole: bool
) -> None:
    project = projects.create("a", "en", "de")
    project.store.confirm("a", "", "b")
    there = project.folder if is_whole else project.store.path
    copy = shutil.copytree if is_whole else shutil.copy
    copy(there, tmp_path / "copy")
    project.store.confirm("c", "", "d")
    remove(there)
    with pytest.raises(StoreError, match="removed or replaced"):
        project.store.confirm("e", "", "f")
    if is_whole:
        with pytest.raises(UnknownProjectError):
            projects.find("a")
        assert projects.all == []
    copy(tmp_path / "copy", there)
    with pytest.raises(StoreError):
        project.store.confirm("g", "", "h")
    restored = projects.find("a")
    assert restored is not project and [segment.source for segment in restored.store.segments()] == ["a"]
    id = restored.store.confirm("i", "", "j").id
    with closing(Project.open(project.folder)) as other:
        assert other.store.segments()[-1].id == id


def test_a_project_whose_file_is_held_holds_up_no_other(projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.apps.projects.project_store.PATIENCE", 60.0)
    for name in ("held", "free"):
        projects.create(name, "en", "de")
    projects.close()
    with sqlite3.connect(projects.folder / "held" / "project.sqlite", isolation_level=None) as other:
        other.execute("pragma locking_mode = exclusive")
        other.execute("begin exclusive")
        opened = threading.Thread(target=Projects.find, args=(projects, "held"), daemon=True)
        opened.start()
        assert projects.find("free").store.confirm("a", "", "b").id == 1
        assert projects.create("new", "en", "de").name == "new" and opened.is_alive()
        other.execute("rollback")
    other.close()
    opened.join(60)
    assert projects.find("held").store.count() == 0


def test_half_of_all_projects_are_for_one_client(projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transduce.apps.projects.project.MOST", 4)
    for name in ("a", "b"):
        projects.create(name, "en", "de", "anna")
    with pytest.raises(InputError, match="you have made 2 projects"):
        projects.create("c", "en", "de", "anna")
    assert projects.create("a", "en", "de", "anna").name == "a"
    for name in ("c", "d"):
        projects.create(name, "en", "de", "ben")
    with pytest.raises(InputError, match="there are 4 projects already; remove the folder of one"):
        projects.create("e", "en", "de", "cleo")
    remove(projects.folder / "a")
    projects.create("e", "en", "de", "cleo")


def test_it_is_told_if_more_was_learned_than_the_file_has(projects: Projects, caplog: pytest.LogCaptureFixture) -> None:
    project = projects.create("a", "en", "de")
    for _ in range(3):
        project.store.confirm("a", "", "b")
    project.store.take_back(2)
    (project.adapters / f"0000003-{'0' * 16}.safetensors").touch()
    projects.close()
    with closing(Projects(projects.folder)):
        assert not caplog.messages
    (project.adapters / f"0000004-{'0' * 16}.safetensors").touch()
    with closing(Projects(projects.folder)) as again:
        assert "has lost segments: it has 3, and 4 were learned from" in caplog.messages[0]
        assert [event.kind for event in again.find("a").store.events()] == ["lost"]


def test_a_project_of_an_earlier_version_is_opened(projects: Projects) -> None:
    project = projects.create("a", "en", "de")
    path = project.folder / "project.toml"
    kept = path.read_text(encoding="utf-8")
    old = "hold_out = 10\ncheck_after = 4\nmost_lost = 0.05\nreplayed_general = 6\ngeneral_weight = 1.0\n"
    path.write_text(f"{kept}{old}snapshot_every = 25\n", encoding="utf-8")
    with closing(Project.open(project.folder)) as again:
        assert again.settings == project.settings
    path.write_text(f"{kept}hold_out = 9\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="hold_out"):
        Project.open(project.folder)


def test_learned_adapters_can_be_lost(projects: Projects) -> None:
    project = projects.create("a", "en", "de")
    project.adapters.rmdir()
    assert project.adapters.is_dir()
