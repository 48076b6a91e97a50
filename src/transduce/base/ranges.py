"""Ranges of numbers: each setting has one, which is checked for values from any source."""

from collections.abc import Iterator
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import fields

MOST = 10**9
"""The largest whole number of settings without a smaller bound."""
LARGEST = 1e38
"""The largest other number: float32 holds little more."""
LAST_SEED = 2**63 - 1

PositiveInt = Annotated[int, Meta(ge=1, le=MOST)]
Port = Annotated[int, Meta(ge=1, le=65535)]
NonNegativeInt = Annotated[int, Meta(ge=0, le=MOST)]
Width = Annotated[int, Meta(ge=1, le=131_072)]
Layers = Annotated[int, Meta(ge=1, le=1000)]
Seed = Annotated[int, Meta(ge=0, le=LAST_SEED)]
PositiveFloat = Annotated[float, Meta(gt=0, le=LARGEST)]
NonNegativeFloat = Annotated[float, Meta(ge=0, le=LARGEST)]
Share = Annotated[float, Meta(ge=0, le=1)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]
ShareBelowOne = Annotated[float, Meta(ge=0, lt=1)]
ShareWithin = Annotated[float, Meta(gt=0, lt=1)]

CorpusWeight = Annotated[float, Meta(ge=0, le=1000)]
Workers = Annotated[int, Meta(ge=1, le=1024)]
MemoryInMiB = Annotated[int, Meta(ge=64, le=1_048_576)]
MemoryInGiB = Annotated[float, Meta(ge=1, le=1024)]
Processes = Annotated[int, Meta(ge=1, le=1024)]
Threads = Annotated[int, Meta(ge=1, le=1024)]
Minutes = Annotated[float, Meta(ge=0.1, le=100_000)]
Iterations = Annotated[int, Meta(ge=1, le=1000)]
BeamSize = Annotated[int, Meta(ge=1, le=1000)]
Candidates = Annotated[int, Meta(ge=2, le=1000)]
NBest = Annotated[int, Meta(ge=1, le=10_000)]
LengthRatio = Annotated[float, Meta(ge=0, le=1000)]
ExtraLength = Annotated[int, Meta(ge=0, le=1_000_000)]
LengthPenalty = Annotated[float, Meta(ge=-10, le=10)]
RepetitionPenalty = Annotated[float, Meta(ge=1, le=1000)]
Temperature = Annotated[float, Meta(ge=0.001, le=1000, description="for the likeliest output use a beam of size 1")]


class Number(NamedTuple):
    """A type of numbers, with its range."""

    kind: type
    """The type of the number: int or float."""
    limits: Meta
    """The bounds; their description says what to do instead of exceeding them."""

    def problem(self, value: object) -> str | None:
        """Returns the error of a value, as `must be at least 1`; None if it is valid."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.kind is int else Real):
            return f"must be a {'whole ' if self.kind is int else ''}number"
        limits = self.limits
        number: Any = value
        holds = (
            (limits.ge is None or number >= limits.ge)  # each comparison is false for NaN
            and (limits.gt is None or number > limits.gt)
            and (limits.le is None or number <= limits.le)
            and (limits.lt is None or number < limits.lt)
        )
        hint = f" ({limits.description})" if limits.description else ""
        return None if holds else f"must be {self._beyond(number) or self.describe()}{hint}"

    def describe(self) -> str:
        """Describes the range, as `at least 1`; the bounds of all numbers are left out."""
        low, high = self.limits.ge, self.limits.le
        if low is not None and high is not None and high not in (MOST, LARGEST, LAST_SEED):
            return f"from {_shown(low)} to {_shown(high)}"
        words = []
        if low is not None:
            words.append(f"at least {_shown(low)}")
        if self.limits.gt is not None:
            words.append(f"above {_shown(self.limits.gt)}")
        if high is not None and high not in (MOST, LARGEST, LAST_SEED):
            words.append(f"at most {_shown(high)}")
        if self.limits.lt is not None:
            words.append(f"below {_shown(self.limits.lt)}")
        return " and ".join(words)

    def _beyond(self, value: Any) -> str | None:
        high = self.limits.le
        return f"at most {_shown(high)}" if high is not None and value > high and high in (MOST, LARGEST) else None


class _Field(NamedTuple):
    name: str
    number: Number
    others: tuple[type, ...]
    """Allowed types of values that are not numbers."""
    words: tuple[str, ...]
    """Allowed words."""


def members(type_: Any) -> tuple[Any, ...]:
    """Returns the types that a union allows; else the type."""
    return get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)


def number_of(type_: Any) -> Number | None:
    """Returns the range of the numbers that a type allows, alone or in a list; None for another type."""
    for member in members(type_):
        if get_origin(member) is Annotated:
            kind, limits = get_args(member)[:2]
            return Number(kind, limits)
        if get_origin(member) in (list, tuple) and (number := number_of(get_args(member)[0])):
            return number
    return None


def words_of(type_: Any) -> tuple[str, ...]:
    """Returns the words that a type allows."""
    return tuple(str(word) for member in members(type_) if get_origin(member) is Literal for word in get_args(member))


def check_ranges(settings: Struct) -> None:
    """Raises ValueError for the first number of some settings that is out of range."""
    for field in _fields(type(settings)):
        value = getattr(settings, field.name)
        values = list(enumerate(value)) if isinstance(value, list | tuple) else [(None, value)]
        for index, item in values:
            if isinstance(item, field.others) or (isinstance(item, str) and item in field.words):
                continue
            if problem := field.number.problem(item):
                where = field.name if index is None else f"{field.name}[{index}]"
                or_words = "".join(f" or '{word}'" for word in field.words)
                raise ValueError(f"{where} {problem}{or_words}, but is {short(item)}")


def short(value: object) -> str:
    """Returns a value as errors show it."""
    try:
        shown = repr(value)
    except ValueError:  # Python writes no integers of many thousand digits
        return "a number of thousands of digits"
    return shown if len(shown) <= 40 else f"{shown[:30]}... ({len(shown)} characters)"


@cache
def _fields(table: type[Struct]) -> tuple[_Field, ...]:
    numbers = [(field, number_of(field.type)) for field in fields(table)]
    return tuple(
        _Field(field.name, number, tuple(_others(field.type)), words_of(field.type))
        for field, number in numbers
        if number
    )


def _others(type_: Any) -> Iterator[type]:
    for member in members(type_):
        if get_origin(member) in (list, tuple):
            yield from (other for item in get_args(member) for other in _others(item))
        elif isinstance(member, type):
            yield member


def _shown(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
