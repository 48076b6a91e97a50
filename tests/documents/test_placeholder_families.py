"""The table of placeholders: each family finds its own, the docs name all of them, and flags choose as gettext does."""

import re
from pathlib import Path

import pytest

from transduce.documents.segment import Mark
from transduce.documents.text.families import (
    FAMILIES,
    GENERAL,
    families_for,
    group_of,
    pattern_of,
    takes_next_argument,
    with_literals,
)
from transduce.documents.text.placeholders import hold

DOCS = Path(__file__).parents[2] / "docs" / "documents.md"
MESSAGES = {"icu", "plural forms"}
"""Families whose examples are texts around marks."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in MESSAGES])
def test_a_family_finds_its_examples_whole_and_by_its_name(name: str) -> None:
    for families in [(name,), *([GENERAL] if name in GENERAL else [])]:
        for example in FAMILIES[name].examples:
            text = f"See {example.replace('ESC', chr(27))} now."
            assert [part.raw for part in hold([text], str, families) if isinstance(part, Mark)] == [text[4:-5]]
    found = pattern_of((name,)).search(f" {FAMILIES[name].examples[0].replace('ESC', chr(27))} ")
    assert found is not None
    assert found.lastgroup == group_of(name)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_forms_and_branches_are_texts_of_their_own(name: str) -> None:
    for example in FAMILIES[name].examples:
        assert any(isinstance(part, Mark) and part.breaks for part in hold([example]))


def test_the_docs_name_every_family_and_no_other() -> None:
    text = DOCS.read_text(encoding="utf-8").split("### Families of placeholders", 1)[1].split("\n## ", 1)[0]
    rows = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", text, re.MULTILINE))
    del rows["family"], rows["---"]
    assert list(rows) == list(GENERAL)
    for name, row in rows.items():
        what, shown = row.rsplit(" | ", 1)
        assert what == FAMILIES[name].what
        assert shown.replace("\\|", "|") == " ".join(f"`{example}`" for example in FAMILIES[name].examples)
    flags = re.findall(r"`([^`]+-format)`", text)
    assert {name for name in FAMILIES if name not in GENERAL} <= set(flags)


@pytest.mark.parametrize(
    ("flags", "text", "held"),
    [
        ([], "%d%% {x} %name%", ["%d", "%%", "{x}", "%name%"]),
        (["c-format"], "%d% o {x} %name%", ["%d", "% o", "{x}", "%n"]),
        (["fuzzy", " php-format"], "%'*10d %name", ["%'*10d"]),
        (["no-c-format"], "100%d %1 {x}", ["%1", "{x}"]),
        (["python-brace-format"], "{{a}} {b} %s", ["{{", "}}", "{b}", "%s"]),
        (["java-format"], "{0,choice,0#no|1#one {1}} '{'", ["{0,choice,0#no|1#one {1}}", "'{'"]),
        (["possible-c-format"], "% d", ["% d"]),
        (["impossible-c-format"], "%d", []),
        (["lisp-format"], "~a %s", ["~a", "%s"]),
    ],
)  # fmt: skip
def test_a_flag_takes_the_place_of_the_rules_of_its_sign(flags: list[str], text: str, held: list[str]) -> None:
    assert [part.raw for part in hold([text], str, families_for(flags)) if isinstance(part, Mark)] == held


def test_quotation_marks_of_gcc_are_about_words() -> None:
    first, word, last = hold(["%<foo%>"], str, families_for(["gcc-internal-format"]))
    assert isinstance(first, Mark)
    assert isinstance(last, Mark)
    assert (first.kind, word, last.kind, first.pair) == ("open", "foo", "close", last.pair)


@pytest.mark.parametrize(
    ("placeholder", "does"),
    [("%s", True), ("%-5.2f", True), ("{}", True), ("{:>5}", True), ("%'*10d", True), ("%@", True), ("~a", True),
     ("%1$s", False), ("{0}", False), ("{name}", False), ("%(name)s", False), ("%%", False), ("%m", False),
     ("%<name>s", False), ("%1", False)],
)  # fmt: skip
def test_placeholders_of_the_next_argument_are_known(placeholder: str, does: bool) -> None:
    assert takes_next_argument(placeholder) == does


def test_signs_of_a_program_are_written_as_text_unless_the_source_has_them() -> None:
    assert with_literals("5% {a}", ["c-format"], "five") == "5%% {a}"
    assert with_literals("5% {a}", ["python-brace-format"], "five") == "5% {{a}}"
    assert with_literals("5%", ["c-format"], "5 %.") == "5%"
