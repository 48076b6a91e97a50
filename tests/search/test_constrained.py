"""Required phrases: what is found is what trying every output that holds them finds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import BEGIN, END, EVERY_DECODER, EXHAUSTIVE, VOCABULARY, Family, assert_same, every_output, limits, recurrent

from transduce.search.beam import Beam
from transduce.search.constrained import DynamicBeamAllocation
from transduce.search.loop import SearchProblem, search_loop
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import SuppressTokens

WHOLE_WORDS = WordEdges((False,) * VOCABULARY, (False,) * VOCABULARY)
SUBWORDS = WordEdges((False, False, False, False, True), (True,) * VOCABULARY)  # 4 goes on with a word
REQUIRED = [[Phrase(((2, 3),))], [], [Phrase(((3,),)), Phrase(((2,), (4, 4)))]]


def holds(tokens: list[int], phrase: Phrase, edges: WordEdges) -> bool:
    """Slowly and plainly: cut the text into words, and look for the phrase's words in a row."""

    def words(ids: list[int]) -> list[list[int]]:
        found: list[list[int]] = []
        for token in ids:
            if found and edges.continues[token]:
                found[-1].append(token)
            else:
                found.append([token])
        return found

    cut = words(tokens)
    for form in phrase.forms:
        sought = words(list(form))
        if any(cut[i : i + len(sought)] == sought for i in range(len(cut))):
            return True
    return False


@given(tokens=st.lists(st.integers(2, 4), max_size=8), form=st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_a_phrase_misses_nothing_where_its_words_are_whole(tokens: list[int], form: list[int]) -> None:
    for edges in (WHOLE_WORDS, SUBWORDS):
        phrase = Phrase((tuple(form),))
        missing = phrase.missing(tokens, edges)
        assert (missing == 0) == holds(tokens, phrase, edges)
        if missing:
            rest = min(len(form) - k for k in range(len(form)) if tokens[len(tokens) - k :] == form[:k])
            assert rest <= missing <= len(form)


@EVERY_DECODER
@pytest.mark.slow
@pytest.mark.parametrize("edges", [WHOLE_WORDS, SUBWORDS], ids=["words", "subwords"])
def test_an_exhaustive_beam_finds_the_best_of_all_outputs_that_hold_the_phrases(
    family: Family, edges: WordEdges
) -> None:
    decoder, start = family(3)
    longest = [4, 3, 4]
    beam = Beam(size=EXHAUSTIVE, n_best=EXHAUSTIVE)
    rules = [SuppressTokens([BEGIN])]
    found = beam.find(
        SearchProblem(decoder, start(range(3)), limits(longest), BEGIN, END, rules, required=REQUIRED, edges=edges)
    )
    for sentence, (hypotheses, phrases) in enumerate(zip(found, REQUIRED, strict=True)):
        every = every_output(decoder, start, sentence, longest[sentence])
        kept = [one for one in every if all(holds(one[2], phrase, edges) for phrase in phrases)]
        assert 0 < len(kept) == len(hypotheses) <= len(every)
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _, _ in kept], abs=1e-4)
        assert sorted(h.tokens for h in hypotheses) == sorted(tokens for _, _, tokens in kept)


@pytest.mark.slow
@EVERY_DECODER
def test_of_forms_that_begin_alike_the_best_output_has_any(family: Family) -> None:
    decoder, start = family(5)
    forms = Phrase(((2,), (2, 4), (2, 4, 3, 3)))
    beam = Beam(size=EXHAUSTIVE)
    limit = limits([4, 3, 4])
    problem = SearchProblem(
        decoder, start(range(3)), limit, BEGIN, END, [SuppressTokens([BEGIN])], required=[[forms]] * 3, edges=SUBWORDS
    )
    for sentence, (best,) in enumerate(beam.find(problem)):
        every = every_output(decoder, start, sentence, [4, 3, 4][sentence])
        score, _, tokens = next(output for output in every if holds(output[2], forms, SUBWORDS))
        assert (best.tokens, best.score) == (tokens, pytest.approx(score, abs=1e-4))


@given(tokens=st.lists(st.integers(2, 4), max_size=6), form=st.lists(st.integers(2, 4), min_size=2, max_size=5))
def test_longer_words_in_the_place_of_a_phrase_count_only_when_less_of_them_is_missing(
    tokens: list[int], form: list[int]
) -> None:
    short, longer = Phrase(((2,),)), Phrase(((2,), tuple(form)), shortest=1)
    missing = longer.missing(tokens, WHOLE_WORDS)
    assert (
        missing == 0
        if holds(tokens, Phrase((tuple(form),)), WHOLE_WORDS)
        else missing == short.missing(tokens, WHOLE_WORDS)
    )


@pytest.mark.slow
def test_longer_words_that_are_not_written_take_no_part_of_a_beam() -> None:
    lower = 0
    for seed in range(40):
        decoder, start = recurrent(seed)
        scores = []
        for phrase in (Phrase(((2,),)), Phrase(((2,), (3, 4, 3, 4, 3)), shortest=1)):
            rules, limit = [SuppressTokens([BEGIN])], limits([9, 8, 9])
            problem = SearchProblem(
                decoder, start(range(3)), limit, BEGIN, END, rules, required=[[phrase]] * 3, edges=WHOLE_WORDS
            )
            scores.append([best.score for (best,) in Beam(size=3).find(problem)])
        lower += sum(other < one - 1e-4 for one, other in zip(*scores, strict=True))
    assert lower <= 3  # of 120; where the words were written


@pytest.mark.slow
@EVERY_DECODER
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(1, 5))
def test_a_narrow_beam_honours_phrases_too_and_never_twice_the_same(family: Family, seed: int, size: int) -> None:
    decoder, start = family(seed)
    beam = Beam(size=size, n_best=size)
    found = beam.find(
        SearchProblem(
            decoder,
            start(range(3)),
            limits([9, 8, 9]),
            BEGIN,
            END,
            [SuppressTokens([BEGIN])],
            required=REQUIRED,
            edges=SUBWORDS,
        )
    )
    for hypotheses, phrases in zip(found, REQUIRED, strict=True):
        assert 1 <= len(hypotheses) <= size
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses)
        assert all(holds(h.tokens, phrase, SUBWORDS) for h in hypotheses for phrase in phrases)


@EVERY_DECODER
def test_without_phrases_it_is_a_plain_beam(family: Family) -> None:
    decoder, start = family(5)
    beam, rules = Beam(size=3, n_best=3), [SuppressTokens([BEGIN])]
    problem = SearchProblem(decoder, start(range(3)), limits([9, 4, 7]), BEGIN, END, rules)
    allocation = DynamicBeamAllocation(beam.size, END, [[], [], []], SUBWORDS)
    found = [hypotheses[:3] for hypotheses in search_loop(problem, allocation, beam.size, beam.normalize)]
    plain = beam.find(SearchProblem(decoder, start(range(3)), limits([9, 4, 7]), BEGIN, END, rules))
    for some, others in zip(found, plain, strict=True):
        assert_same(some, others)


@EVERY_DECODER
def test_where_the_phrase_is_impossible_there_is_an_output_all_the_same(family: Family) -> None:
    decoder, start = family(6)
    required = [[Phrase(((2, 3, 2),))], [Phrase(((2,),))], []]
    rules = [SuppressTokens([BEGIN, 2])]
    found = Beam(size=2).find(
        SearchProblem(
            decoder, start(range(3)), limits([3, 5, 4]), BEGIN, END, rules, required=required, edges=WHOLE_WORDS
        )
    )
    assert [len(hypotheses) for hypotheses in found] == [1, 1, 1]
    assert torch.isfinite(torch.tensor([h.score for (h,) in found])).all()
