"""Pictures show what the log says, whatever runs and tokens are called, and however long a text is."""

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from transduce.analysis.figures import draw_positions, draw_training
from transduce.analysis.pictures import Pictures, position_pictures
from transduce.analysis.plots import heat_map, plot_training_curves
from transduce.analysis.position_vectors import PositionVectors
from transduce.analysis.training_log import Curves, Series

FORMULA = "a$\\frac$b"  # which no formula is


def test_the_curves_of_a_run_are_drawn(tiny_run: Path, tmp_path: Path) -> None:
    plot_training_curves(tiny_run / "log.jsonl", tmp_path / "curves.png")
    picture = imread(tmp_path / "curves.png")[..., :3]
    for colour in ((0x44, 0x77, 0xAA), (0xEE, 0x66, 0x77)):  # training and validation
        near = abs(picture * 255 - colour).max(-1) < 3
        assert near.sum() > 100


def test_all_that_a_run_has_logged_is_drawn() -> None:
    series = Series([1, 2], [0.5, 0.7])
    figure = draw_training([Curves("run", dict.fromkeys(("accuracy", "loss", "macro f1"), series))])
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "accuracy", "macro f1"]


def test_a_run_that_has_logged_nothing_has_a_figure() -> None:
    written = BytesIO()
    draw_training([Curves("run", {})]).savefig(written, format="png", dpi=20)
    assert written.getvalue().startswith(b"\x89PNG")


def test_any_name_of_a_run_stands_in_the_legend() -> None:
    runs = [Curves(name, {"perplexity": Series([1, 2], [9.0, 7.0])}) for name in (FORMULA, "_begun")]
    figure = draw_training(runs)
    figure.savefig(BytesIO(), format="svg")
    (legend,) = (axes.get_legend() for axes in figure.axes)
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == [FORMULA.replace("$", r"\$"), "_begun"]


def test_any_name_of_a_model_stands_above_its_positions() -> None:
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
