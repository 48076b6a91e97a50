"""Families of placeholders: a table of named rules (`placeholders.toml`), and which of them a file's flags choose."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files


@dataclass(frozen=True)
class PlaceholderFamily:
    """A rule for the placeholders of some programs."""

    what: str
    """Programs that write such placeholders, for people."""
    examples: Sequence[str]
    pattern: str
    """A regular expression in verbose form."""
    documentation: str = ""
    """Addresses of the documentation that it follows."""
    sign: str = ""
    """First character of its placeholders; a flag excludes other rules of its sign: for `%` in `c-format` messages."""
    general: Sequence[str] = ()
    """General families that hold the same as a gettext family; its negation (`no-c-format`) excludes them."""
    literals: Mapping[str, str] = field(default_factory=dict)
    """Escapes of characters that mean something to the program."""


_TABLE = tomllib.loads(files("docsegments").joinpath("placeholders.toml").read_text("utf-8"))


def _filled(pattern: str) -> str:
    """Returns a pattern with the fragments that it names."""
    return re.sub(r"«(\w++)»", lambda match: _filled(_TABLE["fragments"][match[1]]), pattern)


def _families(section: str) -> dict[str, PlaceholderFamily]:
    return {
        name: PlaceholderFamily(**{**row, "pattern": _filled(row["pattern"])}) for name, row in _TABLE[section].items()
    }


_OF_GETTEXT = _families("flags")
FAMILIES = _families("general") | _families("messages") | _OF_GETTEXT
"""All rules by their names; where several match, the first counts."""
GENERAL = tuple(_TABLE["general"])
"""The rules for texts without a flag that names their placeholders."""
MESSAGES = (*GENERAL, "dollar numbers", "bars", "underlines")
"""The rules for messages of programs in files whose format does not name their placeholders."""
STRICT_TAG = _filled("«strict_tag»")
"""A tag in a text without markup."""


def families_for(flags: Iterable[str]) -> tuple[str, ...]:
    """Returns the rules for a message with flags of gettext: `php-format` replaces the general rules of its sign, and
    `no-php-format` leaves out those that hold the same."""
    named = {flag.strip().removeprefix("possible-").replace("impossible-", "no-") for flag in flags}
    chosen = [name for name in _OF_GETTEXT if name in named]
    signs = {FAMILIES[name].sign for name in chosen}
    without = {rule for name in _OF_GETTEXT if f"no-{name}" in named for rule in FAMILIES[name].general}
    kept = "" if "java-format" in chosen else "icu"  # which no other format reads otherwise
    general = (name for name in GENERAL if name == kept or FAMILIES[name].sign not in signs)
    return (*chosen, *(name for name in general if name not in without))


@lru_cache(maxsize=64)
def pattern_of(families: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern for the placeholders of some families; its `lastgroup` is the `group_of` a family."""
    rules = "\n|".join(f"(?P<{group_of(name)}>{FAMILIES[name].pattern})" for name in families)
    return re.compile(rules, re.VERBOSE | re.DOTALL)


def group_of(family: str) -> str:
    """Returns the name of a family's group in a pattern."""
    return re.sub(r"\W", lambda match: "_" if match[0] in " -" else "p", family)


_NEXT = re.compile(
    _filled(r"%(?:'[^A-Za-z]|[-+ \#0'I,(])*+v?«size»(?:«length»[A-Za-z@]|<PRI\w++>)|\{(?:[:!][^{}]*+)?\}|~[^\d%~].*"),
    re.DOTALL,
)


def takes_next_argument(placeholder: str) -> bool:
    """Returns True if a placeholder means the next argument, such as `%s`, and not one by number or name."""
    return _NEXT.fullmatch(placeholder) is not None and placeholder not in ("%n", "%m")


def with_literals(text: str, families: Iterable[str], free: str) -> str:
    """Writes characters that mean something to a program as text, such as a percent sign as `%%`, unless the source's
    text, without its placeholders, has them too."""
    written: dict[str, str] = {}
    for name in families:
        written |= FAMILIES[name].literals
    return "".join(written[sign] if sign in written and sign not in free else sign for sign in text)
