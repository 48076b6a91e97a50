"""The page that says why a model wrote a word: the answer, the words, the layers and heads, the training pairs."""

from collections.abc import Sequence

from transduce.analysis.carriers import Carrier
from transduce.analysis.page import escape_text, html_table, render_sections
from transduce.analysis.why import SIDES, Why, WordCause

SHOWN = 12
"""The most words, and the most parts of the model, in a table."""


def render_why(why: Why) -> str:
    """Returns the page of an answer; it needs no script."""
    explained = f"Blue: the word speaks for “{why.word.text}”; orange: for “{why.other.text}”. Nats, by leaving it out."
    ranked = sorted(why.words, key=lambda word: -max(abs(word.left_out), abs(word.gradient)))[:SHOWN]
    agreement = "" if why.agreement is None else f" Rank correlation over all words: {why.agreement:.2f}."
    measured = (
        "Fall of the difference of log-probabilities without the word, and its integrated gradients, in nats."
        f"{agreement} {why.doubt}"
    )
    sections = [("Answer", why.answer, _sentence(why, explained)), ("Words", measured, _measures(ranked))]
    if why.parts:
        through = "What a part carries of the causal word (patched), and adds by itself (direct), in nats."
        sections.append(("Layers and heads", through, _parts(why.parts)))
    sections.append(("Training pairs", *_pairs(why)))
    sections.append(("What if", f"What the model writes in place of “{why.word.text}”.", _changes(why)))
    return render_sections(why.model, why.title, sections)


def _sentence(why: Why, explained: str) -> str:
    largest = max((abs(word.left_out) for word in why.words), default=0) or 1
    blocks = []
    for side, name in SIDES.items():
        words = [
            f'<span class="token ends-word" title="{word.left_out:+.2f}" style="background: {_tint(word.left_out, largest)}">'
            f"{escape_text(word.text)}</span>"
            for word in why.words
            if word.side == side
        ]
        if side == "output":
            words.append(f'<strong class="token">{escape_text(why.word.text)}</strong>')
        if words:
            blocks.append(f'<div class="block"><p class="label">{name[0].upper()}{name[1:]}</p>')
            blocks.append(f'<p class="tokens" dir="auto">{"".join(words)}</p></div>')
    return f'{"".join(blocks)}<p class="note">{escape_text(explained)}</p>'


def _tint(value: float, largest: float) -> str:
    colour = "accent" if value > 0 else "second"
    return f"color-mix(in srgb, var(--{colour}) {60 * abs(value) / largest:.0f}%, var(--surface))"


def _measures(words: Sequence[WordCause]) -> str:
    rows = []
    columns = [[word.left_out for word in words], [word.gradient for word in words]]
    for number, word in enumerate(words):
        cells = "".join(f"<td>{_bar(column, number)}</td>" for column in columns)
        rows.append(
            f'<tr><th scope="row" dir="auto">{escape_text(word.text)}</th><td>{SIDES[word.side]}</td>{cells}</tr>'
        )
    names = "".join(f'<th scope="col">{name}</th>' for name in ("Word", "In", "Left out", "Gradient"))
    return f'<div class="scroll measures"><table><thead><tr>{names}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _bar(values: Sequence[float], number: int) -> str:
    low, high = min(0.0, *values), max(0.0, *values)
    unit, value = 100 / ((high - low) or 1), values[number]
    kind = ' class="is-negative"' if value < 0 else ""
    bar = f"left: {(min(value, 0) - low) * unit:.1f}%; width: {abs(value) * unit:.1f}%"
    return (
        f'<div class="measure"><div class="track"><b style="left: {-low * unit:.1f}%"></b><i{kind} style="{bar}"></i></div>'
        f'<span class="number">{value:+.2f}</span></div>'
    )


def _parts(parts: Sequence[Carrier]) -> str:
    rows = [[str(part), round(part.patched, 2), part.direct and round(part.direct, 2)] for part in parts[:SHOWN]]
    return html_table(["Part", "Patched", "Direct"], rows)


def _pairs(why: Why) -> tuple[str, str]:
    taught = why.taught
    if taught is None:
        return why.no_pairs or "The training pairs are unknown.", ""
    counts = (
        f"Of {taught.pairs:,} training pairs, {taught.with_word:,} have “{why.word.text}” and {taught.with_other:,} "
        f"“{why.other.text}”."
    )
    if why.cause is not None:
        counts += (
            f" Beside “{why.cause.text}”, which {taught.with_cause:,} have, it is {taught.word_and_cause:,} and "
            f"{taught.other_and_cause:,}."
        )
    rows = [[f"{pair.similarity:.2f}", pair.source, pair.target] for pair in taught.nearest]
    return f"{counts} The nearest, by the decoder's state:", html_table(["Cosine", "Source", "Target"], rows)


def _changes(why: Why) -> str:
    rows: list[list[str | float | None]] = [["as it is", why.word.text, why.difference]]
    rows += [[change.what, change.writes, change.difference] for change in why.changes]
    choices = [[choice.text, choice.probability, choice.rank, choice.beam or "–"] for choice in (why.word, why.other)]
    return html_table(["Change", "Writes", "Difference, nats"], rows) + html_table(
        ["Word", "Probability there", "Rank", "In the beam"], choices
    )
