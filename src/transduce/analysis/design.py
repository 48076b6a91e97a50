"""The one design of figures and pages: the colours and the font that the pages' style sheet names."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # a server serves pages and draws no figure
    from matplotlib.colors import LinearSegmentedColormap

STYLE_SHEET = "page.css"


@cache
def style_sheet() -> str:
    """Returns the style sheet of the pages."""
    return (resources.files("transduce.analysis") / "pages" / STYLE_SHEET).read_text(encoding="utf-8")


def palettes() -> str:
    """Returns the part of the style sheet that names colours, for light and for dark screens."""
    text, blocks = style_sheet(), []
    for name in (":root", "@media (prefers-color-scheme: dark)"):
        start = text.index(f"\n{name} {{") + 1
        blocks.append(text[start : text.index("\n}", start) + 2])
    return "\n".join(blocks)


@cache
def colours() -> dict[str, str]:
    """Returns the colours of light pages by the names of their variables; a map has several, with commas between."""
    lines = (line.strip().partition(": ") for line in palettes().partition("@media")[0].splitlines())
    return {name[2:]: value.rstrip(";") for name, _, value in lines if value.startswith("#")}


def runs() -> list[str]:
    """Returns colours that distinguish runs, series and measures, in their order."""
    return [value for name, value in colours().items() if name.startswith("run-")]


def colour_map(name: str) -> "LinearSegmentedColormap":
    """Returns the map of heat maps, sequential or diverging; the latter begins with the lowest value."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colours()[name].split(", "))


def figure_style() -> dict[str, Any]:
    """Returns settings of matplotlib for figures that look like the pages."""
    from cycler import cycler

    named = colours()
    quiet = {f"{axis}tick.{part}": named["muted"] for axis in "xy" for part in ("color", "labelcolor")}
    return {
        **quiet,
        "figure.facecolor": named["ground"],
        "axes.facecolor": named["ground"],
        "savefig.facecolor": named["ground"],
        "text.color": named["ink"],
        "axes.titlecolor": named["ink"],
        "axes.labelcolor": named["muted"],
        "axes.edgecolor": named["line"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": named["line"],
        "axes.prop_cycle": cycler(color=runs()),
        "font.size": 9,
        "legend.frameon": False,
    }


@contextmanager
def styled() -> Iterator[None]:
    """Makes a context, or decorator, in which figures have the design."""
    from matplotlib import rc_context

    with rc_context(cast(Any, figure_style())):
        yield
