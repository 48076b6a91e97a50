"""Runs' folders: to go on with, to average, to list; each file of a checkpoint damaged in each way."""

from typing import Any

from bad_inputs.damages import (
    append,
    copy,
    cut,
    empty,
    fifo,
    flip,
    folder,
    garbage,
    remove,
)
from bad_inputs.row import Damage, Row, row

LAST, BEFORE = "run/checkpoints/000006", "run/checkpoints/000004"
RESUME = "train tiny.toml training.updates=8 --out run --resume -q"


def _resume(words: str | tuple[str, ...], *damages: Damage, **options: Any) -> Row:
    return row(RESUME, words, *damages, leaves=("run/experiment.toml",), **options)


def _list(*damages: Damage, shows: str = "damaged", **options: Any) -> Row:
    """One damaged run among others: the others are listed, and this one is called so."""
    return row("runs .", "", *damages, status=0, harmless=True, shows=shows, **options)


ROWS = [
    # A checkpoint to go on from, or to average
    _resume("000006", remove(f"{LAST}/bundle")),
    _resume("000006", flip(f"{LAST}/bundle/weights.safetensors")),
    _resume("000006", cut(f"{LAST}/optimizer.safetensors")),
    _resume("000006", garbage(f"{LAST}/progress.json")),
    _resume("000006", copy(f"{BEFORE}/progress.json", f"{LAST}/progress.json")),
    row(RESUME, "", remove(f"{LAST}/progress.json"), status=0, harmless=True, leaves=("run/*",)),
    row("average run --out out", "run", flip(f"{LAST}/bundle/weights.safetensors")),
    # The run's own files
    row(RESUME, "log.jsonl", folder("run/log.jsonl"), status=(1, 2), leaves=("run/*",)),
    _resume("run/inputs.json", empty("run/inputs.json")),
    # Data that changed since
    _resume("contents have changed since run was started", append("train.en", "More.\n")),
    # Lists of runs
    _list(remove(f"{LAST}/progress.json"), shows="run"),
    _list(empty("run/experiment.toml")),
    _list(fifo("run/experiment.toml"), seconds=15),
]
