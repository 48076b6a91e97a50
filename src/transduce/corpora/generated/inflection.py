"""Word classes of the small English-German grammar and their forms: declension, conjugation, comparison."""

from dataclasses import dataclass
from functools import cache

CASES = ("nominative", "accusative", "dative", "genitive")
FIRST, SECOND, THIRD, PLURAL = range(4)  # the four forms a finite verb can take here: ich, du, er/sie, wir/sie


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun of both languages; an empty plural marks a mass noun."""

    kind: str
    english: str
    english_plural: str
    gender: str
    german: str
    german_plural: str
    genitive: str

    def form(self, case: str, plural: bool) -> str:
        """The noun as the case and number want it."""
        if plural:
            needs_n = case == "dative" and self.german_plural[-1] not in "ns"
            return self.german_plural + "n" * needs_n
        if case == "genitive" or (case != "nominative" and self.is_weak):
            return self.genitive
        return self.german

    @property
    def is_weak(self) -> bool:
        """Whether every form but the nominative singular ends in -n ("der Junge, den Jungen")."""
        return self.gender == "m" and self.genitive[-1] == "n"


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, with the stem that takes the German endings and the kinds of nouns that it suits."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]
    degree: str  # the German comparative, or "" where "very" and "than" make no sense


@dataclass(frozen=True, eq=False)
class Determiner:
    """The word before a noun; `pattern` says how it is declined, `ending` how adjectives after it are."""

    singular: str
    plural: str
    german: str
    pattern: str
    ending: str

    @property
    def kind(self) -> str:
        """Whether the phrase is indefinite (denied by "kein"), quantified (not denied at all) or definite."""
        if (self.pattern == "none" and self.singular == "") or self.singular == "a":
            return "indefinite"
        is_quantified = self.singular in ("", "no", "every", "which", "number") or self.pattern == "count"
        return "quantified" if is_quantified else "definite"


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its forms and with what it may be about: subject kinds, object case and kinds, adjuncts."""

    english: str
    english_past: str
    prefix: str
    bare_infinitive: str
    present: tuple[str, ...]
    participle: str
    auxiliary: str
    preterite: tuple[str, ...]
    subjects: tuple[str, ...]
    case: str
    objects: tuple[str, ...]
    traits: frozenset[str]

    @property
    def infinitive(self) -> str:
        """With the prefix joined on ("aufstehen")."""
        return self.prefix + self.bare_infinitive

    @property
    def zu_infinitive(self) -> str:
        """With "zu" after a separable prefix ("aufzustehen")."""
        return f"{self.prefix}zu{self.bare_infinitive}" if self.prefix else f"zu {self.bare_infinitive}"

    @property
    def has_ambiguous_past(self) -> bool:
        """Whether English tells present and past apart only by the third person ("read")."""
        return self.english == self.english_past


@dataclass(frozen=True, eq=False)
class Modal:
    """A modal verb; English says it with an auxiliary ("can"), with "be" or with a full verb ("want to")."""

    english: str
    english_past: str
    present: tuple[str, ...]
    past: tuple[str, ...]

    @property
    def is_full_verb(self) -> bool:
        """Whether English asks and denies it with "do"."""
        return self.english in ("want to", "have to")


@dataclass(frozen=True, eq=False)
class Place:
    """A noun as a place, with the prepositions for being there and for going there."""

    noun: Noun
    english: str
    german: str
    goal: str
    uses: frozenset[str]

    @property
    def origin(self) -> str:
        """The preposition for coming from there (dative)."""
        return "aus" if self.goal == "in" else "von"


@dataclass(frozen=True, eq=False)
class FixedPlace:
    """A place whose three phrases (there, to there, from there) cannot be built from a noun."""

    there: tuple[str, str]
    goal: tuple[str, str]
    origin: tuple[str, str]
    uses: frozenset[str]


def english_comparative(adjective: str) -> str:
    """With an ending ("older") or with "more" ("more expensive")."""
    if adjective in ("big", "hot", "sad"):
        return f"{adjective}{adjective[-1]}er"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    is_long = len(adjective) > 6 or adjective in ("famous", "boring", "tired")
    return f"more {adjective}" if is_long else f"{adjective}er"


@cache
def english_third_person(verb: str) -> str:
    """The third person singular of a verb that may be followed by a particle ("turn on")."""
    head, _, tail = verb.partition(" ")
    if head == "have":
        head = "has"
    elif head.endswith(("s", "sh", "ch", "x", "z", "o")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeou":
        head = head[:-1] + "ies"
    else:
        head += "s"
    return f"{head} {tail}".strip()


ENDINGS = {  # gender ("p": plural) -> endings in the order of CASES; "-": none
    "article": {"m": "er en em es", "f": "ie ie er er", "n": "as as em es", "p": "ie ie en er"},
    "ein": {"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"},
    "dieser": {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"},
    "weak": {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"},
    "mixed": {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"},
    "strong": {"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"},
}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "bei dem": "beim", "von dem": "vom"}
CONTRACTIONS |= {"in das": "ins"}
AUXILIARIES = {"haben": ("habe", "hast", "hat", "haben"), "sein": ("bin", "bist", "ist", "sind")}


def ending(pattern: str, gender: str, case: int) -> str:
    """What a determiner or an adjective adds to its stem."""
    return ENDINGS[pattern][gender].split()[case].strip("-")


@cache
def german_noun_phrase(
    determiner: Determiner, number: str, is_very: bool, adjectives: tuple[Adjective, ...], noun: Noun, plural: bool
) -> tuple[str, ...]:
    """The phrase in all four cases."""
    gender = "p" if plural else noun.gender
    phrases = []
    for index, case in enumerate(CASES):
        has_ending = determiner.pattern in ENDINGS
        article = determiner.german + (ending(determiner.pattern, gender, index) if has_ending else "")
        described = [adjective.stem + ending(determiner.ending, gender, index) for adjective in adjectives]
        phrases.append(join(article, number, "sehr" if is_very else "", *described, noun.form(case, plural)))
    return tuple(phrases)


def join(*parts: str) -> str:
    """The parts that are not empty, with spaces between them."""
    return " ".join(part for part in parts if part)


def with_preposition(preposition: str, phrase: str) -> str:
    """The two words, contracted ("in dem Garten" becomes "im Garten")."""
    article, _, rest = phrase.partition(" ")
    contracted = CONTRACTIONS.get(f"{preposition} {article}") if rest else None
    return f"{contracted} {rest}" if contracted else f"{preposition} {phrase}"


def english_verb(
    verb: Verb, modal: Modal | None, agreement: int, is_past: bool, needs_auxiliary: bool
) -> tuple[str, str]:
    """The finite auxiliary, if there is one, and the rest of the verb group."""
    be = ("was", "were", "was", "were")[agreement] if is_past else ("am", "are", "is", "are")[agreement]
    if modal and modal.english == "be allowed to":
        return be, f"allowed to {verb.english}"
    if modal and not modal.is_full_verb:
        return modal.english, verb.english
    if not modal and verb.english == "be":
        return be, ""
    base, past = (modal.english, modal.english_past) if modal else (verb.english, verb.english_past)
    complement = verb.english if modal else ""
    if needs_auxiliary:
        do = "did" if is_past else "does" if agreement == THIRD else "do"
        return do, join(base, complement)
    finite = past if is_past else english_third_person(base) if agreement == THIRD else base
    return "", join(finite, complement)


def german_verb(verb: Verb, modal: Modal | None, agreement: int, is_past: bool) -> tuple[str, str, str]:
    """The finite verb of a main clause, what ends that clause, and the whole verb at the end of a subordinate one."""
    if modal:
        finite = (modal.past if is_past else modal.present)[agreement]
        return finite, verb.infinitive, f"{verb.infinitive} {finite}"
    if is_past and not verb.preterite:
        finite = AUXILIARIES[verb.auxiliary][agreement]
        return finite, verb.participle, f"{verb.participle} {finite}"
    finite = (verb.preterite if is_past else verb.present)[agreement]
    return finite, verb.prefix, verb.prefix + finite


def indefinite_article(following: str) -> str:
    """The article before this word: "an" before a vowel."""
    return "an" if following[0] in "aeiou" else "a"


def present_forms(infinitive: str, third: str) -> tuple[str, ...]:
    """ich, du, er and wir: the changed stem of the er-form is also that of the du-form (liest, gibst, findest)."""
    stem = third[:-1]
    second = third if stem[-1] in "sßz" else stem + "st"
    return (infinitive[:-1], second, third, infinitive)


def preterite_forms(first: str) -> tuple[str, ...]:
    """The same four from the ich-form."""
    return (first, first + "st", first, first + ("n" if first.endswith("e") else "en"))
