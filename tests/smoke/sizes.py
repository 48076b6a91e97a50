"""Prints the megabytes of an installed Transduce's base and extras, as packages and all that they need.

`python tests/smoke/sizes.py` with the Python of an environment that has them; an extra that is not installed is left
out. What PyTorch needs of its own (CUDA, say) counts as PyTorch's.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

MEGABYTE = 10**6


def normalised(name: str) -> str:
    """Returns a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def needed(name: str, extras: tuple[str, ...] = ()) -> frozenset[str]:
    """Returns the packages that a package and its extras need, itself included; PackageNotFoundError if one lacks."""
    packages = {normalised(name)}
    waiting = [(name, extra) for extra in ("", *extras)]
    seen = set(waiting)
    while waiting:
        package, extra = waiting.pop()
        for text in distribution(package).requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                packages.add(normalised(requirement.name))
                further = {(requirement.name, each) for each in ("", *requirement.extras)} - seen
                seen |= further
                waiting += further
    return frozenset(packages)


@cache
def size(name: str) -> int:
    """Returns the bytes of a package's files, without compiled ones, which Python makes."""
    files = distribution(name).files or []
    return sum(file.size or 0 for file in files if file.suffix != ".pyc")


def megabytes(names: Iterable[str]) -> str:
    """Returns the megabytes of packages."""
    return f"{sum(map(size, names)) / MEGABYTE:,.0f}"


def main() -> None:
    """Prints the table."""
    base, torch = needed("transduce"), needed("torch")
    print("| set | MB beside the base | largest packages |")
    print("|---|--:|---|")
    sets = {"PyTorch, and what it needs": torch, "base without PyTorch": base - torch}
    for extra in distribution("transduce").metadata.get_all("Provides-Extra") or []:
        with suppress(PackageNotFoundError):
            names = needed("transduce", (extra,)) - base
            sum(map(size, names))  # which finds out whether all are installed
            sets[f"`{extra}`"] = names
    for title, names in sets.items():
        largest = sorted(names, key=size, reverse=True)[:3]
        print(f"| {title} | {megabytes(names)} | {', '.join(f'{name} {megabytes([name])}' for name in largest)} |")


if __name__ == "__main__":
    main()
