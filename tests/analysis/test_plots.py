"""Pictures show what the log says."""

from pathlib import Path

from matplotlib.image import imread

from transduce.analysis.plots import plot_training_curves


def test_the_curves_of_a_run_are_drawn(tiny_run: Path, tmp_path: Path) -> None:
    plot_training_curves(tiny_run / "log.jsonl", tmp_path / "curves.png")
    picture = imread(tmp_path / "curves.png")[..., :3]
    for colour in ((0x44, 0x77, 0xAA), (0xEE, 0x66, 0x77)):  # training and validation
        near = abs(picture * 255 - colour).max(-1) < 3
        assert near.sum() > 100
