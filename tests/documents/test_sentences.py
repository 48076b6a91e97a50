"""Texts are cut where sentences end, and nowhere else."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.documents.sentences import ends_sentence, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["The dog sleeps.", "The cat, too!", "Who else?"],
        ["“Stop!”", "He stopped."],
        ["See fig. 3 and Dr. Smith, e.g. at 3.5 km."],
        ["Am 3. Mai kam er.", "Am 4. Juni ging er."],
        ["J. S. Bach wrote it."],
        ["What? he said."],
        ["Use %s.", "%(name)s is next."],
        ["左に見える。", "右も。"],
    ],
)
def test_sentences_are_found(sentences: list[str]) -> None:
    joint = "" if "。" in sentences[0] else " "
    text = joint.join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text(alphabet="aA.!? \n\"'(。3%", max_size=40))
def test_nothing_but_blanks_is_left_out(text: str) -> None:
    found = list(split_sentences(text))
    assert "".join("".join(text[start:end] for start, end in found).split()) == "".join(text.split())
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in found)


def test_a_line_that_goes_on_is_told_from_one_that_ends() -> None:
    assert [ends_sentence(line) for line in ("Yes.", "Yes, and", "What?”", "", "Ja …")] == [
        True,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("sign", [".", "! ", "Dr. ", "A. ", "1. B ", '?"'])
def test_a_text_of_nothing_but_signs_is_read_at_once(sign: str) -> None:
    text = sign * (300_000 // len(sign))
    sentences = list(split_sentences(text))
    assert sentences[0][0] == 0 and sentences[-1][1] == len(text.rstrip())
