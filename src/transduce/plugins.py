"""Objects by names: those built in, those that installed packages bring, and those that are given from Python.

A package brings an object by an entry point of the kind's group, such as `transduce.metrics`. One that is given from
Python is known as `module:name` from then on. Nothing is ever imported because a file names it: a name with a colon
finds what was given, or what a module that is imported already defines.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, entry_points, packages_distributions, version
from types import FunctionType
from typing import Any, Generic, TypeVar

from transduce.errors import InputError

T = TypeVar("T")
_GIVEN: dict[str, Any] = {}
"""What was given from Python, by its names; the last of a name, since a cell of a notebook may run again."""


@dataclass(frozen=True)
class Registry(Generic[T]):
    """All objects of a kind, by their names."""

    kind: str
    """What one is called in errors, such as "metric"."""
    group: str
    """The entry points' group."""
    check: Callable[[str, Any], T]
    """Makes what is used of an object, given its name first; raises InputError for one of the wrong shape."""
    built_in: Mapping[str, Any] = field(default_factory=dict)
    """Objects of Transduce; a text `module:name` is imported when it is asked for."""
    others: tuple[str, ...] = ()
    """Names of what is built in elsewhere, for errors."""
    _checked: dict[str, tuple[Any, T]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The names that there are, without what was given from Python."""
        installed = sorted(entry.name for entry in entry_points(group=self.group))
        return list(dict.fromkeys([*self.built_in, *self.others, *installed]))

    def object_of(self, name: str) -> Any:
        """What a name stands for, unchecked; InputError where it stands for nothing."""
        if name in self.built_in:
            found = self.built_in[name]
            return _imported(found) if isinstance(found, str) else found
        if name in _GIVEN:
            return _GIVEN[name]
        if ":" in name:
            if (found := _in_imported_modules(name)) is not None:
                return found
            raise InputError(
                f"{self.kind} '{name}': not known in this process; define or import it first, or give it itself "
                f"in place of its name, or install a package that brings it (entry points {self.group})"
            )
        for entry in entry_points(group=self.group):
            if entry.name == name:
                try:
                    return entry.load()
                except (ImportError, AttributeError) as error:
                    raise InputError(f"{self.kind} '{name}': {entry.value} cannot be imported ({error})") from None
        raise InputError(f"no {self.kind} '{name}'; there are {', '.join(self.names()) or 'none installed'}")

    def find(self, given: Any) -> T:
        """What is used of an object, or of the one of that name; InputError where there is none or it is wrong."""
        name = name_of(given)
        known = self._checked.get(name)
        now = self.built_in.get(name) or _GIVEN.get(name) or _in_imported_modules(name)
        if known is not None and (now is None or isinstance(now, str) or now is known[0]):
            return known[1]  # entry points take milliseconds to read
        found = self.object_of(name)
        checked = self.check(name, found)
        self._checked[name] = (found, checked)
        return checked


@dataclass(frozen=True)
class Code:
    """Which code a name stands for."""

    object: str
    """Its module and name, as `module:name`."""
    version: str | None
    """The version of the package that it is in; None for a module of no package."""
    source: str | None
    """A hash of its source and of its module's; None where there is none, as for compiled code."""

    @property
    def is_ours(self) -> bool:
        """Whether it is a part of Transduce."""
        return self.object.startswith("transduce.")


def name_of(given: Any) -> Any:
    """The name of an object, by which it is found from now on; a text is a name already, and None none."""
    if given is None or isinstance(given, str):
        return given
    name = reference(given)
    _GIVEN[name] = given
    return name


def names_of(given: Any) -> Any:
    """The names of several objects, or of one."""
    several = given if isinstance(given, list | tuple) else [given]
    return tuple(map(name_of, several))


def code_of(found: Any) -> Code:
    """Which code an object is made of: of a function or class its own, of another object its class's."""
    function = _definition(found)
    module = getattr(function, "__module__", None) or "__main__"
    digest, has_source = hashlib.sha256(), False
    parts = [function] if module == "__main__" else [function, sys.modules.get(module)]
    for part in parts:
        with suppress(OSError, TypeError):
            digest.update(inspect.getsource(part).encode())
            has_source = True
    return Code(reference(found), _version(module), digest.hexdigest() if has_source else None)


def reference(found: Any) -> str:
    """The `module:name` of a function or class; of another object its class's, with () after it."""
    function = _definition(found)
    is_made = function is not found
    return f"{function.__module__}:{function.__qualname__}{'()' if is_made else ''}"


def short_name(name: str) -> str:
    """The last part of a name, by which people call it: `share` for `metrics_of_mine:make.<locals>.share`."""
    return name.rpartition(":")[2].rpartition(".")[2].removesuffix("()") if ":" in name else name


def made_of(kind: str, name: str, found: Any) -> Any:
    """An object itself, or one made of a class without arguments; InputError where the class needs some."""
    if not isinstance(found, type):
        return found
    check_takes(kind, name, found, (), "a class that is made without arguments, or an object of it")
    return found()


def check_takes(kind: str, name: str, function: Any, arguments: tuple[str, ...], expected: str) -> None:
    """Raise InputError unless an object can be called with so many arguments."""
    if not callable(function):
        raise InputError(f"{kind} '{name}': a {type(function).__name__} cannot be called; expected {expected}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code does not tell
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise InputError(f"{kind} '{name}': {short_name(name)}{signature} does not fit; expected {expected}") from None


def _definition(found: Any) -> Any:
    while isinstance(found, partial):
        found = found.func
    return found if hasattr(found, "__qualname__") else type(found)


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _in_imported_modules(name: str) -> Any:
    """A function or class of Python code in a module that is imported already."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, FunctionType | type) else None


def _version(module: str) -> str | None:
    for package in packages_distributions().get(module.partition(".")[0], ()):
        with suppress(PackageNotFoundError):
            return version(package)
    return None
