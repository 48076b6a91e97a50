"""Each score against its formula, written out in numpy one number at a time."""

from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.scores import ScoreKind, build_score

ROWS, QUERIES, KEYS, STATE, SOURCE, HIDDEN = 2, 3, 5, 4, 6, 7
ORTHOGONAL = RecurrentInitialization("orthogonal", 0.1)


def dot(weights: dict[str, Any], s: Any, h: Any) -> float:
    return float(s @ h)


def general(weights: dict[str, Any], s: Any, h: Any) -> float:
    return float(s @ (weights["key.weight"] @ h))


def additive(weights: dict[str, Any], s: Any, h: Any) -> float:
    return float(weights["energy.weight"][0] @ np.tanh(weights["query.weight"] @ s + weights["key.weight"] @ h))


def concat(weights: dict[str, Any], s: Any, h: Any) -> float:
    return float(weights["energy.weight"][0] @ np.tanh(weights["hidden.weight"] @ np.concatenate([s, h])))


FORMULAS = {"dot": dot, "general": general, "additive": additive, "concat": concat}


@pytest.mark.parametrize("kind", get_args(ScoreKind))
@torch.no_grad()
def test_a_score_is_its_formula_at_every_query_and_key(kind: ScoreKind) -> None:
    torch.manual_seed(1)
    source = STATE if kind == "dot" else SOURCE
    score: Any = build_score(kind, STATE, source, HIDDEN, ORTHOGONAL)
    weights = {name: tensor.numpy() for name, tensor in score.state_dict().items()}
    queries, memory = torch.randn(ROWS, 1, QUERIES, STATE), torch.randn(ROWS, KEYS, source)
    found = score(queries, score.project(memory))
    expected = [
        [[[FORMULAS[kind](weights, s, h) for h in memory[row].numpy()] for s in queries[row, 0].numpy()]]
        for row in range(ROWS)
    ]
    assert_close(found, torch.tensor(expected))


@torch.no_grad()
def test_both_written_forms_of_the_additive_score_say_the_same_with_the_same_weights() -> None:
    torch.manual_seed(2)
    summed: Any = build_score("additive", STATE, SOURCE, HIDDEN, ORTHOGONAL)
    concatenated: Any = build_score("concat", STATE, SOURCE, HIDDEN, ORTHOGONAL)
    concatenated.hidden.weight.copy_(torch.cat([summed.query.weight, summed.key.weight], 1))
    concatenated.energy.load_state_dict(summed.energy.state_dict())
    queries, memory = torch.randn(ROWS, 1, QUERIES, STATE), torch.randn(ROWS, KEYS, SOURCE)
    assert_close(summed(queries, summed.project(memory)), concatenated(queries, concatenated.project(memory)))
