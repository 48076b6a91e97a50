"""A translation begins as that of a similar source does, up to the word where the sources begin to differ."""

import pytest

from transduce.apps.projects.repair import shared_beginning

SOURCE, OTHER = "Delete the 5 pages now", "Delete the 3 images now"
TRANSLATION = "Lösche die 3 Bilder jetzt"
WORD_BY_WORD = {(number, number) for number in range(5)}


@pytest.mark.parametrize(
    ("source", "other", "translation", "links", "beginning"),
    [
        (SOURCE, OTHER, TRANSLATION, WORD_BY_WORD, "Lösche die"),
        ("Delete all", "Delete all files", "Alle Dateien löschen", {(0, 2), (1, 0), (2, 1)}, "Alle"),
        (SOURCE, OTHER, TRANSLATION, {(0, 0), (2, 2)}, "Lösche"),  # die has no link, and what follows it differs
        (SOURCE, OTHER, "Die 3 Bilder jetzt löschen", {(0, 4), (1, 0), (2, 1), (3, 2), (4, 3)}, "Die"),
        (SOURCE, OTHER, "3 Bilder löschen", {(0, 2), (2, 0), (3, 1)}, ""),
        ("Open it", OTHER, TRANSLATION, WORD_BY_WORD, ""),
        (SOURCE, OTHER, TRANSLATION, set(), ""),
        (OTHER, f"{OTHER} please", f"{TRANSLATION}.", WORD_BY_WORD, TRANSLATION),
    ],
)
def test_words_stay_up_to_the_first_that_belongs_to_a_difference(
    source: str, other: str, translation: str, links: set[tuple[int, int]], beginning: str
) -> None:
    assert shared_beginning(source, other, translation, links) == beginning
