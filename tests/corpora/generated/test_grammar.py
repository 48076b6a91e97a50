"""The small English-German grammar: what it promises about its pairs, and hand-checked translations."""

import re
from dataclasses import replace
from random import Random

import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated import lexicon
from transduce.corpora.generated.grammar import (
    _Derivation,
    comparing,
    derive_pairs,
    finish,
    in_order_to,
    is_acceptable,
    split_pairs,
    trying_to,
)
from transduce.corpora.generated.inflection import (
    AUXILIARIES,
    PLURAL,
    THIRD,
    Adjective,
    Determiner,
    Modal,
    Verb,
    german_noun_phrase,
    join,
    with_preposition,
)
from transduce.corpora.generated.lexicon import BARE, BE, COUNTED, DETERMINERS, NOUN_BY_ENGLISH
from transduce.corpora.generated.phrases import NAMES, PRONOUNS, Clause, Constituent, NounPhrase
from transduce.errors import DataError

FINITE_VERBS = (
    {
        form
        for verb in (*lexicon.VERBS, *lexicon.GIVING_VERBS, *lexicon.SAYING_VERBS, BE, lexicon.TRY)
        for form in (*verb.present, *verb.preterite)
    }
    | {form for modal in lexicon.MODALS for form in (*modal.present, *modal.past)}
    | set(AUXILIARIES["haben"])
)


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return derive_pairs(20_000, seed=11)


def verb(english: str) -> Verb:
    """The verb with an object, or the one without where there is no other."""
    return next(
        word for word in (*lexicon.VERBS, *lexicon.GIVING_VERBS, *lexicon.SAYING_VERBS) if word.english == english
    )


def modal(english: str) -> Modal:
    return next(word for word in lexicon.MODALS if word.english == english)


def adjective(english: str) -> Adjective:
    return next(word for word in lexicon.ADJECTIVES if word.english == english)


def pronoun(english: str) -> NounPhrase:
    return next(word for word in PRONOUNS if word.english == english)


def phrase(
    determiner: Determiner, noun: str, *adjectives: str, plural: bool = False, denied: bool = False
) -> NounPhrase:
    word = NOUN_BY_ENGLISH[noun]
    english = join(
        determiner.plural if plural else determiner.singular, *adjectives, word.english_plural if plural else noun
    )
    german_determiner = DETERMINERS["no"] if denied else determiner
    german = german_noun_phrase(german_determiner, "", False, tuple(map(adjective, adjectives)), word, plural)
    return NounPhrase(english, english, german, PLURAL if plural else THIRD, determiner.kind, noun=word)


def the(noun: str, *adjectives: str, plural: bool = False) -> NounPhrase:
    return phrase(DETERMINERS["the"], noun, *adjectives, plural=plural)


def part(noun_phrase: NounPhrase, case: str = "accusative", slot: str = "") -> Constituent:
    return Constituent(noun_phrase.english_object, noun_phrase.case(case), slot or noun_phrase.kind)


def statement(clause: Clause, front: tuple[str, str] = ("", "")) -> tuple[str, str]:
    english = join(front[0], clause.english_statement())
    pair = finish(english, clause.german_statement(front[1]), ".")
    return pair.source, pair.target


def question(clause: Clause, english: str = "", german: str = "") -> tuple[str, str]:
    pair = finish(clause.english_question(english), clause.german_question(german), "?")
    return pair.source, pair.target


def test_the_english_side_determines_the_german_side() -> None:
    german_of: dict[str, str] = {}
    for seed in range(3):
        derivation = _Derivation(Random(seed))
        for _ in range(25_000):
            pair = derivation.sentence()
            if is_acceptable(pair):
                assert german_of.setdefault(pair.source, pair.target) == pair.target, pair
    assert len(german_of) > 50_000


def test_the_same_seed_gives_the_same_pairs_and_another_seed_gives_others() -> None:
    assert derive_pairs(300, seed=4) == derive_pairs(300, seed=4)
    assert derive_pairs(300, seed=4) != derive_pairs(300, seed=5)
    assert derive_pairs(100, seed=4) == derive_pairs(300, seed=4)[:100]


def test_sixty_thousand_distinct_pairs_can_be_derived_and_split_without_overlap() -> None:
    derived = derive_pairs(60_000, seed=1)
    assert len({pair.source for pair in derived}) == 60_000
    training, validation, held_out = split_pairs(derived, 1_000, 500)
    assert (len(training), len(validation), len(held_out)) == (58_500, 1_000, 500)
    sources = [{pair.source for pair in part} for part in (training, validation, held_out)]
    assert sum(map(len, sources)) == len(set.union(*sources)) == 60_000


def test_a_split_larger_than_the_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="split"):
        split_pairs(derive_pairs(10, seed=1), 6, 5)


def test_more_pairs_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Derivation, "sentence", lambda self: SentencePair("She sleeps now.", "Sie schläft jetzt."))
    with pytest.raises(DataError, match="only 1 found"):
        derive_pairs(2, seed=1)


@pytest.mark.parametrize(
    ("determiner", "noun", "plural", "expected"),
    [
        (DETERMINERS["the"], "man", False, "der alte Mann|den alten Mann|dem alten Mann|des alten Mannes"),
        (DETERMINERS["a"], "woman", False, "eine alte Frau|eine alte Frau|einer alten Frau|einer alten Frau"),
        (DETERMINERS["no"], "car", False, "kein altes Auto|kein altes Auto|keinem alten Auto|keines alten Autos"),
        (DETERMINERS["my"], "dog", False, "mein alter Hund|meinen alten Hund|meinem alten Hund|meines alten Hundes"),
        (
            DETERMINERS["this"],
            "house",
            False,
            "dieses alte Haus|dieses alte Haus|diesem alten Haus|dieses alten Hauses",
        ),
        (BARE, "soup", False, "alte Suppe|alte Suppe|alter Suppe|alter Suppe"),
        (DETERMINERS["the"], "boy", False, "der alte Junge|den alten Jungen|dem alten Jungen|des alten Jungen"),
        (
            DETERMINERS["a"],
            "student",
            False,
            "ein alter Student|einen alten Studenten|einem alten Studenten|eines alten Studenten",
        ),
        (DETERMINERS["the"], "child", True, "die alten Kinder|die alten Kinder|den alten Kindern|der alten Kinder"),
        (DETERMINERS["many"], "car", True, "viele alte Autos|viele alte Autos|vielen alten Autos|vieler alter Autos"),
        (
            DETERMINERS["all"],
            "friend",
            True,
            "alle alten Freunde|alle alten Freunde|allen alten Freunden|aller alten Freunde",
        ),
    ],
)
def test_noun_phrases_agree_in_gender_number_and_case(
    determiner: Determiner, noun: str, plural: bool, expected: str
) -> None:
    word = NOUN_BY_ENGLISH[noun]
    assert "|".join(german_noun_phrase(determiner, "", False, (adjective("old"),), word, plural)) == expected


def test_adjectives_after_bare_numerals_are_strong() -> None:
    words = german_noun_phrase(COUNTED, "drei", True, (adjective("expensive"),), NOUN_BY_ENGLISH["child"], True)
    assert words == (
        "drei sehr teure Kinder",
        "drei sehr teure Kinder",
        "drei sehr teuren Kindern",
        "drei sehr teurer Kinder",
    )


@pytest.mark.parametrize(
    ("english", "present", "participle", "auxiliary"),
    [
        ("read", "lese liest liest lesen", "gelesen", "haben"),
        ("drive", "fahre fährst fährt fahren", "gefahren", "sein"),
        ("give", "gebe gibst gibt geben", "gegeben", "haben"),
        ("see", "sehe siehst sieht sehen", "gesehen", "haben"),
        ("help", "helfe hilfst hilft helfen", "geholfen", "haben"),
        ("work", "arbeite arbeitest arbeitet arbeiten", "gearbeitet", "haben"),
        ("invite", "lade lädst lädt laden", "eingeladen", "haben"),
        ("get up", "stehe stehst steht stehen", "aufgestanden", "sein"),
        ("repair", "repariere reparierst repariert reparieren", "repariert", "haben"),
        ("sit", "sitze sitzt sitzt sitzen", "gesessen", "haben"),
    ],
)
def test_verbs_are_conjugated(english: str, present: str, participle: str, auxiliary: str) -> None:
    word = verb(english)
    assert (" ".join(word.present), word.participle, word.auxiliary) == (present, participle, auxiliary)


def test_a_fronted_time_inverts_subject_and_verb() -> None:
    clause = Clause(the("man", "old"), verb("buy"), rest=(part(phrase(DETERMINERS["a"], "car", "red")),))
    assert statement(clause, ("today", "heute")) == (
        "Today the old man buys a red car.",
        "Heute kauft der alte Mann ein rotes Auto.",
    )


def test_the_past_becomes_the_perfect_with_haben_or_sein() -> None:
    assert statement(Clause(the("woman"), verb("get up"), "past")) == (
        "The woman got up.",
        "Die Frau ist aufgestanden.",
    )
    clause = Clause(
        pronoun("I"), verb("read"), "past", is_negated=True, rest=(part(phrase(DETERMINERS["no"], "book")),)
    )
    assert clause.german_statement() == "ich habe kein Buch gelesen"


def test_to_be_to_have_and_modals_keep_the_preterite() -> None:
    tired = Constituent("tired", "müde", "predicate")
    assert statement(Clause(pronoun("you"), BE, "past", rest=(tired,))) == ("You were tired.", "Du warst müde.")
    clause = Clause(the("boy"), verb("get up"), "past", modal("want to"))
    assert statement(clause) == ("The boy wanted to get up.", "Der Junge wollte aufstehen.")


def test_separable_verbs_split_in_main_clauses_and_join_in_verb_last_ones() -> None:
    clause = Clause(pronoun("he"), verb("get up"))
    assert clause.german_statement() == "er steht auf"
    assert clause.german_verb_last("weil") == "weil er aufsteht"
    assert Clause(pronoun("he"), verb("get up"), "past").german_verb_last("weil") == "weil er aufgestanden ist"
    assert (
        Clause(pronoun("he"), verb("get up"), modal=modal("can")).german_verb_last("dass") == "dass er aufstehen kann"
    )
    assert verb("get up").zu_infinitive == "aufzustehen"


def test_definite_objects_precede_nicht_and_indefinite_ones_take_kein() -> None:
    the_book = Clause(pronoun("she"), verb("buy"), "present", None, "nicht", True, rest=(part(the("book")),))
    assert statement(the_book) == ("She does not buy the book.", "Sie kauft das Buch nicht.")
    a_book = phrase(DETERMINERS["a"], "book", denied=True)
    assert statement(Clause(pronoun("she"), verb("buy"), "past", is_negated=True, rest=(part(a_book),))) == (
        "She did not buy a book.",
        "Sie hat kein Buch gekauft.",
    )
    in_garden = Constituent("in the garden", with_preposition("in", "dem Garten"), "place")
    clause = Clause(pronoun("we"), verb("work"), "present", modal("can"), "nicht", True, rest=(in_garden,))
    assert statement(clause) == ("We cannot work in the garden.", "Wir können nicht im Garten arbeiten.")


def test_the_dative_precedes_the_accusative() -> None:
    rest = (part(the("child"), "dative", "dative"), part(phrase(DETERMINERS["a"], "book")))
    assert statement(Clause(the("teacher"), verb("give"), rest=rest)) == (
        "The teacher gives the child a book.",
        "Der Lehrer gibt dem Kind ein Buch.",
    )


def test_helping_takes_the_dative_and_a_pronoun_moves_before_a_noun_subject() -> None:
    clause = Clause(the("aunt"), verb("help"), rest=(part(pronoun("I"), "dative"),))
    assert statement(clause) == ("The aunt helps me.", "Die Tante hilft mir.")
    assert statement(clause, ("now", "jetzt")) == ("Now the aunt helps me.", "Jetzt hilft mir die Tante.")


def test_questions_use_do_support_and_put_the_german_verb_first_or_second() -> None:
    clause = Clause(pronoun("you"), verb("watch TV"))
    assert question(clause) == ("Do you watch TV?", "Siehst du fern?")
    assert question(clause, "why", "warum") == ("Why do you watch TV?", "Warum siehst du fern?")
    helping = Clause(the("policeman"), verb("help"), "past")
    assert question(helping, "whom", "wem") == ("Whom did the policeman help?", "Wem hat der Polizist geholfen?")


@pytest.mark.parametrize(
    ("preposition", "words", "expected"),
    [
        ("in", "dem alten Garten", "im alten Garten"),
        ("an", "dem Bahnhof", "am Bahnhof"),
        ("zu", "dem Markt", "zum Markt"),
        ("zu", "der Schule", "zur Schule"),
        ("bei", "dem Arzt", "beim Arzt"),
        ("von", "dem See", "vom See"),
        ("in", "das Haus", "ins Haus"),
        ("in", "der Küche", "in der Küche"),
        ("auf", "dem Tisch", "auf dem Tisch"),
        ("in", "diesem Dorf", "in diesem Dorf"),
    ],
)
def test_prepositions_contract_with_the_article(preposition: str, words: str, expected: str) -> None:
    assert with_preposition(preposition, words) == expected


@pytest.mark.parametrize(
    ("english", "german"), [("because", "weil"), ("although", "obwohl"), ("if", "wenn"), ("that", "dass")]
)
def test_subordinate_clauses_put_the_verb_last(english: str, german: str) -> None:
    rest = (part(phrase(DETERMINERS["my"], "letter")),)
    clause = Clause(the("student"), verb("read"), "present", modal("want to"), rest=rest)
    assert clause.english_statement() == "the student wants to read my letter"
    assert clause.german_verb_last(german) == f"{german} der Student meinen Brief lesen will"
    main = Clause(pronoun("we"), verb("laugh"))
    assert main.german_statement(f"{clause.german_verb_last(german)},").endswith(" lesen will, lachen wir")


def test_a_relative_clause_stands_between_commas_after_its_head() -> None:
    head = replace(the("teacher"), relative=("whom the child thanks", ", dem das Kind dankt,"))
    assert statement(Clause(head, verb("sleep"))) == (
        "The teacher whom the child thanks sleeps.",
        "Der Lehrer, dem das Kind dankt, schläft.",
    )
    assert statement(Clause(head, verb("work"), "past"), ("yesterday", "gestern")) == (
        "Yesterday the teacher whom the child thanks worked.",
        "Gestern hat der Lehrer, dem das Kind dankt, gearbeitet.",
    )


def test_a_relative_clause_of_the_object_follows_the_end_of_the_german_clause() -> None:
    rest, tail = (part(the("woman")),), ("who sings", ", die singt")
    assert statement(Clause(pronoun("he"), verb("call"), "present", rest=rest, tail=tail)) == (
        "He calls the woman who sings.",
        "Er ruft die Frau an, die singt.",
    )


def test_a_relative_clause_of_the_subject_leaves_no_prefix_alone_behind_it() -> None:
    head = replace(the("film"), relative=("that the child knows", ", den das Kind kennt,"))
    assert statement(Clause(head, verb("begin")), ("now", "jetzt")) == (
        "Now the film that the child knows begins.",
        "Jetzt fängt der Film an, den das Kind kennt.",
    )


def test_a_pronoun_does_not_precede_a_name() -> None:
    paul = next(name for name in NAMES if name.english == "Paul")
    clause = Clause(paul, verb("like"), "past", rest=(part(pronoun("we")),))
    assert clause.german_verb_last("weil") == "weil Paul uns mochte"


def test_a_pronoun_does_not_precede_a_like_possessive() -> None:
    offer = verb("offer")
    rest = (part(pronoun("she"), "dative", "pronoun"), part(the("cake")))
    clause = Clause(phrase(DETERMINERS["their"], "brother"), offer, rest=rest)
    assert question(clause) == ("Does their brother offer her the cake?", "Bietet ihr Bruder ihr den Kuchen an?")


def test_frequency_stands_between_dative_and_accusative() -> None:
    rest = (part(the("child"), "dative", "dative"), part(the("book")))
    clause = Clause(the("teacher"), verb("give"), adverb=("often", "oft"), rest=rest)
    assert statement(clause) == (
        "The teacher often gives the child the book.",
        "Der Lehrer gibt dem Kind oft das Buch.",
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tall", ("The man is taller than the boy.", "Der Mann ist größer als der Junge.")),
        ("happy", ("The man is happier than the boy.", "Der Mann ist glücklicher als der Junge.")),
        ("sad", ("The man is sadder than the boy.", "Der Mann ist trauriger als der Junge.")),
        ("famous", ("The man is more famous than the boy.", "Der Mann ist berühmter als der Junge.")),
        ("poor", ("The man is poorer than the boy.", "Der Mann ist ärmer als der Junge.")),
    ],
)
def test_comparisons(name: str, expected: tuple[str, str]) -> None:
    assert statement(comparing(the("man"), adjective(name), the("boy"), "present")) == expected


def test_comparisons_in_the_past_and_the_plural() -> None:
    clause = comparing(the("car", plural=True), adjective("expensive"), the("bicycle"), "past")
    assert statement(clause) == (
        "The cars were more expensive than the bicycle.",
        "Die Autos waren teurer als das Fahrrad.",
    )


def test_purposes_take_um_zu_after_a_comma() -> None:
    to_berlin = Constituent("to Berlin", "nach Berlin", "goal")
    journey = Clause(pronoun("she"), verb("travel"), "past", rest=(to_berlin,))
    buying = Clause(journey.subject, verb("buy"), rest=(part(phrase(DETERMINERS["my"], "coat")),))
    assert statement(in_order_to(journey, buying)) == (
        "She traveled to Berlin in order to buy my coat.",
        "Sie ist nach Berlin gereist, um meinen Mantel zu kaufen.",
    )
    inviting = Clause(journey.subject, verb("invite"), rest=(part(pronoun("we")),))
    assert statement(in_order_to(journey, inviting)) == (
        "She traveled to Berlin in order to invite us.",
        "Sie ist nach Berlin gereist, um uns einzuladen.",
    )


def test_trying_takes_a_comma_only_before_an_extended_infinitive() -> None:
    reading = Clause(pronoun("we"), verb("read"), rest=(part(the("letter")),))
    assert statement(trying_to(reading, "past")) == (
        "We tried to read the letter.",
        "Wir haben versucht, den Brief zu lesen.",
    )
    assert statement(trying_to(Clause(pronoun("he"), verb("get up")), "present")) == (
        "He tries to get up.",
        "Er versucht aufzustehen.",
    )


def test_relative_pronouns_agree_with_their_heads(pairs: list[SentencePair]) -> None:
    forms = {"m": {"der", "den", "dem"}, "f": {"die", "der"}, "n": {"das", "dem"}}
    found = 0
    for pair in pairs:
        match = re.match(r"The (\w+) (?:who|whom|that) ", pair.source)
        if match and match[1] in NOUN_BY_ENGLISH:
            noun = NOUN_BY_ENGLISH[match[1]]
            _, head, relative = pair.target.split()[:3]
            assert head == f"{noun.german}," and relative in forms[noun.gender], pair
            found += 1
    assert found > 50


def test_of_becomes_a_genitive(pairs: list[SentencePair]) -> None:
    found = 0
    for pair in pairs:
        match = re.search(r"the \w+ of the (\w+)", pair.source)
        if match:
            noun = NOUN_BY_ENGLISH[match[1]]
            assert f"{'der' if noun.gender == 'f' else 'des'} {noun.genitive}" in pair.target, pair
            found += 1
    assert found > 50


def test_every_sentence_is_well_written(pairs: list[SentencePair]) -> None:
    for pair in pairs:
        assert 3 <= len(pair.source.split()) <= 16, pair
        for text in (pair.source, pair.target):
            assert re.fullmatch(r"[A-ZÄÖÜ][A-Za-zÄÖÜäöüß', ]*[a-zßVI][.?]", text), pair
            assert "  " not in text and " ," not in text and ",," not in text, pair
        assert pair.source[-1] == pair.target[-1], pair


def test_articles_before_vowels(pairs: list[SentencePair]) -> None:
    for pair in pairs:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", pair.source), pair


def test_subordinate_clauses_are_set_off_by_commas(pairs: list[SentencePair]) -> None:
    for pair in pairs:
        assert not re.search(r"[^,] (weil|dass|obwohl|als ich|um \w+ zu)\b", pair.target.replace(" als ", " ")), pair


def test_the_finite_verb_stands_second_after_a_fronted_adverb(pairs: list[SentencePair]) -> None:
    times = {english[0].upper() + english[1:]: german for english, german, _ in lexicon.TIMES}
    found = 0
    for pair in pairs:
        for english, german in times.items():
            if pair.source.startswith(f"{english} "):
                after = pair.target[len(german) :].split()
                assert pair.target[:1] + pair.target[1 : len(german)] == german[0].upper() + german[1:], pair
                assert after[0] in FINITE_VERBS, pair
                found += 1
    assert found > 1_000


def test_all_words_of_the_lexicon_are_used(pairs: list[SentencePair]) -> None:
    words = {word for pair in pairs for word in re.findall(r"\w+", pair.source)}
    assert {noun.english for noun in lexicon.NOUNS} <= words
    assert {word.english for word in lexicon.ADJECTIVES} <= words
    assert {english for english, _ in lexicon.NUMBERS} <= words
