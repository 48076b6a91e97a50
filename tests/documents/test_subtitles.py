"""Cues are found as players find them: WebVTT by its standard, SRT as those that show most of a file."""

import re

import pytest

from docsegments.document import Document
from docsegments.document_formats import read_document
from docsegments.segment import Segment
from documents.theorem import in_capitals

TIMES = "00:00:01.000 --> 00:00:02.000"


def vtt(text: str) -> Document:
    return read_document(f"WEBVTT\n\n{text}".encode(), "a.vtt")


def srt(text: str) -> Document:
    return read_document(text.replace(TIMES, TIMES.replace(".", ",")).encode(), "a.srt")


def texts(document: Document) -> list[str]:
    return [" ".join(unit.source.text.split()) for unit in document.units]


def test_a_line_of_blanks_ends_no_cue_of_webvtt() -> None:
    data = (
        "WEBVTT\nKind: captions\nLanguage: de\n\n00:00:00.030 --> 00:00:05.720 align:start\n \n"
        "the<00:00:00.719><c> dog</c><00:00:00.930><c> runs</c>\n\n00:00:05.720 --> 00:00:05.730\nthe dog runs\n \n"
    )
    assert texts(read_document(data.encode(), "a.vtt")) == ["the dog runs", "the dog runs"]
    wanted = data
    for word in ("the", "dog", "runs"):
        wanted = wanted.replace(word, word.upper())
    assert in_capitals(data.encode(), "a.vtt").data.decode().replace(" ", "") == wanted.replace(" ", "")


@pytest.mark.parametrize("kind", ["srt", "vtt"])
def test_new_times_end_a_cue(kind: str) -> None:
    text = f"{TIMES}\nThe dog\n00:00:03.000 --> 00:00:04.000\nThe cat\n"
    document = vtt(text) if kind == "vtt" else srt(text.replace(".000", ",000"))
    assert texts(document) == ["The dog", "The cat"]


def test_what_follows_an_empty_line_is_shown_by_players_of_srt_and_not_by_those_of_webvtt() -> None:
    text = f"1\n{TIMES}\nThe dog\n\nsleeps\n\n2\n{TIMES}\nThe cat\n"
    assert texts(srt(text)) == ["The dog sleeps", "The cat"]
    assert texts(vtt(text)) == ["The dog", "The cat"]
    mark = srt(text).units[0].source.marks[0]
    assert (mark.raw, mark.breaks) == ("\n\n", True)


def test_an_arrow_in_a_note_begins_a_cue_where_the_standard_says_so() -> None:
    assert texts(vtt(f"NOTE\n{TIMES}\nThe dog\n\nNOTE a\nb\n{TIMES}\nThe cat\n\n{TIMES}\nThe man")) == [
        "The dog",
        "The cat",
        "The man",
    ]


def test_cues_have_their_names_and_numbers() -> None:
    assert [unit.id for unit in vtt(f"one two\n{TIMES}\na\n\n{TIMES}\nb\n").units] == ["one two", ""]
    assert [unit.id for unit in srt(f"7\n{TIMES}\na\n\n{TIMES}\nb\n").units] == ["7", ""]


def test_a_text_whose_times_cannot_be_read_is_named() -> None:
    document = vtt(f"{TIMES}\nThe dog\n\n00:01 --> soon\nThe cat\n")
    assert texts(document) == ["The dog"]
    (left,) = document.untranslated
    assert (left.where, left.text) == ("line 6", "The cat")
    assert "00:01 --> soon" in left.reason


def test_how_a_word_is_read_stays_and_is_named() -> None:
    document = vtt(f"{TIMES}\n<ruby>dog<rt>dawg</rt></ruby> sleeps")
    assert texts(document) == ["dog sleeps"]
    assert [one.text for one in document.untranslated] == ["dawg"]


def test_no_translation_ends_its_cue() -> None:
    document = srt(f"1\n{TIMES}\nThe dog\nsees\nthe cat\n")
    marks = document.units[0].source.marks
    written = document.translated([Segment((marks[0], "a\n\nb 00:00:01,000 --> 00:00:02,000", marks[1]))]).decode()
    assert texts(read_document(written.encode(), "a.srt")) == ["a b 00:00:01,000 --> 00:00:02,000"]
    document = srt(f"1\n{TIMES}\nThe\ndog\n")
    written = document.translated([Segment((document.units[0].source.marks[0], "00:00:01,000 --> 00:00:02,000"))])
    assert len(read_document(written, "a.srt").units) == 1


def test_a_number_beyond_all_characters_is_no_number() -> None:
    data = f"WEBVTT\n\n{TIMES}\nThe dog &#{'1' * 5000}; &#x41;&#000000000066;\n".encode()
    assert b"THE DOG \xef\xbf\xbd AB" in in_capitals(data, "a.vtt").data


@pytest.mark.parametrize("kind", ["srt", "vtt"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("♪ the dog sings ♪", "♪ the cat dances ♪"),
        ("<i>♪ the dog sings</i>", "<i>♫ the cat dances ♫</i>"),
        ("# the dog sings #", "# the cat dances #"),
        ("[dog barks]", "the cat dances"),
        ("(dog barks)", "the cat dances"),
        ("the dog sings [laughs]", "and dances"),
        ("the dog sings", "ANN: the cat dances"),
        ("the dog sings", "MAN 1 (low): the cat dances"),
        ("Ann: the dog sings", "Peter: the cat dances"),
        (">> the dog sings", ">> the cat dances"),
        ("- the dog sings", "- [laughs] the cat dances"),
        ("<i>The dog sings</i>", "<i>The cat dances</i>"),
        ("<font color=red>the dog sings,</font>", "<font color=blue>the cat dances</font>"),
    ],
)
def test_each_voice_is_translated_by_itself_and_stays_on_its_line(kind: str, first: str, second: str) -> None:
    document = (vtt if kind == "vtt" else srt)(f"{TIMES}\n{first}\n{second}\n")
    marks = [mark for mark in document.units[0].source.marks if mark.raw == "\n"]
    assert [mark.breaks for mark in marks] == [True]
    data = f"{TIMES}\n{first}\n{second}\n"
    data = f"WEBVTT\n\n{data}" if kind == "vtt" else data.replace(".000", ",000")
    written = in_capitals(data.encode(), f"a.{kind}").data.decode().replace("&gt;", ">")
    said = [re.sub("<[^>]*>", "", line) for line in (first.upper(), second.upper())]
    assert [re.sub("<[^>]*>", "", line) for line in written.splitlines()[-2:]] == said


@pytest.mark.parametrize(
    "text",
    [
        "the dog\nsings", "the dog (the old\none) sings", "the dog\n(the old) sings", "♪ the dog\nsings ♪",
        "<i>the dog,</i>\n<i>the old one, sings</i>", "<i>The dog</i>\n<i>sings</i>", "He says\nThis: the dog",
        "the #1\nand #2", "[the dog\nbarks]",
    ],
)  # fmt: skip
def test_a_sentence_goes_on_through_the_lines_of_a_voice(text: str) -> None:
    (mark,) = [mark for mark in srt(f"{TIMES}\n{text}\n").units[0].source.marks if mark.raw == "\n"]
    assert not mark.breaks


def test_a_sound_before_speech_is_translated_by_itself() -> None:
    parts = srt(f"{TIMES}\n[laughs] The dog\n").units[0].source.parts
    assert [part if isinstance(part, str) else part.breaks for part in parts] == ["[laughs]", True, "The dog"]
