"""Projects are whole or absent, by names that stay in their folder, and held by one server at a time."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from transduce.errors import ConfigError, InputError, TransduceError
from transduce.projects.project import Project, Projects, UnknownProjectError
from transduce.projects.settings import ProjectSettings
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
    ("settings", "store", "error", "words"),
    [
        ("source = 'en'", None, ConfigError, "'target' is missing"),
        ("source = 'en'\ntarget = 'de'\nwach = []", None, ConfigError, "did you mean 'watch'"),
        ("source = 'en'\ntarget = 'de'", b"x" * 5000, InputError, "damaged or no project's file"),
        ("source = 'en'\ntarget = 'de'", None, InputError, "no such file"),
    ],
)
def test_a_damaged_project_is_refused_before_work_begins(
    tmp_path: Path, settings: str, store: bytes | None, error: type[TransduceError], words: str
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "project.toml").write_text(settings)
    if store is not None:
        (tmp_path / "shop" / "project.sqlite").write_bytes(store)
    with pytest.raises(error, match=words):
        Projects(tmp_path)
    (tmp_path / "shop" / "project.toml").unlink()
    Projects(tmp_path).close()  # the lock is free again


def test_learned_adapters_can_be_lost(projects: Projects) -> None:
    project = projects.create("a", "en", "de")
    project.adapters.rmdir()
    assert project.adapters.is_dir()
