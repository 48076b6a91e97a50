"""Web pages that show a model at work and runs in training: one HTML file each, that needs no network."""

import base64
import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from transduce.analysis.design import style_sheet

LOOK = ("common.js", "output.js", "heatmap.js", "attention.js", "search.js", "leave_out.js", "look.js")
TRAINING = ("common.js", "training.js")

# Nothing may be loaded, not even from the page's own folder; the page holds all that it needs.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Transduce">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}</body>
</html>
"""

SCRIPTED = """\
<noscript><p>This page draws its figures with JavaScript, which is switched off in this browser.</p></noscript>
<div id="page"></div>
<script type="application/json" id="facts">{facts}</script>
<script>
"use strict";
{script}</script>
"""

DRAWN = """\
<div id="page">
<header><p>{kind}</p><h1 dir="auto">{title}</h1></header>
<main><section aria-labelledby="drawing-heading">
<h2 id="drawing-heading">{heading}</h2>
<p class="explanation">{explanation}</p>
<div class="drawing" tabindex="0" role="region" aria-label="{heading}">{drawing}</div>
</section></main>
</div>
"""


SECTION = """\
<section aria-labelledby="part-{number}">
<h2 id="part-{number}">{heading}</h2>
<p class="explanation">{explanation}</p>
{content}</section>
"""


@dataclass(frozen=True)
class Link:
    """A link in a table."""

    address: str
    text: str


def render_look(facts: dict[str, Any]) -> str:
    """Returns the page that shows how a model made one output: confidence, attention, search and leave-out.

    facts: JSON-like values, save for the weights of `attention`, arrays [heads, queries, keys].
    """
    attention = [_attention(entry) for entry in facts["attention"]]
    return _document(f"{facts['model']}: look", LOOK, {**facts, "attention": attention})


def render_training(facts: dict[str, Any]) -> str:
    """Returns the page that shows the training curves of one or several runs."""
    names = ", ".join(run["name"] for run in facts["runs"])
    return _document(f"{names}: training", TRAINING, facts)


def render_positions(title: str, drawing: str) -> str:
    """Returns the page that shows position encodings: a drawing in SVG, which needs no script."""
    body = DRAWN.format(
        kind="Position encodings",
        title=escape_text(title),
        heading="Positions and their likeness",
        explanation="The vector of each position, the dot products of every two, and their mean by distance.",
        drawing=drawing,
    )
    return _page(title, body)


def render_sections(kind: str, title: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """Returns a page without scripts: sections of a heading, an explanation, and content in HTML."""
    parts = [
        SECTION.format(number=number, heading=escape_text(heading), explanation=escape_text(text), content=content)
        for number, (heading, text, content) in enumerate(sections, 1)
    ]
    heading = f'<header><p>{escape_text(kind)}</p><h1 dir="auto">{escape_text(title)}</h1></header>'
    return _page(f"{title}: {kind.lower()}", f'<div id="page">\n{heading}\n<main>\n{"".join(parts)}</main>\n</div>\n')


def drawing(svg: str, label: str) -> str:
    """Returns a drawing in SVG as content of a section."""
    return f'<div class="drawing" tabindex="0" role="region" aria-label="{escape_text(label)}">{svg}</div>'


def html_table(head: Sequence[str], rows: Sequence[Sequence[str | float | Link | None]]) -> str:
    """Returns a table as content of a section; numbers are set right, and a phone puts the cells of a row with several
    texts below one another."""
    cells = "".join(f'<th scope="col">{escape_text(name)}</th>' for name in head)
    lines = [f"<tr>{''.join(map(_cell, row, head))}</tr>" for row in rows]
    is_of_texts = any(sum(isinstance(cell, str) for cell in row) > 1 for row in rows)
    opening = '<table class="stacked">' if is_of_texts else "<table>"
    return f'<div class="scroll">{opening}<thead><tr>{cells}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _document(title: str, scripts: tuple[str, ...], facts: dict[str, Any]) -> str:
    script = "\n".join(_file(name) for name in scripts)
    return _page(title, SCRIPTED.format(facts=json_block(facts), script=script))


def _page(title: str, body: str) -> str:
    return TEMPLATE.format(policy=POLICY, title=escape_text(title), style=style_sheet(), body=body)


def escape_text(text: str) -> str:
    """Escapes text between elements. A folder's name may have bytes that are not UTF-8, which the page cannot hold."""
    return html.escape(text.encode("utf-8", "replace").decode())


def _cell(value: str | float | Link | None, of: str) -> str:
    label = f'data-label="{html.escape(of)}"'
    if isinstance(value, Link):
        return f'<td {label}><a href="{html.escape(value.address)}">{escape_text(value.text)}</a></td>'
    if isinstance(value, str):
        return f'<td {label} dir="auto">{escape_text(value)}</td>'
    return f'<td {label} class="number">{"–" if value is None else f"{value:,.6g}"}</td>'


def _file(name: str) -> str:
    return (resources.files("transduce.analysis") / "pages" / name).read_text(encoding="utf-8")


def json_block(facts: dict[str, Any]) -> str:
    """Writes JSON in ASCII with escaped angle brackets, since a script element ends at any `</script` in a text."""
    text = json.dumps(_finite(facts), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    """Returns the value with None in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _attention(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns the weights of one layer as text: 16 bits are finer than any colour, and a third as long as decimals."""
    weights = np.nan_to_num(np.asarray(entry["weights"], dtype=np.float32)).clip(0, 1)
    _, queries, keys = weights.shape
    levels = np.rint(weights * 65535).astype("<u2")
    heads = [base64.b64encode(head.tobytes()).decode("ascii") for head in levels]
    return {"part": entry["part"], "layer": entry["layer"], "queries": queries, "keys": keys, "heads": heads}
