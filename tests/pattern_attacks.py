"""Texts that may slow a regular expression down, made from the pattern: repeats of all that it looks for."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from growth import Attack

MOST_SAMPLES = 4  # of a part of a pattern
MOST_MEMBERS = 12  # of a class
OUTSIDE = "\0\n !aé0\u3042"  # tried for what a class leaves out
CATEGORIES = {
    sre.CATEGORY_DIGIT: "07",
    sre.CATEGORY_NOT_DIGIT: "a-\n",
    sre.CATEGORY_SPACE: " \n\t\u3000",
    sre.CATEGORY_NOT_SPACE: "a0.",
    sre.CATEGORY_WORD: "aZ0_é",
    sre.CATEGORY_NOT_WORD: " .-\n",
}
PROPERTIES = {"L": "a-zé", "N": "0-9", "M": "\u0301\u0327", "Z": " \u3000", "Cc": "\x01", "Latin": "a-z"}


def attacks_on(source: str | bytes, flags: int = 0) -> list[Attack]:
    """Texts for a pattern, each once: repeats of a unit, of two and of three units, after a beginning of a match and
    before what ends none."""
    text = source.decode("latin-1") if isinstance(source, bytes) else _without_properties(source)
    units = _Units()
    wholes = units.of_all(list(parser.parse(text, flags & ~re.LOCALE)), [""])
    beginnings = [whole[:length] for whole in wholes[:2] for length in range(1, min(len(whole), 24) + 1)]
    characters = [*_spread(list(units.literals), 12), *_spread(list(units.characters), 12)]
    all_units = [unit for unit in dict.fromkeys([*characters, *units.bodies, *beginnings, *wholes]) if unit] or ["a"]
    several = list(dict.fromkeys([*_spread(list(units.literals), 7), *_spread(all_units, 7)]))
    tails = list(dict.fromkeys(["", "\0", "\n", *_spread(all_units, 4)]))
    attacks = [Attack((body,), head, tail) for head, body in units.repeats for tail in ("", "\0")]
    attacks += [Attack((head, body), "", tail) for head, body in units.repeats if head for tail in ("", "\0")]
    attacks += [Attack((head + body,)) for head, body in units.repeats if head]
    attacks += [Attack((unit,), "", tail) for unit in all_units for tail in tails]
    attacks += [Attack((one + other,)) for one, other in itertools.permutations(several, 2)]
    attacks += [Attack((one, other)) for one, other in itertools.permutations(several, 2)]
    attacks += [Attack(("".join(three),)) for three in itertools.permutations(_spread(all_units, 5), 3)]
    attacks += [Attack(((one + other) * 8 + one * 100,)) for one, other in itertools.permutations(several[::2], 2)]
    return list(dict.fromkeys(attacks))


class _Units:
    """Goes through a parsed pattern, and collects what a text may repeat."""

    def __init__(self) -> None:
        self.literals: dict[str, None] = {}
        """Each character that the pattern has."""
        self.characters: dict[str, None] = {}
        """Others, that are members of its classes."""
        self.bodies: dict[str, None] = {}
        """What fits each part that is repeated, is a group or looks ahead or behind."""
        self.repeats: dict[tuple[str, str], None] = {}
        """What fits all before a part that is repeated, and the part."""
        self.groups: dict[int, list[str]] = {}

    def of_all(self, nodes: Sequence[Any], before: Sequence[str]) -> list[str]:
        """Texts that fit nodes one after the other, which others may be before."""
        samples = [""]
        for operation, argument in nodes:
            parts = self.of(operation, argument, [left + right for left in before for right in samples][:MOST_SAMPLES])
            samples = [left + right for right in parts for left in samples[:MOST_SAMPLES]]
            samples = list(dict.fromkeys(samples))[: 2 * MOST_SAMPLES]
        return samples

    def of(self, operation: Any, argument: Any, before: Sequence[str]) -> list[str]:
        """Texts that fit one node."""
        if operation in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            members = _members(operation, argument)
            self.characters.update(dict.fromkeys(members))
            self.literals.update(dict.fromkeys(_literals(operation, argument)))
            return members[:MOST_SAMPLES] or [""]
        if operation in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self._of_repeat(*argument, before)
        if operation is sre.BRANCH:
            samples = [sample for branch in argument[1] for sample in self.of_all(list(branch), before)[:2]]
        elif operation is sre.SUBPATTERN:
            samples = self.groups[argument[0]] = self.of_all(list(argument[3]), before)
        elif operation is sre.ATOMIC_GROUP:
            samples = self.of_all(list(argument), before)
        elif operation in (sre.ASSERT, sre.ASSERT_NOT):
            self._add(self.of_all(list(argument[1]), before))
            return [""]
        elif operation is sre.GROUPREF:
            return self.groups.get(argument, [""])[:1]
        elif operation is sre.GROUPREF_EXISTS:
            samples = [sample for branch in argument[1:] if branch for sample in self.of_all(list(branch), before)]
        elif operation is sre.AT:
            return [""]
        else:
            raise NotImplementedError(f"{operation}: say in {__name__} what fits it")
        self._add(samples)
        return samples or [""]

    def _of_repeat(self, least: int, most: int, body: Any, before: Sequence[str]) -> list[str]:
        nodes = list(body)
        samples = self.of_all(nodes, before)
        self._add(samples)
        is_character = len(nodes) == 1 and nodes[0][0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)
        tried = _members(*nodes[0]) if is_character else samples
        if most > 1:
            self.repeats.update(dict.fromkeys((head, one) for head in before[:2] for one in tried if one))
        counts = {min(max(least, count), most, 40) for count in (least, 1, 2)}
        return [sample * count for count in sorted(counts, reverse=True) for sample in samples]

    def _add(self, samples: Sequence[str]) -> None:
        self.bodies.update(dict.fromkeys(sample for sample in samples if sample))


def _members(operation: Any, argument: Any) -> list[str]:
    """Some characters that fit a literal or a class, its literals first."""
    if operation is sre.LITERAL:
        return [chr(argument)]
    if operation is sre.NOT_LITERAL:
        return [character for character in OUTSIDE if character != chr(argument)]
    if operation is sre.ANY:
        return list(OUTSIDE.replace("\n", "") + "\n")
    is_negated = argument[0][0] is sre.NEGATE
    inside = list(dict.fromkeys(itertools.chain.from_iterable(_class_members(argument))))
    if not is_negated:
        return _spread(inside, MOST_MEMBERS)
    excluded = re.compile(_written(argument))
    return [character for character in OUTSIDE + "<>\"'[]{}(),;:=&%" if excluded.match(character)]


def _literals(operation: Any, argument: Any) -> list[str]:
    if operation in (sre.LITERAL, sre.NOT_LITERAL):
        return [chr(argument)]
    return [chr(value) for kind, value in argument if kind is sre.LITERAL] if operation is sre.IN else []


def _class_members(argument: Iterable[Any]) -> Iterator[str]:
    for kind, value in argument:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.RANGE:
            first, last = value
            yield "".join(chr(code) for code in {first, (first + last) // 2, last} if not 0xD800 <= code < 0xE000)
        elif kind is sre.CATEGORY:
            yield CATEGORIES[value]


def _written(argument: Iterable[Any]) -> str:
    """A class as a pattern again."""
    categories = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }
    parts = []
    for kind, value in argument:
        if kind is sre.NEGATE:
            parts.append("^")
        elif kind is sre.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is sre.RANGE:
            parts.append("-".join(re.escape(chr(code)) for code in value))
        else:
            parts.append(categories[value])
    return f"[{''.join(parts)}]"


def _without_properties(source: str) -> str:
    r"""A pattern with some members for classes such as \p{L}, which `re` does not know."""

    def members(found: re.Match[str]) -> str:
        return PROPERTIES.get(found[1], "a-z")

    in_classes = re.sub(r"\[(?:[^\]\\]|\\.)*\]", lambda found: re.sub(r"\\p\{(\w+)\}", members, found[0]), source)
    return re.sub(r"\\([pP])\{(\w+)\}", lambda f: f"[{'^' * (f[1] == 'P')}{PROPERTIES.get(f[2], 'a-z')}]", in_classes)


def _spread(units: Sequence[str], most: int) -> list[str]:
    """Some units from the whole of a list."""
    step = max(len(units) / most, 1)
    return [units[int(n * step)] for n in range(min(most, len(units)))]
