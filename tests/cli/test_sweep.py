"""A sweep trains every combination once, and tells what each is worth."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.base.config import differences
from transduce.experiment.recipe import load_recipe
from transduce.experiment.sweep import split_values

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]


def test_values_are_parted_at_commas_outside_of_brackets_and_quotes() -> None:
    assert split_values("1e-3, 2e-3") == ["1e-3", "2e-3"]
    assert split_values("[0.9, 0.98],[0.9,0.999]") == ["[0.9, 0.98]", "[0.9,0.999]"]
    assert split_values("{kind = 'a,b', x = 1},\"c,d\"") == ["{kind = 'a,b', x = 1}", '"c,d"']


def test_every_combination_is_trained_once_and_compared_with_the_first(
    transduce: Command, recipe_file: Path, tmp_path: Path
) -> None:
    command = [
        "sweep",
        recipe_file,
        "training.updates=4,8",
        "optimizer.learning_rate=1e-2",
        "checkpoint.every_updates=4",
    ]
    command += ["--seeds", 2, "--out", tmp_path / "all", "--metric", "chrf"]
    status, output, errors = transduce(*command, "--json")
    assert status == 0, errors
    found = json.loads(output)
    assert [cell["settings"] for cell in found["cells"]] == [{"training.updates": "4"}, {"training.updates": "8"}]
    assert [[one["seed"] for one in cell["trained"]] for cell in found["cells"]] == [[1, 2], [1, 2]]
    first, second = found["cells"]
    assert first["against_first"] is None
    scores = [one["score"] for one in second["trained"]]
    assert second["score"]["mean"] == pytest.approx(sum(scores) / 2)
    assert second["score"]["standard_deviation"] == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5)
    assert set(second["against_first"]) == {"difference", "interval", "bootstrap_p", "randomization_p"}
    assert (found["size"], found["unit"]) == (17, "sentences")
    logs = {path: path.stat().st_mtime_ns for path in (tmp_path / "all").rglob("checkpoints")}
    assert len(logs) == 4
    status, output, errors = transduce(*command)
    assert status == 0, errors
    assert errors.count("nothing is left to train") == 4
    assert {path: path.stat().st_mtime_ns for path in logs} == logs
    assert "training.updates=8\n  chrF" in output
    assert max(map(len, output.splitlines()[2:-1])) <= 110
    assert output.splitlines()[-1].startswith("A difference is of scores over all seeds' outputs together")
    status, table, errors = transduce(*command, "--format", "markdown", "--quiet")
    assert status == 0, errors
    mean, spread = first["score"]["mean"], first["score"]["standard_deviation"]
    assert table.splitlines()[0] == "| system | chrF | perplexity |"
    assert table.splitlines()[2].startswith(f"| training.updates=4 | {mean:.2f} ± {spread:.2f} | ")
    assert "| training.updates=8 minus training.updates=4 | chrF | " in table
    assert "Scores are means over 2 seeds ± standard deviation." in table
    status, table, _ = transduce(*command, "--format", "csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [float(row["value"]) for row in rows if row["metric"] == "chrF" and not row["minus"]] == [
        cell["score"]["mean"] for cell in found["cells"]
    ]
    status, _, errors = transduce(*command, "--format", "csv", "--json")
    assert (status, errors) == (2, "transduce: --json and --format exclude each other; leave one of them out\n")


def test_a_training_that_diverges_is_reported_and_the_others_go_on(
    transduce: Command, recipe_file: Path, tmp_path: Path
) -> None:
    status, output, _ = transduce(
        *("sweep", recipe_file, "training.updates=6", "training.report_every=1", "optimizer.learning_rate=1e30,1e-3"),
        *("checkpoint.every_updates=3", "--out", tmp_path / "all"),
    )
    assert status == 0
    assert "optimizer.learning_rate=1e30\n  BLEU - (1 diverged)" in output
    assert "against the first" not in output


def test_models_of_both_cases_and_of_one_are_all_scored_case_insensitively(
    transduce: Command, recipe_file: Path, tmp_path: Path
) -> None:
    status, output, errors = transduce(
        *("sweep", recipe_file, "tokenizer.lowercase=false,true", "training.updates=10", "search.size=1"),
        *("search.max_ratio=2.0", "search.max_extra=50"),  # as evaluate has them
        *("--metric", "chrf", "--out", tmp_path / "all", "--json"),
    )
    assert status == 0, errors
    found = json.loads(output)
    assert "case:lc" in found["signature"]
    for cell in found["cells"]:
        (trained,) = cell["trained"]
        alone = transduce("evaluate", trained["run"], "--beam-size", 1, "--lowercase", "--json")[1]
        assert trained["score"] == pytest.approx(json.loads(alone)["chrf"]["score"])


def test_two_files_are_swept_with_settings_that_are_chosen_once(
    transduce: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["model.dim=8", "model.encoder_layers=1", "model.decoder_layers=1", "validation.every_updates=4"]
    command = ["sweep", corpus / "train.en", corpus / "train.de", "training.updates=3,4", *small]
    command += ["--test", corpus / "test.en", corpus / "test.de", "--validation", corpus / "dev.en", corpus / "dev.de"]
    status, output, errors = transduce(*command, "--json")
    assert status == 0, errors
    assert errors.count("all settings but those that are swept") == 1
    found = json.loads(output)
    assert [cell["settings"]["training.updates"] for cell in found["cells"]] == ["3", "4"]
    assert found["size"] == len((corpus / "test.en").read_text(encoding="utf-8").splitlines())
    folder = tmp_path / "runs" / "train-sweep"
    chosen = (folder / "recipe.toml").read_text(encoding="utf-8")
    runs = [load_recipe(folder / f"training.updates={n}" / "seed-1").config for n in (3, 4)]
    assert set(differences(*runs)) == {"training.updates"}
    status, _, errors = transduce(*command)
    assert status == 0, errors
    assert errors.count("nothing is left to train") == 2
    assert (folder / "recipe.toml").read_text(encoding="utf-8") == chosen
