"""Terms are written beside the words of a source, and marks of the text itself are not taken for theirs."""

import pytest

from transduce.text.source_terms import TermMarks

MARKS = TermMarks()


def test_a_term_follows_each_of_its_places_as_whole_words() -> None:
    text = MARKS.insert("Hounds chase a hound, not a greyhound.", [("hound", "Hund"), ("hounds", "Hund")])
    assert text == "Hounds ⟦ Hund ⟧ chase a hound ⟦ Hund ⟧, not a greyhound."


def test_of_terms_that_overlap_the_longest_counts() -> None:
    terms = [("dog", "Hund"), ("hot dog", "Hotdog")]
    assert MARKS.insert("A hot dog, a dog.", terms) == "A hot dog ⟦ Hotdog ⟧, a dog ⟦ Hund ⟧."


@pytest.mark.parametrize("terms", [[], [("cat", "Katze")], [("", "Katze")]])
def test_a_text_without_terms_stays_but_for_signs_that_mark_them(terms: list[tuple[str, str]]) -> None:
    assert MARKS.insert("A ⟦ dog ⟧ 'İ'.", terms) == "A [ dog ] 'İ'."


def test_marks_differ() -> None:
    with pytest.raises(ValueError, match="two signs that differ"):
        TermMarks(opening="|", closing="|")
