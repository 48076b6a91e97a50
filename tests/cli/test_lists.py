"""Lists fit the terminal, tell names whole and as they are, and show what differs."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from transduce.apps.cli.listing import print_list

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("width", [10, 40, 80])
def test_a_list_fits_the_terminal_and_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names, long = ["a", "exp[red]x", "[/y]", "日本語"], "one two three four five six"
    print_list({"name": names, "n": ["0", "7", "14", "21"], "more": [long, "", "x", "y"]}, wrapped=["more"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name        n  more"
    assert all(cell_len(line) <= max(width, 35) for line in lines)
    assert [line for line in lines if line.startswith(("exp", "[/y]", "日本語"))] == [
        "exp[red]x   7",
        "[/y]       14  x",
        "日本語     21  y",
    ]
    assert " ".join(line[14:].strip() for line in lines[1:-3]).strip() == long


@pytest.fixture
def some_runs(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of one task: of different seeds and dropout, test scores and names."""
    monkeypatch.chdir(tmp_path)
    for number, (name, bleu) in enumerate([("exp[red]x", 20.0), ("deeper/[/y]", 30.0), (f"{'long-' * 9}name", None)]):
        run = Path("runs") / name
        shutil.copytree(tiny_run, run)
        settings = (run / "experiment.toml").read_text(encoding="utf-8").replace("seed = 1", f"seed = {number}")
        up = "../" * len(run.parts)  # to where the files stand, seen from the run
        settings = re.sub(r'"[^"]*/(\w+)\.(en|de)"', rf'"{up}\1.\2"', settings)
        settings = settings.replace("\ndropout = 0.1", f"\ndropout = 0.{number}1")
        (run / "experiment.toml").write_text(settings, encoding="utf-8")
        history = json.loads((run / "model" / "history.json").read_text())
        history["test"]["bleu"] = bleu
        (run / "model" / "history.json").write_text(json.dumps(history if bleu else {**history, "test": None}))
    return tmp_path


def test_runs_are_listed_whole_at_eighty_columns_best_first(
    transduce: Command, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, output, _ = transduce("runs")
    assert status == 0
    assert all(len(line) <= 80 for line in output.splitlines()), output
    names = [line.split()[0] for line in output.splitlines() if line.startswith("runs/")]
    assert names == ["runs/deeper/[/y]", "runs/exp[red]x", f"runs/{'long-' * 9}name"]
    assert "the runs differ in 1 setting; --settings shows all" in output and "dropout" not in output
    output = transduce("runs", "--settings")[1]
    assert re.findall(r"    model.dropout +(0.\d+)", output) == ["0.11", "0.01", "0.21"]
    monkeypatch.setenv("COLUMNS", "200")
    heading, best, *_ = transduce("runs")[1].splitlines()[1:]
    assert heading.split() == ["run", "seed", "state", "updates", "time", "perplexity", "BLEU", "dropout"]
    assert best.split()[:4] == ["runs/deeper/[/y]", "1", "finished", "30"]
    assert best.split()[-2:] == ["30.0", "0.11"]


def test_each_run_has_one_line_where_its_name_leaves_room(
    transduce: Command, some_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(f"runs/{'long-' * 9}name", "runs/short")
    for columns in (72, 80, 90, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = transduce("runs")[1].splitlines()
        assert len([line for line in lines if line.startswith("runs/")]) == 3
        assert len(lines) == 5 + ("shows all" in lines[-1]), lines
        assert all(len(line) <= columns for line in lines)


def test_runs_are_sorted_as_asked(transduce: Command, some_runs: Path) -> None:
    found = [line for line in transduce("runs", "--sort", "name")[1].splitlines() if line.startswith("runs/")]
    assert [name.split()[0] for name in found] == sorted(name.split()[0] for name in found)


def test_many_settings_that_differ_are_shown_if_asked(transduce: Command, some_runs: Path) -> None:
    experiment = some_runs / "runs" / "exp[red]x" / "experiment.toml"
    text = experiment.read_text(encoding="utf-8")
    experiment.write_text(re.sub(r"(?m)^(\w+ = )(\d+)$", r"\g<1>7\2", text), encoding="utf-8")
    _, output, errors = transduce("runs")
    assert errors == ""
    assert "the runs differ in" in output
    assert "max_positions" not in output
    assert re.search(r"max_positions +71024", transduce("runs", "--settings")[1])


def test_a_folder_without_runs_says_so(transduce: Command, tmp_path: Path) -> None:
    assert transduce("runs", tmp_path) == (0, f"there are no runs in {tmp_path}\n", "")


def test_the_data_sets_are_listed_whole_at_eighty_columns(transduce: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = transduce("data", "list")[1]
    assert all(len(line) <= 80 for line in output.splitlines()), output
    for name in ("tatoeba-eng-fra", "tinyshakespeare", "research and"):
        assert name in output


def test_info_prints_names_as_they_are(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_run / "model", model)
    history = json.loads((model / "history.json").read_text())
    written = json.dumps({**history, "data": "exp[red]x [/y] :smile:"})
    (model / "history.json").write_text(written)
    probe = json.loads((model / "probe.json").read_text())
    del probe["sha256"]["history.json"]
    (model / "probe.json").write_text(json.dumps(probe))
    status, output, errors = transduce("info", model)
    assert (status, errors) == (0, "")
    assert "exp[red]x [/y] :smile:" in output


def test_a_damaged_run_is_reported_below_the_list(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    for name in ("sound", "damaged"):
        shutil.copytree(tiny_run, tmp_path / name)
    (tmp_path / "damaged" / "checkpoints" / "000030" / "progress.json").write_text("{")
    status, output, _ = transduce("runs", tmp_path)
    assert status == 0
    assert "finished" in output
    assert output.splitlines()[-1].startswith(f"{tmp_path / 'damaged'}: ")
    assert "000030/progress.json is damaged" in output.splitlines()[-1]
