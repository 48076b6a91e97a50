"""Typed texts in tokens: any tokenization of the last characters is allowed, and nothing that contradicts them."""

import random

import pytest

from transduce.text.phrase_encoder import PhraseEncoder
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizer
from transduce.text.typed import TypedTextEncoder

TEXTS = [
    'A skateboarder (in red) says "skate" to the dogs.',
    "The well-known dog's owner, a skater, skates; the dog skateboards.",
    "Cafe\u0301 owners saw 3.5 dogs, and the Łódź ones: \U0001f600!",
    "彼は学校に行きました。学校は大きいです。",
    "عاد الولد إلى المدرسة، ثم نام.",
    "किताबें पढ़ीं।",
]
KINDS: list[TokenizerKind] = [
    "bpe",
    "unigram",
    "wordpiece",
    "sentencepiece",
    "bert",
    "words",
    "whitespace",
    "characters",
    "bytes",
]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    kind: TokenizerKind = request.param
    normalize = "NFKC" if kind == "sentencepiece" else "NFC"
    size = None if kind == "bytes" else 400
    config = SideConfig(kind=kind, max_size=size, min_frequency=1, normalize=normalize)
    return train_tokenizer(config, TEXTS * 4)


def visible(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("text", TEXTS)
def test_the_tokens_of_a_whole_text_agree_with_each_beginning_of_it(tokenizer: Tokenizer, text: str) -> None:
    encoder, ids = TypedTextEncoder(PhraseEncoder(tokenizer)), tokenizer.encode(text)
    written = visible(tokenizer.decode(ids))
    for end in range(len(text) + 1):
        typed = encoder.encode(text[:end])
        if not written.startswith(visible(typed.text)):
            continue  # an accent is missing as yet, or a word that is unknown as it is
        kept = len(typed.tokens)
        assert ids[:kept] == typed.tokens
        for number in range(kept, len(ids)):
            count = encoder.written(ids[kept:number], is_start=kept == 0)
            if count >= len(typed.next_tokens):
                break
            assert ids[number] in typed.next_tokens[count]


@pytest.mark.parametrize("text", TEXTS)
def test_whatever_tokens_are_chosen_spell_what_was_typed(tokenizer: Tokenizer, text: str) -> None:
    encoder, chance = TypedTextEncoder(PhraseEncoder(tokenizer)), random.Random(7)
    for end in range(1, len(text) + 1):
        typed = encoder.encode(text[:end])
        for _ in range(5):
            tokens: list[int] = []
            while (count := encoder.written(tokens, not typed.tokens)) < len(typed.next_tokens):
                assert len(tokens) <= len(typed.next_tokens)
                tokens.append(chance.choice(typed.next_tokens[count]))
                if tokens[-1] == tokenizer.eos:
                    break
            output = tokenizer.decode([*typed.tokens, *tokens]).rstrip("\ufffd")
            assert visible(output).startswith(visible(typed.text))
            if tokenizer.unknown not in typed.tokens:
                normal = visible(tokenizer.normal(text[:end]))
                assert visible(typed.text) == normal


def test_a_space_at_the_end_completes_the_word() -> None:
    tokenizer = train_tokenizer(SideConfig(max_size=330, min_frequency=1), ["the dog", "the dogs sleep"] * 9)
    encoder = TypedTextEncoder(PhraseEncoder(tokenizer))
    for spaces in (" ", "  ", "\t", "\u00a0"):
        typed = encoder.encode(f"the dog{spaces}")
        texts = {tokenizer.decode([*typed.tokens, token]) for token in typed.next_tokens[0]}
        assert "the dogs" not in texts and "the dog sleep" in texts
        assert tokenizer.eos in typed.next_tokens[0]
    within = encoder.encode(" the  dog")
    assert {tokenizer.decode([*within.tokens, token]) for token in within.next_tokens[0]} >= {"the dogs", "the dog"}


def test_no_space_need_follow_in_scripts_without_spaces() -> None:
    tokenizer = train_tokenizer(SideConfig(max_size=330, min_frequency=1), ["彼は学校に行きました。"] * 9)
    assert TypedTextEncoder(PhraseEncoder(tokenizer)).encode("彼は ").text == "彼は"


def test_a_word_may_be_the_beginning_of_one_of_the_vocabulary_or_unknown() -> None:
    tokenizer = train_tokenizer(SideConfig(kind="words", min_frequency=1), ["the dogs sleep"] * 9)
    encoder = TypedTextEncoder(PhraseEncoder(tokenizer))
    known, unknown = encoder.encode("the do"), encoder.encode("the zeb")
    assert tokenizer.pieces(known.next_tokens[0]) == ["dogs"]
    assert unknown.tokens == tokenizer.encode("the zeb") and unknown.next_tokens == []
