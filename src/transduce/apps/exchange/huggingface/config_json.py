"""Reads the settings of a Hugging Face config.json one by one; every error names the file and the setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from transduce.base.errors import InputError
from transduce.base.ranges import number_of, short
from transduce.corpora.languages import is_tag

T = TypeVar("T")


@dataclass(frozen=True)
class Fields:
    """The fields of a JSON file."""

    path: Path
    values: Mapping[str, Any]

    def number(self, name: str, range_: Any, default: float | None = None) -> Any:
        """Returns a number of a range (see ranges.py); the default, which must be given, if it is missing or null."""
        value = self._value(name, default)
        number = number_of(range_)
        assert number is not None
        if problem := number.problem(value):
            raise InputError(f"{self.path}: {name} {problem}, but is {short(value)}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Returns True or False."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.path}: {name} must be true or false, but is {short(value)}")
        return value

    def language(self, name: str, default: str) -> str:
        """Returns the tag of a language."""
        value = self._value(name, default)
        if not isinstance(value, str) or not is_tag(value):
            raise InputError(f"{self.path}: {name} must be a language such as de or pt_BR, but is {short(value)}")
        return value

    def one_of(self, name: str, known: Mapping[str, T], default: str | None = None) -> T:
        """Returns the meaning of a field that is one of several words."""
        value = self._value(name, default)
        if not isinstance(value, str) or value not in known:
            raise InputError(
                f"{self.path}: {name} is {short(value)}, which is not supported; supported: {', '.join(known)}"
            )
        return known[value]

    def must_be(self, name: str, supported: object, default: object) -> None:
        """Raises InputError for a setting with an unsupported value."""
        value = self.values.get(name)
        value = default if value is None else value
        if value != supported:
            raise InputError(
                f"{self.path}: {name} is {_json(value)}, which cannot be carried over; only {_json(supported)} can"
            )

    def must_lack(self, name: str, reason: str) -> None:
        """Raises InputError, with this reason, if the setting is there."""
        if self.values.get(name) is not None:
            raise InputError(f"{self.path}: {name}: {reason}")

    def _value(self, name: str, default: object) -> Any:
        value = self.values.get(name)
        if value is None:
            value = default
        if value is None:
            raise InputError(f"{self.path}: {name} is missing")
        return value


class Setting(NamedTuple):
    """A setting that config.json and the settings of our models both have."""

    theirs: str
    """The setting's name in config.json."""
    ours: str
    """The setting's name in a recipe."""
    known: Any
    """The values that it may have: a range of numbers (see ranges.py), `bool`, or our words by theirs."""
    default: Any
    """Hugging Face's value where config.json has none."""

    def read(self, fields: Fields) -> Any:
        """Returns our value; raises InputError for a value that it may not have."""
        if self.known is bool:
            return fields.flag(self.theirs, self.default)
        if isinstance(self.known, Mapping):
            return fields.one_of(self.theirs, self.known, self.default)
        return fields.number(self.theirs, self.known, self.default)

    def write(self, model: Any) -> Any:
        """Returns their value of a model's setting."""
        value = getattr(model, self.ours)
        if isinstance(self.known, Mapping):
            return next(theirs for theirs, ours in self.known.items() if ours == value)
        return model.dropout if value is None else value  # only special rates of dropout may be None


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else short(cast(Any, value))
