"""A phrase-based model in a project: it is learned anew, in the background, with what is confirmed."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from small_corpus import small_corpus
from transduce import train
from transduce.apps.cli.main import app, run
from transduce.apps.projects.knowledge import Knowledge
from transduce.apps.projects.learning import BackgroundLearning
from transduce.apps.projects.phrase_snapshots import ENDING, KEPT
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_settings import LearningSettings, ProjectSettings
from transduce.inference.translator import Translator
from transduce.phrases.phrase_model import PhraseModel

SECONDS = 60.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phrases")
    for side in ("source", "target"):
        lines = [getattr(pair, side) for pair in small_corpus()]
        (folder / f"mine.{side[:2]}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(folder / "mine.so"), str(folder / "mine.ta")]
    return train(files, folder / "run", overrides={"model.kind": "phrases"}).model


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project.create(tmp_path / "one", ProjectSettings(source="so", target="ta"))
    yield project
    project.close()


@pytest.fixture
def served(model: Path) -> Translator:
    return Translator.load(model)


def until_learned(background: BackgroundLearning, project: Project) -> None:
    background.changed(project)
    last = max((segment.id for segment in project.store.segments()), default=0)
    end = time.monotonic() + SECONDS
    while background.facts(project)["learned"] != last or background._waiting:
        assert time.monotonic() < end, background.facts(project)
        time.sleep(0.01)


def test_what_is_confirmed_is_used_at_once_and_what_is_taken_back_is_not(
    background: BackgroundLearning, project: Project, served: Translator
) -> None:
    assert background.adapted(project, served) is served
    for thing in ("door", "window", "book"):
        project.store.confirm(f"Anna opens the glorp {thing}.", "", f"Anna öffnet zwamp {thing}.")
    until_learned(background, project)
    adapted = background.adapted(project, served)
    assert "zwamp" in adapted.translate("What does the glorp open?").text
    assert "zwamp" not in served.translate("What does the glorp open?").text
    assert (background.facts(project)["waiting"], background.facts(project)["refused"]) == (0, "")
    assert "Learning" in background.report(project)
    for segment in project.store.segments():
        project.store.take_back(segment.id)
    until_learned(background, project)
    assert background.adapted(project, served) is served
    assert not list(project.adapters.iterdir())


def test_learning_goes_on_from_what_is_kept_and_few_models_are(
    background: BackgroundLearning, project: Project, served: Translator
) -> None:
    for number in range(1, KEPT + 3):
        project.store.confirm("Anna opens the glorp.", "", f"Anna öffnet zwamp {number}.")
        until_learned(background, project)
        assert [len(list(project.adapters.glob(f"*{ENDING}")))] == [min(number, KEPT)]
    facts = background.facts(project)
    assert facts["gain"]["chrf_with"] > facts["gain"]["chrf_without"]  # the second time the word was known


def test_files_are_translated_with_what_was_learned(
    background: BackgroundLearning,
    project: Project,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "in.txt").write_text("What does the glorp open?\n", encoding="utf-8")
    command = ["translate", str(model), str(tmp_path / "in.txt"), "--project", str(project.folder)]
    assert run(lambda: app(command)) == 0
    assert "zwamp" not in capsys.readouterr().out
    for thing in ("door", "window", "book"):
        project.store.confirm(f"Anna opens the glorp {thing}.", "", f"Anna öffnet zwamp {thing}.")
    until_learned(background, project)
    assert run(lambda: app(command)) == 0
    shown = capsys.readouterr()
    assert "zwamp" in shown.out and "has learned 3 segments" in shown.err
    assert Knowledge.read(project.folder, model).snapshot is not None


def test_switched_off_nothing_is_learned(background: BackgroundLearning, served: Translator, tmp_path: Path) -> None:
    settings = ProjectSettings(source="so", target="ta", learning=LearningSettings(enabled=False))
    project = Project.create(tmp_path / "off", settings)
    project.store.confirm("Anna opens the glorp.", "", "Anna öffnet zwamp.")
    background.changed(project)
    assert background.adapted(project, served) is served
    project.close()


def test_a_model_with_no_more_pairs_is_the_same(model: Path) -> None:
    known = PhraseModel.load(model)
    again = known.with_pairs([])
    assert (again.table, again.texts, again.within) == (known.table, known.texts, known.within)
    assert again.weights == known.weights
