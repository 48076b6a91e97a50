"""Parts of a served project that may be absent: what learns, what looks at terms, what estimates quality."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from transduce.inference.translator import Translation, Translator
from transduce.projects.project import Project
from transduce.projects.report import Course, render_report
from transduce.text.glossary import Glossary


@dataclass(frozen=True)
class TermUse:
    """A term that a sentence asks for, and whether the translation has it."""

    source: str
    target: str
    met: bool
    why: str
    """Reason in a few words, such as "missing"."""


@dataclass(frozen=True)
class EditEstimate:
    """The share of a translation's words that a person will edit, 0 to 1, with an interval."""

    edit: float
    low: float
    high: float


class Learning(Protocol):
    """Adapts a model to a project in the background."""

    def changed(self, project: Project) -> None:
        """Says that a segment was confirmed or taken back; returns at once."""

    def adapted(self, project: Project, translator: Translator) -> Translator:
        """Returns the translator with what was learned so far; returns at once."""

    def facts(self, project: Project) -> dict[str, Any]:
        """Returns facts for JSON: `learned`, the number of the last segment that was learned, and others."""

    def report(self, project: Project) -> str:
        """Returns a page in HTML that shows what was learned, by segment."""

    def close(self) -> None:
        """Ends what learns; what it has not learned is learned after the next start."""


class Terms(Protocol):
    """Knows the forms of a project's terms, and looks for them in translations."""

    def glossary(self, project: Project) -> Glossary | None:
        """Returns the project's glossary with forms of its terms, at once; None without any."""

    def __call__(self, project: Project, source: str, translation: str) -> list[TermUse]:
        """Returns the terms that a sentence asks for."""

    def close(self) -> None:
        """Ends what learns forms."""


class QualityEstimate(Protocol):
    """Estimates how much of a translation a person will edit."""

    def __call__(self, project: Project, source: str, translations: Sequence[Translation]) -> EditEstimate | None:
        """Estimates it for a segment and the translations of its sentences; None with too little to learn it from."""


class NoLearning:
    """Leaves every model as it is."""

    def changed(self, project: Project) -> None:
        """Does nothing."""

    def adapted(self, project: Project, translator: Translator) -> Translator:
        """Returns the translator as it is."""
        return translator

    def facts(self, project: Project) -> dict[str, Any]:
        """Says that nothing was learned."""
        return {"learned": 0}

    def report(self, project: Project) -> str:
        """Says that nothing was learned."""
        return render_report(project.name, Course([], [], []))

    def close(self) -> None:
        """Does nothing."""


def no_estimate(project: Project, source: str, translations: Sequence[Translation]) -> EditEstimate | None:
    """Estimates nothing."""
    return None


@dataclass(frozen=True)
class ProjectParts:
    """What a server does for its projects beside remembering."""

    terms: Terms
    learning: Learning = field(default_factory=NoLearning)
    quality: QualityEstimate = no_estimate
