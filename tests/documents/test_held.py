"""Placeholders, addresses and code stand in a translation as in its source, whatever a model makes of them."""

import pytest

from transduce.documents.held import restore_held
from transduce.documents.placeholders import PLACEHOLDER, hold, mark_lines, mark_tags, plain_segment
from transduce.documents.segment import Mark


def marks(*shown: str) -> list[Mark]:
    return [Mark(text, shown=text) for text in shown]


def restored(text: str, *shown: str) -> str:
    apart = [(True, True)] * len(shown)
    return restore_held(text, marks(*shown), [i / len(shown) for i in range(len(shown))], apart).text


@pytest.mark.parametrize(
    "text",
    [
        "%s", "%d", "%5.2f", "%1$s", "%ld", "%@", "%%", "%(name)s", "%(count)05d", "%name%",
        "%1%", "%{name}", "%<name>s", "%<PRIu64>", "%1", "%L2", "%n", "%m", "\x1b[1;31m", "{}", "{0}",
        "{name!r:>10}", "${name}", "{{ x }}", "{{x|e}}", "{% if x %}", "<%= x %>", "$HOME", "&nbsp;", "&#160;", "https://a.b/c?d=e#f",
        "www.a.b", "ann.b+c@d.example", "{n, plural, one {# file} other {{n} files}}",
    ],
)  # fmt: skip
def test_what_stands_for_something_is_found_whole(text: str) -> None:
    assert [found[0] for found in PLACEHOLDER.finditer(f"See {text} now.")] == [text]


@pytest.mark.parametrize("text", ["100% sure", "50 % of", "5%", "a < b", "R&D", "3 $", "at 5 | 6", "name: x", "a@b"])
def test_other_signs_are_text(text: str) -> None:
    assert hold([text]) == [text]


def test_an_address_ends_before_the_sentence_does() -> None:
    (mark,) = plain_segment("(See https://a.b/c, or not.)").marks
    assert mark.shown == "https://a.b/c"


def test_plural_forms_of_one_message_are_translated_apart() -> None:
    segment = plain_segment("one file|%count% files")
    assert [(mark.raw, mark.breaks) for mark in segment.marks] == [("|", True), ("%count%", False)]
    assert segment.text == "one file %count% files"


def test_tags_in_a_message_are_paired_by_their_names() -> None:
    parts = mark_tags(['a <b>c <i x="<">d</i></b> <br/> </u> <i>'])
    kinds = [(part.kind, part.pair != "") for part in parts if isinstance(part, Mark)]
    assert kinds == [("open", True), ("open", True), ("close", True), ("close", True)] + 3 * [("alone", False)]


def test_ends_of_lines_stay_as_they_are_written() -> None:
    parts = mark_lines(["a \r\n  b\n\nc"])
    assert [part if isinstance(part, str) else part.raw for part in parts] == ["a", " \r\n  ", "b", "\n", "\n", "c"]


def test_what_is_right_is_left() -> None:
    assert restored("Hallo %s und {x}", "%s", "{x}") == "Hallo %s und {x}"
    assert restore_held("Ja %s", marks("%s"), [0.5], [(True, True)]).notes == []


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("Hallo % ( name ) s da", "Hallo %(name)s da"),
        ("Hallo %(NAME)S da", "Hallo %(name)s da"),
        ("Hallo da", "%(name)s Hallo da"),
        ("", "%(name)s"),
        ("%(name)s Hallo %(name)s", "%(name)s Hallo"),
        ("Hallo %(name)s %d {x} <b>da", "Hallo %(name)s da"),
        ("Hallo%(name)sda", "Hallo %(name)s da"),
    ],
)
def test_what_is_misspelt_lost_doubled_or_made_up_is_mended_and_told(output: str, wanted: str) -> None:
    found = restore_held(output, marks("%(name)s"), [0.0], [(True, True)])
    assert found.text == wanted
    assert found.notes or output == "Hallo%(name)sda"


def test_one_within_another_is_not_taken_for_it() -> None:
    assert restored("{{ x }} und { x }", "{ x }", "{{ x }}") == "{{ x }} und { x }"
    assert restored("{{ x }}", "{{ x }}", "{ x }").count("{ x }") == 2


def test_it_is_put_where_it_is_expected_and_before_the_full_stop() -> None:
    found = restore_held("Der Hund sieht.", marks("%s"), [0.9], [(True, False)], [(15, 15)])
    assert found.text == "Der Hund sieht %s."
    found = restore_held("Der Hund sieht Paul.", marks("%s"), [0.9], [(True, False)], [(15, 20)])
    assert found.text == "Der Hund sieht %s."


def test_a_word_of_code_is_the_whole_word() -> None:
    assert restore_held("an einem a", marks("a"), [1.0], [(True, True)]).spans == [(9, 10)]


@pytest.mark.parametrize("begin", ["{{", "{%", "{#", "<%", "${{ x ", "%(", "http://", "a@b."])
def test_placeholders_that_never_end_are_text_and_read_at_once(begin: str) -> None:
    text = begin * (300_000 // len(begin))
    assert plain_segment(text).text == text
