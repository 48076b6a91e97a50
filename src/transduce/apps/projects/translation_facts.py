"""Facts about a translation of a served project, and the learner beside it, which may be absent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transduce.apps.projects.project import Project
from transduce.apps.projects.report import Course, render_report
from transduce.evaluation.edit_rate import ReliabilityBin
from transduce.inference.translator import Translator


@dataclass(frozen=True)
class TermUse:
    """A term that a sentence asks for, and whether the translation has it."""

    source: str
    target: str
    met: bool
    why: str
    """Reason in a few words, such as "missing"."""


class Learning:
    """Adapts a model to a project in the background; this one leaves every model as it is."""

    def changed(self, project: Project) -> None:
        """Says that a segment was confirmed or taken back, or that a project was opened: what was learned from one that
        was taken back is no longer used. Reads the project's file."""

    def adapted(self, project: Project, translator: Translator) -> Translator:
        """Returns the translator with what was learned so far; returns at once."""
        return translator

    def facts(self, project: Project) -> dict[str, Any]:
        """Returns facts for JSON: `learned`, the number of the last segment that was learned, and others."""
        return {"learned": 0}

    def report(self, project: Project, reliability: Sequence[ReliabilityBin] = ()) -> str:
        """Returns a page in HTML that shows what was learned, by segment, and how good estimates of edits are."""
        return render_report(project.name, Course([], [], [], reliability=reliability))

    def close(self) -> None:
        """Ends what learns; what it has not learned is learned after the next start."""
