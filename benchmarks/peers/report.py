"""Tables and charts of measurements, and the machine they were made on, into a page of the documentation."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from peers.measurements import Spread

PAGE = Path(__file__).parents[2] / "results" / "speed.md"
PICTURES = Path(__file__).parents[2] / "docs"


def write_between(page: Path, section: str, text: str) -> None:
    """Replace what stands between `<!-- section: begin -->` and `<!-- section: end -->` of a page.

    Raises ValueError where the page lacks one of the marks.
    """
    begin, end = f"<!-- {section}: begin -->\n", f"<!-- {section}: end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{page} lacks the lines {begin.strip()} and {end} between which the figures belong")
    page.write_text(f"{before}{begin}{text.strip()}\n{end}{after}", encoding="utf-8")


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is the head; columns after the first are set right."""
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def draw_bars(bars: Mapping[str, Spread], unit: str, picture: Path) -> None:
    """A bar a system, the first on top, with its median and a line from the least to the most; SVG, always alike."""
    with rc_context({"svg.hashsalt": "transduce", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 0.5 + 0.4 * len(bars)), layout="constrained")
        axes = figure.subplots()
        names = list(bars)
        medians = [bars[name].median for name in names]
        ends = [
            [bars[name].median - bars[name].least for name in names],
            [bars[name].most - bars[name].median for name in names],
        ]
        colors = ["#b3541e" if name.startswith("Transduce") else "#8a9ba8" for name in names]
        drawn = axes.barh(names, medians, xerr=ends, color=colors, height=0.65, ecolor="#444444")
        axes.bar_label(drawn, [f"{median:,.0f}" for median in medians], padding=6)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_xlabel(f"{unit} (median; lines from the least to the most)", loc="right")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(picture, metadata={"Date": None})


def describe_machine(threads: int) -> str:
    """Processor, cores, memory, threads, system and date, in one sentence."""
    name = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {name or platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{threads} threads, {platform.system()}, Python {platform.python_version()}."
    )


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []
