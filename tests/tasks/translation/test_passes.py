"""The training files are read at most three times before the first update."""

from collections import Counter
from pathlib import Path

import pytest

from small_corpus import small_corpus
from transduce.base.task_table import find_task
from transduce.corpora import formats
from transduce.experiment import load_recipe
from transduce.training.distributed import Processes

PAIRS = 210


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of pairs that were read, by file."""
    counts: Counter[str] = Counter()
    two_files = formats._two_files

    def counted(source, target):
        for pair in two_files(source, target):
            counts[Path(source).stem] += 1
            yield pair

    monkeypatch.setattr(formats, "_two_files", counted)
    return counts


def prepared(recipe_file: Path, folder: Path, changes: dict[str, object]):
    pairs = small_corpus(PAIRS)
    for language, side in (("en", "source"), ("de", "target")):
        text = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
        (folder / f"many.{language}").write_text(text, encoding="utf-8")
    changes = {"data.train": [str(folder / "many.en"), str(folder / "many.de")], **changes}
    recipe = load_recipe(str(recipe_file), changes)
    task = find_task(recipe.config.task)
    task.check(recipe.config)
    experiment = task.open(recipe.config, recipe.folder)
    [each.content for each in experiment.inputs]
    made = experiment.prepare(None, Processes(), lambda: 1.0, lambda line: None)
    made.data.largest(1)
    return experiment, made


DRAWN = {"data.validation": None, "data.test": None, "validation.metrics": ["bleu"]}
CLEANED = {"data.cleaning": [{"kind": "duplicates"}, {"kind": "overlap", "of": "pair"}]}


@pytest.mark.parametrize(("changes", "passes"), [({}, 2), (CLEANED, 2), (DRAWN, 3), (DRAWN | CLEANED, 3)])
def test_training_files_are_read_at_most_three_times_before_the_first_update(
    recipe_file, tmp_path, monkeypatch, read, changes, passes
):
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    _, made = prepared(recipe_file, tmp_path, changes)
    assert passes * PAIRS <= read["many"] <= passes * PAIRS + 2, "one pair more to see that there are some"

    before = read["many"]
    made.validator(made.bundle.model)
    assert read["many"] == before, "a validation with metrics reads only what is held out"


def test_each_file_has_a_store_and_one_without_pairs_is_left_out(recipe_file, tmp_path, monkeypatch, read):
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    pairs = small_corpus(PAIRS)
    for language, side in (("en", "source"), ("de", "target")):
        lines = [f"{getattr(pair, side)}\n" for pair in pairs]
        for name, part in (("part-1", lines[:150]), ("part-2", [" \n"]), ("part-3", lines[150:])):
            (tmp_path / f"{name}.{language}").write_text("".join(part), encoding="utf-8")
    files = [str(tmp_path / f"part-?.{language}") for language in ("en", "de")]
    experiment, made = prepared(recipe_file, tmp_path, {"data.train": files})
    assert len(experiment.splits.train[0].corpus.parts) == 3
    assert made.size == f"{PAIRS} sentence pairs"
    assert sum(map(len, made.data.epoch(0).batches)) == PAIRS

    before = read.copy()
    (tmp_path / "part-1.en").write_text("".join(reversed(lines[:150])), encoding="utf-8")
    prepared(recipe_file, tmp_path, {"data.train": files})
    again = read - before
    assert again["part-3"] == PAIRS - 150, "for the vocabulary alone"


def test_another_run_on_the_same_files_only_learns_its_vocabulary(recipe_file, tmp_path, monkeypatch, read):
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    for changes in (DRAWN, DRAWN | {"seed": 2}):
        before = read["many"]
        prepared(recipe_file, tmp_path, changes)
    assert read["many"] - before <= PAIRS + 2
