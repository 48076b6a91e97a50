"""The page that says why a model wrote a word: the answer, the words, the layers and heads, the training pairs."""

from typing import TYPE_CHECKING

from transduce.analysis.page import escape_text, html_table, render_sections

if TYPE_CHECKING:
    from transduce.analysis.why import Why

SHOWN = 12
"""The most words, and the most parts of the model, in a table."""
SIDES = {"context": "The sentences before", "source": "The source", "output": "The output so far"}


def render_why(why: "Why") -> str:
    """Returns the page of an answer; it needs no script."""
    taught, chosen = why.taught, (why.word, why.other)
    ranked = sorted(why.words, key=lambda word: -max(abs(word.left_out), abs(word.gradient)))[:SHOWN]
    words = [[word.text, SIDES[word.side], _shown(word.left_out), _shown(word.gradient)] for word in ranked]
    parts = [[str(part), _shown(part.patched), _shown(part.direct)] for part in why.parts[:SHOWN]]
    pairs = [] if taught is None else [[_shown(pair.similarity), pair.source, pair.target] for pair in taught.nearest]
    changes = [["nothing is changed", why.word.text, _shown(why.difference)]]
    changes += [[each.what, each.writes or "nothing more", _shown(each.difference)] for each in why.changes]
    choices = [[each.text, f"{each.probability:.2g}", f"{each.rank:,}", each.beam or "–"] for each in chosen]
    agreement = "" if why.agreement is None else f"; their rank correlation is {why.agreement:.2f}"
    measured = f"Nats of the difference that go without the word, and its integrated gradients{agreement}."
    carried = "Nats of the causal word that a part carries (patched), and nats that it adds itself (direct)."
    counted = why.lesson + (" These are nearest by the decoder's state before the word." if pairs else "")
    sections = [
        ("Answer", why.answer, _sentences(why)),
        ("What if", "What the model writes instead.", html_table(["change", "writes", "difference"], changes)),
        ("Training pairs", counted, html_table(["cosine", "source", "target"], pairs) if pairs else ""),
        ("Words", measured, html_table(["word", "in", "left out", "gradient"], words)),
        ("Layers and heads", carried, html_table(["part", "patched", "direct"], parts) if parts else ""),
        ("Both words", "At the step at which they part.", html_table(["word", "probability", "rank", "beam"], choices)),
    ]
    return render_sections(why.model, why.title, [section for section in sections if section[2]])


def _sentences(why: "Why") -> str:
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
            blocks.append(f'<p class="label">{name}</p><p class="tokens" dir="auto">{"".join(spans)}</p>')
    key = f"Blue words speak for “{why.word.text}”, orange ones for “{why.other.text}”."
    return f'{"".join(blocks)}<p class="note">{escape_text(key)}</p>'


def _shown(nats: float | None) -> str:
    return "–" if nats is None else f"{nats:+.2f}"
