"""A small synchronous grammar that derives English sentences together with their German translations.

Every rule builds both sides at once, so agreement, case, word order and commas are right by construction. The
words are in lexicon.py, their forms in inflection.py, and the order in which a clause puts them in phrases.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated import lexicon
from transduce.corpora.generated.inflection import (
    CASES,
    PLURAL,
    THIRD,
    Adjective,
    Modal,
    Noun,
    Verb,
    english_comparative,
    join,
    with_preposition,
)
from transduce.corpora.generated.lexicon import BE
from transduce.corpora.generated.phrases import NAMES, PRONOUNS, WHO, Clause, Constituent, NounPhrase, Phrases, both
from transduce.errors import DataError

SHORTEST, LONGEST = 3, 16  # words of an English sentence
DRAWS_PER_PAIR = 50  # when so many draws bring nothing new, the grammar is taken to be exhausted


def derive_pairs(count: int, seed: int) -> list[SentencePair]:
    """Distinct pairs, no two with the same English side; the same arguments give the same list."""
    derivation = _Derivation(Random(seed))
    pairs: dict[str, SentencePair] = {}
    fruitless = 0
    while len(pairs) < count:
        pair = derivation.sentence()
        if pair.source not in pairs and is_acceptable(pair):
            pairs[pair.source] = pair
            continue
        fruitless += 1
        if fruitless > DRAWS_PER_PAIR * (len(pairs) + 1000):
            raise DataError(f"grammar: {count} distinct pairs wanted, only {len(pairs)} found; ask for fewer")
    return list(pairs.values())


def split_pairs(
    pairs: Sequence[SentencePair], validation: int, test: int
) -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
    """Training, validation and test pairs; the last two are taken from the end."""
    if validation < 0 or test < 0 or validation + test > len(pairs):
        raise DataError(f"split: {validation} + {test} pairs wanted of {len(pairs)}; derive more or ask for fewer")
    training_end, validation_end = len(pairs) - validation - test, len(pairs) - test
    return list(pairs[:training_end]), list(pairs[training_end:validation_end]), list(pairs[validation_end:])


def is_acceptable(pair: SentencePair) -> bool:
    """Whether the sentence is of a fit length, repeats no word oddly and leaves no pronoun's gender in doubt."""
    words = pair.source[:-1].replace(",", "").split()
    if not SHORTEST <= len(words) <= LONGEST:
        return False
    lemmas = [lexicon.LEMMAS[word] for word in (word.removesuffix("'s") for word in words) if word in lexicon.LEMMAS]
    if len(lemmas) != len(set(lemmas)):
        return False
    if "I" in words and ("we" in words or "We" in words):  # "We hope that I sleep."
        return False
    if "her her" in pair.source or len(COLORS.intersection(words)) > 1:  # "The red hat is blue."
        return False
    if not NOW.isdisjoint(words) and not CONDITIONS.isdisjoint(words):  # "when he is sad now"
        return False
    if "no" in words and (pair.source.endswith("?") or "whether" in words):  # "Does no child sleep?"
        return False
    # "Das Mädchen liest ihr Buch": German speakers disagree on the pronoun, so the grammar does not say it.
    return NEUTER_PERSONS.isdisjoint(words) or GENDERED_PRONOUNS.isdisjoint(words)


NEUTER_PERSONS = frozenset({"child", "girl"})
GENDERED_PRONOUNS = frozenset({"he", "him", "his", "she", "her"})
COLORS = frozenset(word.english for word in lexicon.ADJECTIVES if "color" in word.kinds)
NOW = frozenset({"now", "today"})
CONDITIONS = frozenset({"when", "When", "if", "If"})


class _Derivation(Phrases):
    """The rules, drawing among their alternatives; both languages grow together."""

    def sentence(self) -> SentencePair:
        return self.pick(SENTENCE_RULES)(self)

    # Sentences

    def statement(self) -> SentencePair:
        is_fronted = self.chance(0.35)
        clause = self.clause(timed=not is_fronted, adverbial=not is_fronted, with_relative=True)
        front = self.time(clause) if is_fronted and takes_time(clause) else ("", "")
        return finish(join(front[0], clause.english_statement()), clause.german_statement(front[1]), ".")

    def complex_sentence(self) -> SentencePair:
        """A main and a subordinate clause, in either order."""
        english, german, tense = self.pick(lexicon.CONJUNCTIONS)
        verbs = lexicon.EPISODES if tense else lexicon.PERSON_VERBS
        tense = tense or self.pick(lexicon.TENSES)
        is_fronted = self.chance(0.35)
        main = self.personal_clause(verbs, tense=tense)
        # English has no "will" after "if" and "when".
        is_timed, has_modals = not is_fronted and german != "als", english not in ("if", "when")
        sub = self.personal_clause(verbs, tense=tense, timed=is_timed, modals=has_modals)
        sub_english, sub_german = join(english, sub.english_statement()), sub.german_verb_last(german)
        if is_fronted:
            return finish(f"{sub_english}, {main.english_statement()}", main.german_statement(f"{sub_german},"), ".")
        return finish(join(main.english_statement(), sub_english), f"{main.german_statement()}, {sub_german}", ".")

    def compound(self) -> SentencePair:
        """Two main clauses; German puts a comma before "aber", as English does before "but", and none before "und"."""
        english, german = self.pick(((", but", ", aber"), (" and", " und")))
        tense = self.pick(lexicon.TENSES)
        first = self.personal_clause(lexicon.PERSON_VERBS, tense=tense)
        second = self.personal_clause(lexicon.PERSON_VERBS, tense=tense, timed=True)
        return finish(
            f"{first.english_statement()}{english} {second.english_statement()}",
            f"{first.german_statement()}{german} {second.german_statement()}",
            ".",
        )

    def report(self) -> SentencePair:
        """Somebody says that, or knows whether, why or where."""
        verb, tense = self.pick(lexicon.SAYING_VERBS), self.pick(lexicon.TENSES)
        word = self.pick(verb.objects)
        inner_tense = "past" if tense == "past" else ""  # English shifts the tense, so the present is left out
        if word == "where":
            inner = self.clause(self.pick(lexicon.WHERE_VERBS), tense=inner_tense, gap="place", negatable=False)
        elif self.chance(0.3):
            inner = self.clause(tense=inner_tense, timed=True)
        else:
            inner = self.personal_clause(lexicon.PERSON_VERBS, tense=inner_tense, timed=True)
        tail = join(word, inner.english_statement()), f", {inner.german_verb_last(lexicon.REPORT_WORDS[word])}"
        subject = self.subject(verb.subjects)
        may_vary = verb.english in ("say", "know", "believe")
        is_question = may_vary and self.chance(0.25)
        is_free = may_vary and not is_question and subject.kind not in ("indefinite", "quantified")
        is_negated = is_free and self.chance(0.4)
        clause = Clause(subject, verb, tense, None, "nicht" if is_negated else "", is_negated, tail=tail)
        if is_question:
            return finish(clause.english_question(), clause.german_question(), "?")
        return finish(clause.english_statement(), clause.german_statement(), ".")

    def purpose(self) -> SentencePair:
        """Infinitives with "zu"."""
        is_errand = self.chance(0.5)
        verb = self.pick(lexicon.ERRANDS if is_errand else lexicon.PURPOSES)
        action = self.clause(verb, self.subject(("person",)), tense="present", negatable=False, gap="time")
        if is_errand:
            clause = self.clause(self.pick(lexicon.GOAL_VERBS), action.subject, negatable=False, with_company=False)
            clause = in_order_to(clause, action)
        else:
            clause = trying_to(action, self.pick(lexicon.TENSES))
        return finish(clause.english_statement(), clause.german_statement(), ".")

    def comparison(self) -> SentencePair:
        kind = self.pick(("person", "person", "animal", "vehicle", "clothing", "furniture", "reading", "site"))
        subject, other = self.noun_phrase(self.noun((kind,)), "compared"), self.noun_phrase(self.noun((kind,)), "the")
        adjective = self.pick([word for word in self.describing(subject) if word.degree])
        clause = comparing(subject, adjective, other, self.pick(lexicon.TENSES))
        return finish(clause.english_statement(), clause.german_statement(), ".")

    def yes_no_question(self) -> SentencePair:
        clause = self.clause(timed=True, negatable=False, adverbial=True, with_relative=self.chance(0.2))
        return finish(clause.english_question(), clause.german_question(), "?")

    def who_question(self) -> SentencePair:
        clause = self.clause(self.pick(lexicon.PERSON_VERBS), WHO, timed=True, adverbial=True)
        return finish(clause.english_statement(), clause.german_statement(), "?")

    def object_question(self) -> SentencePair:
        """Whom, what, which or how many."""
        verb = self.pick(lexicon.OBJECT_VERBS)
        noun = self.noun(verb.objects)
        clause = self.clause(verb, gap="object", timed=True, negatable=False)
        if noun.kind in lexicon.PEOPLE:
            words = [("whom", "wem" if verb.case == "dative" else "wen")]
        else:
            phrases = [self.noun_phrase(noun, "which")]
            if noun.english_plural and verb.traits.isdisjoint(("definite", "generic", "plain")):
                phrases.append(self.noun_phrase(noun, "how many"))
            words = [(phrase.english, phrase.case(verb.case)) for phrase in phrases]
            if verb.english != "know":  # "What does she know?" asks for facts: "wissen", not "kennen"
                words.append(("what", "was"))
        english, german = self.pick(words)
        return finish(clause.english_question(english), clause.german_question(german), "?")

    def adverb_question(self) -> SentencePair:
        """Where, where to, when or why."""
        english, german, verbs, gap = self.pick(lexicon.ADVERB_QUESTIONS)
        clause = self.clause(self.pick(verbs), gap=gap, negatable=english == "why")
        return finish(clause.english_question(english), clause.german_question(german), "?")

    # Clauses

    def clause(
        self,
        verb: Verb | None = None,
        subject: NounPhrase | None = None,
        tense: str = "",
        gap: str = "",  # the "object", "place" or "time" that stands outside the clause
        timed: bool = False,
        adverbial: bool = False,
        modals: bool = True,
        negatable: bool = True,
        with_relative: bool = False,
        with_company: bool = True,
    ) -> Clause:
        verb = verb or self.pick(lexicon.DRAWN_VERBS)
        tense = tense or self.pick(lexicon.TENSES)
        subject = subject or self.subject(verb.subjects, tense if with_relative and self.chance(0.15) else "")
        has_modal = modals and verb.traits.isdisjoint(("stative", "unwilled")) and self.chance(0.25)
        is_negated = negatable and subject.kind not in ("indefinite", "quantified") and self.chance(0.15)
        if verb.has_ambiguous_past and not is_negated and (tense == "past" or subject.agreement != THIRD):
            has_modal = True  # "they read" would be present or past
        modal = self.modal(tense, is_negated or subject.english.startswith("no ")) if has_modal else None
        clause = Clause(subject, verb, tense, modal, "nicht" if is_negated else "", is_negated)
        if gap != "object" and not (verb is BE and gap == "place"):
            has_relative = with_relative and not subject.relative[0] and self.chance(0.2)
            clause = self.with_objects(clause, tense if has_relative else "")
        return self.with_time(self.with_adjuncts(clause, gap, with_company), timed, adverbial)

    def personal_clause(self, verbs: Sequence[Verb], tense: str, timed: bool = False, modals: bool = True) -> Clause:
        clause = self.clause(self.pick(verbs), self.subject(("person",)), tense, timed=timed, modals=modals)
        if (clause.verb is BE or verbs is lexicon.EPISODES) and not takes_time(clause):  # "If he comes, she is young."
            return self.personal_clause(verbs, tense, timed, modals)
        return clause

    def modal(self, tense: str, is_negated: bool) -> Modal:
        modals = lexicon.PAST_MODALS if tense == "past" else lexicon.MODALS
        return self.pick([modal for modal in modals if not (is_negated and modal.english == "must")])

    def with_objects(self, clause: Clause, relative_tense: str) -> Clause:
        verb, subject = clause.verb, clause.subject
        if verb is BE:
            return replace(clause, rest=(self.predicate(subject),))
        if not verb.case:
            return clause
        preposition, _, case = verb.case.rpartition("+")
        phrase = self.object(clause, relative_tense)
        german, slot = phrase.case(case), phrase.kind
        if preposition:
            german, slot = with_preposition(preposition, german), "prepositional"
        parts = [Constituent(phrase.english_object, german, slot)]
        if verb in lexicon.GIVING_VERBS:
            recipient = self.recipient(subject)
            while recipient.english == "her" and phrase.kind != "definite":  # "shows her dogs": whose, or to whom?
                recipient = self.recipient(subject)
            parts.insert(0, recipient)
        not_german = "" if clause.is_negated and phrase.kind == "indefinite" else clause.not_german
        tail = phrase.relative[0], phrase.relative[1].rstrip(",")
        return replace(clause, rest=tuple(parts), not_german=not_german, tail=tail)

    def with_adjuncts(self, clause: Clause, gap: str, with_company: bool) -> Clause:
        """A place, a companion or a beneficiary; not with a denied object, where "nicht" would bear on them instead."""
        verb, subject, rest = clause.verb, clause.subject, clause.rest
        place = lexicon.PLACE_TRAIT[verb] if gap != "place" else ""
        may_add = not (clause.tail[0] or gap or (clause.is_negated and rest))
        if place.endswith("!") or (place and may_add and self.chance(0.3)):
            return replace(clause, rest=(*rest, self.place(place.rstrip("!"), subject)))
        if may_add and with_company and "company" in verb.traits and self.chance(0.2):
            return replace(clause, rest=(*rest, self.companion(subject)))
        if may_add and "benefit" in verb.traits and self.chance(0.2):
            return replace(clause, rest=(*rest, self.beneficiary(subject)))
        return clause

    def with_time(self, clause: Clause, timed: bool, adverbial: bool) -> Clause:
        subject = clause.subject
        if timed and not clause.tail[0] and takes_time(clause) and self.chance(0.35):
            return replace(clause, rest=(*clause.rest, Constituent(*self.time(clause), "time")))
        # After a relative clause the adverb might be taken for a part of it.
        has_relative = subject.relative[0] or clause.tail[0]
        is_free = subject.kind not in ("indefinite", "quantified") and not has_relative and not clause.is_negated
        if adverbial and is_free and takes_time(clause) and self.chance(0.2):
            return replace(clause, adverb=self.frequency(clause))
        return clause

    # Noun phrases that are more than a noun with what precedes it

    def subject(self, kinds: Sequence[str], relative_tense: str = "") -> NounPhrase:
        if "person" in kinds and not relative_tense:
            draw = self.random()
            if draw < 0.3:
                return self.pick(PRONOUNS)
            if draw < 0.42:
                return self.pick(NAMES)
            if draw < 0.45:
                return both(self.pick(NAMES), self.pick(NAMES))
        noun = self.noun(kinds)
        if not noun.english_plural:
            return self.noun_phrase(noun, "the")
        group = "head" if relative_tense else "kin" if noun.kind == "kin" else "subject"
        return self.perhaps_with_relative(self.noun_phrase(noun, group, is_head=bool(relative_tense)), relative_tense)

    def object(self, clause: Clause, relative_tense: str) -> NounPhrase:
        verb = clause.verb
        if "person" in verb.objects and not relative_tense and self.chance(0.35):
            return self.person(clause.subject)
        noun = self.noun(verb.objects)
        relative_tense = relative_tense if noun.english_plural else ""
        group = "head" if relative_tense else self.determiners_of_object(noun, clause)
        phrase = self.noun_phrase(noun, group, clause.subject, clause.is_negated, is_head=bool(relative_tense))
        return self.perhaps_with_relative(phrase, relative_tense)

    def determiners_of_object(self, noun: Noun, clause: Clause) -> str:
        traits = clause.verb.traits
        if not noun.english_plural:
            return "mass"
        if noun.kind == "kin":
            return "kin"
        is_definite = "definite" in traits
        if noun.kind in ("person", "site", "event"):
            return "the" if is_definite or "generic" in traits else "unowned"
        if is_definite or "generic" in traits:
            return "definite" if is_definite else "generic"
        if "plain" in traits and clause.subject.agreement == PLURAL:  # "they wear their hats", not "their hat"
            return "plain for many"
        return "plain" if clause.is_negated or "plain" in traits else "object"

    def perhaps_with_relative(self, phrase: NounPhrase, tense: str) -> NounPhrase:
        return (
            replace(phrase, relative=self.relative(phrase.noun, phrase.agreement, tense))
            if tense and phrase.noun
            else phrase
        )

    def relative(self, noun: Noun, agreement: int, tense: str) -> tuple[str, str]:
        """A relative clause about the noun, which is its subject or its object."""
        is_person = noun.kind in lexicon.PEOPLE
        forms = lexicon.RELATIVE_PRONOUNS["p" if agreement == PLURAL else noun.gender]
        subject_verbs, object_verbs = lexicon.VERBS_OF_SUBJECT[noun], lexicon.VERBS_OF_OBJECT[noun]
        if subject_verbs and (self.chance(0.6) or not object_verbs):
            pronoun = "who" if is_person else "that"
            head = NounPhrase(pronoun, pronoun, forms, agreement, "pronoun", noun=noun)
            clause = self.clause(self.pick(subject_verbs), head, tense, modals=False, negatable=self.chance(0.5))
            return clause.english_statement(), f", {clause.german_verb_last()},"
        verb = self.pick(object_verbs)
        clause = self.clause(verb, self.subject(("person",)), tense, gap="object", negatable=False)
        english = join("whom" if is_person else "that", clause.english_statement())
        return english, f", {clause.german_verb_last(forms[CASES.index(verb.case)])},"


def infinitive(action: Clause) -> tuple[str, str]:
    """The clause without its subject, as English and German say it after "to" and with "zu"."""
    english = action.english_end(action.verb.english)
    return f"to {english}", join(*action.german_middle(), action.verb.zu_infinitive)


def in_order_to(clause: Clause, action: Clause) -> Clause:
    """The clause with the purpose of what it says."""
    english, german = infinitive(action)
    return replace(clause, tail=(f"in order {english}", f", um {german}"))


def trying_to(action: Clause, tense: str) -> Clause:
    """A clause saying that the subject tries to act; German sets a bare infinitive off by no comma."""
    english, german = infinitive(action)
    comma = "," if any(action.german_middle()) else ""
    return Clause(action.subject, lexicon.TRY, tense, tail=(english, f"{comma} {german}"))


def comparing(subject: NounPhrase, adjective: Adjective, other: NounPhrase, tense: str) -> Clause:
    """A clause saying that the subject is more so than the other."""
    english = f"{english_comparative(adjective.english)} than {other.english}"
    predicate = Constituent(english, f"{adjective.degree} als {other.german[0]}", "predicate")
    return Clause(subject, BE, tense, rest=(predicate,))


def takes_time(clause: Clause) -> bool:
    """Whether it makes sense to say when: not with "is tall" or "knows"."""
    if clause.verb is BE and clause.rest and clause.rest[0].slot == "predicate":
        return clause.rest[0].english.split()[-1] in lexicon.TEMPORARY
    return "stative" not in clause.verb.traits


def finish(english: str, german: str, mark: str) -> SentencePair:
    """Sentences from clauses: a capital, the mark, and no comma left before another mark."""
    english, german = english.replace("can not", "cannot"), german.replace(",,", ",").rstrip(",")
    return SentencePair(english[0].upper() + english[1:] + mark, german[0].upper() + german[1:] + mark)


SENTENCE_RULES = (
    (_Derivation.statement,) * 38
    + (_Derivation.complex_sentence,) * 14
    + (_Derivation.report,) * 10
    + (_Derivation.yes_no_question,) * 10
    + (_Derivation.object_question,) * 6
    + (_Derivation.adverb_question,) * 7
    + (_Derivation.who_question,) * 4
    + (_Derivation.compound,) * 5
    + (_Derivation.purpose,) * 5
    + (_Derivation.comparison,) * 3
)
