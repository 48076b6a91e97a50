"""Work for a request ends when its processor time is spent, or when nobody waits for it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from docsegments.budget import BUDGET, Budget, BudgetError, budgeted, check


def _endless() -> None:
    while True:
        check()


def _in_a_thread(budget: Budget) -> None:
    token = BUDGET.set(budget)
    try:
        work = budgeted(_endless)
    finally:
        BUDGET.reset(token)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def test_work_without_end_ends_with_the_budget() -> None:
    budget = Budget(0.05)
    with pytest.raises(BudgetError, match=r"more than 0\.05 seconds of processor time"):
        _in_a_thread(budget)
    assert budget.spent >= 0.05
    with pytest.raises(BudgetError):  # nothing more of the same request begins
        _in_a_thread(budget)


def test_work_ends_when_nobody_waits_for_it() -> None:
    budget = Budget(60)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(_in_a_thread, budget)
        budget.is_over = True
        with pytest.raises(BudgetError, match="nobody waits"):
            working.result(10)


def test_without_a_budget_work_has_no_limit() -> None:
    check()
    assert budgeted(len) is len
