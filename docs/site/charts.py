"""Draws tables of results and of other pages as bars: SVG that takes its colours from the page around it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDTH, LINE, BAR, GAP = 480, 19, 12, 9
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
INTERVAL = re.compile(r"[(\[](-?[\d,.]+)(?:,| to) (-?[\d,.]+)[)\]]")


@dataclass(frozen=True)
class Chart:
    """A picture of one table of a page."""

    title: str
    text: str
    page: str
    """The page that has the table, from the repository's root."""
    heading: str
    """The heading of the section whose first table with the columns is drawn."""
    columns: Sequence[str]
    """The columns drawn, by their headings."""
    labels: Sequence[str] = ("",)
    """The columns that name a row; one without a heading is the first."""


CHARTS = [
    Chart(
        "Training, beside other toolkits",
        "Target tokens a second of the same Transformer on two cores of a processor; more is faster. Lines "
        "are from the slowest to the fastest round. Marian is MarianMTModel of Hugging Face's transformers.",
        "results/speed.md",
        "The Transformer of `multi30k-words`",
        ("target tokens a second",),
        ("", "precision"),
    ),
    Chart(
        "Translating, beside other engines",
        "Sentences a second of the same weights on two cores, beam of 4; more is faster. Marian is Hugging Face's.",
        "results/speed.md",
        "Translating",
        ("sentences a second",),
        ("", "precision"),
    ),
    Chart(
        "Every attention",
        "BLEU after ten minutes at equal numbers of parameters, German to English.",
        "docs/recurrent.md",
        "Compared",
        ("BLEU",),
        ("attention",),
    ),
    Chart(
        "A general model learns captions",
        "BLEU on the new text and on the old one: what a thousand pairs gain, and what they cost.",
        "results/adaptation.md",
        "Adapting a general model",
        ("captions", "Tatoeba"),
        ("BLEU, German to English",),
    ),
    Chart(
        "Training on one GPU",
        "Target tokens a second on an NVIDIA H200, in bfloat16; more is faster.",
        "results/speed.md",
        "One GPU",
        ("target tokens a second",),
        ("training",),
    ),
]


@dataclass(frozen=True)
class Bar:
    """A value, and the interval around it if it has one."""

    value: float
    shown: str
    interval: tuple[float, float] | None


def cells(line: str) -> list[str]:
    """Returns the cells of a table's line."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] if line.startswith("|") else []


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yields the tables of a text, each as lists of cells, without the line below its headings."""
    table: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if row := cells(line):
            table.append(row)
        elif table:
            yield [table[0], *table[2:]]
            table = []


def rows_of(chart: Chart) -> list[tuple[str, list[Bar]]]:
    """Returns the label and the bars of each row; ValueError where the page has no such table."""
    text = (ROOT / chart.page).read_text(encoding="utf-8")
    section = re.search(rf"^(#+) {re.escape(chart.heading)}$(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    for table in tables(section[2]) if section else ():
        if {*chart.columns, *chart.labels} <= set(table[0]):
            labels = [table[0].index(name) for name in chart.labels]
            values = [table[0].index(name) for name in chart.columns]
            rows = [(", ".join(row[i] for i in labels), [bar(row[i]) for i in values]) for row in table[1:]]
            bars_of = [(label.replace("`", ""), [bar for bar in bars if bar]) for label, bars in rows if any(bars)]
            return [(label, bars) for label, bars in bars_of if not label.startswith("minutes")]  # another unit
    raise ValueError(f"{chart.page}: no table with {chart.columns} under '{chart.heading}'")


def bar(cell: str) -> Bar | None:
    """Returns the first number of a cell and the interval after it, or None where it has no number."""
    if not (number := NUMBER.search(cell)):
        return None
    if between := re.fullmatch(r"([\d.]+) to ([\d.]+)", cell):
        low, high = float(between[1]), float(between[2])
        return Bar((low + high) / 2, cell, (low, high))
    value = float(number[0].replace(",", ""))
    if found := INTERVAL.search(cell):
        return Bar(value, number[0], (float(found[1].replace(",", "")), float(found[2].replace(",", ""))))
    return Bar(value, number[0], None)


def draw(chart: Chart) -> str:
    """Returns the SVG of a chart."""
    rows = rows_of(chart)
    largest = max(
        max(bar.value, *(bar.interval or ())) if bar.interval else bar.value for _, bars in rows for bar in bars
    )
    longest = max(len(bar.shown) for _, bars in rows for bar in bars)
    scale = (WIDTH - max(70, 10 * longest)) / largest
    parts, y = [], 0
    for label, bars in rows:
        y += LINE
        parts.append(f'<text x="0" y="{y - 5}">{escape(label)}</text>')
        for number, bar in enumerate(bars):
            name = f"{label}, {chart.columns[number]}: {bar.shown}"
            parts.append(
                f'<rect class="series-{number}" x="0" y="{y}" width="{bar.value * scale:.1f}" height="{BAR}">'
                f"<title>{escape(name)}</title></rect>"
            )
            end = bar.value
            if bar.interval:
                low, high = bar.interval
                end = max(end, high)
                parts.append(
                    f'<path d="M{low * scale:.1f} {y + BAR / 2}H{high * scale:.1f}M{low * scale:.1f} {y + 3}v{BAR - 6}'
                    f'M{high * scale:.1f} {y + 3}v{BAR - 6}"/>'
                )
            parts.append(f'<text class="value" x="{end * scale + 6:.1f}" y="{y + BAR - 2}">{escape(bar.shown)}</text>')
            y += BAR + 2
        y += GAP
    legend = "".join(
        f'<span><i class="series-{number}"></i>{escape(name)}</span>' for number, name in enumerate(chart.columns)
    )
    picture = f'<svg viewBox="0 0 {WIDTH} {y}" role="img" aria-label="{escape(chart.title)}">{"".join(parts)}</svg>'
    caption = f"<figcaption>{legend}</figcaption>" if len(chart.columns) > 1 else ""
    return f'<figure class="chart">{caption}{picture}</figure>'


def markdown() -> str:
    """Returns the page of charts for the site."""
    sections = [
        "# Results at a glance\n",
        "Each chart is drawn from a table, which has the command, the machine and the date beside it.\n",
    ]
    for chart in CHARTS:
        anchor = re.sub(r"[^\w\- ]", "", chart.heading.replace("`", "").lower()).replace(" ", "-")
        page = chart.page.removeprefix("docs/")
        sections.append(f"## {chart.title}\n\n{chart.text} [The table]({page}#{anchor})\n\n{draw(chart)}\n")
    return "\n".join(sections)
