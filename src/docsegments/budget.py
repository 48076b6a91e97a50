"""A budget of processor time for what one client asks for, which ends with the client.

A server gives each request a budget. Work in threads runs within it (`budgeted`), and calls `check` between its steps.
Work that has no steps, as reading a document in a library, belongs into a process, which can be killed.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from docsegments.user_errors import UserError

P = ParamSpec("P")
T = TypeVar("T")


class BudgetError(UserError):
    """Work was given up: its budget is spent, or nobody waits for it any more."""


@dataclass(eq=False)
class Budget:
    """Processor time that all threads together may use for one request."""

    seconds: float
    spent: float = 0.0
    is_over: bool = False
    """True once nobody waits for the work."""


BUDGET: ContextVar[Budget | None] = ContextVar("budget", default=None)
"""The budget of the request that is being answered; None without a limit."""
_began: ContextVar[float | None] = ContextVar("began", default=None)
"""The processor time of this thread when its work for the request began."""


def budgeted(work: Callable[P, T]) -> Callable[P, T]:
    """Returns work for another thread, whose processor time counts for the request that is being answered now."""
    budget = BUDGET.get()
    if budget is None:
        return work

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        began = time.thread_time()
        tokens = BUDGET.set(budget), _began.set(began)
        try:
            check()
            return work(*args, **kwargs)
        finally:
            BUDGET.reset(tokens[0])
            _began.reset(tokens[1])
            budget.spent += time.thread_time() - began

    return run


def check() -> None:
    """Raises BudgetError if the work of this thread is to end; call it between steps of some milliseconds."""
    budget, began = BUDGET.get(), _began.get()
    if budget is None or began is None:
        return
    if budget.is_over:
        raise BudgetError("nobody waits for this work any more")
    if budget.spent + time.thread_time() - began > budget.seconds:
        raise BudgetError(f"this needs more than {budget.seconds:g} seconds of processor time; send less at once")
