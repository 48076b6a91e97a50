"""Words become phrases, and phrases a clause: what is drawn together, and in which order either language says it."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from transduce.corpora.generated import lexicon
from transduce.corpora.generated.inflection import (
    CASES,
    PLURAL,
    THIRD,
    Adjective,
    Determiner,
    FixedPlace,
    Modal,
    Noun,
    Verb,
    english_verb,
    german_noun_phrase,
    german_verb,
    indefinite_article,
    join,
    with_preposition,
)

Item = TypeVar("Item")


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase in both languages; `german` holds the four cases."""

    english: str
    english_object: str
    german: tuple[str, ...]
    agreement: int = THIRD
    kind: str = "definite"  # or "indefinite", "quantified", "pronoun", "named"
    possessor: str = ""  # the possessive that refers back to this phrase
    relative: tuple[str, str] = ("", "")
    noun: Noun | None = None

    def case(self, name: str) -> str:
        """The German phrase in this case."""
        return self.german[CASES.index(name)]


@dataclass(frozen=True)
class Constituent:
    """Something in a clause besides subject and verb, with its place in either language's order."""

    english: str
    german: str
    slot: str


# Where each constituent stands after the English verb, and where between the two parts of the German one.
SLOTS = {
    "pronoun": (1, 0),
    "named": (1, 1),
    "dative": (1, 2.4),
    "definite": (2, 3),
    "indefinite": (2, 7),
    "quantified": (2, 7),
    "prepositional": (2, 8),
    "predicate": (2, 10),
    "company": (4, 5),
    "place": (5, 6),
    "benefit": (5, 9),
    "goal": (5, 10),
    "time": (9, 2),
}
DENIAL_SLOT = 4.0  # "liest das Buch nicht", "liest das Buch nie"; English has all such adverbs in the verb group
FREQUENCY_SLOT = 2.5  # "liest oft das Buch", "zeigt dem Kind oft das Buch"
NEGATED_TIME_SLOT = 3.5  # "liest das Buch heute nicht", but "liest heute das Buch", "zeigt ihr heute das Buch nicht"


@dataclass(frozen=True)
class Clause:
    """A clause before it is put in order: as a statement, a question or a subordinate clause."""

    subject: NounPhrase
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    not_german: str = ""  # "nicht" where the negation is not in "kein"
    is_negated: bool = False
    adverb: tuple[str, str] = ("", "")
    rest: tuple[Constituent, ...] = ()
    tail: tuple[str, str] = ("", "")

    def english_statement(self) -> str:
        """A main or a subordinate clause: English orders both alike."""
        auxiliary, main = self.english_verb(self.is_negated)
        return join(self.subject.english, self.subject.relative[0], auxiliary, self.english_end(main))

    def english_question(self, word: str = "") -> str:
        """A question, after its question word if it has one."""
        auxiliary, main = self.english_verb(True)
        return join(word, auxiliary, self.subject.english, self.subject.relative[0], self.english_end(main))

    def english_verb(self, needs_auxiliary: bool) -> tuple[str, str]:
        """The verb as the function english_verb gives it."""
        is_past = self.tense == "past"
        return english_verb(self.verb, self.modal, self.subject.agreement, is_past, needs_auxiliary)

    def english_end(self, main: str) -> str:
        """What follows the auxiliary and, in a question, the subject."""
        ordered = sorted(self.rest, key=lambda part: SLOTS[part.slot][0])
        negation = "not" if self.is_negated else ""
        return join(negation, self.adverb[0], main, *(part.english for part in ordered), self.tail[0])

    def german_statement(self, front: str = "") -> str:
        """A main clause; after whatever stands in front, the finite verb comes second."""
        if front:
            return self.german_question(front)
        finite, end, _ = self.german_verb()
        return join(self.german_subject(), finite, *self.german_middle(), end) + self.tail[1]

    def german_question(self, word: str = "") -> str:
        """A question, after its question word if it has one."""
        finite, end, _ = self.german_verb()
        if end and end == self.verb.prefix and not any(self.german_middle()):  # "Fängt der Film an, den sie kennt?"
            return join(word, finite, self.subject.german[0], end) + self.subject.relative[1] + self.tail[1]
        return join(word, finite, self.german_field(), end) + self.tail[1]

    def german_verb_last(self, conjunction: str = "") -> str:
        """A subordinate clause."""
        return join(conjunction, self.german_field(), self.german_verb()[2]) + self.tail[1]

    def german_verb(self) -> tuple[str, str, str]:
        """The verb as the function german_verb gives it."""
        return german_verb(self.verb, self.modal, self.subject.agreement, self.tense == "past")

    def german_subject(self) -> str:
        """The subject with its relative clause."""
        return self.subject.german[0] + self.subject.relative[1]

    def german_field(self) -> str:
        """Subject and middle; a pronoun precedes a subject with a noun, unless it could be taken for the subject."""
        subject, middle = self.german_subject(), self.german_middle()
        has_pronoun = any(part.slot == "pronoun" for part in self.rest)
        may_swap = has_pronoun and self.subject.kind not in ("pronoun", "named")
        if may_swap and middle[0] != "sie" and not subject.startswith(f"{middle[0]} "):  # not "ihr ihr Bruder"
            return join(middle[0], subject, *middle[1:])
        return join(subject, *middle)

    def german_middle(self) -> tuple[str, ...]:
        """What stands between the finite verb (or the subject) and the end of the clause, in order."""
        adverb = self.not_german or self.adverb[1]
        slots = [(DENIAL_SLOT if adverb in ("nicht", "nie") else FREQUENCY_SLOT, adverb)]
        slots += [(self.german_slot(part), part.german) for part in self.rest]
        return tuple(text for _, text in sorted(slots, key=lambda slot: slot[0]))

    def german_slot(self, part: Constituent) -> float:
        """Where the part stands."""
        is_late = part.slot == "time" and self.not_german and len(self.rest) < 3
        return NEGATED_TIME_SLOT if is_late else SLOTS[part.slot][1]


def both(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Two people together."""
    english, german = f"{first.english} and {second.english}", f"{first.german[0]} und {second.german[0]}"
    return NounPhrase(english, english, (german,) * len(CASES), PLURAL, "named", "their")


WHO = NounPhrase("who", "who", ("wer", "wen", "wem", "wessen"))
PRONOUNS = tuple(
    NounPhrase(subject, form, (*german, ""), int(agreement), "pronoun", possessive)
    for subject, form, possessive, agreement, *german in lexicon.PRONOUN_ROWS
)
NAMES = tuple(
    NounPhrase(name, name, (name,) * len(CASES), kind="named", possessor=owner) for name, owner in lexicon.NAME_TABLE
)


class Phrases:
    """Draws noun phrases and what is made of them: companions, places and times."""

    def __init__(self, random: Random) -> None:
        self.random = random.random

    def chance(self, probability: float) -> bool:
        """True as often as the probability says."""
        return self.random() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[int(self.random() * len(items))]

    def noun(self, kinds: Sequence[str]) -> Noun:
        """A noun of one of the kinds."""
        return self.pick(lexicon.NOUNS_BY_KIND[self.pick(kinds)])

    def noun_phrase(
        self, noun: Noun, group: str, owner: NounPhrase | None = None, is_negated: bool = False, is_head: bool = False
    ) -> NounPhrase:
        """A phrase with a determiner of the group; a head takes no genitive, since a relative clause will follow."""
        determiner, plural = self.pick(lexicon.DETERMINERS_OF[group])
        determiner = determiner or self.possessive(owner)
        plural = plural and noun.english not in ("mother", "father")
        number = self.number() if determiner in (lexicon.COUNTED, lexicon.THE_COUNTED) else ("", "")
        adjectives = self.adjectives(noun)
        is_very = len(adjectives) == 1 and bool(adjectives[0].degree) and self.chance(0.12)
        described = ("very" * is_very, *(adjective.english for adjective in adjectives))
        words = join(number[0], *described, noun.english_plural if plural else noun.english)
        article = indefinite_article(words) if determiner.singular == "a" else ""
        english = join(article or (determiner.plural if plural else determiner.singular), words)
        german_determiner = lexicon.DETERMINERS["no"] if is_negated and determiner.kind == "indefinite" else determiner
        german = german_noun_phrase(german_determiner, number[1], is_very, adjectives, noun, plural)
        if determiner.singular == "the" and noun.kind in lexicon.OWNED_KINDS and not is_head and self.chance(0.12):
            holder = self.noun(("person",))
            holders = german_noun_phrase(lexicon.DETERMINERS["the"], "", False, (), holder, False)
            genitive = holders[CASES.index("genitive")]
            english, german = f"{english} of the {holder.english}", tuple(f"{case} {genitive}" for case in german)
        possessor = ""
        if noun.kind in lexicon.PEOPLE:
            possessor = "their" if plural else {"m": "his", "f": "her"}.get(noun.gender, "")
        agreement = PLURAL if plural else THIRD
        return NounPhrase(english, english, german, agreement, determiner.kind, possessor, noun=noun)

    def number(self) -> tuple[str, str]:
        """A number word, mostly a small one."""
        return self.pick(lexicon.NUMBERS[: self.pick((4, 4, 11, 19))])

    def possessive(self, owner: NounPhrase | None) -> Determiner:
        """A possessive, mostly of the subject; in its clause, nobody else's things are called "his" or "her"."""
        if owner and owner.possessor and self.chance(0.7):
            return lexicon.DETERMINERS[owner.possessor]
        if self.chance(0.15):
            return self.pick(lexicon.OWNERS)
        others = ("my", "your", "our") if owner else ("my", "your", "our", "his", "her", "their")
        return lexicon.DETERMINERS[self.pick(others)]

    def adjectives(self, noun: Noun) -> tuple[Adjective, ...]:
        """No, one or two adjectives; of two, the second is a color, so that German needs no comma between them."""
        candidates = lexicon.ADJECTIVES_OF[noun]
        if not candidates or not self.chance(0.35):
            return ()
        first, second = self.pick(candidates), self.pick(candidates)
        is_color = "color" in second.kinds and "color" not in first.kinds
        return (first, second) if is_color and self.chance(0.5) else (first,)

    def person(self, subject: NounPhrase) -> NounPhrase:
        """Somebody other than the subject."""
        draw = self.random()
        if draw < 0.35:
            clashes = lexicon.CLASHES.get(subject.english, ())
            return self.pick([word for word in PRONOUNS if word.english not in clashes])
        if draw < 0.5:
            return self.pick(NAMES)
        noun = self.noun(("person",))
        return self.noun_phrase(noun, "kin" if noun.kind == "kin" else "the", subject)

    def recipient(self, subject: NounPhrase) -> Constituent:
        """To whom something is given."""
        phrase = self.person(subject)
        slot = phrase.kind if phrase.kind in ("pronoun", "named") else "dative"
        return Constituent(phrase.english_object, phrase.case("dative"), slot)

    def companion(self, subject: NounPhrase) -> Constituent:
        """With whom."""
        phrase = self.person(subject)
        return Constituent(f"with {phrase.english_object}", with_preposition("mit", phrase.case("dative")), "company")

    def beneficiary(self, subject: NounPhrase) -> Constituent:
        """For whom."""
        phrase = self.person(subject)
        return Constituent(f"for {phrase.english_object}", f"für {phrase.case('accusative')}", "benefit")

    def place(self, use: str, subject: NounPhrase) -> Constituent:
        """Where, where to or where from."""
        if use == "spot":
            return self.spot()
        place = self.pick(lexicon.PLACES_BY_USE[use])
        slot = "goal" if use in (*lexicon.DESTINATIONS, "origin") else "place"
        if isinstance(place, FixedPlace):
            words = place.origin if use == "origin" else place.goal if slot == "goal" else place.there
            return Constituent(*words, slot)
        is_own = place.noun.kind == "room" and self.chance(0.3)
        phrase = self.noun_phrase(place.noun, "possessive" if is_own else "place", subject)
        english, german, case = place.english, place.german, "dative"
        if use == "origin":
            english, german = "from", place.origin
        elif slot == "goal":
            english, german, case = "to", place.goal, "accusative" if place.goal == "in" else "dative"
        return Constituent(f"{english} {phrase.english}", with_preposition(german, phrase.case(case)), slot)

    def spot(self) -> Constituent:
        """Where on, under or beside a piece of furniture."""
        english, german = self.pick(lexicon.SPOTS)
        phrase = self.noun_phrase(self.noun(("furniture",)), "place")
        return Constituent(f"{english} {phrase.english}", with_preposition(german, phrase.case("dative")), "place")

    def time(self, clause: Clause) -> tuple[str, str]:
        """When, as the tense of the clause allows."""
        tense = "future" if clause.modal and clause.tense == "present" else clause.tense
        if tense == "past" and self.chance(0.2):
            number, unit = self.pick(lexicon.NUMBERS[:9]), self.pick(lexicon.AGO_UNITS)
            return f"{number[0]} {unit[0]} ago", f"vor {number[1]} {unit[1]}"
        # "Did not work every day" would be "nicht jeden Tag", an order that the slots do not have.
        times = lexicon.TIMES_BY_TENSE[f"denied {tense}" if clause.is_negated else tense]
        return self.pick(times)

    def frequency(self, clause: Clause) -> tuple[str, str]:
        """How often; "must never" would be "darf nie", and nobody says "never many"."""
        no_never = clause.modal and clause.modal.english == "must"
        no_never = no_never or any(part.slot == "quantified" for part in clause.rest)
        return self.pick(lexicon.FREQUENCIES[:-1] if no_never else lexicon.FREQUENCIES)

    def predicate(self, subject: NounPhrase) -> Constituent:
        """What or where the subject is."""
        if subject.noun and subject.noun.kind in ("thing", "reading") and self.chance(0.5):
            return self.spot()
        adjective = self.pick(self.describing(subject))
        very = ("very", "sehr") if adjective.degree and self.chance(0.2) else ("", "")
        return Constituent(join(very[0], adjective.english), join(very[1], adjective.german), "predicate")

    def describing(self, subject: NounPhrase) -> Sequence[Adjective]:
        """The adjectives that may be said of the subject."""
        return lexicon.ADJECTIVES_OF[subject.noun or lexicon.NOUN_BY_ENGLISH["man"]]
