"""The battery of languages: its sentences fit each other, and glossaries find their terms in all scripts."""

import pytest

from docsegments.orthography.words import has_words, holds
from languages import ENGLISH, LANGUAGES, sentences


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_sentence_that_means_a_bicycle_holds_the_term_and_no_other_does(name: str) -> None:
    language = LANGUAGES[name]
    kinds = ("subjects", "objects", "verbs", "places", "times")
    assert all(getattr(language, k).count("|") == getattr(ENGLISH, k).count("|") for k in kinds)
    pairs = sentences(language, 60)
    assert len(set(pairs)) == 60
    for source, target in pairs:
        assert has_words(target)
        assert holds(target, language.term) == ("bicycle" in source), (source, target)
