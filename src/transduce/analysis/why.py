"""Findings of why a model wrote a word and not another: its causes, their way through the model, and who taught it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transduce.analysis.attribution import rank_correlation
from transduce.analysis.carriers import Carrier
from transduce.analysis.contrast import Side
from transduce.analysis.pictures import Pictures
from transduce.analysis.teaching_pairs import Taught

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDES: dict[Side, str] = {"source": "the source", "context": "the sentences before", "output": "the output so far"}

MEASURES = {"left out": "left_out", "integrated gradients": "gradient"}
"""The names of measures of words, and their fields."""
FAR_LESS = 0.1
"""A share: see `main_cause`."""


@dataclass(frozen=True)
class WordCause:
    """What a word that the model has read does to its choice."""

    text: str
    side: Side
    left_out: float
    """The nats by which the difference of the two words' log-probabilities falls when this word is hidden."""
    gradient: float
    """The integrated gradients of the difference, in nats."""


def main_cause(words: Sequence[WordCause]) -> int | None:
    """Returns the number of the word without which the difference falls most; None if it falls without none.

    A word of the output is itself an effect of the source, and tells the decoder where in the source it is. So one is
    the cause only if the difference falls far less without any word of the source or of the sentences before it.
    """
    best = max(range(len(words)), key=lambda i: words[i].left_out, default=None)
    given = [i for i, word in enumerate(words) if word.side != "output"]
    first = max(given, key=lambda i: words[i].left_out, default=None)
    if best is None or words[best].left_out <= 0:
        return None
    return first if first is not None and words[first].left_out >= FAR_LESS * words[best].left_out else best


@dataclass(frozen=True)
class Choice:
    """One of the two words at the step at which the model decided."""

    text: str
    token: str
    """The token by which the words differ there, as the vocabulary spells it."""
    probability: float
    rank: int
    """The rank of the token, 1 for the likeliest."""
    beam: str | None
    """The state of the token in the beam (`chosen`, `finished`, `active`, `pruned`); None if it was no candidate, or if
    the output was given."""


@dataclass(frozen=True)
class Change:
    """What the model writes after a change."""

    what: str
    writes: str
    difference: float
    """The difference of both words' log-probabilities after the change, in nats."""


@dataclass(frozen=True)
class Why:
    """An answer to the question why a model wrote a word and not another."""

    model: str
    source: str
    context: Sequence[str]
    target: str
    word: Choice
    other: Choice
    difference: float
    """The difference of the two words' log-probabilities where they part, in nats."""
    words: list[WordCause]
    """The words that the model had read, in their order."""
    gradient_error: float
    """The difference between the sum of the gradients and what they should add up to."""
    parts: list[Carrier]
    """The parts of the model, those that carry most of the cause first; empty where no word is one."""
    changes: list[Change]
    taught: Taught | None
    """What the training pairs say; None where they are unknown."""
    no_pairs: str = ""
    """Why the training pairs are unknown."""

    @property
    def cause(self) -> WordCause | None:
        """The word that counts most; see `main_cause`."""
        number = main_cause(self.words)
        return None if number is None else self.words[number]

    @property
    def head(self) -> Carrier | None:
        """The head that carries most of the cause; None if there is none."""
        return next((part for part in self.parts if part.head is not None and part.patched > 0), None)

    @property
    def agreement(self) -> float | None:
        """The rank correlation of gradients and leaving out over the words, -1 to 1."""
        return rank_correlation(*map(self._of, MEASURES))

    def _of(self, measure: str) -> NDArray[np.float64]:
        return np.array([getattr(word, MEASURES[measure]) for word in self.words])

    @property
    def title(self) -> str:
        """The question."""
        return f"Why “{self.word.text}” and not “{self.other.text}”?"

    @property
    def doubt(self) -> str:
        """Sentences on a word of the output that counts more, and on the disagreement of gradients; blank for none."""
        cause, doubts = self.cause, []
        if cause is None:
            return ""
        before = max(self.words, key=lambda word: word.left_out)
        if before is not cause:
            doubts.append(f"Its own “{before.text}” before it counts more ({before.left_out:+.2f}).")
        best = max((word for word in self.words if word.side == cause.side), key=lambda word: word.gradient)
        if best is not cause:
            doubts.append(f"Gradients disagree: they name “{best.text}”.")
        return " ".join(doubts)

    @property
    def answer(self) -> str:
        """The answer in a few sentences."""
        word, other, cause = self.word.text, self.other.text, self.cause
        if cause is None:
            because = f"The model wrote “{word}” rather than “{other}”, and no single word made it: without each the "
            because += f"difference of {self.difference:+.2f} nats grows."
        else:
            without = self.difference - cause.left_out
            because = (
                f"The model wrote “{word}” rather than “{other}” because of “{cause.text}” in {SIDES[cause.side]}: "
            )
            because += f"without it the difference falls from {self.difference:+.2f} to {without:+.2f} nats."
        return " ".join(filter(None, [because, self.doubt, self._way(), self._lesson(), self._closeness()]))

    def _way(self) -> str:
        best = self.head
        return "" if best is None else f"Of all heads, {best} carries most of that ({best.patched:+.2f})."

    def _lesson(self) -> str:
        taught, cause, word = self.taught, self.cause, self.word.text
        if taught is None:
            return self.no_pairs
        if not taught.with_word:
            return f"None of the {taught.pairs:,} training pairs has “{word}”: the model put it together."
        if cause is None or not taught.word_and_cause:
            beside = "" if cause is None else f", none of them beside “{cause.text}”"
            return f"Of {taught.pairs:,} training pairs {taught.with_word:,} have “{word}”{beside}."
        return (
            f"Of {taught.with_cause:,} training pairs with “{cause.text}”, {taught.word_and_cause:,} have “{word}” and "
            f"{taught.other_and_cause:,} “{self.other.text}”."
        )

    def _closeness(self) -> str:
        other = self.other
        beam = {None: "", "chosen": ""}.get(other.beam, f", in the beam: {other.beam}")
        return f"“{other.text}” had probability {other.probability:.2g} there (rank {other.rank:,}{beam})."

    def __str__(self) -> str:
        """Returns the answer, the changes and the nearest training pairs."""
        lines = [self.answer, *(f"  {change.what}: “{change.writes}”" for change in self.changes)]
        if self.taught is not None:
            lines += [f"  {pair.similarity:.2f}  {pair.source}  |  {pair.target}" for pair in self.taught.nearest]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Returns all findings as numbers, lists and strings, with the answer and the cause."""
        cause = None if self.cause is None else asdict(self.cause)
        return asdict(self) | {"answer": self.answer, "cause": cause, "agreement": self.agreement}

    def html(self) -> str:
        """Returns the page, which needs nothing else."""
        from transduce.analysis.why_page import render_why

        return render_why(self)

    def pictures(self) -> Pictures:
        """Returns the same findings as a page, a figure or numbers."""

        def figure() -> "Figure":
            from transduce.analysis.figures import draw_why

            return draw_why(self.title, [word.text for word in self.words], {name: self._of(name) for name in MEASURES})

        return Pictures(self.html, figure, self.to_dict)

    def save(self, path: str | Path) -> None:
        """Writes the page (.html), a figure (.png, .svg, .pdf) or the numbers (.json), by the file's ending."""
        self.pictures().save(path)
