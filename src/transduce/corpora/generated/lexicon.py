"""The words of the small English-German grammar, read from words.toml, and the forms of German words."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

WORDS: dict[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
CASES = ("nominative", "accusative", "dative")
PERSONS = ("ich", "du", "er", "wir")  # the four that German verbs distinguish here; "they" agrees like "we"
ENDINGS = {  # pattern -> gender (p: plural) -> nominative, accusative, dative; "-" for none
    "article": {"m": "er en em", "f": "ie ie er", "n": "as as em", "p": "ie ie en"},
    "ein": {"m": "- en em", "f": "e e er", "n": "- - em", "p": "e e en"},
    "dieser": {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"},
    "weak": {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"},
    "mixed": {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"},
    "strong": {"p": "e e en"},
    "none": {"p": "- - -"},
}
AUXILIARIES = {"haben": ("habe", "hast", "hat", "haben"), "sein": ("bin", "bist", "ist", "sind")}
WAS = ("war", "warst", "war", "waren")


@dataclass(frozen=True)
class Noun:
    """A noun and its German forms."""

    english: str
    plural: str
    gender: str
    german: str
    german_plural: str
    kind: str
    is_weak: bool

    def german_form(self, case: int, is_plural: bool) -> str:
        """Returns the form in a case: weak nouns end in -n or -en but in the nominative, other dative plurals in -n."""
        if is_plural:
            return f"{self.german_plural}n" if case == 2 and self.german_plural[-1] not in "ns" else self.german_plural
        return self.german_plural if self.is_weak and case else self.german


@dataclass(frozen=True)
class Adjective:
    """An adjective, with the stem that takes endings and the kinds of nouns that it describes."""

    english: str
    german: str
    stem: str
    kinds: list[str]


@dataclass(frozen=True)
class Determiner:
    """A determiner of a noun phrase; `pattern` names its endings, `adjectives` the endings of adjectives after it."""

    singular: str
    plural: str
    german: str
    pattern: str
    adjectives: str


@dataclass(frozen=True)
class NounPhrase:
    """A subject or an object in both languages."""

    english: str
    english_object: str
    german: tuple[str, ...]
    """The German forms, in each of CASES."""
    person: str
    """The person, one of PERSONS."""


@dataclass(frozen=True)
class Verb:
    """A verb with its forms, the kinds of its subjects, and its object."""

    english: str
    past: str
    third: str
    """The English third person singular."""
    present: tuple[str, ...]
    """The German present forms for each of PERSONS, without the prefix."""
    participle: str
    auxiliary: str
    prefix: str
    """The prefix, which goes to the end of a main clause."""
    subjects: list[str]
    case: str
    """The case of the object, one of CASES; empty without an object."""
    objects: list[str]
    """The kinds of nouns that the object may be."""


def ending(pattern: str, gender: str, case: int) -> str:
    """Returns the ending of a determiner or an adjective."""
    return ENDINGS[pattern][gender].split()[case].strip("-")


def _entries(table: str) -> list[list[str]]:
    return [entry.split() for line in table.strip().splitlines() for entry in line.split(",")]


def _of_kinds(table: str) -> list[tuple[str, list[str]]]:
    """Returns the kinds before the colon of each line, with each entry after it."""
    lines = [line.partition(":") for line in table.strip().splitlines()]
    return [(kinds, entry) for kinds, _, entries in lines for entry in _entries(entries)]


def _verb(line: str) -> Verb:
    forms, subjects, objects = (part.strip() for part in line.split(";"))
    words = [word.replace("_", " ").strip("-") for word in forms.split()]
    infinitive, he = words[3:5]
    you = he if he[-2] in "sßz" else f"{he[:-1]}st"  # a stem that changes does so in both: "fährst", "fährt"
    case, _, kinds = objects.partition(":")
    english, past, third, _, _, participle, auxiliary, prefix = words
    present = (infinitive[:-1], you, he, infinitive)
    return Verb(english, past, third, present, participle, auxiliary, prefix, subjects.split(), case, kinds.split())


NOUNS = [
    Noun(english, plural, gender.replace("w", "m"), german, german_plural, kind, gender == "w")
    for kind, (english, plural, gender, german, german_plural) in _of_kinds(WORDS["nouns"])
]
VERBS = [_verb(line) for line in WORDS["verbs"].strip().splitlines()]
ADJECTIVES = [
    Adjective(words[0], words[1], words[-1], kinds.split()) for kinds, words in _of_kinds(WORDS["adjectives"])
]
DETERMINERS = [Determiner(*(word.strip("-") for word in words)) for words in _entries(WORDS["determiners"])]
PRONOUNS = [NounPhrase(words[0], words[1], tuple(words[2:-1]), words[-1]) for words in _entries(WORDS["pronouns"])]
NAMES = [NounPhrase(name, name, (name,) * len(CASES), "er") for name in WORDS["names"]]
PLACES, CONJUNCTIONS = list(WORDS["places"].items()), list(WORDS["conjunctions"].items())
PRESENT_TIMES, PAST_TIMES = (
    list((WORDS["times"]["any"] | WORDS["times"][tense]).items()) for tense in ("present", "past")
)
