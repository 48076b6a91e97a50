"""Findings of why a model wrote a word and not another: its causes, their way through the model, and who taught it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transduce.analysis.attribution import rank_correlation
from transduce.analysis.carriers import Carrier
from transduce.analysis.contrast import InputWord, Side
from transduce.analysis.page import escape_text, html_table, render_sections
from transduce.analysis.pictures import Pictures
from transduce.analysis.teaching_pairs import Taught

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 12
"""The most words, and the most parts of the model, in a table of the page."""
SIDES: dict[Side, str] = {"context": "the sentences before", "source": "the source", "output": "the output so far"}


@dataclass(frozen=True)
class Choice:
    """One of the two words, at the step at which they part."""

    text: str
    token: str
    """The token by which the words differ there, as the vocabulary spells it."""
    probability: float
    rank: int
    """The rank of the token, 1 for the likeliest."""
    beam: str | None
    """The token's state in the beam, see `SearchNode`; None where the search did not consider it."""


@dataclass(frozen=True)
class Change:
    """A change, the word that the model then writes, and by how many nats the first word is then more probable."""

    what: str
    writes: str
    difference: float


def strongest(words: Sequence[InputWord], cause: InputWord | None) -> list[InputWord]:
    """Returns the words that count most, by leaving out or by gradients: the cause, and then the others."""
    ranked = sorted(words, key=lambda word: (word != cause, -max(abs(word.left_out), abs(word.gradient))))
    return ranked[:SHOWN]


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
    words: list[InputWord]
    """The words that the model had read, in their order."""
    cause: InputWord | None
    """The word that counts most, see `main_cause`; None if no word speaks for what was written."""
    gradient_error: float | None
    """The difference between the sum of the gradients and what they should add up to; None if there are none."""
    parts: list[Carrier]
    """The parts of the model, those that carry most of the cause first; empty where no word is one."""
    changes: list[Change]
    taught: Taught | None
    """Counts of the words in the training pairs; None where the pairs are unknown."""
    no_pairs: str
    """Why the training pairs are unknown."""

    @property
    def title(self) -> str:
        """The question."""
        return f"Why “{self.word.text}” and not “{self.other.text}”?"

    @property
    def agreement(self) -> float | None:
        """The rank correlation of gradients and leaving out over the words, -1 to 1."""
        return rank_correlation(*(np.array(values) for values in self._measures().values()))

    @property
    def telling(self) -> list[Change]:
        """The changes after which the model writes another word."""
        return [change for change in self.changes if change.writes != self.word.text]

    @property
    def tried(self) -> str:
        """A sentence on how many changes were tried."""
        many = f"{len(self.telling) or 'none'} of {len(self.changes)}"
        return f"It writes another word after {many} changes, each of one word or one head."

    @property
    def answer(self) -> str:
        """The answer in a few sentences."""
        other, told = self.other, f"The model wrote “{self.word.text}” rather than “{self.other.text}”"
        if (cause := self.cause) is None:
            told += f", and no word speaks for it: without any, the {self.difference:+.2f} nats between them grow."
        else:
            named = f"“{cause.text}” in {SIDES[cause.side]}"
            is_most = cause.left_out >= abs(self.difference) / 2
            told += f" because of {named}" if is_most else f", and no single word explains it; {named} counts most"
            without = self.difference - cause.left_out
            told += f": without it the difference falls from {self.difference:+.2f} to {without:+.2f} nats."
            first = max(self.words, key=lambda word: word.left_out)
            if first != cause:
                told += f" Its own “{first.text}” before it counts more ({first.left_out:+.2f})."
            steepest = max((word for word in self.words if word.side == cause.side), key=lambda word: word.gradient)
            if self.gradient_error is not None and steepest != cause:
                told += f" Gradients disagree: they name “{steepest.text}”."
        head = next((part for part in self.parts if part.head is not None and part.patched > 0), None)
        if head is not None:
            told += f" Of all heads, {head} carries most of that ({head.patched:+.2f})."
        beam = "" if other.beam is None else f", {other.beam} in the beam"
        likely = f"“{other.text}” had probability {other.probability:.2g} there (rank {other.rank:,}{beam})."
        return " ".join(filter(None, [told, self.lesson, likely]))

    @property
    def lesson(self) -> str:
        """A sentence on how many training pairs have the words."""
        taught, word = self.taught, self.word.text
        if taught is None:
            return self.no_pairs
        if not taught.with_word:
            return f"None of the {taught.pairs:,} training pairs has “{word}”: the model put it together."
        if self.cause is None:
            return f"Of {taught.pairs:,} training pairs {taught.with_word:,} have “{word}”."
        both = f"{taught.word_and_cause:,} have “{word}” and {taught.other_and_cause:,} “{self.other.text}”"
        return f"Of {taught.with_cause:,} training pairs with “{self.cause.text}”, {both}."

    def __str__(self) -> str:
        """Returns the answer, the changes and the nearest training pairs."""
        lines = [
            self.answer,
            self.tried,
            *(f"  {change.what}: {change.writes or 'nothing more'}" for change in self.telling),
        ]
        nearest = [] if self.taught is None else self.taught.nearest
        return "\n".join([*lines, *(f"  {pair.similarity:.2f}  {pair.source}  |  {pair.target}" for pair in nearest)])

    def to_dict(self) -> dict[str, Any]:
        """Returns all findings as numbers, lists and strings, with the answer."""
        return asdict(self) | {"answer": self.answer, "agreement": self.agreement}

    def pictures(self) -> Pictures:
        """Returns the same findings as a page, a figure or numbers, which `save` writes."""

        def figure() -> "Figure":
            from transduce.analysis.figures import draw_why

            return draw_why(self.title, [word.text for word in self.words], self._measures())

        return Pictures(lambda: _page(self), figure, self.to_dict)

    def _measures(self) -> dict[str, list[float]]:
        return {
            "left out": [word.left_out for word in self.words],
            "integrated gradients": [word.gradient for word in self.words],
        }


def _page(why: Why) -> str:
    """Returns the page of an answer; it needs no script."""
    taught, chosen = why.taught, (why.word, why.other)
    is_brief = why.gradient_error is None
    ranked = strongest(why.words, why.cause)
    words = [[w.text, SIDES[w.side], _shown(w.left_out), _shown(None if is_brief else w.gradient)] for w in ranked]
    parts = [[str(part), _shown(part.patched), _shown(part.direct)] for part in why.parts[:SHOWN]]
    pairs = [] if taught is None else [[f"{pair.similarity:.2f}", pair.source, pair.target] for pair in taught.nearest]
    plain = Change("nothing is changed", why.word.text, why.difference)
    choices = [[each.text, f"{each.probability:.2g}", f"{each.rank:,}", each.beam or "–"] for each in chosen]
    agreement = "" if why.agreement is None else f"; their rank correlation is {why.agreement:.2f}"
    measured = f"Nats of the difference that go without the word, and its integrated gradients{agreement}."
    carried = "Nats of the causal word that a part carries (patched), and nats that it adds itself (direct)."
    counted = why.lesson + (" These are nearest by the decoder's state before the word." if pairs else "")
    sections = [
        ("Answer", why.answer, _sentences(why)),
        (
            "What if",
            why.tried,
            _changes([plain, *why.telling])
            + f"<details><summary>All changes</summary>{_changes(why.changes)}</details>",
        ),
        ("Training pairs", counted, html_table(["cosine", "source", "target"], pairs) if pairs else ""),
        ("Words", measured, html_table(["word", "in", "left out", "gradient"], words)),
        ("Layers and heads", carried, html_table(["part", "patched", "direct"], parts) if parts else ""),
        ("Both words", "At the step at which they part.", html_table(["word", "probability", "rank", "beam"], choices)),
    ]
    return render_sections(why.model, why.title, [section for section in sections if section[2]])


def _changes(changes: Sequence[Change]) -> str:
    rows = [[change.what, change.writes or "nothing more", _shown(change.difference)] for change in changes]
    return html_table(["change", "writes", "difference"], rows)


def _sentences(why: Why) -> str:
    """Returns the words that the model had read, each tinted by how far the difference falls without it."""
    largest = max((abs(word.left_out) for word in why.words), default=0) or 1
    blocks = []
    for side, name in SIDES.items():
        spans = []
        for word in why.words:
            colour, share = "accent" if word.left_out > 0 else "second", 60 * abs(word.left_out) / largest
            tint = f"background: color-mix(in srgb, var(--{colour}) {share:.0f}%, var(--surface))"
            if word.side == side:
                spans.append(f'<span class="token ends-word" style="{tint}">{escape_text(word.text)}</span>')
        if side == "output":
            spans.append(f'<strong class="token">{escape_text(why.word.text)}</strong>')
        if spans:
            label = f'<p class="label">{name[0].upper()}{name[1:]}</p>'
            blocks.append(f'<div class="block">{label}<p class="tokens" dir="auto">{"".join(spans)}</p></div>')
    key = f"Blue words speak for “{why.word.text}”, orange ones for “{why.other.text}”."
    return f'{"".join(blocks)}<p class="note">{escape_text(key)}</p>'


def _shown(nats: float | None) -> str:
    return "–" if nats is None else f"{nats:+.2f}"
