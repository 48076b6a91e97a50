"""Bans hold however a phrase is spelled: what goes through is what the text says, not which tokens say it."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from transduce.inference.requests import Request, Wishes
from transduce.search.rules import Ban, SoFar
from transduce.text.tokenizer import SideConfig, Tokenizer, TokenizerKind, train_tokenizer

TEXTS = ["A skateboarder (in red) says skate to the dogs.", "The well-known dog is red. A cat skates; do it."] * 4


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece", "words", "characters"])
def wishes(request: pytest.FixtureRequest) -> Wishes:
    kind: TokenizerKind = request.param
    size = {"bpe": 310, "unigram": 290, "wordpiece": 340}.get(kind)
    return Wishes(train_tokenizer(SideConfig(kind=kind, size=size, min_frequency=1), TEXTS))


def spellings(tokenizer: Tokenizer, written: list[int], text: str) -> Iterator[list[int]]:
    """The ways to go on with the tokens so that all together say the text, each token at least a letter of it.

    Of tokens that say the same, the last three, which are not all bytes: every control character is a space.
    """
    said = tokenizer.decode(written)
    if said == text:
        yield written
        return
    tried: Counter[str] = Counter()
    for token in reversed(range(len(tokenizer))):
        longer = tokenizer.decode([*written, token])
        tried[longer] += 1
        if text.startswith(longer) and len(longer) > len(said) and tried[longer] <= 3:
            yield from spellings(tokenizer, [*written, token], text)


def goes_through(wishes: Wishes, rule: Ban, tokens: list[int], start: int) -> bool:
    """Whether the rule lets a search that has written the first tokens write the rest."""
    for length in range(start, len(tokens)):
        scores = torch.zeros(1, 1, len(wishes.tokenizer))
        rule(scores, SoFar(torch.tensor([0]), torch.tensor(tokens[:length]).long().reshape(1, 1, -1)))
        if scores[0, 0, tokens[length]] != 0:
            return False
    return True


@pytest.mark.parametrize("phrase", ["dog", "is red", "red."])
def test_no_spelling_of_a_banned_phrase_goes_through(wishes: Wishes, phrase: str) -> None:
    tokenizer = wishes.tokenizer
    (piece,) = wishes.pieces(Request("", banned=(phrase,)), [[]])
    rule = Ban([piece.banned], wishes.edges, tokenizer.decode)
    begun = tokenizer.encode("The")
    found = list(spellings(tokenizer, begun, f"The {phrase}"))
    assert tokenizer.encode(f"The {phrase}") in found
    for tokens in found:
        assert not goes_through(wishes, rule, [*tokens, tokenizer.eos], len(begun))


def test_words_that_hold_a_banned_one_go_through(wishes: Wishes) -> None:
    (piece,) = wishes.pieces(Request("", banned=("skate", "red.")), [[]])
    rule = Ban([piece.banned], wishes.edges, wishes.tokenizer.decode)
    for text, is_allowed in (
        ("A skateboarder says skates.", True),
        ("The dog is red", True),
        ("A skate.", False),
        ("It is red. Do it.", False),
    ):
        tokens = [*wishes.tokenizer.encode(text), wishes.tokenizer.eos]
        assert goes_through(wishes, rule, tokens, 0) == is_allowed, text
