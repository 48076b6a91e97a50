"""Words and characters of every script: what a text holds, and how it is divided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsegments.orthography.characters import characters, is_within_character, without_invisible
from docsegments.orthography.words import holds, is_word_boundary, without_signs, word_texts, words

SCRIPTS = "aé\u0301 9.,_-'「」（）。人車きゃーサッカーถเักันကန်ာ်ខ្ញुिह न्दी개는👩\u200d\U0001f3fd🇩🇪אبַّ\u00ad\u200c"


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("自行车", "我有一辆自行车。", True),
        ("犬", "犬が走る。", True),
        ("バス", "バスケットをする。", False),
        ("バス", "赤いバスに乗る。", True),
        ("き", "きゃく", False),
        ("จักรยาน", "เขามีจักรยานสองคัน", True),
        ("ด", "ได้", False),
        ("ខ្មែរ", "ខ្ញុំស្រឡាញ់ភាសាខ្មែរ", True),
        ("ကား", "ကျွန်တော်ကားမောင်းတယ်", True),
        ("က", "ကန်", False),
        ("हिन्द", "वह हिन्दी बोलता है", False),
        ("हिन्दी", "वह हिन्दी बोलता है", True),
        ("कि", "किताब", False),
        ("குழந்த", "குழந்தை", False),
        ("café", "cafés", False),
        ("cafe", "cafe\u0301", False),
        ("자전거", "그는 자전거를 탄다", True),
        ("개", "개들에게 준다", True),
        ("개", "개나리가 핀다", False),
        ("TV", "TV를 본다", True),
        ("dog", "the dog's", True),
        ("كلب", "كلبة", False),
    ],
)
def test_a_text_holds_a_phrase_where_its_script_has_words(phrase: str, text: str, expected: bool) -> None:
    assert holds(text, phrase) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我有iPhone。", ["我", "有", "iPhone。"]),
        ("彼は「サッカーボール」を蹴る。", ["彼", "は", "「サッカーボール」", "を", "蹴", "る。"]),
        ("3.5円、安い", ["3.5", "円、", "安", "い"]),
        ("ဂျပန်", ["ဂျ", "ပန်"]),
        ("Ein Hund, rennt (schnell).", ["Ein", "Hund,", "rennt", "(schnell)."]),
        ("개는 뛴다.", ["개는", "뛴다."]),
    ],
)
def test_words_are_those_of_the_script(text: str, expected: list[str]) -> None:
    assert word_texts(text) == expected


@pytest.mark.parametrize(
    ("word", "expected"), [("“dog.”", "dog"), ("(किताबी)।", "किताबी"), ("ที่,", "ที่"), ("o'clock!", "o'clock"), ("…", "")]
)
def test_signs_around_a_word_go_and_vowel_signs_stay(word: str, expected: str) -> None:
    assert without_signs(word) == expected


def test_characters_are_those_that_a_reader_sees() -> None:
    text = "e\u0301👩\u200d👩\u200d👧🇩🇪🇫🇷न्दीเกา\u1112\u1161\u11ab👍\U0001f3fd"
    expected = ["e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "न्दी", "เกา", "\u1112\u1161\u11ab", "👍\U0001f3fd"]
    assert [text[start:end] for start, end in characters(text)] == expected


@given(st.text(alphabet=SCRIPTS, max_size=30))
def test_words_and_characters_leave_nothing_out_and_words_end_at_boundaries(text: str) -> None:
    assert "".join(text[start:end] for start, end in characters(text)) == text
    assert "".join(word_texts(text)) == "".join(text.split())
    for start, end in words(text):
        assert not is_within_character(text, start) and not is_within_character(text, end)
    assert all(not is_word_boundary(text, place) for place in range(len(text)) if is_within_character(text, place))


def test_what_cannot_be_seen_goes_unless_it_means_something() -> None:
    assert without_invisible("Fahr\u00adrad\u200b\ufeff") == "Fahrrad"
    assert without_invisible("می\u200cخواهم 👩\u200d👧") == "می\u200cخواهم 👩\u200d👧"
