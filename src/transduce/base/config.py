"""Settings from TOML, strictly: an unknown key or a wrong type is an error of one line that names the key."""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_origin

import msgspec
import tomli_w

from transduce.base.errors import ConfigError, TransduceError
from transduce.base.ranges import check_ranges, members, number_of, short, words_of


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all tables of settings: immutable, keyword-only; unknown keys and numbers out of range are errors.

    A number's range is part of its type (see ranges.py). A table checks that its settings fit each other in
    `_check_together`, not in `__post_init__`, which would leave the ranges out.
    """

    retired: ClassVar[Mapping[str, Any]] = {}
    """Removed settings of the table, with the values at which they did nothing; old tables with these values can be
    read, and others are told that the setting has been removed."""
    objects: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """For each setting that may be an object in Python: the function that returns its stored value, such as a name."""

    def __post_init__(self) -> None:
        for name, kept in self.objects.items():
            msgspec.structs.force_setattr(self, name, kept(getattr(self, name)))
        check_ranges(self)
        self._check_together()

    def _check_together(self) -> None:
        """Raises ValueError for settings that do not fit each other."""


S = TypeVar("S", bound=Settings)
DEEPEST = 50  # nested tables; deeper ones would exceed the recursion limit of later code
WORDS = {r"\bobject\b": "table", r"\bbool\b": "true or false", r" \| null\b": "", r" \| ": " or "}
"""TOML's names for msgspec's types."""


def read_text(path: Path, kind: type[TransduceError]) -> str:
    """Reads a file of UTF-8 text; an error of this kind for one that is missing, a pipe, or other bytes."""
    if path.is_fifo():  # reading would wait for its writer
        raise kind(f"{path}: a pipe; expected a file")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise kind(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{path}: cannot be read as UTF-8 text ({error})") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Parses a TOML file; ConfigError names the file and the line."""
    text = read_text(path, ConfigError)
    try:
        tree = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or of integers of many thousand digits
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: nested too deeply") from None
    if not _is_within(tree, DEEPEST):
        raise ConfigError(f"{path}: tables nested more than {DEEPEST} deep; settings are at most a few deep")
    return tree


Changes = Sequence[str] | Mapping[str, Any]
"""Settings to change: `key=value` texts, or a dict, nested or with dotted keys."""


def read_changes(changes: Changes, type_: Any = Any) -> dict[str, Any]:
    """Returns dotted keys and their new values; a value in a text is TOML, or else a string.

    In a dict, a nested table changes only the settings it names, unless it names a `kind` and kinds have their own
    settings: then it is a new table. None removes a setting.
    """
    if isinstance(changes, Mapping):
        return dict(_dotted(changes, type_))
    values = {}
    for assignment in changes:
        key, equals, text = assignment.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise ConfigError(f"'{assignment}' is not a setting; expected key=value, such as training.updates=300")
        if key.count(".") >= DEEPEST:
            raise ConfigError(f"'{short(key)}' has more than {DEEPEST} parts; expected key=value")
        values[key.strip()] = _parse_value(text.strip())
    return values


def override(tree: Mapping[str, Any], values: Mapping[str, Any], type_: Any = Any) -> dict[str, Any]:
    """Returns a copy of the tree with new values at dotted keys; None removes a setting.

    A missing table that has several kinds in `type_` is made as one of its default kind. A table whose `kind` changes
    keeps only the settings that both kinds have.
    """
    result = _copy(tree)
    for key, value in sorted(values.items(), key=lambda item: not item[0].endswith(".kind")):  # kinds come first
        *parents, last = key.split(".")
        table, inside = result, type_
        for part in parents:
            inner = table.setdefault(part, _default_kind(inside, part, table))
            if not isinstance(inner, dict):
                raise ConfigError(f"{key}: '{part}' is a value, not a table of settings")
            table, inside = inner, _field_type(inside, part, table)
        if value is None:
            table.pop(last, None)
        else:
            if last == "kind" and value != table.get("kind", value):
                _keep_common(table, inside, value)
            table[last] = value
    return result


def _keep_common(table: dict[str, Any], type_: Any, kind: Any) -> None:
    """Removes the settings of a table that its type does not have for another kind, unless there is no such kind."""
    if str(kind) not in _tags(type_):
        return
    before, after = (
        {field.encode_name: field.type for struct in _structs(type_, named) for field in msgspec.structs.fields(struct)}
        for named in (table, {"kind": kind})
    )
    for name in table.keys() - {"kind"}:
        if name in before and after.get(name) != before[name]:
            del table[name]


def convert(tree: Mapping[str, Any], type_: type[S], origin: str, is_saved: bool = False) -> S:
    """Builds settings of `type_` from parsed TOML; `origin` (a file or recipe) begins every error.

    In settings saved with a finished model (`is_saved`), retired settings are dropped, with any value.
    """
    for key, value in flatten(tree).items():
        if any("\0" in text for text in _texts(value)):
            raise ConfigError(f"{origin}: {key}: found {short(value)}, but no setting can hold a NUL character")
    try:
        return msgspec.convert(_without_retired(tree, type_, is_saved), type_)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}: {_explain(str(error), tree, type_)}") from None


def _without_retired(tree: Mapping[str, Any], type_: Any, is_saved: bool) -> dict[str, Any]:
    retired = {key: value for struct in _structs(type_, tree) for key, value in getattr(struct, "retired", {}).items()}
    return {
        key: _without_retired(value, _field_type(type_, key, tree), is_saved) if isinstance(value, Mapping) else value
        for key, value in tree.items()
        if key not in retired or (value != retired[key] and not is_saved)
    }


def to_tree(settings: Settings) -> dict[str, Any]:
    """Returns plain nested dicts, without fields that are None (TOML has no null)."""
    tree: dict[str, Any] = _without_none(msgspec.to_builtins(settings))
    return tree


def to_toml(settings: Settings) -> str:
    """Returns the settings as TOML text that `convert` reads back to an equal value."""
    return tomli_w.dumps(to_tree(settings))


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns nested tables as one level of dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _copy(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in tree.items()}


def _dotted(changes: Mapping[str, Any], type_: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in changes.items():
        within, inside = Any, type_
        for part in key.split("."):
            within, inside = inside, _field_type(inside, part, None)
        value = _kept(within, part, value)
        if isinstance(value, Mapping) and not ("kind" in value and _tags(inside)):
            yield from _dotted(value, inside, f"{prefix}{key}.")
            continue
        try:
            yield f"{prefix}{key}", msgspec.to_builtins(_without_objects(value, inside), enc_hook=os.fspath)
        except TypeError as error:
            raise ConfigError(f"{prefix}{key}: {error}") from None


def _without_objects(value: Any, type_: Any) -> Any:
    """Returns a new table, or list of tables, with stored values in place of objects from Python."""
    if isinstance(value, Settings):
        return to_tree(value)
    if isinstance(value, Mapping):
        return {
            key: _without_objects(_kept(type_, key, inner), _field_type(type_, key, value))
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_objects(item, _field_type(type_, "[0]", None)) for item in value]
    return value


def _kept(table: Any, key: str, value: Any) -> Any:
    """Returns a value as a table of this type stores it under a key."""
    structs = [struct for struct in _structs(table, None) if issubclass(struct, Settings)]
    return next((struct.objects[key](value) for struct in structs if key in struct.objects), value)


def differences(before: Settings, now: Settings, prefix: str = "") -> dict[str, str]:
    """Returns a line with both values for each setting that differs."""
    old, new = flatten(to_tree(before), prefix), flatten(to_tree(now), prefix)
    return {
        key: f"{key} was {old.get(key, 'not set')}, now it is {new.get(key, 'not set')}"
        for key in old | new
        if old.get(key) != new.get(key)
    }


def _default_kind(type_: Any, key: str, table: Any) -> dict[str, Any]:
    """Returns a new table for a key of `table`, empty except for its default kind, if it has one."""
    for struct in _structs(type_, table):
        for field in msgspec.structs.fields(struct):
            if field.encode_name == key and isinstance(field.default, msgspec.Struct):
                tag = field.default.__struct_config__.tag
                return {} if tag is None else {"kind": tag}
    return {}


def _parse_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _is_within(value: Any, depth: int) -> bool:
    """Returns True if tables and lists are nested at most `depth` deep."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_within(item, depth - 1) for item in inside)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value


def _explain(message: str, tree: Any, type_: Any) -> str:
    """Returns msgspec's message as `model.encoder: unknown key 'hiden' (did you mean 'hidden'?)`."""
    problem, _, path = message.partition(" - at `$")
    keys = [part for part in path.rstrip("`").replace("[", ".[").split(".") if part]
    value, expected, within = tree, type_, type_
    for key in keys:
        value, expected, within = _child(value, key), _field_type(expected, key, value), expected
    where = ".".join(keys).replace(".[", "[")
    if problem.startswith("Object contains unknown field"):
        return _join(where, _unknown_key(problem.split("`")[1], expected, value))
    if problem.startswith("Object missing required field"):
        key = problem.split("`")[1]
        kinds = ", ".join(_tags(expected)) if key == "kind" else ""
        return _join(where, f"'{key}' is missing and has no default" + (f"; choose from {kinds}" if kinds else ""))
    if problem.startswith("Invalid value"):
        choices = _tags(within)  # msgspec reports only tags this way, and they are not fields
        return _join(where, f"{value!r} is not one of {', '.join(choices)}{suggestion(str(value), choices)}")
    if problem.startswith("Invalid enum value"):
        words = list(words_of(expected))
        meant = suggestion(str(value), words)
        if number_of(expected):
            return _join(where, f"expected a number or {' or '.join(words)}, found {value!r}{meant}")
        return _join(where, f"{value!r} is not one of {', '.join(words)}{meant}")
    number = number_of(expected)
    if number and isinstance(value, number.kind | int) and not isinstance(value, bool):
        return _join(where, f"{number.problem(value)}, found {short(value)}")
    shown = problem[:1].lower() + problem[1:].replace("`", "")
    for theirs, ours in WORDS.items():
        shown = re.sub(theirs, ours, shown)
    return _join(where, shown if isinstance(value, Mapping) or not keys else f"{shown}, found {short(value)}")


def _join(where: str, problem: str) -> str:
    return f"{where}: {problem}" if where else problem


def _child(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list) and key.startswith("[") and key.strip("[]").isdigit():
        return value[int(key.strip("[]"))]
    return None


def _structs(type_: Any, value: Any) -> list[type[msgspec.Struct]]:
    """Returns the table types that `type_` allows; of a tagged union, only the one that `kind` names, if any."""
    structs = [m for m in members(type_) if isinstance(m, type) and issubclass(m, msgspec.Struct)]
    kind = value.get("kind") if isinstance(value, Mapping) else None
    named = [s for s in structs if s.__struct_config__.tag == kind]
    return named or structs


def _field_type(type_: Any, key: str, value: Any) -> Any:
    """Returns the type of a key of `value`, which is of `type_`."""
    if key.startswith("["):
        for member in members(type_):
            if get_origin(member) in (list, tuple):
                return get_args(member)[0]
    for struct in _structs(type_, value):
        for field in msgspec.structs.fields(struct):
            if field.encode_name == key:
                return field.type
    return Any


def _unknown_key(key: str, type_: Any, value: Any) -> str:
    structs = _structs(type_, value)
    if any(key in getattr(struct, "retired", {}) for struct in structs):
        return f"the setting '{key}' has been removed; leave it out"
    known = [field.encode_name for struct in structs for field in msgspec.structs.fields(struct)]
    keys = f"; known are {', '.join(known)}" if known else "; there are no others"
    return f"unknown key '{key}'" + (suggestion(key, known) or keys)


def suggestion(name: str, known: Sequence[str]) -> str:
    """Returns ` (did you mean '...'?)` with the known name that is most like a wrong one; "" if none is."""
    close = difflib.get_close_matches(name, known, n=1)
    close = close or [other for other in known if len(other) > 2 and name.startswith(other)]
    return f" (did you mean '{close[0]}'?)" if close else ""


def _tags(type_: Any) -> list[str]:
    return [str(s.__struct_config__.tag) for s in _structs(type_, None) if s.__struct_config__.tag is not None]
