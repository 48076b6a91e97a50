"""Bans hold however a phrase is spelled: what goes through is what the text says, not which tokens say it."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from transduce.inference.requests import Constraints, Request
from transduce.search.rules import BannedPhrases, Prefixes
from transduce.text.tokenizer import SideConfig, Tokenizer, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizer

TEXTS = ["A skateboarder (in red) says skate to the dogs.", "The well-known dog is red. A cat skates; do it."] * 4


@pytest.fixture(scope="module", params=["bpe", "unigram", "wordpiece", "words", "characters"])
def constraints(request: pytest.FixtureRequest) -> Constraints:
    kind: TokenizerKind = request.param
    size = {"bpe": 310, "unigram": 290, "wordpiece": 340}.get(kind)
    return Constraints(train_tokenizer(SideConfig(kind=kind, size=size, min_frequency=1), TEXTS))


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


def goes_through(constraints: Constraints, rule: BannedPhrases, tokens: list[int], start: int) -> bool:
    """Whether the rule lets a search that has written the first tokens write the rest."""
    for length in range(start, len(tokens)):
        scores = torch.zeros(1, 1, len(constraints.tokenizer))
        rule(scores, Prefixes(torch.tensor([0]), torch.tensor(tokens[:length]).long().reshape(1, 1, -1)))
        if scores[0, 0, tokens[length]] != 0:
            return False
    return True


@pytest.mark.parametrize("phrase", ["dog", "is red", "red."])
def test_no_spelling_of_a_banned_phrase_goes_through(constraints: Constraints, phrase: str) -> None:
    tokenizer = constraints.tokenizer
    (piece,) = constraints.pieces(Request("", banned=(phrase,)), [[]])
    rule = BannedPhrases([piece.banned], constraints.edges, tokenizer.decode)
    begun = tokenizer.encode("The")
    found = list(spellings(tokenizer, begun, f"The {phrase}"))
    assert tokenizer.encode(f"The {phrase}") in found
    for tokens in found:
        assert not goes_through(constraints, rule, [*tokens, tokenizer.eos], len(begun))


def test_words_that_hold_a_banned_one_go_through(constraints: Constraints) -> None:
    (piece,) = constraints.pieces(Request("", banned=("skate", "red.")), [[]])
    rule = BannedPhrases([piece.banned], constraints.edges, constraints.tokenizer.decode)
    for text, is_allowed in (
        ("A skateboarder says skates.", True),
        ("The dog is red", True),
        ("A skate.", False),
        ("It is red. Do it.", False),
    ):
        tokens = [*constraints.tokenizer.encode(text), constraints.tokenizer.eos]
        assert goes_through(constraints, rule, tokens, 0) == is_allowed, text
