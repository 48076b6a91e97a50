"""Watches projects: files that people translate elsewhere, and what other processes confirm."""

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from weakref import WeakKeyDictionary

from transduce.apps.projects.project import Project, Projects
from transduce.apps.projects.project_files import learn_file
from transduce.apps.projects.translation_facts import Learning
from transduce.base.errors import TransduceError
from transduce.base.files import status

PAUSE = 1.0
"""Seconds between two looks at the files; one is read when it was the same in two looks."""
AT_ONCE = 4
"""Projects that are looked at, or waited for, at a time."""
log = logging.getLogger("transduce.projects")

State = tuple[int, int, int]
"""Facts about a file that change with it: the number on its disk, its size, and the time of its last change."""


class Watcher:
    """Confirms the final units of watched files as they change, and tells what learns of every change of a project."""

    def __init__(self, projects: Projects, learning: Learning, pause: float = PAUSE) -> None:
        """Begins to watch in a thread; all that a project has is news at first."""
        self._projects = projects
        self._learning = learning
        self._pause = pause
        self._revisions: WeakKeyDictionary[Project, int] = WeakKeyDictionary()
        self._troubles: WeakKeyDictionary[Project, str | None] = WeakKeyDictionary()
        """The error that ended the last look at each project; None if it ended well."""
        self._seen: dict[Path, State | None] = {}
        self._read: WeakKeyDictionary[Project, dict[Path, State]] = WeakKeyDictionary()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="transduce-watcher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread after the file that it reads."""
        self._is_closed.set()
        self._thread.join()

    def look(self, project: Project) -> None:
        """Reads the watched files of a project that have changed, and tells what learns of a new revision."""
        read = self._read.setdefault(project, {})
        for name in project.settings.watch:
            path = project.folder / name
            found = status(path)
            state = found and (found.st_ino, found.st_size, found.st_mtime_ns)
            is_steady, self._seen[path] = state == self._seen.get(path), state
            if state is None or not is_steady or state == read.get(path):
                continue
            read[path] = state
            try:
                learn_file(project, path)
            except TransduceError as error:
                project.store.log("refused", {"file": path.name, "reason": str(error).replace(str(path), path.name)})
                log.warning("%s: a watched file is refused: %s", project.name, error)
        revision = project.store.revision()
        if revision != self._revisions.get(project):
            self._learning.changed(project)
            self._revisions[project] = revision

    def _run(self) -> None:
        looking: dict[Project, Future[None]] = {}
        with ThreadPoolExecutor(AT_ONCE, "watcher") as threads:
            while not self._is_closed.wait(self._pause):
                looking = {project: look for project, look in looking.items() if not look.done()}
                for project in self._projects.all:  # one that waits for its file does not hold up others
                    if project not in looking:
                        looking[project] = threads.submit(self._look, project)

    def _look(self, project: Project) -> None:
        before, self._troubles[project] = self._troubles.get(project), None
        try:
            self.look(project)
        except Exception as error:  # of one project; the others are watched on
            self._troubles[project] = str(error)
            if str(error) != before:  # once, not at each look
                log.error("%s cannot be watched now", project.name, exc_info=error)
