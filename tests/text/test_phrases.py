"""Phrases in tokens: every form decodes to the phrase, and word edges are those of the text."""

import re

import pytest

from transduce.search.required_phrases import Phrase, WordEdges
from transduce.text.phrase_encoder import PhraseEncoder, ends_with, holds
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizer

TEXTS = [
    'A skateboarder (in red) says "skate" to the dogs.',
    "The well-known dog's owner, a skater, skates; the dog skateboards.",
    "It is a dog, isn't it? Café owners saw 3.5 dogs and a cat.",
] * 4
PHRASES = ["dog", "skate", "well-known", "The dog", "red) says", "Café"]


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece", "words", "characters", "bytes"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    kind: TokenizerKind = request.param
    size = {"bpe": 330, "unigram": 305, "wordpiece": 360}.get(kind)
    return train_tokenizer(SideConfig(kind=kind, size=size, min_frequency=1), TEXTS)


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("the dog.", "dog", True),
        ("the dogs.", "dog", False),
        ("hotdog", "dog", False),
        ("(dog)", "dog", True),
        ("a Dog", "dog", False),
        ("what? no", "what?", True),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
    ],
)
def test_a_text_holds_whole_words_only(text: str, phrase: str, expected: bool) -> None:
    assert holds(text, phrase) == expected


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("a dog", "dog", True),
        ("(dog", "dog", True),
        ("a dog.", "dog", False),
        ("hotdog", "dog", False),
        ("a.", ".", True),
    ],
)
def test_a_text_ends_with_a_phrase_that_begins_a_word(text: str, phrase: str, expected: bool) -> None:
    assert ends_with(text, phrase) == expected


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_form_is_the_phrase_and_those_of_a_text_are_among_them(tokenizer: Tokenizer, phrase: str) -> None:
    forms = PhraseEncoder(tokenizer).forms(phrase)
    assert forms
    for form in forms:
        assert tokenizer.decode(form).strip().replace(" ", "") == phrase.replace(" ", "")
    for text in ("a {} b", "{}", '"{}"', "a ({}) b"):
        ids = tuple(tokenizer.encode(text.format(phrase).replace("b", "it")))
        assert any(form == ids[i : i + len(form)] for form in forms for i in range(len(ids)))


def test_word_edges_are_those_of_the_text(tokenizer: Tokenizer) -> None:
    wording = PhraseEncoder(tokenizer)
    for text in TEXTS[:3]:
        ids = tokenizer.encode(text)
        for i in range(1, len(ids)):
            before, after = tokenizer.decode(ids[:i]), tokenizer.decode(ids[: i + 1])
            if "\ufffd" in after or not after.startswith(before):
                continue  # within a character, or where a later word moves a space
            goes_on = re.fullmatch(r"\w\w", before[-1:] + after[len(before) :][:1]) is not None
            assert (wording.leaves_open[ids[i - 1]] and wording.continues[ids[i]]) == goes_on


def test_lower_case_vocabularies_write_phrases_in_lower_case() -> None:
    wording = PhraseEncoder(train_tokenizer(SideConfig(kind="bpe", size=330, lowercase=True, min_frequency=1), TEXTS))
    assert wording.normal("The Dog") == "the dog"
    assert wording.forms("The Dog") == wording.forms("the dog")


def test_a_vocabulary_of_words_cannot_write_what_it_lacks() -> None:
    wording = PhraseEncoder(train_tokenizer(SideConfig(kind="words", min_frequency=1), TEXTS))
    assert wording.normal("a zebra") is None
    assert wording.forms("a zebra") == ()


def test_no_word_is_stuck_to_a_full_stop() -> None:
    wording = PhraseEncoder(train_tokenizer(SideConfig(), ["a dog runs.", "(dog) (runs)", "dog-runs"] * 9))
    vocabulary = wording.tokenizer.backend.get_vocab()
    edges = WordEdges(wording.continues, wording.precedes_no_letter)
    phrase = Phrase(wording.forms("dog"))
    opened, closed = (phrase.next_tokens([vocabulary[mark]], edges) for mark in "(.")
    assert closed < opened
    assert [wording.continues[token] for token in opened - closed] == [True] * len(opened - closed)
    (ends,) = (form for form in phrase.forms if not wording.continues[form[0]])
    assert phrase.missing([vocabulary["."], *ends], edges) == 0  # with a space it may come
