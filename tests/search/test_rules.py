from collections.abc import Callable, Sequence

import torch
from hypothesis import given
from hypothesis import strategies as st

from transduce.search.required_phrases import WordEdges
from transduce.search.rules import (
    AfterContext,
    Banned,
    BannedPhrases,
    EndWhere,
    ForcedPrefixes,
    LengthConstraint,
    NoRepeatNgram,
    PenalizeRepetition,
    Prefixes,
    SuppressTokens,
)
from transduce.search.search_settings import Limits

SENTENCES, ROWS, VOCABULARY, END = 3, 2, 7, 4
WHOLE_WORDS = WordEdges((False,) * VOCABULARY, (False,) * VOCABULARY)
SUBWORDS = WordEdges((False, False, False, False, False, True, True), (True,) * VOCABULARY)  # 5 and 6 go on with a word

texts = st.integers(0, 9).flatmap(
    lambda length: st.lists(
        st.lists(
            st.lists(st.integers(0, VOCABULARY - 1), min_size=length, max_size=length), min_size=ROWS, max_size=ROWS
        ),
        min_size=SENTENCES,
        max_size=SENTENCES,
    )
)


def prefixes(tokens: list[list[list[int]]]) -> Prefixes:
    shaped = torch.tensor(tokens, dtype=torch.long).reshape(SENTENCES, ROWS, -1)
    return Prefixes(torch.arange(SENTENCES), shaped)


def written(length: int) -> Prefixes:
    return prefixes([[[0] * length] * ROWS] * SENTENCES)


@given(tokens=st.lists(st.integers(0, VOCABULARY - 1), max_size=4))
def test_forbidden_tokens_and_no_others_become_impossible(tokens: list[int]) -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY)
    after = before.clone()
    SuppressTokens(tokens)(after, written(3))
    for token in range(VOCABULARY):
        assert (after[..., token] == (-torch.inf if token in tokens else before[..., token])).all()


@given(
    length=st.integers(0, 8),
    limits=st.lists(
        st.tuples(st.integers(1, 8), st.integers(0, 8)).map(lambda pair: (pair[0], pair[0] + pair[1])),
        min_size=SENTENCES,
        max_size=SENTENCES,
    ),
)
def test_each_sentence_is_kept_within_its_own_lengths(length: int, limits: list[tuple[int, int]]) -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY)
    after = before.clone()
    shortest, longest = torch.tensor(limits).T
    LengthConstraint(Limits(shortest, longest), END)(after, written(length))
    for sentence, (least, most) in enumerate(limits):
        for token in range(VOCABULARY):
            # `length` tokens are written; a token now makes length + 1, and unless it is the end one more must come
            allowed = length + 1 >= least if token == END else length + 1 < most
            expected = before[sentence, :, token] if allowed else torch.tensor(-torch.inf)
            assert (after[sentence, :, token] == expected).all()


def test_an_output_can_end_at_its_longest_even_where_other_rules_forbid_the_end() -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY)
    after = before.clone()
    limits = Limits(torch.tensor([1, 1, 1]), torch.tensor([3, 4, 5]))
    LengthConstraint(limits, END, [SuppressTokens([END])])(after, written(3))
    assert (after[:2, :, END] == before[:2, :, END]).all()
    assert (after[2, :, END] == -torch.inf).all()


@given(texts=texts, size=st.integers(1, 4))
def test_exactly_the_tokens_that_would_repeat_a_run_become_impossible(texts: list[list[list[int]]], size: int) -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY)
    after = before.clone()
    NoRepeatNgram(size)(after, prefixes(texts))
    for sentence, rows in enumerate(texts):
        for row, tokens in enumerate(rows):
            known = {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}
            for token in range(VOCABULARY):
                repeats = tuple([*tokens, token][-size:]) in known
                expected = -torch.inf if repeats else before[sentence, row, token]
                assert after[sentence, row, token] == expected


def test_a_prefix_comes_before_all_else_and_its_last_word_ends_there() -> None:
    prefixes = [[2, 3], [], [5]]
    rule = ForcedPrefixes(prefixes, SUBWORDS, [SuppressTokens([3, 5])])
    for length in range(4):
        before = torch.randn(SENTENCES, ROWS, VOCABULARY)
        after = before.clone()
        rule(after, written(length))
        for sentence, prefix in enumerate(prefixes):
            for token in range(VOCABULARY):
                if length < len(prefix):
                    allowed = token == prefix[length]
                else:
                    allowed = token not in (3, 5) and not (0 < length == len(prefix) and token == 6)
                expected = before[sentence, :, token] if allowed else torch.tensor(-torch.inf)
                assert (after[sentence, :, token] == expected).all()


def text_in(edges: WordEdges) -> Callable[[Sequence[int]], str]:
    """Token 0 is the letter a and so on; those that go on with a word have no space before them."""

    def decode(tokens: Sequence[int]) -> str:
        return "".join(("" if edges.continues[token] else " ") + "abcdefg"[token] for token in tokens).strip()

    return decode


def allowed_after(rule: BannedPhrases, tokens: list[int]) -> set[int]:
    scores = torch.zeros(SENTENCES, ROWS, VOCABULARY)
    rule(scores, prefixes([[tokens] * ROWS] * SENTENCES))
    assert scores[2].isfinite().all()  # a sentence that bans nothing
    return {token for token in range(VOCABULARY) if scores[0, 0, token] == 0}


def test_a_banned_phrase_of_whole_words_cannot_be_completed() -> None:
    rule = BannedPhrases([[Banned("c d", [3])], [Banned("b", [1])], []], WHOLE_WORDS, text_in(WHOLE_WORDS))
    assert allowed_after(rule, [0, 2]) == {0, 1, 2, 4, 5, 6}
    assert allowed_after(rule, [2, 0]) == set(range(VOCABULARY))


def test_a_banned_word_may_grow_into_another_but_not_end() -> None:
    rule = BannedPhrases([[Banned("cf", [])], [Banned("b", [])], []], SUBWORDS, text_in(SUBWORDS))
    assert allowed_after(rule, [0, 2]) == set(range(VOCABULARY))
    assert allowed_after(rule, [0, 2, 5]) == {5, 6}
    assert allowed_after(rule, [0, 2, 5, 6]) == set(range(VOCABULARY))


@given(texts)
def test_a_prefix_counts_for_the_rules_of_an_output(tokens: list[list[list[int]]]) -> None:
    contexts = torch.tensor([[0, 1, 2], [2, 3, 2], [1, 1, 1]])
    found, expected = torch.zeros(SENTENCES, ROWS, VOCABULARY), torch.zeros(SENTENCES, ROWS, VOCABULARY)
    AfterContext(contexts, [NoRepeatNgram(2)])(found, prefixes(tokens))
    whole = [[contexts[i].tolist() + row for row in rows] for i, rows in enumerate(tokens)]
    NoRepeatNgram(2)(expected, prefixes(whole))
    assert torch.equal(found, expected)


def test_an_output_ends_at_no_cost_where_its_condition_holds() -> None:
    log_probabilities = torch.full((SENTENCES, ROWS, VOCABULARY), -2.0)
    rule = EndWhere(lambda sentence, tokens: (sentence, tokens[-1]) == (1, 5), END)
    rule(log_probabilities, prefixes([[[0, 5], [0, 5]], [[0, 5], [5, 0]], [[0, 5], [0, 5]]]))
    ended = torch.full((VOCABULARY,), -torch.inf)
    ended[END] = 0.0
    assert torch.equal(log_probabilities[1, 0], ended)
    log_probabilities[1, 0] = -2.0
    assert (log_probabilities == -2.0).all()


@given(texts)
def test_tokens_that_have_come_are_less_likely_and_no_others(tokens: list[list[list[int]]]) -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY).log_softmax(-1)
    after = before.clone()
    PenalizeRepetition(1.5)(after, prefixes(tokens))
    for sentence in range(SENTENCES):
        for row in range(ROWS):
            for token in range(VOCABULARY):
                factor = 1.5 if token in tokens[sentence][row] else 1.0
                assert torch.isclose(after[sentence, row, token], before[sentence, row, token] * factor)
