"""Every regular expression of the package takes time that is at most linear in the length of a text.

    python tests/test_patterns.py [FILE ...]

prints, of all patterns or of those in some files, the slowest text and its times.
"""

import ast
import builtins
import contextlib
import importlib
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import from_regex
from tokenizers import normalizers, pre_tokenizers

import transduce
from docsegments.text.placeholder_families import FAMILIES, GENERAL, MESSAGES, pattern_of
from growth import RULE, Attack, Growth, Rule, Run, growths

pytestmark = pytest.mark.slow

SOURCE = Path(transduce.__file__).parents[1]
WAYS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
FUNCTION = re.compile(rf"re\.(compile|{'|'.join(WAYS)})|Regex")
ANCHORED = {"match", "fullmatch"}
"""These try one place of a text. What calls them for one place after the other is tried as a whole, with the reading of
documents: whether it begins again where it has looked before, no pattern tells."""
QUICK = Rule(lengths=(1_563, 6_250, 25_000))
USUAL = "a0 \n\t.,-_<>\"'\\[](){}:;=&%/é\0"
"""Characters that every pattern is tried with."""
PROPERTIES = {"L": "a-zé", "N": "0-9", "M": "\u0301\u0327", "Z": " \u3000", "Cc": "\x01", "Latin": "a-z"}
NOT_LINEAR = {r"<v(?:\.[^ \t>]+)*[ \t]": "search", r"\s+$": "search", r"a*a*a*b": "match"}
"""Patterns for the test itself, and how each is called."""


@dataclass(frozen=True)
class Pattern:
    """A regular expression, and what is done with it."""

    source: str | bytes
    flags: int
    is_anchored: bool
    """Whether it is tried at the beginning of a text only."""
    where: str
    """File and line."""
    is_tokenizers: bool = False
    """Whether it is one of the tokenizers library, which has another engine."""

    def runner(self) -> Callable[[str], object]:
        """What does with a text the costliest of what can be done with the pattern in the way it is called."""
        if self.is_tokenizers:
            regex = tokenizers.Regex(self.source)
            replace = normalizers.Replace(regex, "x").normalize_str
            split = pre_tokenizers.Split(regex, "isolated").pre_tokenize_str
            return lambda text: (replace(text), split(text))
        compiled: Any = re.compile(self.source, self.flags)
        encoded: Callable[[str], Any] = str if isinstance(self.source, str) else str.encode
        if self.is_anchored:
            return lambda text: (compiled.match(encoded(text)), compiled.fullmatch(encoded(text)))
        return lambda text: sum(1 for _ in compiled.finditer(encoded(text)))


@pytest.mark.thorough
def test_every_pattern_is_linear() -> None:
    patterns = [*package_patterns()]
    assert len(patterns) > 200
    wrong = [_line(pattern, growth) for pattern, growth in _measured(patterns) if not growth.is_linear]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(patterns)} patterns are not linear:", *wrong])


def test_patterns_that_are_not_linear_are_detected() -> None:
    patterns = [Pattern(source, 0, way == "match", "") for source, way in NOT_LINEAR.items()]
    found = _measured(patterns, limit=0.5)  # some of them would take hours
    assert [pattern.source for pattern, growth in found if growth.is_linear] == []


class _Unknown(str):
    """Stands for what a function is given: a text of one letter, whatever is done with it."""

    def __getattr__(self, name: str) -> "_Unknown":
        return self

    def __getitem__(self, index: object) -> "_Unknown":
        return self

    def __call__(self, *_: object) -> "_Unknown":
        return self


class _Names(dict[str, Any]):
    """The names of a module; all others are unknown texts."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, _Unknown("x"))


def package_patterns() -> list[Pattern]:
    """Each pattern of the package once: those that modules and their tables hold, and those that functions write."""
    found: dict[tuple[str | bytes, int, bool], Pattern] = {}
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    whole = "\n".join(texts.values())
    for path, text in texts.items():
        if not re.search(r"\b(?:re\.|Regex)", text):
            continue
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        names = _Names(vars(importlib.import_module(module)))
        held = [one for name, value in names.items() for one in _held(name, value, text if name[0] == "_" else whole)]
        written = _written(ast.parse(text), names)
        for source, flags, ways, line in [*((*one, 0) for one in held), *written]:
            is_anchored = bool(ways) and ways <= ANCHORED
            pattern = Pattern(source, flags, is_anchored, f"{module}:{line or ''}", is_tokenizers=ways == {"Regex"})
            try:
                pattern.runner()
            except Exception:  # each library has its own for what is no pattern, which a stand-in may have made of one
                continue
            key = (source, flags, pattern.is_tokenizers)
            if key not in found or (found[key].is_anchored and not is_anchored):
                found[key] = pattern
    families = [pattern_of(names) for names in (GENERAL, MESSAGES, *((name,) for name in FAMILIES))]
    return [*found.values(), *(Pattern(one.pattern, one.flags & ~re.UNICODE, False, "families") for one in families)]


def _held(name: str, value: Any, text: str, of: str = "") -> Iterator[tuple[str | bytes, int, set[str]]]:
    """The compiled patterns of a name or table, with what the text calls of it, or of any name if it is a table."""
    if isinstance(value, re.Pattern):
        ways = set(re.findall(rf"(?<!\w){of or re.escape(name)}\.({'|'.join(WAYS)})\b", text))
        yield value.pattern, value.flags & ~re.UNICODE, ways
    elif isinstance(value, dict | tuple | list) and not isinstance(value, _Names):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _held(name, item, text, of=r"(?!re\.)[a-z]\w*")


def _written(tree: ast.Module, names: _Names) -> Iterator[tuple[str | bytes, int, set[str], int]]:
    """The texts that calls of `re` and `Regex` give as patterns."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (function := FUNCTION.fullmatch(ast.unparse(call.func))):
            arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
            source, *others = (_value(argument, names) for argument in arguments)
            around = parents[call]
            way = (
                around.attr
                if function[1] == "compile" and isinstance(around, ast.Attribute)
                else function[1] or "Regex"
            )
            is_held = way == "compile" and isinstance(parents[around], ast.Module)
            if type(source) in (str, bytes) and not is_held:
                flags = sum(other for other in others if isinstance(other, re.RegexFlag))
                yield source, flags, {way}, call.lineno


def _value(node: ast.expr, names: _Names) -> Any:
    try:
        return eval(compile(ast.Expression(node), "", "eval"), {}, names)
    except Exception:  # whatever comes of what is no real value
        return None


def attacks_on(source: str | bytes, flags: int = 0) -> list[Attack]:
    """Texts for a pattern: repeats of characters, of two of its own, and of beginnings of what fits it."""
    text = source.decode("latin-1") if isinstance(source, bytes) else re.sub(r"\\[pP]\{(\w+)\}", _members, source)
    fitting = fitting_texts(text, flags & ~re.LOCALE)
    own = list(dict.fromkeys([*re.sub(r"\\[a-zA-Z]|[\\\[\](){}?*+|^$]", "", text), *"".join(fitting)]))[:24]
    beginnings = list(dict.fromkeys(one[:length] for one in fitting for length in range(1, min(len(one), 16) + 1)))
    attacks = [Attack((unit,), "", tail) for unit in [*own, *USUAL, *beginnings] for tail in ("", "\0", "\n")]
    attacks += [Attack((begin[-1],), begin[:-1], tail) for begin in beginnings for tail in ("", "\0")]
    attacks += [Attack((unit,), begin) for begin in beginnings[:12] for unit in own[:6]]
    attacks += [Attack(units) for one in itertools.permutations(own[:8], 2) for units in (("".join(one),), one)]
    return list(dict.fromkeys(attacks))


@cache
def fitting_texts(source: str, flags: int) -> list[str]:
    """Some texts that fit a pattern, the same each time; none if the pattern is one that hypothesis cannot read."""
    found: list[str] = []

    @settings(
        max_examples=6, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(from_regex(re.compile(source, flags)))
    def collect(text: str) -> None:
        found.append(text[:200])

    with contextlib.suppress(Exception):
        collect()
    return sorted(dict.fromkeys(filter(None, found)), key=len)[:8]


def _members(property_: re.Match[str]) -> str:
    return PROPERTIES.get(property_[1], "a-z")


def _measured(patterns: Iterable[Pattern], limit: float = 20, rule: Rule = QUICK) -> Iterable[tuple[Pattern, Growth]]:
    return growths(_make, list(patterns), limit, rule)


def _make(pattern: Pattern) -> tuple[Run, list[Attack]]:
    return pattern.runner(), attacks_on(pattern.source, pattern.flags)


def _line(pattern: Pattern, growth: Growth) -> str:
    return f"{pattern.where} {pattern.source!r}\n    {growth}"


def _show(places: list[str]) -> None:
    """The table, the slowest first."""
    chosen = [one for one in package_patterns() if not places or any(re.search(place, one.where) for place in places)]
    rows = sorted(_measured(chosen, limit=5, rule=RULE), key=lambda row: -row[1].longest)
    print("\n".join(_line(*row) for row in rows))
    print(f"{len(rows)} patterns, {sum(not growth.is_linear for _, growth in rows)} of them not linear")


if __name__ == "__main__":
    _show(sys.argv[1:])
