"""A small synchronous grammar that derives English sentences together with their German translations.

Each rule builds both sides at once, so that agreement, case, word order and commas are right by construction. The words
and their forms are in lexicon.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, TypeVar

from transduce.base.errors import DataError
from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.lexicon import (
    ADJECTIVES,
    AUXILIARIES,
    CASES,
    CONJUNCTIONS,
    DETERMINERS,
    NAMES,
    NOUNS,
    PAST_TIMES,
    PERSONS,
    PLACES,
    PRESENT_TIMES,
    PRONOUNS,
    VERBS,
    WAS,
    Adjective,
    Determiner,
    Noun,
    NounPhrase,
    Verb,
    ending,
)

DRAWS_PER_PAIR = 50  # draws without a new pair after which the grammar is taken to be exhausted
SUBJECTS = ("person", "person", "person", "animal")  # kinds of them

Two = tuple[str, str]
"""English and German words."""
T = TypeVar("T")


class _Entry(Protocol):
    """An entry of the lexicon."""

    @property
    def english(self) -> str: ...


Entry = TypeVar("Entry", bound=_Entry)


def derive_pairs(count: int, seed: int) -> list[SentencePair]:
    """Returns distinct pairs, no two with the same English side; the same arguments give the same list."""
    pairs: dict[str, SentencePair] = {}
    rules, fruitless = Rules(Random(seed)), 0
    while len(pairs) < count:
        pair = rules.sentence()
        if pair.source not in pairs:
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
class Clause:
    """A subject, a verb and what goes with it, not yet in order."""

    subject: NounPhrase
    verb: Verb | None
    """The verb; None for "to be"."""
    is_past: bool
    rest: Two
    """The English and the German words that follow: an object and a place, or an adjective."""
    pronoun: Two = ("", "")
    """An object that is a pronoun: in German it stands before the time."""
    time: Two = ("", "")

    def english_statement(self) -> str:
        """Returns an English statement, subject first."""
        return _joined(self.subject.english, *self._english_verb(False), *self._english_end())

    def english_question(self) -> str:
        """Returns an English question, the auxiliary before the subject."""
        finite, verb = self._english_verb(True)
        return _joined(finite, self.subject.english, verb, *self._english_end())

    def german_statement(self, first: str = "") -> str:
        """Returns a German statement, the finite verb second; `first` takes the subject's position before it."""
        finite, end = self._german_verb()
        subject = self.subject.german[0]
        begin = [first, finite, subject] if first else [subject, finite]
        return _joined(*begin, *self._german_middle(), end)

    def german_question(self) -> str:
        """Returns a German question, the finite verb before the subject."""
        finite, end = self._german_verb()
        return _joined(finite, self.subject.german[0], *self._german_middle(), end)

    def german_verb_last(self, conjunction: str) -> str:
        """Returns a German subordinate clause."""
        finite, end = self._german_verb()
        last = f"{end}{finite}" if self.verb and end == self.verb.prefix else _joined(end, finite)
        return _joined(conjunction, self.subject.german[0], *self._german_middle(), last)

    def _english_end(self) -> list[str]:
        return [self.pronoun[0], self.rest[0], self.time[0]]

    def _english_verb(self, is_question: bool) -> tuple[str, str]:
        """Returns the finite verb, and the verb after it if that is an auxiliary."""
        person, verb = self.subject.person, self.verb
        if verb is None:
            past = "was" if person in ("ich", "er") else "were"
            return past if self.is_past else {"ich": "am", "er": "is"}.get(person, "are"), ""
        if is_question:
            return "did" if self.is_past else "does" if person == "er" else "do", verb.english
        return verb.past if self.is_past else verb.third if person == "er" else verb.english, ""

    def _german_verb(self) -> tuple[str, str]:
        """Returns the finite verb of a main clause, and what ends that clause."""
        number, verb = PERSONS.index(self.subject.person), self.verb
        if verb is None:
            return (WAS if self.is_past else AUXILIARIES["sein"])[number], ""
        if self.is_past:
            return AUXILIARIES[verb.auxiliary][number], verb.participle
        return verb.present[number], verb.prefix

    def _german_middle(self) -> list[str]:
        return [self.pronoun[1], self.time[1], self.rest[1]]


class Rules:
    """The grammar's rules, drawing among their alternatives; both languages grow together."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used: set[str] = set()
        """The words of the sentence so far, which do not come twice."""

    def pick(self, choices: Sequence[T]) -> T:
        """Draws one of some choices."""
        return choices[int(self.random.random() * len(choices))]

    def chance(self, share: float) -> bool:
        """Returns True in a share of all cases."""
        return self.random.random() < share

    def sentence(self) -> SentencePair:
        """Derives a sentence."""
        self.used.clear()
        return self.pick((self.statement, self.statement, self.question, self.complex))()

    def statement(self) -> SentencePair:
        """Derives a clause, at times with a time, at its end or its beginning."""
        clause = self.clause(self.chance(0.5))
        if clause.verb is None or self.chance(0.6):
            return _finished(clause.english_statement(), clause.german_statement())
        english, german = self.pick(PAST_TIMES if clause.is_past else PRESENT_TIMES)
        if self.chance(0.5):
            clause = replace(clause, time=(english, german))
            return _finished(clause.english_statement(), clause.german_statement())
        return _finished(f"{english} {clause.english_statement()}", clause.german_statement(german))

    def question(self) -> SentencePair:
        """Derives a question that is answered by yes or no."""
        clause = self.clause(self.chance(0.5))
        return _finished(clause.english_question(), clause.german_question(), mark="?")

    def complex(self) -> SentencePair:
        """Derives a main and a subordinate clause, in either order."""
        is_past = self.chance(0.5)
        english, german = self.pick(CONJUNCTIONS)
        main, sub = self.clause(is_past), self.clause(is_past)
        subordinate = _joined(english, sub.english_statement()), sub.german_verb_last(german)
        if self.chance(0.4):
            english, german = main.english_statement(), main.german_statement(f"{subordinate[1]},")
            return _finished(f"{subordinate[0]}, {english}", german)
        return _finished(
            _joined(main.english_statement(), subordinate[0]), f"{main.german_statement()}, {subordinate[1]}"
        )

    def clause(self, is_past: bool) -> Clause:
        """Derives a clause about a person or an animal."""
        kind = self.pick(SUBJECTS)
        subject = self.subject(kind)
        if self.chance(0.15):
            word = self.unused([word for word in ADJECTIVES if kind in word.kinds])
            return Clause(subject, None, is_past, (word.english, word.german))
        verb = self.unused([verb for verb in VERBS if kind in verb.subjects])
        place = self.pick(PLACES) if self.chance(0.2) else ("", "")
        if not verb.case:
            return Clause(subject, verb, is_past, place)
        case = CASES.index(verb.case)
        if "person" in verb.objects and self.chance(0.25):
            one = self.unused([one for one in PRONOUNS if one.person != subject.person])
            return Clause(subject, verb, is_past, place, (one.english_object, one.german[case]))
        phrase = self.noun_phrase(verb.objects)
        rest = _joined(phrase.english_object, place[0]), _joined(phrase.german[case], place[1])
        return Clause(subject, verb, is_past, rest)

    def subject(self, kind: str) -> NounPhrase:
        """Derives a subject: of persons often a pronoun, at times a name."""
        if kind == "person" and self.chance(0.5):
            return self.unused(PRONOUNS if self.chance(0.75) else NAMES)
        return self.noun_phrase([kind])

    def noun_phrase(self, kinds: Sequence[str]) -> NounPhrase:
        """Derives a determiner, "the" half of the time, a noun, and at times an adjective."""
        is_plural, noun = self.chance(0.4), self.unused([noun for noun in NOUNS if noun.kind in kinds])
        fitting = [word for word in DETERMINERS if (word.plural if is_plural else word.singular)]
        determiner = fitting[0] if self.chance(0.5) else self.pick(fitting)
        has_adjective = self.chance(0.35)
        adjectives = [word for word in ADJECTIVES if noun.kind in word.kinds]
        return noun_phrase(noun, determiner, self.unused(adjectives) if has_adjective else None, is_plural)

    def unused(self, entries: Sequence[Entry]) -> Entry:
        """Draws an entry of the lexicon that the sentence does not have yet."""
        entry = self.pick([entry for entry in entries if entry.english not in self.used])
        self.used.add(entry.english)
        return entry


def noun_phrase(noun: Noun, determiner: Determiner, adjective: Adjective | None, is_plural: bool) -> NounPhrase:
    """Returns the forms of a determiner, an adjective or none, and a noun."""
    gender = "p" if is_plural else noun.gender
    german = tuple(
        _joined(
            determiner.german + ending(determiner.pattern, gender, case),
            adjective.stem + ending(determiner.adjectives, gender, case) if adjective else "",
            noun.german_form(case, is_plural),
        )
        for case in range(len(CASES))
    )
    words = _joined(adjective.english if adjective else "", noun.plural if is_plural else noun.english)
    article = determiner.plural if is_plural else determiner.singular
    article = "an" if article == "a" and words[0] in "aeiou" else article
    english = f"{article} {words}"
    return NounPhrase(english, english, german, "wir" if is_plural else "er")


def _joined(*parts: str) -> str:
    """Joins the parts that are not empty, with spaces between them."""
    return " ".join(part for part in parts if part)


def _finished(english: str, german: str, mark: str = ".") -> SentencePair:
    """Finishes both sides with a capital letter and a mark at the end."""
    return SentencePair(*(f"{side[0].upper()}{side[1:]}{mark}" for side in (english, german)))
