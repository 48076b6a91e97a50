"""A process that learns from confirmed segments, with a learner for each project and one thread that yields to others.

It reads projects' files itself and writes snapshots, so that the process may be killed at any moment.
"""

import logging
import os
import signal
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.apps.projects.general import General
from transduce.apps.projects.learner import Learner
from transduce.apps.projects.lessons import Learned, Lesson
from transduce.apps.projects.phrase_snapshots import is_phrase_based, learn_phrases
from transduce.apps.projects.project import ADAPTERS, STORE
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.project_store import ConfirmedSegment, Store
from transduce.base.errors import TransduceError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.directions import Direction
from transduce.evaluation.translations import count_chrf

MOST_LEARNERS = 8
"""Learners that are kept in memory; others go on from their snapshots."""
MOST_AT_ONCE = 4
"""New segments that are learned before the next project has its turn, and the served model is replaced."""
COMPARED = 200
"""Newest segments of which the gain is told."""
EVENTS = 1000
"""Newest events among which a check is looked for, so that it is told once however often the process was killed."""
NICE = 10
log = logging.getLogger("transduce.projects")


class Order(msgspec.Struct):
    """An order to learn a few more of a project's segments."""

    model: str
    """The model's folder."""
    project: str
    """The project's folder."""
    settings: ProjectSettings


class LearningReport(msgspec.Struct):
    """The state of learning: segments seen, learned and undone so far."""

    learned: int = 0
    """Number (id) of the last segment seen; 0 for none."""
    segments: int = 0
    """Segments seen."""
    waiting: int = 0
    """Segments that are still to learn."""
    undone: int = 0
    """Segments whose updates were undone."""
    held_out: int = 0
    """Segments that are checks, and not learned."""
    chrf: tuple[float, float] | None = None
    """chrF of the newest segments' translations before each was learned, without and with the adapter of then."""
    seconds: float = 0.0
    """Median seconds of the newest segments."""
    refused: str = ""
    """Reason why nothing can be learned, such as a damaged file; "" if it can."""


def teach(connection: Connection) -> None:
    """Carries out orders until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(os, "nice"):
        os.nice(NICE)
    torch.set_num_threads(1)
    learners = Learners()
    with suppress(EOFError, OSError):  # the server has ended
        while True:
            order = msgspec.json.decode(connection.recv_bytes(), type=Order)
            connection.send_bytes(msgspec.json.encode(learners.learn(order)))


class Learners:
    """Learners of projects, by the project's folder and all that they depend on."""

    def __init__(self) -> None:
        """Begins with none."""
        self._known: OrderedDict[str, tuple[bytes, Learner]] = OrderedDict()

    def learn(self, order: Order) -> LearningReport:
        """Learns a few more segments, and logs what was checked and undone."""
        folder = Path(order.project)
        try:
            with closing(Store(folder / STORE)) as store:
                segments = store.segments()
                if is_phrase_based(model := Path(order.model)):
                    learned = learn_phrases(folder / ADAPTERS, model, order.settings.learning, segments)
                else:
                    learned = self._learner(order).learn(segments, MOST_AT_ONCE)
                _log(store, learned, segments)
                return _report(learned, segments)
        except (TransduceError, OSError) as error:
            self._known.pop(order.project, None)
            return LearningReport(refused=str(error))

    def _learner(self, order: Order) -> Learner:
        model, folder, settings = Path(order.model), Path(order.project), order.settings
        files = [folder / file for file in settings.learning.general]
        changed = [path.stat().st_mtime_ns for path in (model / "probe.json", *files) if path.exists()]
        content = msgspec.json.encode([order.model, settings, changed])
        known = self._known.pop(order.project, None)
        if known is None or known[0] != content:
            direction = Direction(settings.source, settings.target)
            bundle = ModelBundle.load(model)
            bundle = bundle if bundle.config.languages is None else bundle.directed(direction)
            general = General.read(settings.learning.general, folder, bundle)
            known = content, Learner(bundle, settings.learning, general, folder / ADAPTERS)
        self._known[order.project] = known
        while len(self._known) > MOST_LEARNERS:
            self._known.popitem(last=False)
        return known[1]


def _log(store: Store, learned: Learned, segments: Sequence[ConfirmedSegment]) -> None:
    checks = learned.checks[-MOST_AT_ONCE:]
    if not checks:
        return
    logged = {event.facts.get("state") for event in store.events(last=EVENTS)}
    for check in checks:
        if check.key not in logged:
            numbers = [
                segments[number].id
                for number in range(check.first, check.position)
                if learned.lessons[number].kind == "learned"
            ]
            facts: dict[str, Any] = {
                "segments": numbers,
                "held_out": check.held_out,
                "general": check.general,
                "state": check.key,
            }
            facts |= {"shrunk": check.shrunk} if check.shrunk < 1 else {}
            store.log("undone" if check.undone else "learned", facts | ({"why": check.undone} if check.undone else {}))


def _report(learned: Learned, segments: Sequence[ConfirmedSegment]) -> LearningReport:
    lessons, seen = learned.lessons, segments[: learned.position]
    seconds = sorted(lesson.seconds for lesson in lessons[-COMPARED:])
    return LearningReport(
        learned=seen[-1].id if seen else 0,
        segments=len(seen),
        waiting=len(segments) - len(seen),
        undone=sum(lesson.is_undone for lesson in lessons),
        held_out=sum(lesson.kind == "held out" for lesson in lessons),
        chrf=chrf_of(lessons[-COMPARED:], [segment.target for segment in seen[-COMPARED:]]),
        seconds=seconds[len(seconds) // 2] if seconds else 0.0,
    )


def chrf_of(lessons: Sequence[Lesson], targets: Sequence[str]) -> tuple[float, float] | None:
    """Returns chrF without and with the adapter of the time before each lesson; None without any translations."""
    known = [(lesson, target) for lesson, target in zip(lessons, targets, strict=True) if lesson.static]
    if not known:
        return None
    references = [target for _, target in known]
    static = count_chrf([lesson.static for lesson, _ in known], references).score
    return static, count_chrf([lesson.adapted for lesson, _ in known], references).score
