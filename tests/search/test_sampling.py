"""Sampling: draws follow the model's probabilities, a seed repeats them, and neighbours do not change them."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import BEGIN, END, EVERY_DECODER, Family, assert_same, limits, log_probability, recurrent

from transduce.search.loop import Hypothesis, SearchProblem
from transduce.search.rules import NoRepeatNgram, Rule, SuppressTokens
from transduce.search.sampling import Sampling, draw, sample

CHI_SQUARE_OF_7_AT_1_IN_1000 = 24.32
LOGITS = torch.tensor([1.5, -0.3, 0.8, 0.0, -1.0, 2.0, 0.4, 1.1])


def draws(sampling: Sampling, many: int) -> torch.Tensor:
    uniform = torch.rand(1, many, generator=torch.Generator().manual_seed(sampling.seed))
    return draw(LOGITS.log_softmax(-1).expand(1, many, -1), sampling, uniform)[0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_the_softmax(temperature: float) -> None:
    many = 20_000
    counted = torch.bincount(draws(Sampling(temperature=temperature), many), minlength=8).double()
    expected = many * (LOGITS.double() / temperature).softmax(-1)
    assert float(((counted - expected) ** 2 / expected).sum()) < CHI_SQUARE_OF_7_AT_1_IN_1000


@settings(max_examples=20, deadline=None)
@given(top_k=st.integers(1, 9))
def test_top_k_draws_among_the_likeliest(top_k: int) -> None:
    kept = set(LOGITS.argsort(descending=True)[:top_k].tolist())
    assert set(draws(Sampling(top_k=top_k), 3000).tolist()) == kept


@settings(max_examples=20, deadline=None)
@given(top_p=st.floats(0.05, 0.97), temperature=st.sampled_from([0.7, 1.0, 1.5]))
def test_top_p_draws_among_the_fewest_that_have_the_probability(top_p: float, temperature: float) -> None:
    probabilities = (LOGITS.double() / temperature).softmax(-1).numpy()
    order = np.argsort(-probabilities)
    needed = int(np.searchsorted(np.cumsum(probabilities[order]), top_p)) + 1
    drawn = set(draws(Sampling(top_p=top_p, temperature=temperature), 20_000).tolist())
    assert drawn == set(order[:needed].tolist())


@settings(max_examples=20, deadline=None)
@given(min_p=st.floats(0.02, 1.0), temperature=st.sampled_from([0.7, 1.0, 1.5]))
def test_min_p_draws_among_those_that_have_a_share_of_the_likeliest(min_p: float, temperature: float) -> None:
    probabilities = (LOGITS.double() / temperature).softmax(-1)
    kept = (probabilities >= min_p * probabilities.max()).nonzero()[:, 0].tolist()
    assert set(draws(Sampling(min_p=min_p, temperature=temperature), 20_000).tolist()) == set(kept)


@settings(max_examples=40, deadline=None)
@given(
    logits=st.lists(st.sampled_from([-torch.inf, -1.0, 0.0, 2.0]), min_size=2, max_size=9).filter(
        lambda values: max(values) > -torch.inf
    ),
    cut=st.one_of(
        st.integers(1, 9).map(lambda k: Sampling(top_k=k)), st.floats(0.05, 0.95).map(lambda p: Sampling(top_p=p))
    ),
)
def test_of_tied_tokens_no_more_are_drawn_than_are_asked_for(logits: list[float], cut: Sampling) -> None:
    probabilities = torch.tensor(logits).double().softmax(-1)
    order = probabilities.argsort(descending=True, stable=True)  # of equals the lowest ids
    before = probabilities[order].cumsum(-1) - probabilities[order]
    likely = int((before < cut.top_p).sum()) if cut.top_p < 1 else cut.top_k
    expected = {token for token in order[:likely].tolist() if probabilities[token] > 0}
    rows = torch.tensor(logits).log_softmax(-1).expand(1, 600, -1)
    assert set(draw(rows, cut, torch.linspace(0, 0.9999, 600)[None])[0].tolist()) == expected


def run(
    family: Family,
    seed: int,
    chosen: list[int],
    sampling: Sampling,
    rules: tuple[Rule, ...] = (SuppressTokens([BEGIN]),),
) -> list[list[Hypothesis]]:
    decoder, start = family(seed)
    own = limits([[9, 4, 7][i] for i in chosen], [[1, 3, 2][i] for i in chosen])
    generators = [sampling.generator([i]) for i in chosen]
    return sample(SearchProblem(decoder, start(chosen), own, BEGIN, END, rules), sampling, generators)


@EVERY_DECODER
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1000), n_best=st.integers(1, 4))
def test_a_sentence_is_drawn_alike_beside_any_others(family: Family, seed: int, n_best: int) -> None:
    sampling = Sampling(n_best=n_best, seed=seed, temperature=1.3)
    together = run(family, seed, [0, 1, 2], sampling)
    for others in ([1], [2, 0]):
        for sentence, found in zip(others, run(family, seed, others, sampling), strict=True):
            assert_same(found, together[sentence])


def test_a_seed_repeats_its_draws_and_another_has_its_own() -> None:
    first, again, other = (run(recurrent, 1, [0, 1, 2], Sampling(n_best=5, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_more_draws_begin_with_the_same() -> None:
    few, many = (run(recurrent, 1, [0, 1, 2], Sampling(n_best=n)) for n in (2, 5))
    for some, more in zip(few, many, strict=True):
        assert_same(some, more[:2])


@EVERY_DECODER
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 1000))
@torch.no_grad()
def test_outputs_obey_limits_and_rules_and_have_the_models_own_log_probability(family: Family, seed: int) -> None:
    rules = (SuppressTokens([BEGIN]), NoRepeatNgram(2))
    found = run(family, seed, [0, 1, 2], Sampling(n_best=4, seed=seed, temperature=0.5), rules)
    decoder, start = family(seed)
    for sentence, (least, most) in enumerate([(1, 9), (3, 4), (2, 7)]):
        assert len(found[sentence]) == 4
        for hypothesis in found[sentence]:
            tokens = hypothesis.tokens
            assert least <= len(tokens) + 1 <= most
            assert hypothesis.truncated == (len(tokens) + 1 == most)
            pairs = list(pairwise(tokens))
            assert len(set(pairs)) == len(pairs)
            total = log_probability(decoder, start([sentence]), tokens)
            assert hypothesis.log_probability == hypothesis.score == pytest.approx(total, abs=1e-4)


def test_a_draw_without_any_next_token_is_dropped() -> None:
    assert run(recurrent, 1, [1], Sampling(), (SuppressTokens([0, 1, 2, 3, 4]),)) == [[]]
