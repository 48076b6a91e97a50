"""Looks at a phrase-based model with one sentence: the phrases that its translation is made of, and their rivals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transduce.analysis.pictures import Pictures
from transduce.phrases.phrase_model import Used
from transduce.phrases.table import FEATURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIT = "probability of the output phrase, given the source phrase"
SUMMED = (*FEATURES, "language model", "distance")
"""Features of an output, as they are shown."""


@dataclass(frozen=True)
class PhraseLook:
    """A record of a translation by phrases."""

    model: str
    source: str
    target: str
    phrases: list[Used]
    """The phrases in the order of the output."""
    score: float
    features: list[tuple[str, float, float]]
    """The name of each feature that the score is made of, its sum over the phrases, and its weight."""

    def __str__(self) -> str:
        """Returns a line for each phrase."""
        return "\n".join("{:<32} -> {:<32} {:>6}   {}".format(*row).rstrip() for row in self._rows())

    def html(self) -> str:
        """Returns the page, which needs nothing else."""
        from transduce.analysis.page import Link, html_table, render_sections

        features: list[list[str | float | Link | None]] = [
            [name, total, weight, total * weight] for name, total, weight in self.features
        ]
        parts = [
            (
                "Sentence and output",
                "The words as they are written.",
                html_table(["source", "output"], [[self.source, self.target]]),
            ),
            (
                "Phrases",
                f"The phrases in the order of the output, with the {UNIT}, and the likeliest other ones.",
                html_table(["source", "output", "probability", "others"], self._rows()),
            ),
            (
                "Score",
                f"The sum of features times their weights, {self.score:.2f}, is the highest of the outputs tried.",
                html_table(["feature", "sum", "weight", "of the score"], features),
            ),
        ]
        return render_sections("How phrases translated a sentence", self.model, parts)

    def pictures(self) -> Pictures:
        """Returns the same facts as a page, a figure or numbers."""

        def figure() -> "Figure":
            from transduce.analysis.figures import draw_phrases

            return draw_phrases(self.phrases)

        return Pictures(self.html, figure, self.to_dict)

    def save(self, path: str | Path) -> None:
        """Writes the page (.html), a figure (.png, .svg, .pdf) or the numbers (.json), by the file's ending.

        Raises InputError for another ending.
        """
        self.pictures().save(path)

    def to_dict(self) -> dict[str, Any]:
        """Returns all facts as numbers, lists and strings, which `transduce look -o FILE.json` writes."""
        return asdict(self)

    def _rows(self) -> list[Sequence[str]]:
        return [
            [used.source, used.target, _share(used.probability), _joined(used.alternatives)] for used in self.phrases
        ]


def _joined(alternatives: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{text} {_share(share)}" for text, share in alternatives)


def _share(probability: float | None) -> str:
    return "none" if probability is None else f"{probability:.2f}"
