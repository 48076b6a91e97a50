"""The grammar's pairs: German that is right, decided by the English side, and the same for the same seed."""

from itertools import pairwise
from random import Random

import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.grammar import (
    Clause,
    NounPhrase,
    _Rules,
    derive_pairs,
    split_pairs,
)
from transduce.corpora.generated.lexicon import ADJECTIVES, DETERMINERS, MODALS, NOUNS, PRONOUNS, VERBS, third_person
from transduce.errors import DataError

CASES = ("nominative", "accusative", "dative")


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return derive_pairs(8_000, seed=11)


def pronoun(english: str) -> NounPhrase:
    _, objective, *german, person = next(one for one in PRONOUNS if one[0] == english)
    return NounPhrase(english, objective, tuple(german), person, "pronoun", person == "er")


def phrase(determiner: str, noun: str, plural: bool = False, adjective: str = "") -> NounPhrase:
    """A noun phrase with these words."""
    rules = _Rules(Random(1))
    rules.chance = lambda share: share == 0.35 and bool(adjective)  # type: ignore[method-assign]
    rules.pick = lambda choices: next(one for one in choices if one.english == adjective)  # type: ignore[method-assign]
    word = next(one for one in NOUNS if one.english == noun)
    found = next(one for one in DETERMINERS if (one.plural if plural else one.singular) == determiner)
    return rules.noun_phrase(word, plural, found)


def clause(subject: NounPhrase, verb: str, past: bool = False, modal: str = "", **more: object) -> Clause:
    found = next((one for one in MODALS if one.english == modal), None)
    return Clause(subject, next(one for one in VERBS if one.english == verb), past, found, **more)  # type: ignore[arg-type]


def thing(noun_phrase: NounPhrase, case: str = "accusative") -> tuple[str, str, str]:
    return noun_phrase.english_object, noun_phrase.german[CASES.index(case)], noun_phrase.kind


def test_the_english_side_determines_the_german_side() -> None:
    german_of: dict[str, str] = {}
    for seed in range(2):
        rules = _Rules(Random(seed))
        for _ in range(15_000):
            pair = rules.sentence()
            assert german_of.setdefault(pair.source, pair.target) == pair.target, pair
    assert len(german_of) > 20_000


def test_the_same_seed_gives_the_same_pairs_and_another_seed_gives_others() -> None:
    assert derive_pairs(300, seed=4) == derive_pairs(300, seed=4)
    assert derive_pairs(300, seed=4) != derive_pairs(300, seed=5)
    assert derive_pairs(100, seed=4) == derive_pairs(300, seed=4)[:100]


def test_pairs_are_distinct_and_split_without_overlap(pairs: list[SentencePair]) -> None:
    assert len({pair.source for pair in pairs}) == 8_000
    training, validation, held_out = split_pairs(pairs, 1_000, 500)
    assert (len(training), len(validation), len(held_out)) == (6_500, 1_000, 500)
    assert [*training, *validation, *held_out] == pairs


def test_a_split_larger_than_the_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="split"):
        split_pairs(derive_pairs(10, seed=1), 6, 5)


def test_more_pairs_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Rules, "sentence", lambda self: SentencePair("She sleeps now.", "Sie schläft jetzt."))
    with pytest.raises(DataError, match="only 1 found"):
        derive_pairs(2, seed=1)


def test_sentences_are_written_as_sentences(pairs: list[SentencePair]) -> None:
    for pair in pairs:
        words = pair.source[:-1].split()
        assert 3 <= len(words) <= 16
        for side in (pair.source, pair.target):
            assert side[0].isupper() and side[-1] in ".?" and side == " ".join(side.split())
        assert pair.source[-1] == pair.target[-1]
        assert all(one != other for one, other in pairwise(words) if one not in ("her", "you"))
        assert not {"a apple", "an dog"} & {" ".join(two) for two in pairwise(words)}


@pytest.mark.parametrize(
    ("determiner", "noun", "plural", "adjective", "forms"),
    [
        ("the", "dog", False, "strong", "der starke Hund|den starken Hund|dem starken Hund"),
        ("a", "cat", False, "hungry", "eine hungrige Katze|eine hungrige Katze|einer hungrigen Katze"),
        ("a", "apple", False, "", "ein Apfel|einen Apfel|einem Apfel"),
        ("my", "car", False, "expensive", "mein teures Auto|mein teures Auto|meinem teuren Auto"),
        ("this", "boy", False, "", "dieser Junge|diesen Jungen|diesem Jungen"),
        ("every", "woman", False, "tired", "jede müde Frau|jede müde Frau|jeder müden Frau"),
        ("no", "key", False, "new", "kein neuer Schlüssel|keinen neuen Schlüssel|keinem neuen Schlüssel"),
        ("our", "book", True, "long", "unsere langen Bücher|unsere langen Bücher|unseren langen Büchern"),
        (
            "many",
            "tourist",
            True,
            "sad",
            "viele traurige Touristen|viele traurige Touristen|vielen traurigen Touristen",
        ),
        (
            "all",
            "window",
            True,
            "dirty",
            "alle schmutzigen Fenster|alle schmutzigen Fenster|allen schmutzigen Fenstern",
        ),
        ("three", "radio", True, "old", "drei alte Radios|drei alte Radios|drei alten Radios"),
    ],
)
def test_determiners_adjectives_and_nouns_agree_in_each_case(
    determiner: str, noun: str, plural: bool, adjective: str, forms: str
) -> None:
    assert phrase(determiner, noun, plural, adjective).german == tuple(forms.split("|"))


def test_an_article_comes_before_a_vowel_and_very_before_an_adjective() -> None:
    assert phrase("a", "apple").english == "an apple"
    assert phrase("a", "dog", adjective="old").english == "an old dog"


MARKET = ("at the market", "auf dem Markt", "place")
SEPARABLE = clause(phrase("the", "man"), "turn on", objects=(thing(phrase("the", "lamp")),))


@pytest.mark.parametrize(
    ("made", "english", "german"),
    [
        (clause(pronoun("you"), "sleep"), "you sleep", "du schläfst"),
        (clause(pronoun("he"), "eat", objects=(thing(phrase("a", "apple")),)),
         "he eats an apple", "er isst einen Apfel"),
        (clause(pronoun("we"), "go", past=True, is_negated=True), "we did not go", "wir sind nicht gegangen"),
        (SEPARABLE, "the man turns on the lamp", "der Mann schaltet die Lampe ein"),
        (clause(pronoun("I"), "get up", past=True), "I got up", "ich bin aufgestanden"),
        (clause(pronoun("they"), "help", modal="can", objects=(thing(pronoun("he"), "dative"),)),
         "they can help him", "sie können ihm helfen"),
        (clause(pronoun("she"), "work", modal="can", is_negated=True), "she cannot work", "sie kann nicht arbeiten"),
        (clause(pronoun("she"), "work", past=True, modal="must"), "she had to work", "sie musste arbeiten"),
        (clause(pronoun("he"), "sing", modal="want to", is_negated=True),
         "he does not want to sing", "er will nicht singen"),
        (clause(pronoun("he"), "write", is_negated=True, time=("today", "heute"),
                objects=(thing(phrase("the", "letter")), ("in the garden", "im Garten", "place"))),
         "he does not write the letter in the garden today", "er schreibt den Brief heute nicht im Garten"),
        (clause(pronoun("we"), "sell", objects=(thing(phrase("some", "hat", True)), MARKET)),
         "we sell some hats at the market", "wir verkaufen auf dem Markt einige Hüte"),
        (Clause(pronoun("I"), None, False, objects=(("tired", "müde", "predicate"),)), "I am tired", "ich bin müde"),
    ],
)  # fmt: skip
def test_statements_have_the_words_in_order(made: Clause, english: str, german: str) -> None:
    assert (made.english_statement(), made.german_statement()) == (english, german)


def test_what_comes_first_and_questions_turn_subject_and_verb_around_and_subordinate_clauses_end_with_it() -> None:
    past = clause(phrase("the", "dog"), "follow", past=True, objects=(thing(pronoun("I"), "dative"),))
    assert past.german_statement("gestern") == "gestern ist der Hund mir gefolgt"
    assert (past.english_question("why"), past.german_question("warum")) == (
        "why did the dog follow me",
        "warum ist der Hund mir gefolgt",
    )
    assert past.german_verb_last("weil") == "weil der Hund mir gefolgt ist"
    assert SEPARABLE.german_verb_last("dass") == "dass der Mann die Lampe einschaltet"
    must = clause(pronoun("you"), "drive", modal="must", objects=(("to the station", "zum Bahnhof", "place"),))
    assert must.german_verb_last("wenn") == "wenn du zum Bahnhof fahren musst"


def test_commas_come_before_and_after_subordinate_clauses(pairs: list[SentencePair]) -> None:
    conjunctions = ("weil", "obwohl", "wenn", "dass")
    found = 0
    for pair in pairs:
        words = pair.target.split()
        for before, word in pairwise(words):
            if word in conjunctions:
                found += 1
                assert before.endswith(","), pair.target
    assert found > 500


def test_the_forms_of_all_words_are_there() -> None:
    assert [third_person(verb) for verb in ("wash", "go", "buy", "carry", "turn on")] == [
        "washes", "goes", "buys", "carries", "turns on",
    ]  # fmt: skip
    assert len({noun.english for noun in NOUNS}) == len(NOUNS) > 50
    assert all(len(verb.present) == 4 and all(verb.present) for verb in VERBS)
    kinds = {noun.kind for noun in NOUNS}
    assert all({*verb.subjects, *verb.objects} <= kinds for verb in VERBS)
    for kind in kinds:
        assert any(kind in word.kinds for word in ADJECTIVES)
