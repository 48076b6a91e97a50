"""Learning in the background of a server: what is confirmed is learned by a process, and served when it is learned."""

import logging
import multiprocessing
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from torch import nn

from transduce.apps.projects.knowledge import current_state
from transduce.apps.projects.lessons import LearningProgress
from transduce.apps.projects.phrase_snapshots import PhraseSnapshot
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.apps.projects.report import Course, render_report
from transduce.apps.projects.snapshots import Snapshot
from transduce.apps.projects.teaching import LearningReport, Order, teach
from transduce.apps.projects.translation_facts import Learning
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.directions import Direction
from transduce.evaluation.edit_rate import ReliabilityBin
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.engines.inference_precision import at_precision
from transduce.inference.engines.phrase_engine import PhraseEngine
from transduce.inference.translator import Translator

MOST_MODELS = 16
"""Adapted models that are kept in memory; others are made again of their snapshots when they are asked for."""
MOST_FAILURES = 3
"""Ends of the process in a row after which a project waits for its next change."""
PAUSE = 1.0
"""Seconds before the process is started anew."""
END_SECONDS = 2.0
log = logging.getLogger("transduce.projects")

Served = nn.Module | PhraseEngine
"""What is served, by which adapted models are known."""
FindTranslator = Callable[[str, str], Translator | None]
"""Returns the served translator from a language to another; None without one."""


@dataclass(frozen=True)
class _Adapted:
    key: str
    """Key of the snapshot."""
    translator: Translator


class BackgroundLearning(Learning):
    """Learns what is confirmed in projects in a process of its own, and adapts the served model to each.

    A project's model is run by PyTorch in float32, on the device of the served one, whichever engine runs that: an
    adapter is merged into the weights of a copy. It is replaced as a whole between batches, each of which is of one
    translator, so that the weights of two projects, or of two states, never meet in a batch.
    """

    def __init__(self, find: FindTranslator) -> None:
        """Begins; the process starts with the first project that has something to learn."""
        self._find = find
        self._changed = threading.Condition()
        self._waiting: OrderedDict[Project, None] = OrderedDict()
        self._failures: WeakKeyDictionary[Project, int] = WeakKeyDictionary()
        self._taken_back: WeakKeyDictionary[Project, int] = WeakKeyDictionary()
        self._reports: WeakKeyDictionary[Project, LearningReport] = WeakKeyDictionary()
        self._adapted: WeakKeyDictionary[Served, OrderedDict[Project, _Adapted]] = WeakKeyDictionary()
        """Adapted models by the served one, and go with it, as do the next."""
        self._bases: WeakKeyDictionary[nn.Module, ModelBundle] = WeakKeyDictionary()
        """Each served model as it was before it was made ready for a precision."""
        self._is_closed = False
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="transduce-learning", daemon=True)
        self._thread.start()

    def changed(self, project: Project) -> None:
        """See Learning."""
        if not project.settings.learning.enabled:
            return
        taken_back = project.store.taken_back()
        with self._changed:
            self._failures.pop(project, None)
            if taken_back > self._taken_back.get(project, 0):
                self._taken_back[project] = taken_back
                self._forget(project)
            self._waiting[project] = None
            self._changed.notify()

    def adapted(self, project: Project, translator: Translator) -> Translator:
        """See Learning."""
        with self._changed:
            served, report = _served(translator), self._reports.get(project)
            of_model = None if served is None else self._adapted.get(served)
            if of_model and project in of_model:
                of_model.move_to_end(project)
                return of_model[project].translator
            if project.settings.learning.enabled and (report is None or report.segments):
                self._waiting.setdefault(project)
                self._changed.notify()
        return translator

    def facts(self, project: Project) -> dict[str, Any]:
        """See Learning."""
        report = self._reports.get(project, LearningReport())
        facts: dict[str, Any] = msgspec.to_builtins(report)
        del facts["segments"], facts["chrf"]
        if report.chrf is not None:
            static, adapted = report.chrf
            facts["gain"] = {"chrf_without": static, "chrf_with": adapted, "chrf": adapted - static}
        return facts

    def report(self, project: Project, reliability: Sequence[ReliabilityBin] = ()) -> str:
        """See Learning."""
        translator, segments = self._find(project.source, project.target), project.store.segments()
        snapshot = None if translator is None else _snapshot(translator, project, segments)
        progress = LearningProgress() if snapshot is None else snapshot.progress()
        lessons = progress.lessons
        return render_report(project.name, Course(segments[: len(lessons)], lessons, progress.checks, reliability))

    def close(self) -> None:
        """See Learning."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._end_process()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                project, _ = self._waiting.popitem(last=False)
            try:
                self._learn(project)
            except (EOFError, OSError) as error:  # the process was killed
                self._end_process()
                if self._is_closed:
                    return
                with self._changed:
                    self._failures[project] = self._failures.get(project, 0) + 1
                    if self._failures[project] <= MOST_FAILURES:
                        self._waiting.setdefault(project)
                log.error("the process that learns has ended (%r) and begins anew", error)
                time.sleep(PAUSE)
            except Exception as error:  # of one project: others go on
                log.error("the project %s cannot learn", project.name, exc_info=error)

    def _learn(self, project: Project) -> None:
        translator = self._find(project.source, project.target)
        if translator is None or _served(translator) is None:
            kind = "no model of its languages" if translator is None else "an exported model"
            self._tell_refused(project, f"{kind} is served; serve one as it was trained, to learn")
            return
        report = self._ask(Order(str(_folder(translator)), str(project.folder.absolute()), project.settings))
        if report.refused:
            self._tell_refused(project, report.refused)
            return
        taken_back = project.store.taken_back()
        snapshot = _snapshot(translator, project, project.store.segments())
        if snapshot is not None:
            self._adapt(translator, project, snapshot, taken_back)
        with self._changed:
            self._reports[project] = report
            self._failures.pop(project, None)
            if report.waiting:
                self._waiting.setdefault(project)
            if snapshot is None:
                self._forget(project)

    def _forget(self, project: Project) -> None:
        for of_model in self._adapted.values():
            of_model.pop(project, None)

    def _tell_refused(self, project: Project, reason: str) -> None:
        before = self._reports.get(project)
        if before is None or before.refused != reason:
            project.store.log("refused", {"why": reason})
        with self._changed:
            self._reports[project] = LearningReport(refused=reason)
            self._forget(project)

    def _adapt(
        self, translator: Translator, project: Project, snapshot: Snapshot | PhraseSnapshot, taken_back: int
    ) -> None:
        """Makes the adapted model, and then serves it."""
        served = _served(translator)
        assert served is not None
        with self._changed:
            of_model = self._adapted.setdefault(served, OrderedDict())
            known = of_model.get(project)
        if known is not None and known.key == snapshot.key:
            return
        own = translator.bundle
        assert isinstance(own, ModelBundle | ExportedModel)
        model = snapshot.taught(self._base(own, project) if isinstance(own, ModelBundle) else own)
        adapted = _Adapted(
            snapshot.key, Translator(at_precision(model, "float32") if isinstance(model, ModelBundle) else model)
        )
        with self._changed:
            if taken_back < self._taken_back.get(project, 0):  # `changed` knows of a later one
                return
            of_model[project] = adapted
            of_model.move_to_end(project)
            while sum(map(len, self._adapted.values())) > MOST_MODELS:
                max(self._adapted.values(), key=len).popitem(last=False)

    def _base(self, served: ModelBundle, project: Project) -> ModelBundle:
        """Returns the model of a served bundle as it was before it was made ready for a precision."""
        if served.model not in self._bases:
            assert served.folder is not None
            self._bases[served.model] = ModelBundle.load(served.folder, served.device)
        base = self._bases[served.model]
        many = base.config.languages is not None
        return base.directed(Direction(project.source, project.target)) if many else base

    def _ask(self, order: Order) -> LearningReport:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=teach, args=(theirs,), name="transduce-learner", daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send_bytes(msgspec.json.encode(order))
        return msgspec.json.decode(self._connection.recv_bytes(), type=LearningReport)

    def _end_process(self) -> None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is not None:
            process.kill()
            process.join(END_SECONDS)
        if connection is not None:
            with suppress(OSError):
                connection.close()


def _served(translator: Translator) -> Served | None:
    """Returns the part of a served translator that is taught; None of an exported model, which cannot be."""
    if isinstance(translator.engine, PhraseEngine):
        return translator.engine
    bundle = translator.bundle
    return bundle.model if isinstance(bundle, ModelBundle) and bundle.folder is not None else None


def _snapshot(
    translator: Translator, project: Project, segments: Sequence[ConfirmedSegment]
) -> Snapshot | PhraseSnapshot | None:
    """Returns what a served model has learned from a project's segments, see `current_snapshot`."""
    if _served(translator) is None:
        return None
    return current_state(project.adapters, _folder(translator), project.settings.learning, segments)


def _folder(translator: Translator) -> Path:
    """Returns the folder of a model that is taught."""
    bundle = translator.bundle
    assert isinstance(bundle, ModelBundle | ExportedModel) and bundle.folder is not None
    return bundle.folder
