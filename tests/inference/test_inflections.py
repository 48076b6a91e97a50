"""Inflected forms are learned from pairs: words of one stem, translated alike, with endings that others have too."""

from collections.abc import Iterator

import pytest

from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.inference.inflections import Inflections, Words, other_form, suffixes
from transduce.text.glossary import Entry

NOUNS = [
    ("dog", "Hund"), ("boat", "Boot"), ("friend", "Freund"), ("table", "Tisch"), ("letter", "Brief"),
    ("stone", "Stein"), ("ball", "Ball"), ("tree", "Baum"),
]  # fmt: skip
IRREGULAR = [
    ("child", "children", "Kind", "Kinder"),
    ("book", "books", "Buch", "Bücher"),
    ("hen", "hens", "Huhn", "Hühner"),
]


def pairs() -> Iterator[SentencePair]:
    """Yields sentences of nouns in singular and plural, and words that only look like forms of them."""
    plurals = [(one, f"{one}s", eins, f"{eins}e".replace("Ba", "Bä")) for one, eins in NOUNS]
    lights = [("lamp", "lamps", "Lampe", "Lampen"), ("street", "streets", "Straße", "Straßen")]
    for one, many, eins, viele in [*plurals, *IRREGULAR, *lights]:
        for verb, verb_de in (("see", "sehen"), ("want", "wollen"), ("find", "finden")):
            yield SentencePair(f"we {verb} this {one}.", f"wir {verb_de} hier {eins}.")
            yield SentencePair(f"we {verb} many {many}.", f"wir {verb_de} viele {viele}.")
    for _ in range(4):
        yield SentencePair("we see a ballet.", "wir sehen ein Ballett.")
        yield SentencePair("we want a hundred.", "wir wollen ein Hundert.")


@pytest.fixture(scope="module")
def inflections() -> Inflections:
    return Inflections.learn(pairs())


def test_forms_of_a_term_are_learned_on_both_sides(inflections: Inflections) -> None:
    assert inflections.forms("dog", "Hund") == (["dogs"], ["Hunde"])
    assert inflections.forms("trees", "Bäume") == (["tree"], ["Baum"])


def test_words_that_only_look_alike_are_no_forms(inflections: Inflections) -> None:
    assert "Ballett" in inflections.target.with_stem_of("Ball")
    assert inflections.forms("ball", "Ball") == (["balls"], ["Bälle"])
    assert "Hundert" not in inflections.forms("dog", "Hund")[1]


def test_a_word_that_is_translated_as_often_otherwise_is_no_form() -> None:
    source = Words(dict.fromkeys(["football", "player", "players", "game", "man"], 9), {})
    translations = {
        "Spieler": {"player": 0.6, "players": 0.3},
        "Spielers": {"player": 0.35, "the": 0.2},
        "Fußballspieler": {"football": 0.43, "player": 0.19, "players": 0.26},
        "Fußballspielern": {"football": 0.3, "players": 0.26, "through": 0.1},
        "Fußballspiel": {"football": 0.46, "game": 0.36},
        "Mann": {"man": 0.76},
        "Mannes": {"man": 0.5, "of": 0.2},
        "Man": {"man": 0.33, "one": 0.2, "you": 0.2},
    }
    inflections = Inflections(source, Words({word: 9 - n for n, word in enumerate(translations)}, translations))
    endings = {("", ""), ("", "er"), ("", "s"), ("", "n"), ("", "es"), ("er", "ern")}
    inflections.__dict__["_regular_suffixes"] = ({("", "")}, endings)
    assert inflections.forms("football player", "Fußballspieler")[1] == ["Fußballspielern"]
    assert inflections.forms("man", "Mann")[1] == ["Mannes"]
    assert inflections.forms("player", "Spieler")[1] == ["Spielers"]


def test_an_irregular_form_counts_if_its_translation_is_regular(inflections: Inflections) -> None:
    regular = Inflections(inflections.source, inflections.target)
    regular.__dict__["_regular_suffixes"] = ({("", "")}, {("", ""), ("", "er")})
    assert regular.forms("child", "Kind") == (["children"], ["Kinder"])


def test_each_word_of_a_term_is_inflected(inflections: Inflections) -> None:
    sources, targets = inflections.forms("dog letter", "Hund Brief")
    assert {"dogs letter", "dog letters", "dogs letters"} == set(sources)
    assert {"Hunde Brief", "Hund Briefe", "Hunde Briefe"} == set(targets)


def test_words_that_the_pairs_lack_stay_as_they_are(inflections: Inflections) -> None:
    assert inflections.forms("walrus", "Walross") == ([], [])
    assert inflections.forms("hound", "Hund")[1] == ["Hunde"]  # which mean the same dogs


def test_entries_keep_the_forms_that_people_gave(inflections: Inflections) -> None:
    given = [Entry("dog", "Hund", target_forms=("Hündchen",)), Entry("dog", "Köter", True), Entry("", "Hund")]
    assert inflections.inflected([*given, Entry("dog", "Hund")]) == [
        *given,
        Entry("dog", "Hund", source_forms=("dogs",), target_forms=("Hunde",)),
    ]


def test_links_are_sure(inflections: Inflections) -> None:
    links = [(source, target) for _, source, target in inflections.links(SentencePair("many dogs", "viele Hunde"))]
    assert set(links) <= {("dogs", "Hunde"), ("many", "viele")}


@pytest.mark.parametrize(
    ("word", "other", "ends"),
    [
        ("Haus", "Häuser", ("", "er")),
        ("stehen", "steht", ("en", "t")),
        ("baby", "babies", ("ies", "y")),
        ("Hund", "Hundehütte", None),
        ("an", "and", None),
        ("man", "men", None),
    ],
)
def test_suffixes_follow_a_stem_of_half_the_word(word: str, other: str, ends: tuple[str, str] | None) -> None:
    assert suffixes(word, other) == suffixes(other, word) == ends


def test_another_form_of_a_phrase_is_pointed_out() -> None:
    assert other_form("roter Hund", "Er sah die roten Hunde.") == "roten Hunde"
    assert other_form("Hund", "Eine Hundehütte.") is None
    assert other_form("", "Nichts.") is None


def test_nothing_is_learned_from_no_pairs() -> None:
    with pytest.raises(DataError, match="no sentence pairs with words on both sides"):
        Inflections.learn([SentencePair("...", "...")])
