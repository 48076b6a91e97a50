"""Languages are detected: among 200, an own one of a model, none of them, and several in one text."""

import gzip
import os
import random
from pathlib import Path

import numpy as np
import pytest

from transduce.base.errors import DataError
from transduce.corpora.language_detector import (
    NONE,
    LanguageDetector,
    Profiles,
    canonical,
    detector_of,
    own_profile,
    shipped,
)

FLORES = Path(os.environ.get("TRANSDUCE_DATA") or "/nowhere") / "flores200"
SAMPLED = 6
"""Lines of a language."""
GERMAN = "Zwei kleine Kinder spielen mit ihrem Hund im tiefen Schnee vor dem Haus."
ENGLISH = "Two small children play with their dog in the deep snow in front of the house."


def best(text: str, detector: LanguageDetector | None = None, **likely: float) -> str:
    return next(iter((detector or detector_of()).detect([text], likely)[0]))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", ENGLISH),
        ("de", GERMAN),
        ("nb", "To små barn leker i den dype snøen foran huset, og hunden deres løper etter dem."),
        ("ru", "Двое маленьких детей играют в снегу перед домом."),
        ("uk", "Двоє маленьких дітей граються в снігу перед будинком."),
        ("bg", "Две малки деца играят в снега пред къщата."),
        ("ja", "二人の子供が雪の中で遊んでいる。"),
        ("zh", "两个孩子在雪地里玩耍。"),
        ("fa", "دو کودک کوچک در برف جلوی خانه بازی می‌کنند."),
        ("ur", "دو چھوٹے بچے گھر کے سامنے برف میں کھیل رہے ہیں۔"),
        ("hi", "दो छोटे बच्चे घर के सामने बर्फ में खेल रहे हैं।"),
        ("mr", "दोन लहान मुले घरासमोर बर्फात खेळत आहेत."),
        ("ar", "يلعب طفلان صغيران في الثلج أمام المنزل."),
    ],
)
def test_languages_that_share_a_script_are_told_apart(code: str, text: str) -> None:
    assert best(text, **{code: 4.0}) == code


@pytest.mark.parametrize("text", ["", "  \n", "1984 + 2 = 1986", "😀 🎉🎉", "—!?…", "\ud800"])
def test_a_text_without_letters_is_in_none_of_the_languages(text: str) -> None:
    assert detector_of().detect([text, GERMAN])[0] == {NONE: 1.0}
    assert detector_of().detect_parts(text) == {NONE: 1.0}


def test_a_text_is_detected_alike_alone_and_among_others() -> None:
    texts = [GERMAN, "", ENGLISH, "Hund", "1"]
    together = detector_of().detect(texts)
    assert together == [detector_of().detect([text])[0] for text in texts]
    for shares in together:
        assert sum(shares.values()) == pytest.approx(1, abs=0.05)
        assert list(shares.values()) == sorted(shares.values(), reverse=True)


def made_language(seed: int, lines: int = 200) -> list[str]:
    """Returns sentences of syllables that no language has together."""
    chance = random.Random(seed)
    syllables = [a + b for a in ("qx", "zv", "kw", "xh", "vg", "dzj") for b in ("yy", "uo", "æi", "øu")]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(80)]
    return [" ".join(chance.choices(words, k=8)) for _ in range(lines)]


def test_a_language_that_only_a_model_knows_is_detected_by_what_it_learned_from() -> None:
    *learned, unseen = made_language(1)
    assert best(unseen) == NONE
    profile = own_profile("qqx", learned)
    detector = detector_of((profile,))
    assert best(unseen, detector) == "qqx" and best(made_language(2)[0]) == NONE
    assert best(GERMAN, detector) == "de" and best(ENGLISH, detector) == "en"
    assert len(profile) < 6_000


def test_a_text_in_two_languages_is_divided_where_the_language_changes() -> None:
    text = f"{GERMAN} {ENGLISH}"
    first, second = detector_of().spans(text)
    assert (first.language, second.language) == ("de", "en")
    assert abs(second.start - len(GERMAN)) < 8 and second.end == len(text)
    shares = detector_of().detect_parts(text)
    assert {"de", "en"} == {code for code, share in shares.items() if share > 0.3}
    assert [span.language for span in detector_of().spans(ENGLISH)] == ["en"]


def test_codes_with_regions_and_old_codes_are_of_the_same_language() -> None:
    assert [canonical(code) for code in ("de-AT", "pt_BR", "no", "nb", "iw")] == ["de", "pt", "nb", "nb", "he"]
    assert best("گفت که حال او خوب است و فردا به خانه برمی‌گردد", fa=4.0) == "fa"


def test_damaged_profiles_are_one_clear_line() -> None:
    learned = Profiles.learn([("qqx", made_language(1))], shipped().levels.mean(0))
    good = learned.pack()
    assert Profiles.unpack(good, "x").languages == ("qqx",)
    assert np.array_equal(Profiles.unpack(good, "x").levels, learned.levels)
    for bad in (b"", b"nonsense", good[:-100], good[: len(good) // 2], good[:50] + b"\0" * 9 + good[59:], b"\xfd7zXZ"):
        with pytest.raises(DataError, match=r"profiles\.xz is damaged") as caught:
            Profiles.unpack(bad, "profiles.xz")
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(not FLORES.is_dir(), reason="TRANSDUCE_DATA does not name a folder with flores200")
def test_sentences_and_two_words_are_in_the_language_that_they_are_written_in() -> None:
    names = sorted(file.name.removesuffix(".devtest.gz") for file in FLORES.glob("*.devtest.gz"))
    lines = {name: flores_lines(name) for name in names}
    gold = np.repeat(np.arange(len(names)), SAMPLED)
    some = [line for name in names for line in lines[name][:SAMPLED]]
    found = detector_of().probabilities(some).argmax(1)
    right, both = (
        np.bincount(one, minlength=len(names) + 1)[:-1] for one in (gold[gold == found], np.append(gold, found))
    )
    assert (2 * right / both).mean() >= 0.95  # macro F1; Arabic's dialects are told apart by nobody
    rows, chance = [names.index(f"{code}_Latn") for code in TEN], random.Random(1)
    few = [(row, " ".join(line.split()[chance.randrange(6) :][:2])) for row in rows for line in lines[names[row]]]
    among = detector_of().probabilities([text for _, text in few])[:, rows].argmax(1)
    assert np.mean([rows[place] == row for place, (row, _) in zip(among.tolist(), few, strict=True)]) >= 0.8


def flores_lines(name: str, most: int = 60) -> list[str]:
    with gzip.open(FLORES / f"{name}.devtest.gz", "rt", encoding="utf-8") as file:
        return [line.strip() for line, _ in zip(file, range(most), strict=False)]


TEN = ("eng", "deu", "fra", "spa", "ita", "nld", "por", "pol", "ces", "ron")
