"""What verbs print of their results and of their work."""

import sys
from collections.abc import Callable

import msgspec


def print_json(facts: object) -> None:
    """Print a result for programs."""
    print(msgspec.json.encode(facts).decode())


def teller(quiet: bool = False) -> Callable[[str], None]:
    """What tells a user a line on standard error, or nobody if quiet."""
    return lambda line: None if quiet else print(f"transduce: {line}", file=sys.stderr)
