"""Diverse beams: groups that avoid each other's tokens."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import BEGIN, END, EVERY_DECODER, VOCABULARY, Family, assert_same, limits, log_probability

from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import SearchProblem
from transduce.search.rules import SuppressTokens

RULES = [SuppressTokens([BEGIN])]


@EVERY_DECODER
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(1, 5))
def test_one_group_is_a_plain_beam(family: Family, seed: int, size: int) -> None:
    decoder, start = family(seed)
    beam = DiverseBeam(size=size, n_best=size, groups=1, diversity=3.0)
    longest = limits([9, 4, 7], [1, 3, 2])
    found = beam.find(SearchProblem(decoder, start(range(3)), longest, BEGIN, END, RULES))
    plain = Beam(size=size, n_best=size).find(SearchProblem(decoder, start(range(3)), longest, BEGIN, END, RULES))
    for some, others in zip(found, plain, strict=True):
        assert_same(some, others)


@EVERY_DECODER
@pytest.mark.parametrize("diversity", [0.0, 0.7, 5.0])
@torch.no_grad()
@pytest.mark.slow
def test_groups_of_one_go_where_the_paper_says(family: Family, diversity: float) -> None:
    decoder, start = family(4)
    longest, groups = 6, 3
    beam = DiverseBeam(size=groups, n_best=groups, groups=groups, diversity=diversity)
    found = beam.find(SearchProblem(decoder, start(range(3)), limits([longest] * 3), BEGIN, END, RULES))
    for sentence in range(3):
        texts: list[list[int]] = [[] for _ in range(groups)]
        outputs: dict[int, list[int]] = {}
        for length in range(1, longest + 1):
            taken: list[int] = []
            for group, text in enumerate(texts):
                logits, _ = decoder(torch.tensor([[BEGIN, *text]]), start([sentence]))
                scores = logits[0, -1].log_softmax(-1).tolist()
                allowed = range(1, VOCABULARY) if length < longest else [END]
                ranked = sorted(allowed, key=lambda token: taken.count(token) * diversity - scores[token])
                if ranked[0] == END:
                    outputs.setdefault(group, text)
                if length < longest:
                    (going_on, *_) = [token for token in ranked if token != END]
                    taken.append(going_on)
                    texts[group] = [*text, going_on]
            if len(outputs) == groups:
                break
        assert {tuple(h.tokens) for h in found[sentence]} == {tuple(text) for text in outputs.values()}
        for hypothesis in found[sentence]:
            total = log_probability(decoder, start([sentence]), hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
