"""Folders of runs tell how far they came."""

import shutil
from pathlib import Path

import msgspec

from transduce.training.run_summary import find_runs


def test_runs_are_found_with_their_state_and_best_scores(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "group" / "finished")
    shutil.copytree(tiny_run, tmp_path / "stopped", ignore=shutil.ignore_patterns("model"))
    begun = tmp_path / "begun"
    begun.mkdir()
    shutil.copy(tiny_run / "experiment.toml", begun)
    runs = {Path(run.run).name: run for run in find_runs(tmp_path)}
    best = msgspec.json.decode((tiny_run / "best.json").read_bytes())["validation"]
    assert runs["finished"].state == "finished"
    assert runs["finished"].updates == 30
    assert runs["finished"].validation == best
    assert runs["finished"].test is not None
    assert (runs["stopped"].state, runs["stopped"].test, runs["stopped"].validation) == ("stopped", None, best)
    assert (runs["begun"].updates, runs["begun"].validation) == (0, {})


def test_a_damaged_run_is_listed_as_such_among_the_others(tiny_run: Path, tmp_path: Path) -> None:
    def damage(name: str, file: str, content: bytes) -> None:
        shutil.copytree(tiny_run, tmp_path / name)
        (tmp_path / name / file).write_bytes(content)

    shutil.copytree(tiny_run, tmp_path / "sound")
    damage("settings", "experiment.toml", b"model = [")
    damage("history", "model/history.json", b'{"test": ')
    damage("scores", "model/history.json", b'{"test": 3}')
    damage("newest", "checkpoints/000030/progress.json", b'{"position": {"scores": {"loss": null}}}')
    damage("older", "checkpoints/000020/progress.json", b"")
    (tmp_path / "folder" / "experiment.toml").mkdir(parents=True)
    runs = {Path(run.run).name: run for run in find_runs(tmp_path)}
    assert {name: run.state for name, run in runs.items()} == {
        "sound": "finished",
        "older": "finished",
        **dict.fromkeys(("settings", "history", "scores", "newest", "folder"), "damaged"),
    }
    for name, file in (
        ("settings", "experiment.toml"),
        ("history", "history.json"),
        ("newest", "000030/progress.json"),
    ):
        problem = runs[name].problem
        assert problem is not None and file in problem and "\n" not in problem
    assert (runs["newest"].updates, runs["settings"].updates) == (20, 30)
