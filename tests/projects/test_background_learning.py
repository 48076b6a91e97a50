"""What is confirmed in a project is learned in the background and served, each project by its own weights."""

import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
import torch

from small_corpus import small_corpus
from transduce.apps.projects import learning
from transduce.apps.projects.knowledge import Knowledge
from transduce.apps.projects.learner import Learner
from transduce.apps.projects.learning import BackgroundLearning
from transduce.apps.projects.project import SETTINGS as SETTINGS_FILE
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_settings import LearningSettings, ProjectSettings
from transduce.apps.projects.snapshots import Snapshot, read_snapshot, segment_keys
from transduce.apps.serving.batching import Batcher
from transduce.base.config import to_toml
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.inference_precision import at_precision
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

SETTINGS = LearningSettings(rank=4, learning_rate=0.05, most_forgotten=1e3)
SECONDS = 120.0


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty project."""
    project = Project.create(tmp_path / "one", ProjectSettings(source="en", target="de", learning=SETTINGS))
    yield project
    project.close()


@pytest.fixture
def served(tiny_run: Path) -> Translator:
    """The model that is served."""
    return Translator(ModelBundle.load(tiny_run))


def confirm(project: Project, count: int, first: int = 0) -> None:
    """Confirm some pairs."""
    for pair in small_corpus(211)[-30 + first :][:count]:
        project.store.confirm(pair.source, "", pair.target)


def until_learned(background: BackgroundLearning, project: Project) -> None:
    """Wait until all that was confirmed is learned."""
    background.changed(project)
    last = max((segment.id for segment in project.store.segments()), default=0)
    end = time.monotonic() + SECONDS
    while background.facts(project)["learned"] != last or background._waiting:
        assert time.monotonic() < end, background.facts(project)
        time.sleep(0.01)


def weights(translator: Translator) -> dict[str, torch.Tensor]:
    """The weights that a translator has."""
    assert isinstance(translator.bundle, ModelBundle)
    return dict(translator.bundle.model.state_dict())


def test_what_is_confirmed_is_served_and_what_is_taken_back_is_not(
    background: BackgroundLearning, project: Project, served: Translator
) -> None:
    """Before there is anything, and after all is taken back, the model is the served one itself."""
    assert background.adapted(project, served) is served
    confirm(project, 6)
    until_learned(background, project)
    adapted = background.adapted(project, served)
    assert adapted is not served
    source = [segment.source for segment in project.store.segments()]
    assert [each.n_best for each in adapted.translate(source)] != [each.n_best for each in served.translate(source)]
    for segment in project.store.segments():
        project.store.take_back(segment.id)
    until_learned(background, project)
    assert background.adapted(project, served) is served


def state(translator: Translator) -> dict[str, torch.Tensor]:
    """The weights with which PyTorch translates."""
    assert isinstance(translator.bundle, ModelBundle)
    return dict(at_precision(translator.bundle, "float32").model.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_files_and_the_server_use_the_same_and_nothing_that_was_taken_back(
    background: BackgroundLearning, project: Project, served: Translator, tiny_run: Path, seed: int
) -> None:
    """After any confirming, taking back, confirming another translation, and switching learning off and on."""
    chance, pairs, settings = Random(seed), iter(small_corpus(211)), SETTINGS
    for _ in range(7):
        segments = project.store.segments()
        step = chance.choice(["confirm", "confirm", "take back", "change", "switch"]) if segments else "confirm"
        some = chance.choice(segments) if segments else None
        if step == "switch":
            project.close()
            settings = msgspec.structs.replace(settings, enabled=not settings.enabled)
            (project.folder / SETTINGS_FILE).write_text(
                to_toml(ProjectSettings(source="en", target="de", learning=settings))
            )
            project = Project.open(project.folder)
        elif step == "take back" and some is not None:
            project.store.take_back(some.id)
        elif step == "change" and some is not None:
            project.store.take_back(some.id)
            project.store.confirm(some.source, "", f"{some.target} so")
        else:
            for _ in range(3):
                pair = next(pairs)
                project.store.confirm(pair.source, "", pair.target)
        background.changed(project)
        segments = project.store.segments()
        learned = Knowledge.read(project.folder, tiny_run).snapshot  # before it is learned anew
        assert learned is None or learned.key in segment_keys(learned.first, segments)
        if settings.enabled:
            until_learned(background, project)
        knowledge, adapted = Knowledge.read(project.folder, tiny_run), background.adapted(project, served)
        assert (adapted is served) == (knowledge.snapshot is None) == (not settings.enabled or not segments)
        of_files = state(Translator(knowledge.taught(ModelBundle.load(tiny_run))))
        assert all(torch.equal(tensor, of_files[name]) for name, tensor in state(adapted).items())
        if knowledge.snapshot is not None:
            alone = Learner(ModelBundle.load(tiny_run), settings).learn(segments).adapter
            assert all(torch.equal(tensor, alone[name]) for name, tensor in knowledge.snapshot.adapter.items())
            assert {int(path.name[:7]) for path in project.adapters.iterdir()} <= set(range(1, len(segments) + 1))
    project.close()


def test_what_is_taken_back_is_not_served_while_the_rest_is_learned(
    background: BackgroundLearning, project: Project, served: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the moment on at which `changed` returns, also if the model was just being made."""
    confirm(project, 3)
    until_learned(background, project)
    assert background.adapted(project, served) is not served
    monkeypatch.setattr(BackgroundLearning, "_learn", lambda self, project: None)
    project.store.take_back(1)
    background.changed(project)
    assert background.adapted(project, served) is served
    late = background._adapted[served.bundle.model]
    monkeypatch.undo()
    background._adapt(served, project, Snapshot(1, "", "", "", 1.0, "", {}), taken_back=0)
    assert project not in late


@pytest.mark.slow
def test_a_model_that_is_no_longer_served_leaves_the_memory(
    background: BackgroundLearning, project: Project, tiny_run: Path
) -> None:
    """However often models are loaded again while projects learn."""
    confirm(project, 2)
    modules = []
    for _ in range(4):
        served = Translator(ModelBundle.load(tiny_run))
        background._find = lambda source, target, served=served: served
        background.adapted(project, served)
        end = time.monotonic() + SECONDS
        while (adapted := background.adapted(project, served)) is served:
            assert time.monotonic() < end
            time.sleep(0.01)
        modules += [weakref.ref(served.bundle.model), weakref.ref(adapted.bundle.model)]
        del adapted
    gc.collect()
    assert sum(module() is not None for module in modules) == 2
    assert len(background._bases) == len(background._adapted) == 1


def test_a_new_segment_replaces_the_model_and_those_who_have_the_old_one_keep_it(
    background: BackgroundLearning, project: Project, served: Translator
) -> None:
    """The old translator's weights stay as they were."""
    confirm(project, 3)
    until_learned(background, project)
    old = background.adapted(project, served)
    before = {name: tensor.clone() for name, tensor in weights(old).items()}
    confirm(project, 3, first=3)
    until_learned(background, project)
    assert background.adapted(project, served) is not old
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(old).items())


def test_projects_whose_requests_come_at_once_have_each_their_own_translations(
    background: BackgroundLearning, project: Project, served: Translator, tmp_path: Path
) -> None:
    """Sixteen clients of two projects, and the served model: as one at a time."""
    with_other = Project.create(tmp_path / "other", ProjectSettings(source="en", target="de", learning=SETTINGS))
    confirm(project, 4)
    confirm(with_other, 4, first=9)
    until_learned(background, project)
    until_learned(background, with_other)
    translators = [background.adapted(project, served), background.adapted(with_other, served), served]
    sources = [pair.source for pair in small_corpus(211)[-16:]]
    alone = [[each.n_best for each in translator.translate(sources)] for translator in translators]
    assert alone[0] != alone[1] != alone[2]
    batcher = Batcher(served)
    try:
        futures = {
            (client, number): batcher.submit(
                [Request(source)], Beam(), translator=translators[client % 3], client=str(client)
            )[0]
            for number, source in enumerate(sources)
            for client in range(16)
        }
        for (client, number), future in futures.items():
            best, expected = future.result().n_best[0], alone[client % 3][number][0]
            assert best.text == expected.text
            assert best.log_probability == pytest.approx(expected.log_probability, abs=1e-3)
    finally:
        batcher.close()
        with_other.close()


def test_facts_events_and_the_report_tell_what_was_learned(
    background: BackgroundLearning, project: Project, served: Translator
) -> None:
    """Each check is an event, once; the page has each segment that taught something."""
    assert "Nothing is learned yet" in background.report(project)
    confirm(project, 12)
    until_learned(background, project)
    facts = background.facts(project)
    assert facts["held_out"] == 2 and facts["undone"] == 0 and facts["gain"]["chrf_with"] > 0
    events = project.store.events()
    assert {event.kind for event in events} == {"learned"}
    assert [number for event in events for number in event.facts["segments"]] == [1, 2, 3, 4, 6, 7, 8, 9, 11, 12]
    until_learned(background, project)
    assert project.store.events() == events
    page = background.report(project)
    assert "instead of" in page and "Nothing can be said yet" not in page
    assert "words saved" in page and "<svg" in page and project.store.segments()[0].target in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )


def test_a_model_that_cannot_learn_is_an_event(project: Project) -> None:
    """There is none of the project's languages."""
    background = BackgroundLearning(lambda source, target: None)
    try:
        confirm(project, 1)
        background.changed(project)
        end = time.monotonic() + SECONDS
        while not project.store.events():
            assert time.monotonic() < end
            time.sleep(0.01)
        (event,) = project.store.events()
        assert event.kind == "refused" and "no model" in event.facts["why"]
    finally:
        background.close()


def test_general_files_that_are_missing_are_an_event(
    background: BackgroundLearning, tmp_path: Path, served: Translator
) -> None:
    """The project is served as before."""
    settings = LearningSettings(rank=4, general=("absent.en", "absent.de"))
    with_bad = Project.create(tmp_path / "bad", ProjectSettings(source="en", target="de", learning=settings))
    confirm(with_bad, 1)
    background.changed(with_bad)
    end = time.monotonic() + SECONDS
    while not background.facts(with_bad)["refused"]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "absent.en" in with_bad.store.events()[0].facts["why"]
    assert background.adapted(with_bad, served) is served
    with_bad.close()


@pytest.mark.slow
def test_a_killed_process_loses_nothing(
    project: Project, served: Translator, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL at any moment; the adapter is that of a learner that was never stopped, bit for bit."""
    monkeypatch.undo()  # as in a process of its own
    monkeypatch.setattr(learning, "PAUSE", 0.05)
    background = BackgroundLearning(lambda source, target: served)
    confirm(project, 14)
    kills = 0

    def kill() -> None:
        nonlocal kills
        while kills < 2:
            time.sleep(0.7)
            process = background._process
            if process is not None and process.pid is not None and list(project.adapters.iterdir()):
                os.kill(process.pid, signal.SIGKILL)
                kills += 1

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        background.changed(project)
        while killer.is_alive():
            background.changed(project)
            time.sleep(0.2)
        until_learned(background, project)
        learned = Learner(ModelBundle.load(tiny_run), SETTINGS).learn(project.store.segments())
        (newest,) = [path for path in project.adapters.iterdir() if path.name.startswith("0000014")]
        snapshot = read_snapshot(newest)
        assert snapshot is not None and snapshot.key == learned.key
        assert all(torch.equal(tensor, learned.adapter[name]) for name, tensor in snapshot.adapter.items())
    finally:
        background.close()
