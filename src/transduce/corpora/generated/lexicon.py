"""The words of the small English-German grammar, read from words.toml, and the forms of German words."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

WORDS: dict[str, str] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
CASES = ("nominative", "accusative", "dative")
PERSONS = ("ich", "du", "er", "wir")  # the four that German verbs distinguish here; "they" agrees like "we"

ENDINGS = {  # pattern -> gender (p: plural) -> nominative, accusative, dative; "-" for none
    "article": {"m": "er en em", "f": "ie ie er", "n": "as as em", "p": "ie ie en"},
    "ein": {"m": "- en em", "f": "e e er", "n": "- - em", "p": "e e en"},
    "dieser": {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"},
    "weak": {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"},
    "mixed": {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"},
    "strong": {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"},
    "none": {"p": "- - -"},
}
NAMES = ("Anna", "Peter", "Paul", "Maria", "Sarah", "Thomas", "Julia", "Martin")
TIMES = {  # the tenses that a time goes with
    "today": ("heute", "present past"), "now": ("jetzt", "present"), "every day": ("jeden Tag", "present past"),
    "yesterday": ("gestern", "past"), "last week": ("letzte Woche", "past"), "on Monday": ("am Montag", "present past"),
    "on Friday": ("am Freitag", "present past"), "in the morning": ("am Morgen", "present past"),
    "in the evening": ("am Abend", "present past"), "at eight o'clock": ("um acht Uhr", "present past"),
}  # fmt: skip
CONJUNCTIONS = {"because": "weil", "although": "obwohl", "if": "wenn"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins"}
AUXILIARIES = {"haben": ("habe", "hast", "hat", "haben"), "sein": ("bin", "bist", "ist", "sind")}


@dataclass(frozen=True)
class Noun:
    """A noun and its German forms."""

    english: str
    english_plural: str
    gender: str
    german: str
    german_plural: str
    kind: str = "place"
    is_weak: bool = False

    def german_form(self, case: int, plural: bool) -> str:
        """Returns the form in a case: weak nouns end in -n or -en but in the nominative, other dative plurals in -n."""
        if plural:
            return f"{self.german_plural}n" if case == 2 and self.german_plural[-1] not in "ns" else self.german_plural
        return self.german_plural if self.is_weak and case else self.german


@dataclass(frozen=True)
class Adjective:
    """An adjective, with the stem that takes endings and the kinds of nouns that it describes."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Determiner:
    """A determiner of a noun phrase; `pattern` names its endings, `adjectives` those of adjectives after it."""

    singular: str
    plural: str
    german: str
    pattern: str
    adjectives: str
    kind: str


@dataclass(frozen=True)
class Place:
    """A noun as a place, with the prepositions for being there and for going there."""

    noun: Noun
    english: str
    german: str
    goal: str


@dataclass(frozen=True)
class Verb:
    """A verb with its forms, the kinds of its subjects, and its object."""

    english: str
    english_past: str
    infinitive: str
    present: tuple[str, ...]
    """The present forms for each of PERSONS, without the prefix."""
    participle: str
    auxiliary: str
    prefix: str
    """The prefix, which goes to the end of a main clause."""
    subjects: tuple[str, ...]
    object: str
    """The object: a case, a preposition and a case, `recipient` for two objects, `goal` for a place, or nothing."""
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Modal:
    """A modal verb with its forms for each of PERSONS; those of the past are empty where there are none."""

    english: str
    english_past: str
    present: tuple[str, ...]
    past: tuple[str, ...]


@cache
def third_person(verb: str) -> str:
    """Returns the English third person singular of a verb that may be followed by a particle ("turn on")."""
    head, _, tail = verb.partition(" ")
    if head.endswith(("s", "sh", "ch", "x", "z", "o")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeou":
        head = f"{head[:-1]}ies"
    else:
        head += "s"
    return f"{head} {tail}".strip()


def _present(infinitive: str, third: str) -> tuple[str, ...]:
    """Returns forms for PERSONS: the third person's changed stem is also the second's ("fährt", "fährst")."""
    return infinitive[:-1], third if third[-2] in "sßz" else f"{third[:-1]}st", third, infinitive


def _entries(table: str) -> list[str]:
    return [entry.strip() for line in table.strip().splitlines() for entry in line.split(",")]


def _kinds(table: str) -> list[tuple[list[str], str]]:
    """Returns the entries of each line before its colon, and the kinds after it."""
    lines = (line.rpartition(":") for line in table.strip().splitlines())
    return [(_entries(entries), kinds.strip()) for entries, _, kinds in lines]


def _noun(entry: str, kind: str) -> Noun:
    english, plural, gender, german, german_plural = entry.split()
    return Noun(english, plural, gender.replace("w", "m"), german, german_plural, kind, gender == "w")


def _verb(line: str) -> Verb:
    forms, subjects, objects = (part.strip() for part in line.split(";"))
    english, past, infinitive, third, participle, auxiliary, prefix = forms.split()
    case, _, kinds = objects.partition(":")
    return Verb(
        english.replace("_", " "),
        past.replace("_", " "),
        infinitive,
        _present(infinitive, third),
        participle,
        auxiliary,
        prefix.strip("-"),
        tuple(subjects.split()),
        case,
        tuple(kinds.split()),
    )


NOUNS = [
    _noun(entry, kind)
    for line in WORDS["nouns"].strip().splitlines()
    for kind, _, entries in [line.partition(":")]
    for entry in _entries(entries)
]
PLACES = [
    Place(Noun(noun, "", gender, german, ""), at, there, goal)
    for at, noun, gender, german, there, goal in map(str.split, _entries(WORDS["places"]))
]
VERBS, SAYING_VERBS = (
    [_verb(line) for line in table.strip().splitlines()] for table in (WORDS["verbs"], WORDS["saying_verbs"])
)
TRY = _verb("try tried versuchen versucht versucht haben -; person;")
ADJECTIVES = [
    Adjective(words[0], words[1], words[-1], frozenset(kinds.split()))
    for entries, kinds in _kinds(WORDS["adjectives"])
    for words in map(str.split, entries)
]
DETERMINERS = [Determiner(*(word.strip("-") for word in entry.split())) for entry in _entries(WORDS["determiners"])]
PRONOUNS = [entry.split() for entry in _entries(WORDS["pronouns"])]
MODALS = [
    Modal(words[0].replace("_", " "), words[1].strip("-").replace("_", " "), tuple(words[2:6]), tuple(words[6:]))
    for words in map(str.split, WORDS["modals"].strip().splitlines())
]
