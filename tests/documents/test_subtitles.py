"""Cues are found as players find them: WebVTT by its standard, SRT as those that show most of a file."""

import pytest

from documents.theorem import in_capitals
from transduce.documents.document import Document
from transduce.documents.formats import read_document
from transduce.documents.segment import Segment

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


@pytest.mark.parametrize("kind", ["srt", "vtt"])
@pytest.mark.parametrize(
    "text",
    [
        "<v" + ".a" * 50_000,
        "<c" * 50_000,
        "{\\" * 50_000,
        "<i><b>" * 20_000,
        "a" + " " * 100_000 + "b",
        "<rt>" * 25_000,
        "&#" + "1" * 100_000 + ";",
        "&a" * 50_000,
        "0" * 100_000 + ":",
        "a\n \n" * 20_000,
        "-->" * 30_000,
        "<1" * 50_000,
    ],
)
def test_a_cue_of_any_text_is_read_at_once(kind: str, text: str) -> None:
    document = (vtt if kind == "vtt" else srt)(f"{TIMES}\n{text}\n")
    unit = document.units[0]
    assert document.translated([unit.source] + [None] * (len(document.units) - 1))


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
