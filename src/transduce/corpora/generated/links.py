"""Which words of the grammar's sentence pairs translate which, as far as the lexicon tells: the gold for alignments."""

from functools import cache

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated import lexicon
from transduce.corpora.generated.inflection import Adjective, Noun, Verb, english_comparative, english_third_person

Links = set[tuple[int, int]]
ADJECTIVE_ENDINGS = ("", "e", "en", "er", "es", "em")
PUNCTUATION = ".,?!"


def word_links(pair: SentencePair) -> tuple[Links, Links]:
    """Sure and possible links of English and German words, between spaces and counted from 0; the sure ones are both.

    A word of the lexicon is surely linked with the only word of the other side that translates it. Of other words, such
    as articles, nothing is sure: each link of theirs is possible.
    """
    english, german = (
        [word.strip(PUNCTUATION).casefold() for word in side.split()] for side in (pair.source, pair.target)
    )
    candidates = {
        (i, j)
        for i, word in enumerate(english)
        for j, other in enumerate(german)
        if _entries()[0].get(word, frozenset()) & _entries()[1].get(other, frozenset())
    }
    sure = {
        (i, j)
        for i, j in candidates
        if sum(i == k for k, _ in candidates) == 1 and sum(j == k for _, k in candidates) == 1
    }
    linked = {i for i, _ in sure}, {j for _, j in sure}
    free = {(i, j) for i in range(len(english)) for j in range(len(german)) if i not in linked[0] or j not in linked[1]}
    return sure, sure | free


@cache
def _entries() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """For each English and each German form the entries of the lexicon that it may belong to."""
    english: dict[str, set[str]] = {}
    german: dict[str, set[str]] = {}
    entries = [
        *((f"noun {noun.english}", *_noun(noun)) for noun in lexicon.NOUNS),
        *((f"adjective {word.english}", *_adjective(word)) for word in lexicon.ADJECTIVES),
        *((f"verb {verb.english}", *_verb(verb)) for verb in lexicon.DRAWN_VERBS if " " not in verb.english),
        *((f"name {name}", [name, f"{name}'s"], [name, f"{name}s"]) for name, _ in lexicon.NAME_TABLE),
        *((f"word {one}", [one], [other]) for one, other in (*lexicon.NUMBERS, *lexicon.FREQUENCIES)),
        *((f"time {one}", [one], [other]) for one, other, _ in lexicon.TIMES if " " not in one + other),
    ]
    for name, forms, other_forms in entries:
        for table, some in ((english, forms), (german, other_forms)):
            for form in some:
                table.setdefault(form.casefold(), set()).add(name)
    return tuple({form: frozenset(names) for form, names in table.items()} for table in (english, german))  # type: ignore[return-value]


def _noun(noun: Noun) -> tuple[list[str], list[str]]:
    english = [noun.english, noun.english_plural]
    german = [noun.german, noun.german_plural, f"{noun.german_plural}n", noun.genitive]
    return [form for form in english if form], [form for form in german if len(form) > 1]


def _adjective(word: Adjective) -> tuple[list[str], list[str]]:
    german = [word.german, *(word.stem + ending for ending in ADJECTIVE_ENDINGS)]
    compared = [english_comparative(word.english), word.degree] if word.degree else []
    return [word.english, *compared[:1]], [*german, *compared[1:]]


def _verb(verb: Verb) -> tuple[list[str], list[str]]:
    english = [verb.english, verb.english_past, english_third_person(verb.english)]
    infinitives = [verb.infinitive, verb.bare_infinitive, verb.zu_infinitive]
    german = [*infinitives, *verb.present, verb.participle, *verb.preterite]
    return english, [form for form in german if form and " " not in form]
