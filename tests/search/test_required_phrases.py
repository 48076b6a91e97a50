"""What a search keeps of a vocabulary's words from step to step."""

import pytest
from toys import BEGIN, END, limits, recurrent

from operator_calls import OperatorCalls
from transduce.search.beam import Beam
from transduce.search.loop import SearchProblem
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import Banned, BannedPhrases, ForcedPrefixes, Rule

VOCABULARY = 37  # of no other tensor's size


@pytest.mark.parametrize("kind", ["prefix", "ban", "requirement"])
def test_the_edges_of_words_become_a_tensor_once_and_not_at_each_step(kind: str) -> None:
    edges = WordEdges(tuple(token % 3 == 0 for token in range(VOCABULARY)), (True,) * VOCABULARY)
    bans = [[Banned("7", [7])]] * 3
    rules: dict[str, list[Rule]] = {
        "prefix": [ForcedPrefixes([[2, 3], [4], []], edges)],
        "ban": [BannedPhrases(bans, edges, lambda tokens: " ".join(map(str, tokens)))],
        "requirement": [],
    }
    decoder, start = recurrent(1, VOCABULARY)
    longest = limits([9, 9, 9], [9, 9, 9])
    required = [[Phrase(((5, 6),))]] * 3 if kind == "requirement" else []
    problem = SearchProblem(decoder, start(range(3)), longest, BEGIN, END, rules[kind], required=required, edges=edges)
    with OperatorCalls() as calls:
        found = Beam(size=2).find(problem)
    assert all(len(hypothesis.tokens) == 8 for (hypothesis,) in found)  # nine steps with the end
    made_from_python = calls.sizes_given("lift_fresh")
    assert made_from_python and made_from_python.count(VOCABULARY) == 1
