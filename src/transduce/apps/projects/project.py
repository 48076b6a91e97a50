"""Projects in a folder: each a folder with its settings, all that people said, and what was learned from it."""

import logging
import re
import threading
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

from docsegments.language_codes import is_same
from transduce.apps.projects.project_memory import ProjectMemory
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.projects.project_store import Store, StoreError
from transduce.base.config import convert, read_toml, to_toml
from transduce.base.errors import InputError, TransduceError
from transduce.base.files import locked, new_folder, remove
from transduce.text.glossary import Glossary

SETTINGS, STORE, ADAPTERS = "project.toml", "project.sqlite", "adapters"
MOST = 100
"""The most projects of a folder, each of which keeps three files open; half of them are for one client."""
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", re.ASCII)
RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{device}{n}" for device in ("com", "lpt") for n in range(1, 10))})
"""Names of devices on Windows, with any ending."""
log = logging.getLogger("transduce.projects")


class UnknownProjectError(TransduceError):
    """There is no project of a name."""


class DamagedProjectError(StoreError):
    """A project's settings or file are damaged."""


class Project:
    """A project: its settings, what people confirmed, its memory and its glossary."""

    def __init__(self, folder: Path, settings: ProjectSettings, store: Store) -> None:
        """Makes a project of parts; `open` and `create` make them of a folder."""
        self.folder = folder
        self.settings = settings
        self.store = store
        self.memory = ProjectMemory(store)
        self._glossary: Glossary | None = None
        self._is_read = False
        self._lock = threading.Lock()

    @staticmethod
    def open(folder: str | Path) -> "Project":
        """Opens a project's folder.

        Raises UnknownProjectError if there is none, ConfigError for bad settings, InputError for a damaged store.
        """
        folder = Path(folder)
        if not (folder / SETTINGS).is_file():
            raise UnknownProjectError(f"{folder} is no project: it has no {SETTINGS}")
        settings = convert(read_toml(folder / SETTINGS), ProjectSettings, str(folder / SETTINGS))
        return Project(folder, settings, Store(folder / STORE))

    @staticmethod
    def create(folder: str | Path, settings: ProjectSettings) -> "Project":
        """Makes a project's folder, which is whole or absent, and opens it.

        Raises InputError for a folder that exists, a bad name, or languages that are none.
        """
        folder = Path(folder)
        check_name(folder.name)
        check_languages(settings.source, settings.target)
        if folder.exists():
            raise InputError(f"{folder} exists; open it, or choose another name")
        try:
            with new_folder(folder) as building:
                (building / SETTINGS).write_text(to_toml(settings), encoding="utf-8")
                (building / ADAPTERS).mkdir()
                Store.create(building / STORE).close()
        except OSError as error:
            raise StoreError(f"{folder} cannot be made ({error.strerror})") from None
        return Project.open(folder)

    def tell_losses(self) -> None:
        """Logs it if more segments were learned from than the file ever had: it was damaged, or is an old copy."""
        seen = max((int(path.name[:7]) for path in self.adapters.glob("[0-9]*-*")), default=0)
        if seen > (there := self.store.count() + self.store.taken_back()):
            log.error("%s has lost segments: it has %d, and %d were learned from", self.store.path, there, seen)
            self.store.log("lost", {"segments": there, "learned_from": seen})

    def close(self) -> None:
        """Closes the project's file."""
        self.store.close()

    @property
    def name(self) -> str:
        """Name of the project, which is that of its folder."""
        return self.folder.absolute().name

    @property
    def source(self) -> str:
        """Language of the sources."""
        return self.settings.source

    @property
    def target(self) -> str:
        """Language of the translations."""
        return self.settings.target

    @property
    def adapters(self) -> Path:
        """Folder of what was learned, which can be lost and made again; made if it is missing."""
        folder = self.folder / ADAPTERS
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def glossary(self) -> Glossary | None:
        """Terms of the project; None without any."""
        with self._lock:
            if not self._is_read:
                entries = self.store.terms()
                self._glossary, self._is_read = (Glossary(entries) if entries else None), True
            return self._glossary

    def replace_glossary(self, glossary: Glossary) -> None:
        """Replaces the terms of the project, durably."""
        with self._lock:
            self.store.replace_terms(glossary.entries)
            self._is_read = False


class Projects:
    """All projects of a folder, which one process holds at a time.

    Its methods may be called from several threads; a project whose file is held up, or damaged, holds up no other. A
    project whose folder is removed is gone, and one that is restored from a copy is opened anew.
    """

    def __init__(self, folder: str | Path) -> None:
        """Opens all projects of a folder, which is made if it is missing; the log tells of those that cannot be opened.

        Raises InputError if another process has the folder open.
        """
        self.folder = Path(folder)
        self._creating = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Project] = {}
        self._damaged: dict[str, list[int]] = {}
        """Times of the last changes of projects that could not be opened, in nanoseconds."""
        self._made: Counter[str] = Counter()
        self._held = ExitStack()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._held.enter_context(locked(self.folder, wait=False))
        except BlockingIOError:
            raise InputError(f"{self.folder} is open in another process; end that first, or choose a folder") from None
        except OSError as error:
            raise InputError(f"{self.folder} is no folder that projects can be kept in ({error.strerror})") from None
        for settings in sorted(self.folder.glob(f"*/{SETTINGS}")):
            if settings.parent.name.startswith("."):  # where a killed process left half of a new one
                remove(settings.parent)
                continue
            try:
                check_name(settings.parent.name)
                self.find(settings.parent.name)
            except DamagedProjectError:  # of which the log tells already
                pass
            except TransduceError as error:
                log.error("the project %s is not opened: %s", settings.parent.name, error)

    def close(self) -> None:
        """Closes all projects and lets other processes open them."""
        while self._open:
            self._open.popitem()[1].close()
        self._held.close()

    @property
    def all(self) -> list[Project]:
        """All projects that can be used, by name."""
        projects = []
        for name in sorted([*self._open]):
            with suppress(TransduceError):
                projects.append(self.find(name))
        return projects

    def find(self, name: str) -> Project:
        """Returns a project by its name, also one that another process made.

        Raises UnknownProjectError if there is none, StoreError if its file cannot be used now, DamagedProjectError.
        """
        project = self._open.get(name)
        if project is not None and project.store.is_in_place:
            return project
        if project is None:
            self._check_is_there(name)
        with self._opening.setdefault(name, threading.Lock()):
            return self._find(name)

    def create(self, name: str, source: str, target: str, client: str = "") -> Project:
        """Makes a project for a client, or returns the one of this name if it has these languages.

        Raises InputError for a bad name, other languages, or too many projects, of all or of the client.
        """
        check_name(name)
        with self._creating:
            with suppress(UnknownProjectError):
                project = self.find(name)
                if (project.source, project.target) != (source, target):
                    raise InputError(
                        f"the project {name} is from {project.source} to {project.target}; choose another name"
                    )
                return project
            if len(self.all) >= MOST:
                raise InputError(f"there are {MOST} projects already; remove the folder of one")
            if self._made[client] >= MOST // 2:
                raise InputError(f"you have made {MOST // 2} projects, half of all that there can be; use one of them")
            Project.create(self.folder / name, ProjectSettings(source=source, target=target)).close()
            self._made[client] += 1
            return self.find(name)

    def _check_is_there(self, name: str) -> None:
        folder = self.folder / name if NAME.fullmatch(name) else None
        if folder is None or not (folder / SETTINGS).is_file() or not _is_spelled_so(folder):
            raise UnknownProjectError(f"there is no project {name[:64]!r}")

    def _find(self, name: str) -> Project:
        if (project := self._open.get(name)) is not None:
            if project.store.is_in_place:
                return project
            del self._open[name]
            project.close()
        self._check_is_there(name)
        folder = self.folder / name
        changed = [path.stat().st_mtime_ns for path in (folder, folder / SETTINGS, folder / STORE) if path.exists()]
        if self._damaged.get(name) != changed:
            try:
                project = self._open[name] = Project.open(folder)
                project.tell_losses()
                return project
            except StoreError:
                raise
            except (TransduceError, OSError) as error:
                log.error("the project %s is not served: %s", name, error)
                self._damaged[name] = changed
        raise DamagedProjectError(f"the project {name} cannot be used; the server's log says why")


def _is_spelled_so(path: Path) -> bool:
    """Returns True if a folder has this name in its capitals, too: macOS and Windows find Acme as acme."""
    return any(other.name == path.name for other in path.parent.iterdir())


def check_name(name: str) -> None:
    """Raises InputError for a text that is not a name of a project."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:70]!r} is no name of a project; expected 1 to 64 letters, digits, dots, hyphens and underscores, "
            "the first of them no dot"
        )
    if name.endswith(".") or name.partition(".")[0].lower() in RESERVED:
        raise InputError(f"{name!r} is no name of a project, since Windows has no folder of this name; choose another")


def check_languages(source: str, target: str) -> None:
    """Raises InputError for blank languages, or one and the same."""
    if not source.strip() or not target.strip() or is_same(source, target):
        raise InputError(f"a project is from one language to another, not from {source[:20]!r} to {target[:20]!r}")
