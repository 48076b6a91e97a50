"""Gold word alignments of the grammar's sentence pairs, as far as the lexicon goes."""

from functools import cache

from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.lexicon import (
    ADJECTIVES,
    DETERMINERS,
    NAMES,
    NOUNS,
    PAST_TIMES,
    PLACES,
    PRESENT_TIMES,
    VERBS,
)

Links = set[tuple[int, int]]
ADJECTIVE_ENDINGS = ("", "e", "en", "er", "es", "em")
PUNCTUATION = ".,?!"


def word_links(pair: SentencePair) -> tuple[Links, Links]:
    """Returns sure and possible links of English and German words at spaces, from 0; the sure ones are both.

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
    """Returns, for each English and each German form, the entries of the lexicon that it may belong to."""
    english: dict[str, set[str]] = {}
    german: dict[str, set[str]] = {}
    entries = [(name.english, [name.english], [name.english]) for name in NAMES]
    entries += [(word.plural, [word.plural], [word.german]) for word in DETERMINERS if word.pattern == "none"]
    entries += [(time, [time], [german]) for time, german in {*PRESENT_TIMES, *PAST_TIMES} if " " not in time + german]
    entries += [(place, [place.split()[-1]], [german.split()[-1]]) for place, german in PLACES]
    for noun in NOUNS:
        forms = [noun.german_form(case, plural) for case in range(3) for plural in (False, True)]
        entries.append((noun.english, [noun.english, noun.plural], forms))
    for word in ADJECTIVES:
        entries.append((word.english, [word.english], [word.german, *(word.stem + end for end in ADJECTIVE_ENDINGS)]))
    for verb in VERBS:
        forms = [*verb.present, *(verb.prefix + form for form in verb.present), verb.participle]
        if " " not in verb.english:
            entries.append((verb.english, [verb.english, verb.past, verb.third], forms))
    for name, forms, other_forms in entries:
        for table, group in ((english, forms), (german, other_forms)):
            for form in filter(None, group):
                table.setdefault(form.casefold(), set()).add(name)
    return tuple({form: frozenset(names) for form, names in table.items()} for table in (english, german))  # type: ignore[return-value]
