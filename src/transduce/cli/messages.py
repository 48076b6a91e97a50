"""Prints verbs' results and progress."""

import sys
from collections.abc import Callable

import msgspec


def print_json(facts: object) -> None:
    """Prints a result for programs."""
    print(msgspec.json.encode(facts).decode())


def teller(quiet: bool = False) -> Callable[[str], None]:
    """Returns a function that prints a line on standard error, or nothing if quiet."""
    return lambda line: None if quiet else print(f"transduce: {line}", file=sys.stderr)
