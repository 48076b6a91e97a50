"""Parts add up to the whole, and each is what one would count by hand."""

import pytest

from transduce.base.errors import InputError
from transduce.evaluation.breakdown import by_length, by_word_frequency, by_words
from transduce.evaluation.translations import count_bleu, length_ratio

SOURCES = ["", "a b", "a " * 10, "a " * 11, "a " * 25, "a " * 61, "a " * 200]
REFERENCES = ["Nothing.", "The dog runs.", "A man sleeps here.", "Two cats, one dog.", "So.", "It was cold.", "Snow."]
OUTPUTS = ["Nothing.", "The dog ran off.", "A man is here.", "Two cats and one dog.", "So?", "It was.", "Snow."]


def test_parts_by_length_are_scored_as_if_they_were_the_test_set() -> None:
    parts = by_length(SOURCES, {"one": count_bleu(OUTPUTS, REFERENCES), "same": count_bleu(REFERENCES, REFERENCES)})
    assert [part.sentences for part in parts] == [1, 2, 1, 1, 2]
    for part in parts:
        most = 10**9 if part.at_most is None else part.at_most
        chosen = [i for i, source in enumerate(SOURCES) if part.at_least <= len(source.split()) <= most]
        alone = count_bleu([OUTPUTS[i] for i in chosen], [REFERENCES[i] for i in chosen])
        assert part.sentences == len(chosen)
        assert part.bleu["one"] == pytest.approx(alone.score)
        assert part.length_ratio == {"one": pytest.approx(length_ratio(alone)), "same": 1}


def test_recall_by_frequency_is_what_one_counts_by_hand() -> None:
    training = ["the dog runs"] * 60 + ["a cat, a cat", "a Mouse"] + ["on Mars"] * 6
    references = ["The dog, the dog!", "a cat on Mars", "the zebra"]
    outputs = ["the the dog", "a dog on Venus", "the zebra zebra"]
    parts = by_word_frequency(references, {"one": outputs, "same": references}, training)
    assert [(part.at_least, part.at_most, part.words) for part in parts] == [
        (0, 0, 2),  # The, zebra
        (1, 5, 2),  # a, cat
        (6, 50, 2),  # on, Mars
        (51, None, 4),  # dog, the, dog; the
    ]
    assert [part.recall["one"] for part in parts] == [1 / 2, 1 / 2, 1 / 2, 3 / 4]
    assert all(part.recall["same"] == 1 for part in parts)


def test_case_is_disregarded_on_request() -> None:
    (part,) = by_word_frequency(["The Dog"], {"one": ["the dog"]}, ["THE DOG"], lowercase=True)
    assert (part.at_least, part.words, part.recall) == (1, 2, {"one": 1})


def test_without_training_text_every_word_is_unseen_and_punctuation_is_no_word() -> None:
    (part,) = by_word_frequency(["A dog, a cat ..."], {"one": ["a dog ..."]}, [])
    assert (part.at_least, part.at_most, part.words, part.recall) == (0, 0, 4, {"one": 2 / 4})


def test_words_of_a_kind_count_alike_in_any_case_and_punctuation() -> None:
    references = ["He saw him.", "She left, and he stayed.", "Rain."]
    outputs = ["He saw his he.", "Left and stayed.", "He rains."]
    he, she = by_words(["he him his", "she"], references, {"one": outputs, "same": references})
    assert (he.words, he.in_references, he.recall["one"], he.precision["one"]) == ("he him his", 3, 2 / 3, 2 / 4)
    assert (she.in_references, she.recall["one"], she.precision["one"]) == (1, 0, 1)  # none was written
    assert he.recall["same"] == he.precision["same"] == she.recall["same"] == 1
    (chinese,) = by_words(["他 她"], ["他来了。"], {"one": ["她来了。"]})  # words as BLEU divides the script
    assert chinese.recall == {"one": 1}
    for unknown in ("it", "...", ""):
        with pytest.raises(InputError, match="no reference has"):
            by_words([unknown], references, {})
