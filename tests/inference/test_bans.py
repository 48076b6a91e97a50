"""Bans hold however a phrase is spelled: what goes through is what the text says, not which tokens say it."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from transduce.inference.constraints import Constraints
from transduce.inference.request import Request
from transduce.search.rules import BannedPhrases, Prefixes
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig, TokenizerKind
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


@pytest.mark.slow
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


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_a_ban_holds_in_scripts_without_spaces_and_within_tokens(kind: TokenizerKind) -> None:
    lines = [
        "我有一只黑狗。",
        "黑狗在草地上跑。",
        "他有一辆自行车。",
        "狗在睡觉，他在跑。",
        "자전거를 탄다.",
        "자전거가 있다.",
        "개는 뛴다.",
    ] * 4
    tokenizer = train_tokenizer(SideConfig(kind=kind, max_size=340, min_frequency=1), lines)
    constraints = Constraints(tokenizer)
    for phrase in ("狗", "自行车", "자전거", "개"):
        (piece,) = constraints.pieces(Request("", banned=(phrase,)), [[]])
        rule = BannedPhrases([piece.banned], constraints.edges, tokenizer.decode)
        for line in lines[:7]:
            tokens = [*tokenizer.encode(line), tokenizer.eos]
            assert goes_through(constraints, rule, tokens, 0) == (phrase not in line), (phrase, line)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_a_required_phrase_is_satisfied_in_tokens_where_the_text_holds_it(kind: TokenizerKind) -> None:
    lines = ["我有一只黑狗。", "他在跑。", "자전거를 탄다.", "개는 뛴다."] * 4
    tokenizer = train_tokenizer(SideConfig(kind=kind, max_size=320, min_frequency=1), lines)
    constraints = Constraints(tokenizer)
    for phrase, before, after in (("狗", "我有一只黑", "在跑。"), ("자전거", "", "를 탄다."), ("黑狗", "我有", "")):
        (piece,) = constraints.pieces(Request("", required=(phrase,)), [[]])
        (required,) = piece.required
        ids = [
            [*tokenizer.encode(before), *form, *(tokenizer.encode(f"({after}")[len(tokenizer.encode("(")) :])]
            for form in required.forms
        ]
        said = [tokens for tokens in ids if phrase in tokenizer.decode(tokens)]
        assert said
        assert all(required.missing(tokens, constraints.edges) == 0 for tokens in said), phrase
