import torch
from hypothesis import given
from hypothesis import strategies as st

from transduce.search.rules import forbid, keep_within

SENTENCES, ROWS, VOCABULARY, END = 3, 2, 7, 4


@given(tokens=st.lists(st.integers(0, VOCABULARY - 1), max_size=4))
def test_forbidden_tokens_and_no_others_become_impossible(tokens: list[int]) -> None:
    before = torch.randn(SENTENCES, ROWS, VOCABULARY)
    after = before.clone()
    forbid(after, tokens)
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
    keep_within(after, length, shortest, longest, END)
    for sentence, (least, most) in enumerate(limits):
        for token in range(VOCABULARY):
            # `length` tokens are written; a token now makes length + 1, and unless it is the end one more must come
            allowed = length + 1 >= least if token == END else length + 1 < most
            expected = before[sentence, :, token] if allowed else torch.tensor(-torch.inf)
            assert (after[sentence, :, token] == expected).all()
