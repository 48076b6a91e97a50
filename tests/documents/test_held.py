"""Placeholders, addresses and code stand in a translation as in its source, whatever a model makes of them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsegments.segment import Mark, Segment
from docsegments.text.held import STAND_IN, Restored, restore_held
from docsegments.text.placeholders import hold, mark_tags, plain_segment


def restored(output: str, source: str, *shown: str, expected: tuple[tuple[int, int], ...] = ()) -> Restored:
    places, begin = [], 0
    for text in shown:
        begin = source.index(text, begin)
        places.append(begin)
        begin += len(text)
    return restore_held(output, source, [Mark(text, shown=text) for text in shown], places, expected)


@pytest.mark.parametrize(
    "text",
    [
        "%s", "%d", "%5.2f", "%1$s", "%ld", "%@", "%%", "%(name)s", "%(count)05d", "%name%",
        "%1%", "%{name}", "%#@hunde@", "%1$#@x@", "%qs", "%<", "%>", "@count",
        "!link", "%title", ":name", ":rocket:", "%<name>s", "%<PRIu64>",
        "%1", "%L2", "%n", "%m", "\x1b[1;31m", "{}", "{0}",
        "{name!r:>10}", "${name}", "{{ x }}", "{{x|e}}", "{% url x %}", "<%= x %>", "$HOME", "&nbsp;", "&#160;",
        "https://a.b/c?d=e#f", "www.a.b", "ann.b+c@d.example", "https://a.b/c_(d)", "<file>",
        '<a href="b">', "$t(key)", "%1!s!", "#{name}", "{0,number,#.##}", "{{< ref >}}", "<?= $x ?>",
        "\\[forward-char]", "*|FNAME|*", "%%first.name%%", "###NAME###", "@fig-big-dog",
    ],
)  # fmt: skip
def test_placeholders_are_found_whole(text: str) -> None:
    assert [part.shown for part in hold([f"See {text} now."]) if isinstance(part, Mark)] == [text]


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
    assert mark_tags(["<file> <0>a</0> <Name of it>"])[0] == "<file> "
    assert kinds == [("open", True), ("open", True), ("close", True), ("close", True)] + 3 * [("alone", False)]


def test_what_is_right_is_left() -> None:
    found = restored("Hallo %s und {x}", "Hello %s and {x}", "%s", "{x}")
    assert (found.text, found.notes) == ("Hallo %s und {x}", [])


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("Hallo % ( name ) s da", "Hallo %(name)s da"),
        ("Hallo %(NAME)S da", "Hallo %(name)s da"),
        ("Hallo %(nom)s da", "Hallo %(name)s da"),
        ("Hallo ％（ｎａｍｅ）ｓ da", "Hallo %(name)s da"),
        ("Hallo da", "%(name)s Hallo da"),
        ("", "%(name)s"),
        ("%(name)s Hallo %(name)s", "%(name)s Hallo"),
        ("Hallo %(name)s %d {x} <b>da", "Hallo %(name)s da"),
        ("Hallo %(name)s{x}.", "Hallo %(name)s."),
        ("Hallo%(name)sda", "Hallo %(name)s da"),
    ],
)
def test_what_is_misspelt_lost_doubled_or_made_up_is_mended_and_reported(output: str, wanted: str) -> None:
    found = restored(output, "%(name)s is here", "%(name)s")
    assert found.text == wanted
    assert found.notes or output == "Hallo%(name)sda"


@pytest.mark.parametrize(
    ("source", "output", "wanted"),
    [
        ("Go :rocket: now", "Los :rocket::Rakete: jetzt", "Los :rocket: jetzt"),
        ("See @count items", "Siehe @count@Anzahl Dinge", "Siehe @count Dinge"),
        ("See #{a} now", "Siehe #{a}#{b} jetzt", "Siehe #{a} jetzt"),
        ("See {{ size }} now", "Siehe {{ {{ size }} }} jetzt", "Siehe {{ size }} jetzt"),
        ("See ({{ size }}) {{ suffix }}", "Siehe {({{ size }}) {{ suffix }}}", "Siehe ({{ size }}) {{ suffix }}"),
        ("See $E=mc^2$ now", "Siehe $E=mc^2$$E=MC^3$ jetzt", "Siehe $E=mc^2$ jetzt"),
        ("See @:a.b and @:c", "Siehe @:x.y und @:c @:d", "Siehe @:a.b und @:c"),
        ("See {a}/{b} now", "Siehe {x}/{y} jetzt", "Siehe {a}/{b} jetzt"),
        ("See {a}/{b} now", "Siehe {a}/{y} jetzt", "Siehe {a}/{b} jetzt"),
        ('See <img src="a"> now', 'Siehe <imgsrc="b"> jetzt <imgsrc="c">', 'Siehe <img src="a"> jetzt'),
        ("See a &lt; b &amp; c", "Siehe a < b & c", "Siehe a &lt; b &amp; c"),
        ("See %d now", "20 % d'espace %d", "20 % d'espace %d"),
        ("Note: :name", "Hinweis: :name um 12:30", "Hinweis: :name um 12:30"),
    ],
)
def test_a_made_up_placeholder_beside_the_right_one_goes(source: str, output: str, wanted: str) -> None:
    segment = Segment.of(hold([source]))
    marks = [(mark, start) for start, mark in segment.placed_marks() if mark.is_held]
    held = restore_held(output, source, [mark for mark, _ in marks], [start for _, start in marks])
    assert held.text == wanted


@pytest.mark.parametrize("output", ["Nutze abcde jetzt", "Nutze deabc jetzt"])
def test_code_within_a_longer_word_is_not_taken_for_it(output: str) -> None:
    found = restored(output, "Use abc now", "abc")
    assert found.text.split() == ["Nutze", "abc", output.split()[1], "jetzt"]
    assert found.notes


def test_one_within_another_is_not_taken_for_it() -> None:
    assert restored("{{ x }} und { x }", "{ x } and {{ x }}", "{ x }", "{{ x }}").text == "{{ x }} und { x }"
    assert restored("{{ x }}", "{{ x }} {x}", "{{ x }}", "{x}").text.count("{x}") == 1
    assert restored("Ja {{name}}.", "Yes {name}.", "{name}").text == "Ja {name}."


def test_it_is_put_where_it_is_expected_and_before_the_full_stop() -> None:
    source = "The dog sees %s."
    assert restored("Der Hund sieht.", source, "%s", expected=((15, 15),)).text == "Der Hund sieht %s."
    assert restored("Der Hund sieht Paul.", source, "%s", expected=((15, 20),)).text == "Der Hund sieht %s."


def test_a_word_of_code_is_the_whole_word() -> None:
    assert restored("an einem a", "at an a", " a").spans == [(8, 10)]
    assert restored("an einem b", "at an b", "b").spans == [(9, 10)]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("See {a}{b} now", ("{a}", "{b}")),
        ("See %s/%s now", ("%s", "%s")),
        ("See %1$s%2$s now", ("%1$s", "%2$s")),
        ("See %dx%d now", ("%d", "%d")),
        ("See %d%% now", ("%d", "%%")),
        ("See x-y now", ("x", "y")),
        ("See Ctrl+C now", ("Ctrl", "C")),
        ("See {a}: {b} now", ("{a}", "{b}")),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        lambda text: " ".join(reversed(text.split())),
        lambda text: "Siehe jetzt",
        lambda text: "Siehe " + " und ".join(text[4:-4].split("/")),
        lambda text: text + text,
        lambda text: " ".join(text),
    ],
)
def test_what_touches_in_the_source_does_so_in_the_translation(
    source: str, shown: tuple[str, ...], change: Callable[[str], str]
) -> None:
    found = restored(change(source), source, *shown)
    whole = source[4:-4]
    assert [found.text[slice(*span)] for span in found.spans] == list(shown)
    for part in ("{a}", "{b}") if whole == "{a}: {b}" else (whole,):
        assert found.text.count(part) == 1


def test_placeholders_of_the_next_argument_keep_the_order_of_the_source() -> None:
    found = restored("aus %s sind %d", "%d are from %s", "%d", "%s")
    assert (found.text, found.spans) == ("aus %d sind %s", [(4, 6), (12, 14)])
    assert any("order" in note for note in found.notes)
    numbered = restored("aus %2$s sind %1$d", "%1$d are from %2$s", "%1$d", "%2$s")
    assert (numbered.text, numbered.notes) == ("aus %2$s sind %1$d", [])


def test_text_of_the_source_is_not_taken_for_made_up_placeholders() -> None:
    assert (
        restored("Hallo <Name der Kundin>, %s", "Hi <name of client>, %s", "%s").text == "Hallo <Name der Kundin>, %s"
    )
    assert restored("100 %d %s", "100 % of %s", "%s").text == "100 %d %s"
    assert restored("Ja <b>und</b> {x} www.a.b %s", "Yes and %s", "%s").text == "Ja und %s"


def test_code_takes_the_place_of_its_stand_in() -> None:
    found = restored(f"Im Schnee {STAND_IN} rennt ein {STAND_IN}", "A kinder runs in file", "kinder", "file")
    assert found.text == "Im Schnee kinder rennt ein file"
    assert restored(f"Ja {STAND_IN} {STAND_IN}.", "Yes kinder", "kinder").text == "Ja kinder."


def test_a_word_that_is_text_as_well_is_held_where_the_model_read_for_it_what_it_wrote() -> None:
    source = "Global files are in file"
    mark = Mark("file", shown="file")
    written = restore_held(f"File {STAND_IN} file", source, [mark], [20], replaced={20})
    assert written.text == "File file file" and written.spans == [(5, 9)] and not written.notes


@given(
    st.lists(st.sampled_from(["%s", "%s1", "{a}", "<b>", "code"]), max_size=4), st.text("%s1{a}<b>code \n", max_size=30)
)
def test_a_text_is_marked_by_what_a_segment_holds(held: list[str], text: str) -> None:
    segment = Segment(tuple(Mark(f"[{shown}]", shown=shown) for shown in held))
    marked = segment.with_held(text)
    assert marked.text == text
    assert {mark.shown for mark in marked.marks} <= set(held)
    left = [part for part in marked.parts if isinstance(part, str)]
    assert not [(shown, part) for shown in held for part in left if shown in part]
