"""A small synchronous grammar that derives English sentences together with their German translations.

Every rule builds both sides at once, so agreement, case, word order and commas are right by construction. The words and
their forms are in lexicon.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.lexicon import (
    ADJECTIVES,
    AUXILIARIES,
    CASES,
    CONJUNCTIONS,
    CONTRACTIONS,
    DETERMINERS,
    ENDINGS,
    MODALS,
    NAMES,
    NOUNS,
    PERSONS,
    PLACES,
    PRONOUNS,
    SAYING_VERBS,
    TIMES,
    TRY,
    VERBS,
    Determiner,
    Modal,
    Noun,
    Place,
    Verb,
    third_person,
)
from transduce.errors import DataError

SHORTEST, LONGEST = 3, 16  # words of an English sentence
WAS = ("war", "warst", "war", "waren")
DRAWS_PER_PAIR = 50  # draws without a new pair after which the grammar is taken to be exhausted

T = TypeVar("T")


def derive_pairs(count: int, seed: int) -> list[SentencePair]:
    """Returns distinct pairs, no two with the same English side; the same arguments give the same list."""
    pairs: dict[str, SentencePair] = {}
    rules, fruitless = _Rules(Random(seed)), 0
    while len(pairs) < count:
        pair = rules.sentence()
        if pair.source not in pairs and SHORTEST <= len(pair.source.split()) <= LONGEST:
            pairs[pair.source] = pair
            continue
        fruitless += 1
        if fruitless > DRAWS_PER_PAIR * (len(pairs) + 1000):
            raise DataError(f"grammar: {count} distinct pairs wanted, only {len(pairs)} found; ask for fewer")
    return list(pairs.values())


def split_pairs(
    pairs: Sequence[SentencePair], validation: int, test: int
) -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
    """Returns training, validation and test pairs; the last two are taken from the end."""
    if validation < 0 or test < 0 or validation + test > len(pairs):
        raise DataError(f"split: {validation} + {test} pairs wanted of {len(pairs)}; derive more or ask for fewer")
    training_end, validation_end = len(pairs) - validation - test, len(pairs) - test
    return list(pairs[:training_end]), list(pairs[training_end:validation_end]), list(pairs[validation_end:])


@dataclass(frozen=True)
class NounPhrase:
    """A subject or an object in both languages."""

    english: str
    english_object: str
    german: tuple[str, ...]
    """The German forms, in each of CASES."""
    person: str
    """The person, one of PERSONS."""
    kind: str
    """The kind: "pronoun", "definite", "indefinite" or "quantified"."""
    is_third: bool
    """True if an English verb in the present ends in -s."""


@dataclass(frozen=True)
class Clause:
    """A subject, a verb and what goes with it, not yet in order."""

    subject: NounPhrase
    verb: Verb | None
    """The verb; None for "to be"."""
    is_past: bool
    modal: Modal | None = None
    is_negated: bool = False
    objects: tuple[tuple[str, str, str], ...] = ()
    """The objects: English, German, kind; `place` and `predicate` are kinds, too."""
    time: tuple[str, str] = ("", "")
    tail: tuple[str, str] = ("", "")
    """An infinitive with "zu" or a subordinate clause at the end."""

    def english_statement(self) -> str:
        """Returns an English statement, subject first."""
        finite, rest = self._english_verb(self.is_negated)
        denied = "cannot" if finite == "can" else f"{finite} not"
        verb = denied if self.is_negated else finite
        return _joined(self.subject.english, verb, rest, *self._english_rest())

    def english_question(self, word: str = "") -> str:
        """Returns an English question, the auxiliary before the subject."""
        finite, rest = self._english_verb(True)
        return _joined(
            word, finite, self.subject.english, "not" if self.is_negated else "", rest, *self._english_rest()
        )

    def german_statement(self, first: str = "") -> str:
        """Returns a German statement, the finite verb second; `first` takes the subject's position before it."""
        finite, end = self._german_verb()
        subject = self.subject.german[0]
        begin = [first, finite, subject] if first else [subject, finite]
        return _with_tail([*begin, *self._german_middle(), end], self.tail[1])

    def german_question(self, word: str = "") -> str:
        """Returns a German question, the finite verb before the subject."""
        finite, end = self._german_verb()
        return _with_tail([word, finite, self.subject.german[0], *self._german_middle(), end], self.tail[1])

    def german_verb_last(self, word: str) -> str:
        """Returns a German subordinate clause."""
        finite, end = self._german_verb()
        last = f"{end}{finite}" if self.verb and end == self.verb.prefix else _joined(end, finite)
        return _with_tail([word, self.subject.german[0], *self._german_middle(), last], self.tail[1])

    def _english_rest(self) -> list[str]:
        return [*(english for english, _, _ in self.objects), self.time[0], self.tail[0]]

    def _english_verb(self, needs_auxiliary: bool) -> tuple[str, str]:
        """Returns the finite verb, and the rest of the verb group."""
        subject, verb = self.subject, self.verb
        if verb is None:
            present = "am" if subject.person == "ich" else "is" if subject.is_third else "are"
            past = "was" if subject.person in ("ich", "er") else "were"
            return past if self.is_past else present, ""
        base, past, complement = verb.english, verb.english_past, ""
        if self.modal:
            base, past, complement = self.modal.english, self.modal.english_past, base
            if past == "had to" and self.is_past:
                base = "have to"
            elif base != "want to":
                return past if self.is_past else base, complement
        if needs_auxiliary:
            return "did" if self.is_past else "does" if subject.is_third else "do", _joined(base, complement)
        return past if self.is_past else third_person(base) if subject.is_third else base, complement

    def _german_verb(self) -> tuple[str, str]:
        """Returns the finite verb of a main clause, and what ends that clause."""
        number = PERSONS.index(self.subject.person)
        verb = self.verb
        if verb is None:
            return (WAS if self.is_past else AUXILIARIES["sein"])[number], ""
        if self.modal:
            return (self.modal.past if self.is_past else self.modal.present)[number], verb.prefix + verb.infinitive
        if self.is_past:
            return AUXILIARIES[verb.auxiliary][number], verb.participle
        return verb.present[number], verb.prefix

    def _german_middle(self) -> list[str]:
        """Returns pronouns, definite objects, time, "nicht", places and predicates, indefinite objects."""

        def of_kind(*kinds: str) -> list[str]:
            return [german for _, german, kind in self.objects if kind in kinds]

        return [
            *of_kind("pronoun"),
            *of_kind("definite"),
            self.time[1],
            "nicht" if self.is_negated else "",
            *of_kind("prepositional", "place", "predicate"),
            *of_kind("indefinite", "quantified"),
        ]


class _Rules:
    """The grammar's rules, drawing among their alternatives; both languages grow together."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()
        """The words of the sentence so far, which do not come twice."""

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.random() * len(choices))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def sentence(self) -> SentencePair:
        self.used.clear()
        usual = [*[self.statement] * 5, *[self.complex] * 3, *[self.question] * 2, *[self.word_question] * 3]
        return self.pick([*usual, self.compound, self.report, self.relative, self.purpose])()

    def statement(self) -> SentencePair:
        """Derives a clause; at times its time comes first."""
        clause = self.clause()
        if not clause.time[0] or self.chance(0.5):
            return _finished(clause.english_statement(), clause.german_statement())
        english, german = clause.time
        clause = replace(clause, time=("", ""))
        return _finished(_joined(english, clause.english_statement()), clause.german_statement(german))

    def complex(self) -> SentencePair:
        """Derives a main and a subordinate clause, in either order."""
        is_past = self.chance(0.5)
        english, german = self.pick(list(CONJUNCTIONS.items()))
        main, sub = self.clause(is_past, timed=False), self.clause(is_past, modals=False)
        subordinate = _joined(english, sub.english_statement()), sub.german_verb_last(german)
        if self.chance(0.4):
            return _finished(
                f"{subordinate[0]}, {main.english_statement()}", main.german_statement(f"{subordinate[1]},")
            )
        return _finished(
            _joined(main.english_statement(), subordinate[0]), f"{main.german_statement()}, {subordinate[1]}"
        )

    def compound(self) -> SentencePair:
        """Derives two main clauses; both languages put a comma before "but", and none before "and"."""
        english, german = self.pick(((", but", ", aber"), (" and", " und")))
        is_past = self.chance(0.5)
        first, second = self.clause(is_past, timed=False), self.clause(is_past)
        return _finished(
            f"{first.english_statement()}{english} {second.english_statement()}",
            f"{first.german_statement()}{german} {second.german_statement()}",
        )

    def report(self) -> SentencePair:
        """Derives a sentence with a reporting verb, such as "says" or "hopes"."""
        is_past = self.chance(0.4)
        inner = self.clause(is_past)
        tail = f"that {inner.english_statement()}", inner.german_verb_last("dass")
        clause = Clause(self.subject(("person",)), self.pick(SAYING_VERBS), is_past, tail=tail)
        if self.chance(0.25):
            return _finished(clause.english_question(), clause.german_question(), mark="?")
        return _finished(clause.english_statement(), clause.german_statement())

    def relative(self) -> SentencePair:
        """Derives a clause whose subject has a relative clause."""
        noun, is_plural = self.noun(("person", "animal")), self.chance(0.4)
        phrase = self.noun_phrase(noun, is_plural, self.determiner(is_plural, "definite"))
        is_past = self.chance(0.5)
        pronoun = "die" if is_plural else {"m": "der", "f": "die", "n": "das"}[noun.gender]
        word = "who" if noun.kind == "person" else "that"
        relative = NounPhrase(word, "", (pronoun,) * 3, phrase.person, "definite", phrase.is_third)
        inner = self.clause(is_past, relative, (noun.kind,), timed=False)
        english = f"{phrase.english} {inner.english_statement()}"
        german = f"{phrase.german[0]}, {inner.german_verb_last('')},"
        clause = self.clause(is_past, replace(phrase, english=english, german=(german,) * 3), (noun.kind,))
        return _finished(clause.english_statement(), clause.german_statement())

    def purpose(self) -> SentencePair:
        """Derives a clause with an infinitive with "zu"."""
        subject = self.subject(("person",))
        action = self.clause(
            False, replace(subject, english=""), ("person",), timed=False, modals=False, negatable=False
        )
        verb = action.verb
        assert verb is not None
        infinitive = f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"
        german = _joined(*action._german_middle(), infinitive)
        comma = "" if german == infinitive else ","
        clause = Clause(subject, TRY, self.chance(0.5))
        english = _joined("to", verb.english, *action._english_rest())
        return _finished(_joined(clause.english_statement(), english), f"{clause.german_statement()}{comma} {german}")

    def question(self) -> SentencePair:
        clause = self.clause(negatable=False)
        return _finished(clause.english_question(), clause.german_question(), mark="?")

    def word_question(self) -> SentencePair:
        """Derives a question with who, what, whom, why or when."""
        word = self.pick(("who", "object", "why", "when"))
        if word == "who":
            who = NounPhrase("who", "", ("wer",) * 3, "er", "definite", True)
            clause = self.clause(None, who, ("person",))
            return _finished(clause.english_statement(), clause.german_statement(), mark="?")
        clause = self.clause(timed=word == "why", negatable=word == "why")
        if word == "object" and clause.verb and clause.verb.object in ("accusative", "dative"):
            asks_person = clause.verb.objects == ("person",)
            english = "whom" if asks_person else "what"
            german = ("wem" if clause.verb.object == "dative" else "wen") if asks_person else "was"
            clause = replace(clause, objects=(), is_negated=False)
            return _finished(clause.english_question(english), clause.german_question(german), mark="?")
        english, german = ("when", "wann") if word == "when" and not clause.time[0] else ("why", "warum")
        return _finished(clause.english_question(english), clause.german_question(german), mark="?")

    def clause(
        self,
        is_past: bool | None = None,
        subject: NounPhrase | None = None,
        kinds: Sequence[str] = ("person", "person", "person", "animal"),
        timed: bool = True,
        modals: bool = True,
        negatable: bool = True,
    ) -> Clause:
        """Derives a clause about a subject of some kinds."""
        kind = self.pick(kinds)
        is_past = self.chance(0.5) if is_past is None else is_past
        can_be = subject is None or subject.english  # an infinitive has a verb
        verb = None if can_be and self.chance(0.12) else self.verb(kind)
        subject = subject or self.subject((kind,))
        modal = None
        if modals and verb and self.chance(0.25):
            modal = self.pick([modal for modal in MODALS if modal.english_past or not is_past])
        may_negate = negatable and subject.kind in ("pronoun", "definite") and not (modal and modal.english == "must")
        objects = self.objects(verb, subject, kind)
        is_negated = (
            may_negate and all(phrase[2] not in ("indefinite", "quantified") for phrase in objects) and self.chance(0.2)
        )
        time = self.time(is_past) if timed and verb and self.chance(0.3) else ("", "")
        return Clause(subject, verb, is_past, modal, is_negated, objects, time)

    def verb(self, kind: str) -> Verb:
        verb = self.pick([verb for verb in VERBS if kind in verb.subjects and verb.english not in self.used])
        self.used.add(verb.english)
        return verb

    def objects(self, verb: Verb | None, subject: NounPhrase, kind: str) -> tuple[tuple[str, str, str], ...]:
        """Returns the objects of a verb, and at times a place."""
        if verb is None:
            words = [word for word in ADJECTIVES if kind in word.kinds and word.english not in self.used]
            word, is_very = self.pick(words), self.chance(0.2)
            very, sehr = ("very", "sehr") if is_very else ("", "")
            return ((_joined(very, word.english), _joined(sehr, word.german), "predicate"),)
        if verb.object == "goal":
            return (self.goal(),)
        places = (self.place(),) if self.chance(0.2) else ()
        if not verb.object:
            return places
        if verb.object == "recipient":
            recipient, given = self.object(("person",), subject), self.object(verb.objects, None)
            return (
                (recipient.english_object, recipient.german[2], recipient.kind),
                (given.english_object, given.german[1], given.kind),
            )
        preposition, _, case = verb.object.rpartition(" ")
        phrase = self.object(verb.objects, subject)
        german, slot = phrase.german[CASES.index(case)], phrase.kind
        if preposition:
            german, slot = f"{preposition} {german}", "prepositional"
        return ((phrase.english_object, german, slot), *places)

    def subject(self, kinds: Sequence[str]) -> NounPhrase:
        if "person" in kinds and self.chance(0.4):
            english, _, nominative, _, _, person = self.pick([p for p in PRONOUNS if p[0] not in self.used])
            self.used.add(english)
            return NounPhrase(english, "", (nominative,) * 3, person, "pronoun", person == "er")
        if "person" in kinds and self.chance(0.2):
            name = self.pick([name for name in NAMES if name not in self.used])
            self.used.add(name)
            return NounPhrase(name, name, (name,) * 3, "er", "definite", True)
        is_plural = self.chance(0.4)
        return self.noun_phrase(self.noun(kinds), is_plural, self.determiner(is_plural))

    def object(self, kinds: Sequence[str], subject: NounPhrase | None) -> NounPhrase:
        """Derives an object; a pronoun only beside a subject of another person."""
        if subject is not None and "person" in kinds and self.chance(0.25):
            others = [pronoun for pronoun in PRONOUNS if pronoun[0] not in self.used and pronoun[-1] != subject.person]
            english, objective, *german, _ = self.pick([pronoun for pronoun in others if pronoun[0] != "she"])
            self.used.add(english)
            return NounPhrase("", objective, tuple(german), "", "pronoun", False)
        is_plural = self.chance(0.4)
        return self.noun_phrase(self.noun(kinds), is_plural, self.determiner(is_plural))

    def noun(self, kinds: Sequence[str]) -> Noun:
        noun = self.pick([noun for noun in NOUNS if noun.kind in kinds and noun.english not in self.used])
        self.used.add(noun.english)
        return noun

    def determiner(self, is_plural: bool, kind: str = "") -> Determiner:
        """Draws a determiner for the number, "the" half of the time."""
        if self.chance(0.5):
            return DETERMINERS[0]
        return self.pick(
            [word for word in DETERMINERS if (word.plural if is_plural else word.singular) and kind in ("", word.kind)]
        )

    def noun_phrase(self, noun: Noun, is_plural: bool, determiner: Determiner) -> NounPhrase:
        """Derives a determiner, at times an adjective, and a noun."""
        adjective, is_very = None, self.chance(0.15)
        if self.chance(0.35):
            words = [word for word in ADJECTIVES if noun.kind in word.kinds and word.english not in self.used]
            adjective = self.pick(words)
            self.used.add(adjective.english)
        gender = "p" if is_plural else noun.gender
        german = []
        for case in range(len(CASES)):
            described = adjective.stem + _ending(determiner.adjectives, gender, case) if adjective else ""
            german.append(
                _joined(
                    determiner.german + _ending(determiner.pattern, gender, case),
                    "sehr" if described and is_very else "",
                    described,
                    noun.german_form(case, is_plural),
                )
            )
        described = _joined("very" if is_very else "", adjective.english) if adjective else ""
        article = determiner.plural if is_plural else determiner.singular
        if article == "a" and (described or noun.english)[0] in "aeiou":
            article = "an"
        english = _joined(article, described, noun.english_plural if is_plural else noun.english)
        person = "wir" if is_plural else "er"
        return NounPhrase(english, english, tuple(german), person, determiner.kind, not is_plural)

    def place(self) -> tuple[str, str, str]:
        place = self._unused_place()
        return f"{place.english} the {place.noun.english}", _at(place.german, place.noun, "dative"), "place"

    def goal(self) -> tuple[str, str, str]:
        place = self._unused_place()
        case = "dative" if place.goal == "zu" else "accusative"
        return f"to the {place.noun.english}", _at(place.goal, place.noun, case), "place"

    def _unused_place(self) -> Place:
        place = self.pick([place for place in PLACES if place.noun.english not in self.used])
        self.used.add(place.noun.english)
        return place

    def time(self, is_past: bool) -> tuple[str, str]:
        tense = "past" if is_past else "present"
        english = self.pick([adverb for adverb, (_, tenses) in TIMES.items() if tense in tenses])
        return english, TIMES[english][0]


def _at(preposition: str, noun: Noun, case: str) -> str:
    """Returns a place after a preposition, contracted ("in dem Garten" becomes "im Garten")."""
    article = f"{preposition} d{_ending('article', noun.gender, CASES.index(case))}"
    return f"{CONTRACTIONS.get(article, article)} {noun.german_form(CASES.index(case), False)}"


def _ending(pattern: str, gender: str, case: int) -> str:
    return ENDINGS[pattern][gender].split()[case].strip("-")


def _joined(*parts: str) -> str:
    """Joins the parts that are not empty, with spaces between them."""
    return " ".join(part for part in parts if part)


def _with_tail(parts: Sequence[str], tail: str) -> str:
    clause = _joined(*parts)
    return f"{clause}, {tail}" if tail else clause


def _finished(english: str, german: str, mark: str = ".") -> SentencePair:
    """Finishes both sides with a capital letter and a mark at the end."""
    return SentencePair(*(f"{side[0].upper()}{side[1:]}{mark}" for side in (english, german)))
