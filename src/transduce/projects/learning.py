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

import msgspec

from transduce.bundle import ModelBundle
from transduce.corpora.directions import Direction
from transduce.inference.engines.precision import at_precision
from transduce.inference.translator import Translator
from transduce.projects.adapted import with_adapter
from transduce.projects.edits import ReliabilityBin
from transduce.projects.lessons import Progress
from transduce.projects.project import Project
from transduce.projects.report import Course, render_report
from transduce.projects.snapshots import read_snapshot
from transduce.projects.teaching import Order, Report, teach

MOST_MODELS = 16
"""Adapted models that are kept in memory; others are made again of their snapshots when they are asked for."""
MOST_FAILURES = 3
"""Ends of the process in a row after which a project waits for its next change."""
PAUSE = 1.0
"""Seconds before the process is started anew."""
END_SECONDS = 2.0
REPORTED_EVENTS = 50
log = logging.getLogger("transduce.projects")

FindTranslator = Callable[[str, str], Translator | None]
"""Returns the served translator from a language to another; None without one."""


@dataclass(frozen=True)
class _Adapted:
    base: object
    """The bundle of the served translator that was adapted."""
    snapshot: str
    translator: Translator


class BackgroundLearning:
    """Learns what is confirmed in projects in a process of its own, and adapts the served model to each.

    A project's model is run by PyTorch in float32, on the device of the served one, whichever engine runs that: an
    adapter is merged into the weights of a copy. It is replaced as a whole between batches, each of which is of one
    translator, so that the weights of two projects, or of two states, never meet in a batch.
    """

    def __init__(self, find: FindTranslator) -> None:
        """Begins; the process starts with the first project that has something to learn."""
        self._find = find
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, Project] = OrderedDict()
        self._failures: dict[str, int] = {}
        self._reports: dict[str, Report] = {}
        self._adapted: OrderedDict[str, _Adapted] = OrderedDict()
        self._bases: OrderedDict[tuple[int, str, str], tuple[object, ModelBundle]] = OrderedDict()
        self._is_closed = False
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="transduce-learning", daemon=True)
        self._thread.start()

    def changed(self, project: Project) -> None:
        """Says that a segment was confirmed or taken back, or that a project was opened; returns at once."""
        if not project.settings.learning.enabled:
            return
        with self._changed:
            self._failures.pop(project.name, None)
            self._waiting[project.name] = project
            self._changed.notify()

    def adapted(self, project: Project, translator: Translator) -> Translator:
        """Returns the translator with what was learned so far; returns at once."""
        with self._changed:
            known = self._adapted.get(project.name)
            if known is not None and known.base is translator.bundle:
                self._adapted.move_to_end(project.name)
                return known.translator
            learns = project.settings.learning.enabled
            if learns and (known is not None or project.name not in self._reports or self._is_forgotten(project)):
                self._waiting.setdefault(project.name, project)
                self._changed.notify()
        return translator

    def facts(self, project: Project) -> dict[str, Any]:
        """Returns facts for JSON: `learned`, the number of the last segment that was learned, and others."""
        report = self._reports.get(project.name, Report())
        facts: dict[str, Any] = msgspec.to_builtins(report)
        del facts["snapshot"], facts["segments"], facts["chrf"]
        if report.chrf is not None:
            static, adapted = report.chrf
            facts["gain"] = {"chrf_without": static, "chrf_with": adapted, "chrf": adapted - static}
        return facts

    def report(self, project: Project, reliability: Sequence[ReliabilityBin] = ()) -> str:
        """Returns a page in HTML that shows what was learned, by segment, and how good estimates of edits are."""
        report = self._reports.get(project.name)
        snapshot = read_snapshot(Path(report.snapshot)) if report is not None and report.snapshot else None
        events = project.store.events(last=REPORTED_EVENTS)
        if snapshot is None:
            return render_report(project.name, Course([], [], [], events, reliability))
        progress = msgspec.json.decode(snapshot.facts, type=Progress)
        segments = project.store.segments(most=len(progress.lessons))
        lessons = progress.lessons[: len(segments)]  # some may just have been taken back
        return render_report(project.name, Course(segments, lessons, progress.checks, events, reliability))

    def close(self) -> None:
        """Ends what learns; what it has not learned is learned after the next start."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._end_process()
        self._thread.join(END_SECONDS)

    def _is_forgotten(self, project: Project) -> bool:
        """Returns True if something was learned whose model is no longer in memory."""
        report = self._reports.get(project.name)
        return report is not None and bool(report.snapshot)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                name, project = self._waiting.popitem(last=False)
            try:
                self._learn(name, project)
            except (EOFError, OSError) as error:  # the process was killed
                self._end_process()
                if self._is_closed:
                    return
                with self._changed:
                    self._failures[name] = self._failures.get(name, 0) + 1
                    if self._failures[name] <= MOST_FAILURES:
                        self._waiting.setdefault(name, project)
                log.error("the process that learns has ended (%r) and begins anew", error)
                time.sleep(PAUSE)
            except Exception as error:  # of one project: others go on
                log.error("the project %s cannot learn", name, exc_info=error)

    def _learn(self, name: str, project: Project) -> None:
        translator = self._find(project.source, project.target)
        bundle = None if translator is None else translator.bundle
        if not isinstance(bundle, ModelBundle) or bundle.folder is None:
            kind = "no model of its languages" if bundle is None else "an exported model"
            self._tell_refused(project, f"{kind} is served; serve the model that was trained to learn")
            return
        report = self._ask(Order(str(bundle.folder), str(project.folder.absolute()), project.settings))
        if report.refused:
            self._tell_refused(project, report.refused)
            return
        if report.snapshot:
            self._adapt(name, bundle, project, report)
        with self._changed:
            self._reports[name] = report
            self._failures.pop(name, None)
            if report.waiting:
                self._waiting.setdefault(name, project)
            if not report.snapshot:
                self._adapted.pop(name, None)

    def _tell_refused(self, project: Project, reason: str) -> None:
        before = self._reports.get(project.name)
        if before is None or before.refused != reason:
            project.store.log("refused", {"why": reason})
        with self._changed:
            self._reports[project.name] = Report(refused=reason)
            self._adapted.pop(project.name, None)

    def _adapt(self, name: str, served: ModelBundle, project: Project, report: Report) -> None:
        """Makes the adapted model, and then serves it."""
        known = self._adapted.get(name)
        if known is not None and known.snapshot == report.snapshot and known.base is served:
            return
        snapshot = read_snapshot(Path(report.snapshot))
        if snapshot is None:  # it has been removed since
            return
        base = self._base(served, project)
        bundle = with_adapter(base, snapshot.adapter, snapshot.scale)
        translator = Translator(at_precision(bundle, "float32"))
        with self._changed:
            self._adapted[name] = _Adapted(served, report.snapshot, translator)
            self._adapted.move_to_end(name)
            while len(self._adapted) > MOST_MODELS:
                self._adapted.popitem(last=False)

    def _base(self, served: ModelBundle, project: Project) -> ModelBundle:
        """Returns the model of a served bundle as it was before it was made ready for a precision."""
        key = id(served), project.source, project.target
        if key not in self._bases or self._bases[key][0] is not served:
            assert served.folder is not None
            base = ModelBundle.load(served.folder, served.device)
            if base.config.languages is not None:
                base = base.directed(Direction(project.source, project.target))
            self._bases[key] = served, base
            while len(self._bases) > MOST_MODELS:
                self._bases.popitem(last=False)
        return self._bases[key][1]

    def _ask(self, order: Order) -> Report:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=teach, args=(theirs,), name="transduce-learner", daemon=True)
            self._process.start()
            theirs.close()
        self._connection.send_bytes(msgspec.json.encode(order))
        return msgspec.json.decode(self._connection.recv_bytes(), type=Report)

    def _end_process(self) -> None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is not None:
            process.kill()
            process.join(END_SECONDS)
        if connection is not None:
            with suppress(OSError):
                connection.close()
