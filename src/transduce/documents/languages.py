"""Languages that documents name, and those that a translation is asked for."""

from collections.abc import Sequence
from typing import TypeVar

from transduce.errors import InputError

T = TypeVar("T")


def is_same(code: str, other: str) -> bool:
    """Whether two codes are of one language, whatever the region: en-US and en."""
    return primary(code) == primary(other)


def primary(code: str) -> str:
    """The language's own part of a code such as pt_BR."""
    return code.strip().replace("_", "-").partition("-")[0].casefold()


def find(coded: Sequence[tuple[str, T]], wanted: str) -> T | None:
    """What has a language's code, or else the first that has its code with another region."""
    exact = [one for code, one in coded if _normal(code) == _normal(wanted)]
    close = [one for code, one in coded if is_same(code, wanted)]
    return next(iter([*exact, *close]), None)


def check(name: str, what: str, found: str, wanted: str) -> None:
    """Raise InputError for a document in another language than is to be translated; "" is unknown and fits."""
    both = primary(found), primary(wanted)
    if all(both) and len(both[0]) == len(both[1]) and both[0] != both[1]:
        raise InputError(f"{name}: its {what} is {found!r}, not {wanted!r}")


def _normal(code: str) -> str:
    return code.strip().replace("_", "-").casefold()
