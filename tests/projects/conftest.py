"""Fixtures of the tests of projects and learning."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import transduce.apps.projects.learner
from transduce.apps.projects.learning import BackgroundLearning
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.project_store import Store
from transduce.apps.projects.teaching import Learners, LearningReport, Order
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


@pytest.fixture(autouse=True)
def short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lesson translates; the tiny model does not know where a sentence ends, and sixty tokens would take longer
    than the updates."""
    monkeypatch.setattr(transduce.apps.projects.learner, "Beam", partial(Beam, max_ratio=1.0, max_extra=9))


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks come after few segments, and undo nothing but where a test says so."""
    for name, value in {"HOLD_OUT": 5, "CHECK_AFTER": 2, "SNAPSHOT_EVERY": 3, "MOST_LOST": 1000.0}.items():
        monkeypatch.setattr(transduce.apps.projects.learner, name, value)


@pytest.fixture
def background(served: Translator, monkeypatch: pytest.MonkeyPatch) -> Iterator[BackgroundLearning]:
    """Learning that needs no process of its own, as starting one takes seconds."""
    learners = Learners()

    def ask(_: BackgroundLearning, order: Order) -> LearningReport:
        return learners.learn(order)

    monkeypatch.setattr(BackgroundLearning, "_ask", ask)
    background = BackgroundLearning(lambda source, target: served)
    yield background
    background.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty project's file."""
    store = Store.create(tmp_path / "project.sqlite")
    yield store
    store.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty project."""
    project = Project.create(tmp_path / "shop", ProjectSettings(source="en", target="de"))
    yield project
    project.close()
