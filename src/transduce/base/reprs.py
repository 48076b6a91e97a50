"""Representations of objects: one line, and a small HTML table in notebooks."""

import sys
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")
Facts = Mapping[str, object]
"""The facts shown, by short names; those that are None or empty are left out."""


def shown_by(facts: Callable[[Any], Facts], html: Callable[[Any], str] | None = None) -> Callable[[type[T]], type[T]]:
    """Decorates a class so that its objects show these facts; in a notebook as a table, followed by more HTML."""

    def decorate(shown: type[T]) -> type[T]:
        def text(self: T) -> str:
            return f"{shown.__name__}({', '.join(f'{name}: {fact}' for name, fact in _present(facts(self)))})"

        def page(self: T) -> str:
            rows = "".join(
                f'<tr><th style="text-align: left">{escape(name)}</th>'
                f'<td style="text-align: left">{escape(str(fact))}</td></tr>'
                for name, fact in _present(facts(self))
            )
            return f"<b>{shown.__name__}</b><table>{rows}</table>{'' if html is None else html(self)}"

        shown.__repr__ = text  # type: ignore[assignment, method-assign]
        shown._repr_html_ = page  # type: ignore[attr-defined]
        return shown

    return decorate


def rows_html(headings: list[str], rows: list[list[object]]) -> str:
    """Returns an HTML table with these headings."""
    head = "".join(f'<th style="text-align: left">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td style={chr(34)}text-align: left{chr(34)}>{escape(str(cell))}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def in_notebook() -> bool:
    """Returns True in a notebook, which shows HTML."""
    get_shell: Callable[[], Any] = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return getattr(get_shell(), "kernel", None) is not None


def _present(facts: Facts) -> list[tuple[str, object]]:
    return [(name, fact) for name, fact in facts.items() if fact is not None and fact != ""]
