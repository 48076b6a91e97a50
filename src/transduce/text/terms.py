"""Terms of a glossary that apply to a line, and what became of them in its translation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A term of a line, and how it is to be translated."""

    source: str
    """The glossary's term; empty if it applies to every line."""
    target: str
    """The glossary's translation."""
    forms: tuple[str, ...] = ()
    """Other forms of the translation that may stand in its place."""
    written: str = ""
    """The form of the term that the line has; empty if it is the glossary's."""


@dataclass(frozen=True)
class TermOutcome:
    """A term that was asked for, and whether the translation has it."""

    source: str
    target: str
    met: bool
    form: str = ""
    """The form that the translation has, if it is met."""
    why: str = ""
    """The reason why it is not met."""
