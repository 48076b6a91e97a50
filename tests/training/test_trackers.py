"""Runs in MLflow, Weights & Biases, Trackio and Aim, by their own packages on this machine."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from transduce.base.errors import InputError
from transduce.training.observers import Report
from transduce.training.trackers import OBSERVERS, WatchedRun

SETTINGS = {"training.updates": 4, "optimizer.kind": "adam"}


def report(update: int) -> Report:
    return Report(update, 4, 0.5, 1.0 / update, 1e-3, 2.0, 100.0, 0.1, 3.0)


def watch(name: str, folder: Path, updates: range, resumed_after: int) -> None:
    observer = OBSERVERS.find(name)(WatchedRun(folder, SETTINGS, resumed_after))
    for update in updates:
        observer.report(report(update))
    observer.validated(updates[-1], {"loss": 0.5}, True)
    observer.close()


def mlflow_run(folder: Path) -> tuple[dict[str, Any], dict[int, float]]:
    client = importlib.import_module("mlflow").MlflowClient()
    (found,) = client.search_runs([client.get_experiment_by_name("transduce").experiment_id])
    assert (found.info.status, found.info.run_name) == ("FINISHED", folder.name)
    history = client.get_metric_history(found.info.run_id, "training/loss")
    return found.data.params, {point.step: point.value for point in history}


def trackio_run(folder: Path) -> tuple[dict[str, Any], dict[int, float]]:
    package = importlib.import_module("trackio")
    (found,) = package.Api().runs("transduce")
    rows = package.SQLiteStorage.get_logs("transduce", found.name)
    return found.config, {row["step"]: row["training/loss"] for row in rows if "training/loss" in row}


def aim_run(folder: Path) -> tuple[dict[str, Any], dict[int, float]]:
    hashes = importlib.import_module("aim").Repo(str(Path.cwd())).list_all_runs()
    assert hashes == [(folder / ".id-in-aim").read_text()]
    found = importlib.import_module("aim").Run(hashes[0])
    (curve,) = [metric for metric in found.metrics() if metric.name == "training/loss"]
    steps, columns = curve.data.items_list()
    return found["settings"], dict(zip(steps, columns[0], strict=True))


READ: dict[str, Callable[[Path], tuple[dict[str, Any], dict[int, float]]]] = {
    "mlflow": mlflow_run,
    "trackio": trackio_run,
    "aim": aim_run,
}


@pytest.mark.parametrize("name", READ)
def test_a_run_that_goes_on_is_one_run_of_the_tracker(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no data base
    folder = tmp_path / "captions"
    folder.mkdir()
    watch(name, folder, range(1, 3), 0)
    watch(name, folder, range(3, 5), 2)
    settings, points = READ[name](folder)
    assert str(settings["training.updates"]) == "4"
    assert points == pytest.approx({1: 1.0, 2: 0.5, 3: 1 / 3, 4: 0.25})


def test_weights_and_biases_keeps_a_run_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    folder = tmp_path / "captions"
    folder.mkdir()
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    watch("wandb", folder, range(1, 3), 0)
    (kept,) = (folder / "wandb").glob("offline-run-*/run-*.wandb")
    assert kept.stem.removeprefix("run-") == (folder / ".id-in-wandb").read_text()
    content = kept.read_bytes()
    assert b"training/loss" in content and b"validation/loss" in content and b"optimizer.kind" in content


def test_a_tracker_that_is_not_installed_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aim", None)
    with pytest.raises(InputError, match=r"observer 'aim': .*pip install 'transduce\[tracking\]'"):
        OBSERVERS.find("aim")(WatchedRun(tmp_path, {}, 0))
