"""Pictures show what the log says, whatever runs and tokens are called, and however long a text is."""

import re
import warnings
from importlib import resources
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread

import transduce
from transduce.analysis.design import colours, palettes, runs, style_sheet
from transduce.analysis.figures import _width_of, draw_look, draw_positions, draw_training
from transduce.analysis.pictures import Pictures, position_pictures
from transduce.analysis.plots import heat_map, plot_training_curves, readable
from transduce.analysis.position_vectors import PositionVectors
from transduce.analysis.training_log import Curves, Series
from transduce.search.beam import Beam

FORMULA = "a$\\frac$b"  # which no formula is


def test_the_curves_of_a_run_are_drawn(tiny_run: Path, tmp_path: Path) -> None:
    plot_training_curves(tiny_run / "log.jsonl", tmp_path / "curves.png")
    picture = imread(tmp_path / "curves.png")[..., :3]
    for colour in runs()[:2]:  # training and validation
        near = abs(picture * 255 - np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])).max(-1) < 3
        assert near.sum() > 100


def test_all_that_a_run_has_logged_is_drawn() -> None:
    series = Series([1, 2], [0.5, 0.7])
    figure = draw_training([Curves("run", dict.fromkeys(("accuracy", "loss", "macro f1"), series))])
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "accuracy", "macro f1"]


def test_figures_and_both_pages_have_the_colours_of_one_style_sheet() -> None:
    assert colours()["accent"] in style_sheet() and len(runs()) == len(set(runs())) >= 6
    names = set(re.findall(r"var\(--([\w-]+)\)", style_sheet()))
    served = (resources.files("transduce.apps.serving") / "pages" / "page.css").read_text(encoding="utf-8")
    for sheet, own in ((style_sheet(), ""), (served, served)):
        wanted = set(re.findall(r"var\(--([\w-]+)\)", sheet))
        assert wanted <= set(re.findall(r"--([\w-]+):", palettes() + own + style_sheet() * (not own)))
    assert names
    figure = draw_training([Curves("run", {"loss": Series([1, 2], [3.0, 2.0])})])
    (axes,) = figure.axes
    assert to_hex(axes.get_facecolor()) == to_hex(figure.get_facecolor()) == colours()["ground"]
    assert to_hex(axes.lines[0].get_color()) == runs()[0]
    image = heat_map(Figure().subplots(), np.array([[0.0, 1.0]]), ["a"], ["b", "c"])
    ends = [to_hex(image.cmap(value)) for value in (0.0, 1.0)]
    assert ends == [colours()["sequential"].split(", ")[at] for at in (0, -1)]


def test_rows_of_a_map_to_the_source_are_what_is_written_and_the_legend_has_what_is_drawn(tiny_run: Path) -> None:
    look = transduce.load(tiny_run).look("The dog sleeps.", search=Beam(size=2, max_extra=3, max_ratio=0.0))
    figure = draw_look(look)
    (axes, *_) = [axes for axes in figure.axes if axes.get_title().startswith("target to source")]
    assert [label.get_text() for label in axes.get_yticklabels()] == [readable(token) for token in look.target.tokens]
    (tree,) = [axes for axes in figure.axes if axes.get_xlabel() == "step"]
    legend = tree.get_legend()
    assert look.search is not None and legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {node.state for node in look.search.nodes}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_panels_leave_no_hole(count: int) -> None:
    series = Series([1, 2], [0.5, 0.7])
    figure = draw_training([Curves("run", {f"score {n}": series for n in range(count)})])
    figure.savefig(BytesIO(), format="png", dpi=20)
    area = sum(axes.get_subplotspec().get_position(figure).width for axes in figure.axes)
    lines = -(-count // 2)
    assert area == pytest.approx(lines * (0.775 if count == 1 else area / lines), abs=0.2)
    last = figure.axes[-1].get_subplotspec()
    assert last.colspan.stop == 2


def test_the_legend_repeats_no_axis_and_names_what_there_are_several_of() -> None:
    def legends(runs: list[Curves]) -> list[list[str]]:
        found = [axes.get_legend() for axes in draw_training(runs).axes]
        return [[] if one is None else [text.get_text() for text in one.get_texts()] for one in found]

    series = Series([1, 2], [3.0, 2.0])
    kinds = {"loss": series, "validation loss": series, "learning rate": series}
    assert legends([Curves("a", kinds)]) == [["loss", "validation loss"], []]
    assert legends([Curves(name, {"perplexity": series}) for name in "ab"]) == [["a", "b"]]


def test_a_run_that_has_logged_nothing_has_a_figure() -> None:
    written = BytesIO()
    draw_training([Curves("run", {})]).savefig(written, format="png", dpi=20)
    assert written.getvalue().startswith(b"\x89PNG")


def test_any_name_of_a_run_is_in_the_legend() -> None:
    runs = [Curves(name, {"perplexity": Series([1, 2], [9.0, 7.0])}) for name in (FORMULA, "_begun")]
    figure = draw_training(runs)
    figure.savefig(BytesIO(), format="svg")
    (legend,) = (axes.get_legend() for axes in figure.axes)
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == [FORMULA.replace("$", r"\$"), "_begun"]


def test_any_name_of_a_model_is_above_its_positions() -> None:
    positions = PositionVectors(f"{FORMULA}</title><b>", np.eye(3, 5))
    draw_positions(positions).savefig(BytesIO(), format="svg")
    page = position_pictures(positions).html()
    assert "<b>" not in page
    assert f"<title>{FORMULA}&lt;/title&gt;&lt;b&gt;</title>" in page


def test_a_figure_too_large_to_be_drawn_has_fewer_dots(tmp_path: Path) -> None:
    pictures = Pictures(str, lambda: Figure(figsize=(600, 0.5)), dict)
    pictures.save(tmp_path / "long.png")
    height, width = imread(tmp_path / "long.png").shape[:2]
    assert 60_000 < width < 2**16
    assert height == pytest.approx(width / 1200, abs=1)


def test_letters_that_no_font_has_are_no_warning(tmp_path: Path) -> None:
    def figure() -> Figure:
        drawn = Figure(figsize=(2, 2))
        heat_map(drawn.subplots(), np.ones((1, 1)), ["\U0001f642"], ["\U00020000"])
        return drawn

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pictures(str, figure, dict).save(tmp_path / "signs.png")
    assert (tmp_path / "signs.png").stat().st_size > 0


def test_labels_of_a_long_search_have_room_beside_each_other() -> None:
    def look_of(steps: int, token: str) -> Any:
        nodes = [SimpleNamespace(step=step, token=token) for step in range(steps)]
        return SimpleNamespace(search=SimpleNamespace(nodes=nodes))

    widths = [_width_of(look_of(steps, token)) for steps, token in ((3, "ab"), (60, "ab"), (60, "abcdefghij"))]
    for width, (steps, letters) in zip(widths, ((3, 2), (60, 2), (60, 10)), strict=True):
        assert width / steps > 6 / 72 * 0.6 * letters  # letters of 6 points, of which 72 are an inch
