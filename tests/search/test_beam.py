import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from toys import (
    BEGIN,
    END,
    EVERY_DECODER,
    EXHAUSTIVE,
    VOCABULARY,
    Family,
    RecurrentState,
    RowCounter,
    assert_same,
    every_output,
    limits,
    log_probability,
    normalized,
    recurrent,
    tiny_transformer,
)

from transduce.models.scoring import score_tokens
from transduce.search.beam import Beam
from transduce.search.loop import SearchProblem
from transduce.search.rules import SuppressTokens
from transduce.search.search_settings import limits_for

pytestmark = pytest.mark.usefixtures("unchecked_axes")  # other files of this folder check those of the same functions


@EVERY_DECODER
@pytest.mark.parametrize(("normalization", "alpha"), [("wu", 0.0), ("wu", 0.6), ("power", 1.0), ("power", 1.7)])
@torch.no_grad()
def test_an_exhaustive_beam_finds_what_trying_every_sequence_finds(
    family: Family, normalization: str, alpha: float
) -> None:
    decoder, start = family(int(10 * alpha))
    beam = Beam(size=EXHAUSTIVE, n_best=EXHAUSTIVE, normalization=normalization, length_penalty=alpha)
    longest = [5, 3, 4]
    forbidden = [SuppressTokens([BEGIN])]  # leaves three tokens besides the end
    found = beam.find(SearchProblem(decoder, start(range(3)), limits(longest), BEGIN, END, forbidden))
    for sentence, most in enumerate(longest):
        every = every_output(decoder, start, sentence, most, normalization, alpha)
        assert len(found[sentence]) == len(every)
        assert [h.score for h in found[sentence]] == pytest.approx([score for score, _, _ in every], abs=1e-4)
        assert found[sentence][0].tokens == every[0][2]
        known = {tuple(tokens): (score, total) for score, total, tokens in every}
        for hypothesis in found[sentence]:
            score, total = known.pop(tuple(hypothesis.tokens))
            assert hypothesis.score == pytest.approx(score, abs=1e-4)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)


@EVERY_DECODER
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), shortest=st.integers(1, 4))
@torch.no_grad()
def test_a_beam_of_one_is_greedy(family: Family, seed: int, shortest: int) -> None:
    decoder, start = family(seed)
    longest = 6
    found = Beam(size=1).find(
        SearchProblem(decoder, start(range(3)), limits([longest] * 3, [shortest] * 3), BEGIN, END)
    )
    for sentence, (hypothesis,) in enumerate(found):
        tokens: list[int] = []
        while len(tokens) < longest - 1:
            logits, _ = decoder(torch.tensor([[BEGIN, *tokens]]), start([sentence]))
            choices = logits[0, -1].tolist()
            if len(tokens) + 1 < shortest:
                choices[END] = -math.inf
            best = max(range(VOCABULARY), key=choices.__getitem__)
            if best == END:
                break
            tokens.append(best)
        assert hypothesis.tokens == tokens
        assert hypothesis.truncated == (len(tokens) == longest - 1)


@EVERY_DECODER
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(2, 4))
@torch.no_grad()
def test_a_beam_follows_the_best_that_go_on_and_sets_aside_those_that_end_among_the_best(
    family: Family, seed: int, size: int
) -> None:
    decoder, start = family(seed)
    longest = 6
    found = Beam(size=size, n_best=size).find(
        SearchProblem(decoder, start(range(3)), limits([longest] * 3), BEGIN, END)
    )
    for sentence in range(3):
        active: list[tuple[float, list[int]]] = [(0.0, [])]
        finished: list[tuple[float, list[int]]] = []
        for length in range(1, longest + 1):
            extended = []
            for total, tokens in active:
                logits, _ = decoder(torch.tensor([[BEGIN, *tokens]]), start([sentence]))
                for token, addition in enumerate(logits[0, -1].log_softmax(-1).tolist()):
                    if token == END or length < longest:
                        extended.append((total + addition, [*tokens, token]))
            extended.sort(reverse=True)
            finished += [(total, tokens[:-1]) for total, tokens in extended[:size] if tokens[-1] == END]
            active = [(total, tokens) for total, tokens in extended if tokens[-1] != END][:size]
            if len(finished) >= size:
                break
        finished.sort(key=lambda one: -normalized(one[0], len(one[1]) + 1, "wu", 0.6))
        assert [h.tokens for h in found[sentence]] == [tokens for _, tokens in finished[:size]]


@EVERY_DECODER
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(1, 7))
@torch.no_grad()
def test_a_batch_of_sentences_finds_what_each_finds_alone(family: Family, seed: int, size: int) -> None:
    decoder, start = family(seed)
    beam = Beam(size=size, n_best=size)
    shortest, longest = [1, 3, 2], [9, 4, 7]
    together = beam.find(
        SearchProblem(decoder, start(range(3)), limits(longest, shortest), BEGIN, END, [SuppressTokens([BEGIN])])
    )
    for sentence in range(3):
        own = limits(longest[sentence : sentence + 1], shortest[sentence : sentence + 1])
        (alone,) = beam.find(SearchProblem(decoder, start([sentence]), own, BEGIN, END, [SuppressTokens([BEGIN])]))
        assert_same(together[sentence], alone)


@EVERY_DECODER
@settings(max_examples=7, deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.integers(1, 5),
    bounds=st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1])),
        min_size=3,
        max_size=3,
    ),
    forbidden=st.sets(st.sampled_from([0, 2, 3]), max_size=3),
)
@torch.no_grad()
def test_outputs_keep_their_lengths_hold_nothing_forbidden_and_come_best_first(
    family: Family, seed: int, size: int, bounds: list[tuple[int, int]], forbidden: set[int]
) -> None:
    decoder, start = family(seed)
    beam = Beam(size=size, n_best=size)
    shortest, longest = zip(*bounds, strict=True)
    found = beam.find(
        SearchProblem(
            decoder, start(range(3)), limits(longest, shortest), BEGIN, END, [SuppressTokens(sorted(forbidden))]
        )
    )
    for sentence, (hypotheses, (least, most)) in enumerate(zip(found, bounds, strict=True)):
        assert 1 <= len(hypotheses) <= size
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            length = len(hypothesis.tokens) + 1
            assert least <= length <= most
            assert hypothesis.truncated == (length == most)
            assert not forbidden & set(hypothesis.tokens)
            assert END not in hypothesis.tokens
            total = log_probability(decoder, start([sentence]), hypothesis.tokens)
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
            assert hypothesis.score == pytest.approx(normalized(total, length, "wu", beam.length_penalty), abs=1e-4)


@torch.no_grad()
def test_log_probabilities_are_what_score_tokens_gives_the_same_tokens() -> None:
    model, source, is_real = tiny_transformer(7)
    beam = Beam(size=4, n_best=4)
    state = model.start(model.encode(source, is_real))
    found = beam.find(SearchProblem(model.decoder, state, limits([6, 8, 7], [2, 3, 4]), BEGIN, END))
    for sentence, hypotheses in enumerate(found):
        one = slice(sentence, sentence + 1)
        for hypothesis in hypotheses:
            target_in, target_out = (
                torch.tensor([ids]) for ids in ([BEGIN, *hypothesis.tokens], [*hypothesis.tokens, END])
            )
            everything = torch.ones_like(target_in, dtype=torch.bool)
            scores = score_tokens(model, source[one], is_real[one], target_in, target_out, everything)
            assert_close(torch.tensor(hypothesis.log_probability), scores.sum(), rtol=1e-4, atol=1e-4)


def test_a_vocabulary_smaller_than_the_beam_is_enough() -> None:
    decoder, start = recurrent(8, vocabulary=3)  # besides begin and end a single token
    beam = Beam(size=7, n_best=7)
    found = beam.find(SearchProblem(decoder, start(range(3)), limits([4, 2, 3]), BEGIN, END, [SuppressTokens([BEGIN])]))
    for hypotheses, longest in zip(found, [4, 2, 3], strict=True):
        assert sorted(h.tokens for h in hypotheses) == [[2] * length for length in range(longest)]


@EVERY_DECODER
@pytest.mark.parametrize("size", [1, 3])
def test_sentences_that_are_done_leave_the_batch(family: Family, size: int) -> None:
    decoder, start = family(9)
    counter, lengths = RowCounter(decoder), [2, 7, 4]
    Beam(size=size).find(SearchProblem(counter, start(range(3)), limits(lengths, lengths), BEGIN, END))
    expected = [sum(length > step for length in lengths) * (size if step else 1) for step in range(max(lengths))]
    assert counter.rows == expected


@pytest.mark.parametrize("n_best", [1, 2])
def test_a_sentence_is_done_once_it_has_as_many_outputs_as_the_beam_is_wide(n_best: int) -> None:
    decoder, start = recurrent(10)

    def ends_gladly(tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        logits, state = decoder(tokens, state)
        return logits + torch.tensor([0.0, 50.0, 0.0, 0.0, 0.0]), state

    counter = RowCounter(ends_gladly)
    found = Beam(size=2, n_best=n_best).find(
        SearchProblem(counter, start(range(3)), limits([50] * 3), BEGIN, END, [SuppressTokens([BEGIN])])
    )
    assert len(counter.rows) == 2  # at once the empty output, then the best of one token
    assert [[len(h.tokens) for h in hypotheses] for hypotheses in found] == [[0, 1][:n_best]] * 3


def test_no_sentences_give_no_outputs() -> None:
    decoder, start = recurrent(11)
    assert Beam().find(SearchProblem(decoder, start([]), limits([]), BEGIN, END)) == []


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    max_ratio=st.sampled_from([0.0, 0.5, 2.0]),
    max_extra=st.integers(1, 50),
    min_ratio=st.sampled_from([0.0, 0.4, 3.0]),
    target_limit=st.none() | st.integers(1, 20),
)
def test_limits_follow_the_sources_and_stay_within_what_the_model_can_write(
    lengths: list[int], max_ratio: float, max_extra: int, min_ratio: float, target_limit: int | None
) -> None:
    beam = Beam(max_ratio=max_ratio, max_extra=max_extra, min_ratio=min_ratio)
    found = limits_for(beam, torch.tensor(lengths), target_limit)
    for length, shortest, longest in zip(lengths, found.shortest.tolist(), found.longest.tolist(), strict=True):
        most = min(int(max_ratio * length + max_extra), target_limit or 10_000)
        assert longest == max(most, 1)
        assert shortest == min(max(int(min_ratio * length + 1e-4), 1), longest)
