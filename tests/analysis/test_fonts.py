"""Figures take a font that has their letters, or say which package brings one."""

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from transduce.analysis.fonts import save_figure


def figure() -> Figure:
    drawn = Figure(figsize=(2, 1))
    drawn.text(0.1, 0.5, "שלום")
    return drawn


def test_another_font_of_the_machine_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with mpl.rc_context({"font.family": ["DejaVu Serif"]}):  # which has no Hebrew; DejaVu Sans has
        assert save_figure(figure, tmp_path / "figure.png") == ""


def test_where_there_is_none_a_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    serif = [one for one in font_manager.fontManager.ttflist if one.name == "DejaVu Serif"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", serif)
    with mpl.rc_context({"font.family": ["DejaVu Serif"]}):
        told = save_figure(figure, tmp_path / "figure.png")
    assert "install one, such as Debian's fonts-noto-core" in told and "ש" in told
    assert (tmp_path / "figure.png").is_file()
