"""One set of facts in several forms: a page, a figure, or numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from docsegments.extras import check_installed
from transduce.base.errors import InputError
from transduce.base.files import new_file

if TYPE_CHECKING:  # drawing takes a second to import
    from matplotlib.figure import Figure

    from transduce.analysis.position_vectors import PositionVectors
    from transduce.analysis.training_log import Curves

FIGURES = (".png", ".svg", ".pdf")
ENDINGS = (".html", *FIGURES, ".json")

DOTS_PER_INCH = 150
LONGEST_SIDE = 65_000  # pixels; matplotlib draws less than 2^16
MOST_PIXELS = 100_000_000
"""The largest picture in pixels, of four bytes each while they are drawn."""


@dataclass(frozen=True)
class Pictures:
    """Makes each form on request."""

    html: Callable[[], str]
    """Makes a page that needs nothing else."""
    figure: Callable[[], "Figure"]
    facts: Callable[[], Any]
    """Makes dicts, lists, numbers and strings."""

    def save(self, path: str | Path) -> str:
        """Writes the form that a file's ending names; see check_ending.

        Returns a line about letters of a figure for which the machine has no font; "" where it has all.
        """
        path = check_ending(path)
        with new_file(path) as new:
            match path.suffix.lower():
                case ".html":
                    new.write_text(self.html(), encoding="utf-8")
                case ".json":
                    new.write_bytes(msgspec.json.encode(self.facts()))
                case ending:
                    return _draw(self.figure, new, ending[1:])
        return ""


def _draw(make: "Callable[[], Figure]", path: Path, form: str) -> str:
    """Saves a figure, with fewer dots per inch where it is too large to be drawn."""
    check_installed("train", "matplotlib")
    from transduce.analysis.fonts import save_figure

    width, height = (float(side) for side in make().get_size_inches())
    dots = min(DOTS_PER_INCH, LONGEST_SIDE / max(width, height), math.sqrt(MOST_PIXELS / (width * height)))
    return save_figure(make, path, dpi=dots, format=form)


def check_ending(path: str | Path) -> Path:
    """Returns the same path; InputError if its ending names no form of pictures."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}")
    return path


def training_pictures(runs: "list[Curves]") -> Pictures:
    """Makes pictures of the curves of runs beside each other."""
    from transduce.analysis.training_log import to_dict

    def html() -> str:
        from transduce.analysis.page import render_training

        return render_training(to_dict(runs))

    def figure() -> "Figure":
        from transduce.analysis.figures import draw_training

        return draw_training(runs)

    return Pictures(html, figure, lambda: to_dict(runs))


def position_pictures(positions: "PositionVectors") -> Pictures:
    """Makes pictures of position encodings and their similarity."""
    check_installed("train", "matplotlib")
    from transduce.analysis.figures import draw_positions

    def html() -> str:
        from transduce.analysis.page import render_positions

        drawn = StringIO()
        draw_positions(positions).savefig(drawn, format="svg")
        svg = drawn.getvalue()
        return render_positions(positions.title, svg[svg.index("<svg") :])

    return Pictures(html, lambda: draw_positions(positions), positions.to_dict)
