"""Choosing an alignment head takes passes that do not grow with the length of the sentences."""

from pathlib import Path
from typing import Any

import pytest
import torch

from docsegments.budget import BUDGET, Budget, BudgetError, budgeted
from transduce.analysis import alignment
from transduce.analysis.alignment import LONGEST, choose_head
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.details import find_head

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bundle(tiny_run: Path) -> ModelBundle:
    return ModelBundle.load(tiny_run / "model")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The rows and the tokens of each that occlusion hides tokens of."""
    hidden: list[tuple[int, int]] = []
    real = alignment.occlusion

    def occlusion(model: Any, batch: Any) -> torch.Tensor:
        hidden.append((batch.source.shape[1], batch.target_out.shape[1]))
        return real(model, batch)

    monkeypatch.setattr(alignment, "occlusion", occlusion)
    return hidden


def test_of_a_long_pair_only_the_beginning_is_hidden_token_by_token(
    bundle: ModelBundle, passes: list[tuple[int, int]]
) -> None:
    source, target = [5, 6, 7, 8] * 500, [6, 8, 5] * 500
    assert choose_head(bundle, [(source, target)]) == choose_head(bundle, [(source[:LONGEST], target[:LONGEST])])
    assert passes == [(LONGEST + 1, LONGEST + 1)] * 2


def test_a_head_that_is_chosen_on_enough_text_is_chosen_once(
    bundle: ModelBundle, passes: list[tuple[int, int]]
) -> None:
    sources, targets = [[5, 6, 7] for _ in range(70)], [[6, 8, 5, 7] for _ in range(70)]
    head = find_head(bundle, sources[:2], targets[:2])
    assert find_head(bundle, sources[:2], targets[:2]) == head
    assert len(passes) == 4
    first = find_head(bundle, sources, targets)
    assert len(passes) == 4 + alignment.SAMPLE
    assert find_head(bundle, sources[:1], targets[:1]) is first
    assert len(passes) == 4 + alignment.SAMPLE


def test_choosing_ends_when_nobody_waits_for_it(bundle: ModelBundle, passes: list[tuple[int, int]]) -> None:
    budget = Budget(60)
    token = BUDGET.set(budget)
    try:

        def leave(work: Any) -> Any:
            budget.is_over = len(passes) == 2
            return budgeted(work)()

        with pytest.raises(BudgetError):
            choose_head(bundle, [([5, 6], [7, 8])] * 9, leave)
    finally:
        BUDGET.reset(token)
    assert len(passes) == 2
