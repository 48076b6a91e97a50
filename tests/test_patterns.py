"""Every regular expression of the package takes time that is at most linear in the length of a text.

    python tests/test_patterns.py [FILE ...]

prints, of all patterns or of those in some files, the slowest text and its times.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import transduce
from growth import RULE, Attack, Growth, Rule, Run, growths
from pattern_attacks import attacks_on
from patterns import Found, Pattern, find_patterns

pytestmark = pytest.mark.slow

QUICK = Rule(lengths=(1_563, 6_250, 25_000))
NOT_LINEAR = {
    r"(a+)+b": "search",
    r"<v(?:\.[^ \t>]+)*[ \t]": "search",
    r"\s+$": "search",
    r"[ \t]*\n": "search",
    r"%[0+]*\d*d": "search",
    r"\[\^[^\]\s]+\]": "search",
    r"<[^>]*x>": "search",
    r"<!--.*?-->": "search",
    r"a*a*a*b": "match",
    r"(\w+)-(\w+)-(\w+)": "search",
    r"x(?=.*y)": "search",
    r'"(?:[^"\\]|\\.)*"': "search",
    r"\d+(?:[.,]\d+)*%": "search",
    r"(?:a|b|ab)*c": "match",
    r"[.!?…。]+$": "search",
    r"let\s++[\w{].*=.*+;": "match",
}
LINEAR = {
    r"(?>a+)b": "match",
    r"[^<]*+<": "match",
    r"\S+": "search",
    r"(?<!\s)\s++(?!\n)": "search",
    r"a{2,5}b": "search",
}
"""Patterns for the test itself, and how each is called."""


@pytest.fixture(scope="module")
def found() -> Found:
    return find_patterns(Path(transduce.__file__).parent)


def test_every_pattern_of_the_package_is_found(found: Found) -> None:
    assert not found.lost, "write these so that the test finds out what they are"
    assert len(found.patterns) > 50


def test_every_pattern_is_linear(found: Found) -> None:
    wrong = [_line(pattern, growth) for pattern, growth in _measured(found.patterns) if not growth.is_linear]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(found.patterns)} patterns are not linear:", *wrong])


def test_patterns_that_are_not_linear_are_detected() -> None:
    def linear(patterns: dict[str, str], limit: float) -> list[str]:
        made = [Pattern(source, 0, way == "match", "") for source, way in patterns.items()]
        return [pattern.source for pattern, growth in _measured(made, limit) if growth.is_linear]

    assert linear(NOT_LINEAR, limit=0.5) == []  # some of them would take hours
    assert linear(LINEAR, limit=20) == [*LINEAR]


def test_patterns_are_found_wherever_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "searched_for_patterns"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(
        "import re\nfrom re import compile as made, search\n"
        "WORD = 'b+'\nA = re.compile('a+')\nTABLE = {'x': r'c+', 'y': r'd+'}\nPARTS = [('e+', 1)]\n"
        "def all(text, name, pattern='f+'):\n"
        "    A.match(text)\n    search(rf'{WORD}!', text)\n    made(pattern, re.I)\n"
        "    [re.sub(one, '', text) for one in TABLE.values()]\n"
        "    for one, _ in PARTS:\n        re.split(one, text)\n"
        "    re.match(re.escape(name) + 'g+', text)\n    given(text, 'h+')\n"
        "def given(text, which):\n    return re.findall(which, text)\n"
    )
    (package / "two.py").write_text(
        "import re\nfrom tokenizers import Regex\nfrom searched_for_patterns import one\n"
        "one.given('', which='i+')\nB = Regex('j+')\ndef lost(self, text):\n    re.match(self.pattern, text)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    searched = find_patterns(package)
    sources = {pattern.source for pattern in searched.patterns}
    assert sources == {"a+", "b+!", "f+", "c+", "d+", "e+", "Lating+", r"b\.cg+", "h+", "i+", "j+"}
    assert [place.split(":")[:2] for place in searched.lost] == [["searched_for_patterns.two", "7"]]
    assert [pattern.source for pattern in searched.patterns if pattern.is_anchored] == ["a+", "Lating+", r"b\.cg+"]


def _measured(patterns: Iterable[Pattern], limit: float = 20, rule: Rule = QUICK) -> Iterable[tuple[Pattern, Growth]]:
    return growths(_make, list(patterns), limit, rule)


def _make(pattern: Pattern) -> tuple[Run, list[Attack]]:
    return pattern.runner(), attacks_on(pattern.source, pattern.flags)


def _line(pattern: Pattern, growth: Growth) -> str:
    return f"{pattern.where} {pattern.source!r}\n    {growth}"


def _show(places: list[str]) -> None:
    """The table, the slowest first."""
    patterns = find_patterns(Path(transduce.__file__).parent).patterns
    chosen = [one for one in patterns if not places or any(re.search(place, one.where) for place in places)]
    rows = sorted(_measured(chosen, limit=5, rule=RULE), key=lambda row: -row[1].longest)
    wrong = [row for row in rows if not row[1].is_linear]
    print("\n".join(_line(*row) for row in rows))
    print(f"{len(rows)} patterns, {len(wrong)} of them not linear")


if __name__ == "__main__":
    _show(sys.argv[1:])
