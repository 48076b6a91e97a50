"""Marks are put where the words are that they were about; none is lost, doubled or torn, however words are aligned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsegments.segment import Mark, Part, Segment, is_nested, problems
from docsegments.text.mark_tree import is_fixed
from docsegments.text.placing import place_marks


def segment(*parts: Part) -> Segment:
    return Segment.of(parts)


def pair(name: str, *inside: Part) -> list[Part]:
    return [Mark(f"<{name}>", "open", name), *inside, Mark(f"</{name}>", "close", name)]


def written(found: Segment) -> str:
    return "".join(part if isinstance(part, str) else part.raw for part in found.parts)


def test_a_pair_is_put_about_the_words_that_go_with_its_own() -> None:
    source = segment("The ", *pair("b", "old dog"), " sees ", *pair("i", "it"), ".")
    found = place_marks(source, "Ihn sieht der alte Hund.", {(0, 2), (1, 3), (2, 4), (3, 1), (4, 0)}, [])
    assert written(found) == "<i>Ihn</i> sieht der <b>alte Hund</b>."


def test_an_article_stays_outside_though_attention_is_at_its_noun() -> None:
    source = segment("The ", *pair("b", "dog"), " sleeps.")
    assert written(place_marks(source, "Der Hund schläft.", {(1, 0), (1, 1), (2, 2)}, [])) == "Der <b>Hund</b> schläft."


def test_punctuation_is_inside_a_pair_where_it_is_in_the_source() -> None:
    links = {(0, 0), (1, 1)}
    outside, inside = segment("I ", *pair("b", "sleep"), "."), segment("I ", *pair("b", "sleep."))
    assert written(place_marks(outside, "Ich schlafe.", links, [])) == "Ich <b>schlafe</b>."
    assert written(place_marks(inside, "Ich schlafe.", links, [])) == "Ich <b>schlafe.</b>"


def test_pairs_within_each_other_stay_so() -> None:
    source = segment(*pair("a", "see the ", *pair("b", "big"), " cat"), " now")
    found = place_marks(source, "jetzt die große Katze sehen", {(0, 4), (1, 1), (2, 2), (3, 3), (4, 0)}, [])
    assert written(found) == "jetzt <a>die <b>große</b> Katze sehen</a>"


def test_what_is_held_is_where_the_translator_has_put_it() -> None:
    source = segment("Delete ", Mark("%s", shown="%s"), " of ", *pair("b", Mark("%d", shown="%d"), " files"))
    found = place_marks(source, "%s von %d Dateien löschen", {(0, 4), (2, 1), (4, 3)}, [(0, 2), (7, 9)])
    assert written(found) == "%s von <b>%d Dateien</b> löschen"


def test_a_mark_without_words_keeps_the_blanks_about_it() -> None:
    links = {(0, 0), (1, 1)}
    assert written(place_marks(segment("Hello ", Mark("<x/>"), ", you"), "Hallo, du", links, [])) == "Hallo <x/>, du"
    assert written(place_marks(segment("Hello", Mark("<x/>"), " you"), "Hallo du", links, [])) == "Hallo<x/> du"
    assert written(place_marks(segment("Hello ", Mark("<x/>"), "you"), "Hallo du", links, [])) == "Hallo <x/>du"


def test_a_mark_before_punctuation_that_is_apart_takes_no_sign_of_the_word_before_it() -> None:
    for text, wanted in (("The: /", "Die: <x/>/"), ("The, you", "Die <x/>, du"), ("The , you", "Die <x/>, du")):
        before, sign = text.split()[0].rstrip(","), "/" if "/" in text else ", you"
        target = text.replace("The", "Die").replace("you", "du")
        assert written(place_marks(segment(f"{before} ", Mark("<x/>"), sign), target, None, [])) == wanted


def test_a_line_end_within_a_sentence_takes_the_place_of_a_blank_in_the_middle() -> None:
    source = segment("It is not safe", Mark("\n", shown=" "), "in here any more.")
    assert written(place_marks(source, "Hier ist es nicht mehr sicher.", None, [])) == "Hier ist es\nnicht mehr sicher."


def test_without_an_alignment_words_are_taken_in_their_order() -> None:
    source = segment("one ", *pair("b", "two"), " three")
    assert written(place_marks(source, "eins zwei drei", None, [])) == "eins <b>zwei</b> drei"
    assert written(place_marks(source, "一二三", {(0, 0), (1, 1), (2, 2)}, [])) == "一<b>二</b>三"


def test_pairs_that_cross_each_other_open_before_they_close() -> None:
    a, b = pair("a"), pair("b")
    source = segment(a[0], "one ", b[0], "two ", a[1], "three", b[1])
    found = place_marks(source, "drei zwei eins", {(0, 2), (1, 1), (2, 0)}, [])
    assert not problems(source, found)
    places = {mark.raw: place for place, mark in enumerate(found.marks)}
    assert places["<a>"] < places["</a>"]
    assert places["<b>"] < places["</b>"]


def test_edges_are_no_text() -> None:
    source = segment(" ", *pair("p", Mark("<x/>"), " A ", *pair("b", "dog"), "\n"), Mark("<y/>"))
    before, core, after = source.split_edges()
    assert written(Segment(before)) == " <p><x/> "
    assert written(core) == "A <b>dog</b>"
    assert written(Segment(after)) == "\n</p><y/>"


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    names = iter(range(100))

    def parts(depth: int) -> list[Part]:
        made: list[Part] = []
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(["text", "text", "held", "alone", "break", "pair"]))
            name = str(next(names))
            if kind == "text":
                made.append(draw(st.sampled_from(["a", " a b ", "a, b. ", "(a) ", "犬が"])))
            elif kind == "pair" and depth < 3:
                made += pair(name, *parts(depth + 1))
            else:
                shown = {"held": draw(st.sampled_from(["%s", "{a b}", "%"])), "break": " "}.get(kind, "")
                made.append(Mark(f"<{name}/>", shown=shown, breaks=kind == "break" and draw(st.booleans())))
        return made

    made = parts(0)
    if draw(st.booleans()):  # crossing each other
        marks = [place for place, part in enumerate(made) if isinstance(part, Mark)]
        if len(marks) > 1:
            i, j = draw(st.sampled_from(marks)), draw(st.sampled_from(marks))
            made[i], made[j] = made[j], made[i]
    return Segment.of(made).split_edges()[1]


@given(segments(), st.data())
def test_every_mark_is_there_once_and_all_text_too(source: Segment, data: st.DataObject) -> None:
    fixed = [mark for mark in source.marks if is_fixed(mark)]
    words: list[Part] = data.draw(st.lists(st.sampled_from(["der", "Hund,", "(ja).", "犬が", "?", "„"]), max_size=8))
    for mark in fixed:
        words.insert(data.draw(st.integers(0, len(words))), mark)
    text, spans = "", {}
    for word in words:
        text += data.draw(st.sampled_from(["", " "])) if text else ""
        shown = word if isinstance(word, str) else word.shown
        if isinstance(word, Mark):
            spans[word.raw] = (len(text), len(text) + len(shown))
        text += shown
    links = data.draw(st.none() | st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9))))
    found = place_marks(source, text, links, [spans[mark.raw] for mark in fixed])
    assert not problems(source, found)
    shown = "".join(part if isinstance(part, str) else part.shown for part in found.parts)
    assert "".join(shown.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("marks", "is_so"), [("", True), ("abba", True), ("aabb", True), ("abab", False), ("a", False)]
)
def test_what_nests_is_distinguished_from_what_does_not(marks: str, is_so: bool) -> None:
    made = [Mark("", "close" if name in marks[:place] else "open", name) for place, name in enumerate(marks)]
    assert is_nested(made) == is_so
