"""Objects by name: built-in ones, those of installed packages, and those given from Python.

A package provides an object by an entry point of the kind's group, such as `transduce.metrics`. One given from Python
has the name `module:name` from then on. Nothing is ever imported because a file names it: a name with a colon finds
objects that were given, or that an already imported module defines.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, packages_distributions, version
from pathlib import Path
from pkgutil import resolve_name
from types import FunctionType
from typing import Any, Generic, TypeVar

from transduce.base.errors import InputError

T = TypeVar("T")
_GIVEN: dict[str, Any] = {}
"""Objects given from Python, by name; the last of each name, since a notebook cell may run again."""


@dataclass(frozen=True)
class Registry(Generic[T]):
    """All objects of a kind, by name."""

    kind: str
    """The kind of object, for errors, such as "metric"."""
    group: str
    """The name of the entry points' group."""
    check: Callable[[str, Any], T]
    """Returns the checked form of an object, given its name first; raises InputError for one of the wrong shape."""
    built_in: Mapping[str, Any] = field(default_factory=dict)
    """Transduce's own objects; a text `module:name` is imported when needed."""
    others: tuple[str, ...] = ()
    """Names built in elsewhere, for errors."""
    _checked: dict[str, tuple[Any, T]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Returns the available names, without those given from Python."""
        installed = sorted(entry.name for entry in _installed(self.group))
        return list(dict.fromkeys([*self.built_in, *self.others, *installed]))

    def object_of(self, name: str) -> Any:
        """Returns the object of a name, unchecked; InputError for an unknown name."""
        if name in self.built_in:
            known = self.built_in[name]
            return resolve_name(known) if isinstance(known, str) else known
        if name in _GIVEN:
            return _GIVEN[name]
        if ":" in name:
            if (known := _in_imported_modules(name)) is not None:
                return known
            raise InputError(
                f"{self.kind} '{name}': not known in this process; define or import it first, or give it itself "
                f"in place of its name, or install a package that brings it (entry points {self.group})"
            )
        for entry in _installed(self.group):
            if entry.name == name:
                try:
                    return entry.load()
                except (ImportError, AttributeError) as error:
                    raise InputError(f"{self.kind} '{name}': {entry.value} cannot be imported ({error})") from None
        raise InputError(f"no {self.kind} '{name}'; there are {', '.join(self.names()) or 'none installed'}")

    def find(self, given: Any) -> T:
        """Returns the checked form of an object, given itself or by name; InputError for an unknown or invalid one."""
        name = name_of(given)
        known = self._checked.get(name)
        now = self.built_in.get(name) or _GIVEN.get(name) or _in_imported_modules(name)
        if known is not None and (now is None or isinstance(now, str) or now is known[0]):
            return known[1]
        object_ = self.object_of(name)
        checked = self.check(name, object_)
        self._checked[name] = (object_, checked)
        return checked


@dataclass(frozen=True)
class Code:
    """The code that a name refers to."""

    object: str
    """Module and name of the object, as `module:name`."""
    version: str | None
    """Version of the object's package; None for a module of no package."""
    source: str | None
    """A hash of the source and of its module's; None without source, as for compiled code."""

    @property
    def is_ours(self) -> bool:
        """True if the code is part of Transduce."""
        return self.object.startswith("transduce.")


def name_of(given: Any) -> Any:
    """Returns the name of an object, and registers the object under it; returns names and None unchanged."""
    if given is None or isinstance(given, str):
        return given
    name = reference(given)
    _GIVEN[name] = given
    return name


def names_of(given: Any) -> Any:
    """Returns the names of several objects, or of one; InputError for two of one class, which would have one name."""
    several = given if isinstance(given, list | tuple) else [given]
    named: dict[Any, Any] = {}
    for each in several:
        if named.setdefault(name_of(each), each) != each:
            raise InputError(f"two objects have the name {name_of(each)}; give each a class of its own")
    return tuple(named)


def code_of(given: Any) -> Code:
    """Returns the code of an object: a function's or class's own, or the class's of another object."""
    function = _definition(given)
    module = getattr(function, "__module__", None) or "__main__"
    digest, has_source = hashlib.sha256(), False
    parts = [function] if module == "__main__" else [function, sys.modules.get(module)]
    for part in parts:
        with suppress(OSError, TypeError):
            digest.update(inspect.getsource(part).encode())
            has_source = True
    return Code(reference(given), _version(module), digest.hexdigest() if has_source else None)


def reference(given: Any) -> str:
    """Returns `module:name` of a function or class; for another object, its class's, with () after it."""
    function = _definition(given)
    is_made = function is not given
    return f"{function.__module__}:{function.__qualname__}{'()' if is_made else ''}"


def short_name(name: str) -> str:
    """Returns the last part of a name, which people use: `share` for `metrics_of_mine:make.<locals>.share`."""
    return name.rpartition(":")[2].rpartition(".")[2].removesuffix("()") if ":" in name else name


def made_of(kind: str, name: str, given: Any) -> Any:
    """Returns an object itself, or an instance of a class; InputError for a class that needs arguments."""
    if not isinstance(given, type):
        return given
    check_takes(kind, name, given, (), "a class that is made without arguments, or an object of it")
    return given()


def check_takes(kind: str, name: str, function: Any, arguments: tuple[str, ...], expected: str) -> None:
    """Raises InputError unless an object can be called with these arguments."""
    if not callable(function):
        raise InputError(f"{kind} '{name}': a {type(function).__name__} cannot be called; expected {expected}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code has no signature
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise InputError(f"{kind} '{name}': {short_name(name)}{signature} does not fit; expected {expected}") from None


def _installed(group: str) -> Sequence[EntryPoint]:
    """Returns the entry points of a group that installed packages provide."""
    return _entry_points(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=16)
def _entry_points(group: str, folders: object) -> Sequence[EntryPoint]:
    """Reads entry points, for tens of milliseconds; anew once a folder of packages has changed."""
    return tuple(entry_points(group=group))


def _changed(folder: str) -> int:
    """Returns the time at which a package was last added to a folder or removed from it; 0 without such a folder."""
    with suppress(OSError):
        return Path(folder).stat().st_mtime_ns
    return 0


def _definition(given: Any) -> Any:
    while isinstance(given, partial):
        given = given.func
    return given if hasattr(given, "__qualname__") else type(given)


def _in_imported_modules(name: str) -> Any:
    """Returns a function or class of Python code from a module that is already imported."""
    module, _, path = name.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = getattr(value, part, None)
    return value if isinstance(value, FunctionType | type) else None


def _version(module: str) -> str | None:
    top = module.partition(".")[0]
    packages = [top] if top == "transduce" else packages_distributions().get(top, ())  # which takes 0.2 seconds
    for package in packages:
        with suppress(PackageNotFoundError):
            return version(package)
    return None
