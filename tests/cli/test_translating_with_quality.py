"""`transduce translate --quality`."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from small_corpus import small_corpus
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment.building import open_experiment
from transduce.experiment.recipe import recipe_of
from transduce.inference.quality import quality_model
from transduce.inference.quality.regression import FEWEST
from transduce.tasks.translation import learn_quality

pytest.importorskip("rapidfuzz")
Transduce = Callable[..., tuple[int, str, str]]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Past edits in a file of the working folder, beside texts to translate."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{pair.source}\tDer {pair.target}\t{pair.target}\n" for pair in small_corpus(FEWEST)]
    Path("log.tsv").write_text("".join(rows), encoding="utf-8")
    Path("new.en").write_text("The dog sleeps.\n\nThe cat runs.\n")
    Path("new.md").write_text("# The dog\n\nThe cat runs.\n")
    return Path("log.tsv")


def qualities(lines: str) -> list[dict[str, float] | None]:
    return [json.loads(line)["quality"] for line in lines.splitlines()]


def test_lines_and_segments_have_estimates(transduce: Transduce, tiny_run: Path, log: Path) -> None:
    status, out, err = transduce("translate", tiny_run, "new.en", "--json", "--quality", log)
    first, blank, second = qualities(out)
    assert status == 0 and blank is None and "quality: learned from 30 past edits" in err
    assert first is not None and second is not None and first.keys() == {"edit", "low", "high", "work", "reason"}
    status, *_ = transduce("translate", tiny_run, "new.md", "-o", "out.md", "--log", "segments", "--quality", log)
    assert status == 0
    assert all(estimate is not None for estimate in qualities(Path("segments").read_text()))


def test_too_few_edits_are_reported(transduce: Transduce, tiny_run: Path, log: Path) -> None:
    log.write_text("a\tb\tc\n" * 3)
    status, out, err = transduce("translate", tiny_run, "new.en", "--json", "--quality", log)
    assert status == 0 and qualities(out) == [None] * 3
    assert "3 past edits of machine translations are too few to learn from; 30 are needed" in err


def test_a_run_learns_its_quality_from_validation_pairs(
    transduce: Transduce, tiny_run: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, told = recipe_of(tiny_run), []
    assert recipe is not None
    experiment, bundle = open_experiment(recipe, print), ModelBundle.load(tiny_run)
    assert learn_quality.learn_quality(experiment, bundle, told.append) is None
    assert told.pop().startswith("quality: translations get no estimates, which need 100 validation pairs")
    monkeypatch.setattr(learn_quality, "FEWEST_PAIRS", 2)
    monkeypatch.setattr(quality_model, "FEWEST", 2)
    quality = learn_quality.learn_quality(experiment, bundle, told.append)
    assert quality is not None and len(told) == 1 and told[0].startswith("quality: learned from ")
    shutil.copytree(tiny_run / "model", "model")
    quality.save(Path("model"))
    known = [pair.source for pair in small_corpus(2)]
    Path("new.en").write_text("\n\n".join(known) + "\n", encoding="utf-8")
    Path("new.md").write_text("# " + "\n\n".join(known) + "\n", encoding="utf-8")
    status, out, err = transduce("translate", "model", "new.en", "--json")
    first, blank, second = qualities(out)
    assert status == 0 and "quality: of 2 segments" in err and blank is None
    assert first is not None and second is not None and first.keys() == {"edit", "low", "high", "work", "reason"}
    status, _, err = transduce("translate", "model", "new.md", "-o", "out.md", "--log", "segments")
    assert status == 0 and "quality: of 2 segments" in err
    assert all(estimate is not None for estimate in qualities(Path("segments").read_text()))
