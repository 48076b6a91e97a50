"""The table of placeholders: each family finds its own, the docs name all of them, and flags choose as gettext does."""

import re
from pathlib import Path

import pytest

from docsegments.segment import Mark
from docsegments.text.placeholder_families import (
    FAMILIES,
    GENERAL,
    MESSAGES,
    families_for,
    group_of,
    pattern_of,
    takes_next_argument,
    with_literals,
)
from docsegments.text.placeholders import hold

DOCS = Path(__file__).parents[2] / "docs" / "documents.md"
FORMS = {"icu", "plural forms", "bars"}
"""Families whose examples are texts around marks."""


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in FORMS])
def test_a_family_finds_its_examples_whole_and_by_its_name(name: str) -> None:
    for families in [(name,), *([GENERAL] if name in GENERAL else [])]:
        for example in FAMILIES[name].examples:
            text = f"See {example.replace('ESC', chr(27))} now."
            assert [part.raw for part in hold([text], str, families) if isinstance(part, Mark)] == [text[4:-5]]
    found = pattern_of((name,)).search(f" {FAMILIES[name].examples[0].replace('ESC', chr(27))} ")
    assert found is not None
    assert found.lastgroup == group_of(name)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_forms_and_branches_are_texts_of_their_own(name: str) -> None:
    for example in FAMILIES[name].examples:
        assert any(isinstance(part, Mark) and part.breaks for part in hold([example], str, MESSAGES))


def test_the_docs_name_every_family_and_no_other() -> None:
    text = DOCS.read_text(encoding="utf-8").split("### Families of placeholders", 1)[1].split("\n## ", 1)[0]
    rows = [
        (names.split(", "), shown)
        for names, _, shown in re.findall(r"^\| (.+?) \| (.+) \| (`.+) \|$", text, re.MULTILINE)
    ]
    assert sorted(name for names, _ in rows for name in names) == sorted(
        name for name in FAMILIES if not name.endswith("-format")
    )
    for names, shown in rows:
        examples = [example for name in names for example in FAMILIES[name].examples]
        assert all(example in examples for example in re.findall(r"`(.+?)`(?: |$)", shown.replace("\\|", "|")))


def test_each_rule_but_those_of_gettext_names_its_documentation() -> None:
    for name, family in FAMILIES.items():
        assert name.endswith("-format") != family.documentation.startswith("https://")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("$USER$ has $COUNT$, $user_1@$", ["$USER$", "$COUNT$", "$user_1@$"]),
        ("$1 of $2", ["$1", "$2"]),
        ("[[Help:A]] is [[A]]", ["[[Help:A]]", "[[A]]"]),
        ("@:a.b @.lower:a.b, @:(a.b) @:{'a.b'} {'@'}.", ["@:a.b", "@.lower:a.b", "@:(a.b)", "@:{'a.b'}", "{'@'}"]),
        ("one @:größe.", ["@:größe"]),
        (":name, :Name :NAME :perPage :a1/:total", [":name", ":Name", ":NAME", ":perPage", ":a1", ":total"]),
        ("%1$@ %#@var@ %arg %1$lld", ["%1$@", "%#@var@", "%arg", "%1$lld"]),
        ("{$INTERPOLATION} {$START_TAG_B}", ["{$INTERPOLATION}", "{$START_TAG_B}"]),
        ("\\(name) and \\(a.b(c: d))", ["\\(name)", "\\(a.b(c: d))"]),
        ("{ $var } { -term } { NUMBER($n, a: 1) }", ["{ $var }", "{ -term }", "{ NUMBER($n, a: 1) }"]),
        ("%L1 %n {0:N2} {0,number}", ["%L1", "%n", "{0:N2}", "{0,number}"]),
        ("__name__ and __first_name__", ["__name__", "__first_name__"]),
        ("a lone } here", ["}"]),
        ("$t(a.b) ${x} #{x} %{x}", ["$t(a.b)", "${x}", "#{x}", "%{x}"]),
    ],
)  # fmt: skip
def test_placeholders_of_messages_are_held_whole(text: str, held: list[str]) -> None:
    assert [part.shown for part in hold([text], str, MESSAGES) if isinstance(part, Mark)] == held


@pytest.mark.parametrize(
    "text",
    ["20 % d'accord", "50 $ und 60 $", "$50 and $60", "costs $1.50 or $5", "$1,000", "12:30", "a:b", "Note:this",
     ":) :D", "5$ or 10$", "R&D, AT&T", "a@:b", "#hashtag", "name__x__y", "C:\\temp", "10 %", "[1]", "Größe:wert"],
)  # fmt: skip
def test_prose_has_no_placeholders_in_messages(text: str) -> None:
    assert hold([text], str, MESSAGES) == [text]


def test_labels_of_wiki_links_and_forms_are_translated() -> None:
    parts = hold(["[[Help|the help]]: {{PLURAL:$1|a dog|0=no dog|$1 dogs}}"], str, MESSAGES)
    assert [part for part in parts if isinstance(part, str)] == ["the help", ": ", "a dog", "no dog", " dogs"]
    marks = [part for part in parts if isinstance(part, Mark)]
    assert [mark.raw for mark in marks] == ["[[Help|", "]]", "{{PLURAL:$1|", "|0=", "|", "$1", "}}"]
    assert [mark.breaks for mark in marks] == [False, False, True, True, True, False, True]


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
