"""`--validation` and `--test` take one file of pairs or two aligned files, wherever they are on the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.apps.cli.file_options import with_repeated_options
from transduce.experiment import load_recipe

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--test", "a", "b"], ["--test", "a", "--test", "b"]),
        (["x", "y", "--test", "a", "b", "k=v"], ["x", "y", "--test", "a", "--test", "b", "k=v"]),
        (["--test=a", "b", "x", "y"], ["--test=a", "--test", "b", "x", "y"]),
        (["--test", "a.tsv", "x", "y"], ["--test", "a.tsv", "x", "y"]),
        (["--test", "a.jsonl.gz", "k=v"], ["--test", "a.jsonl.gz", "k=v"]),
        (
            ["--test", "a", "--validation", "b", "c", "-q"],
            ["--test", "a", "--validation", "b", "--validation", "c", "-q"],
        ),
        (["--test", "a", "k=v"], ["--test", "a", "k=v"]),
        (["--test", "a", "--", "b"], ["--test", "a", "--", "b"]),
        (["a", "--out", "b", "c"], ["a", "--out", "b", "c"]),
    ],
)
def test_a_second_file_belongs_to_the_option_where_the_first_lacks_a_side(
    given: list[str], expected: list[str]
) -> None:
    assert with_repeated_options(given) == expected


def test_files_of_the_working_folder_are_validated_and_tested_on(
    transduce: Command, corpus: Path, recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, ending in (("train", "en"), ("train", "de"), ("dev", "en"), ("dev", "de")):
        (tmp_path / f"{name}.{ending}").write_bytes((corpus / f"{name}.{ending}").read_bytes())
    sides = [(corpus / f"test.{ending}").read_text(encoding="utf-8").splitlines()[:7] for ending in ("en", "de")]
    (tmp_path / "few.en-de.tsv").write_text(
        "".join("\t".join(pair) + "\n" for pair in zip(*sides, strict=True)), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    held_out = ["--validation", "dev.en", "dev.de", "--test", "few.en-de.tsv"]
    small = ["training.updates=1", "model.dim=24", "model.encoder_layers=1", "model.decoder_layers=1"]
    for words, run in ((["train.en", "train.de"], "files"), ([recipe_file], "recipe")):
        status, output, errors = transduce("train", *words, *held_out, "training.updates=1", *small, "--out", run)
        assert status == 0, errors
        assert "validation data: 23 pairs" in errors
        assert "test data: 7 pairs" in errors
        assert "test BLEU" in output
        data = load_recipe(tmp_path / run).config.data
        assert [(tmp_path / run / str(file)).resolve() for file in data.validation] == [
            tmp_path / "dev.en",
            tmp_path / "dev.de",
        ]


def test_three_files_are_too_many(transduce: Command, tmp_path: Path) -> None:
    status, _, errors = transduce("train", "a", "b", "--test", "c", "d", "--test", "e")
    assert status == 2
    assert "--test takes two aligned files or one file of pairs, not 3" in errors


@pytest.mark.parametrize("named", [["--source-column", "English", "--target-column", "3"], []])
def test_columns_of_a_table_are_named_as_for_translating_it(
    transduce: Command, corpus: Path, tmp_path: Path, named: list[str]
) -> None:
    sides = [(corpus / f"train.{ending}").read_text(encoding="utf-8").splitlines() for ending in ("en", "de")]
    names = "id,English,German\n" if named else "id,en,de\n"
    rows = "".join(f'{n},"{source}","{target}"\n' for n, (source, target) in enumerate(zip(*sides, strict=True)))
    (tmp_path / "pairs.en-de.csv").write_text(names + rows, encoding="utf-8")
    small = ["training.updates=1", "model.dim=24", "model.encoder_layers=1", "model.decoder_layers=1"]
    status, _, errors = transduce("train", tmp_path / "pairs.en-de.csv", *named, *small, "--out", tmp_path / "run")
    assert status == 0, errors
    assert f"data: {len(sides[0])} pairs" in errors
    assert ("columns en and de" in errors) == (not named)


def test_one_column_alone_is_a_mistake(transduce: Command) -> None:
    status, _, errors = transduce("train", "a.csv", "--source-column", "de")
    assert status == 2
    assert "--source-column and --target-column go together" in errors


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("train", "multi30k", "--lernrate", "1e-3"), "optimizer.learning_rate=VALUE"),
        (("sweep", "multi30k", "--batch-tokens", "100"), "batching.target_tokens=VALUE"),
        (("distill", "teacher", "--droput=0.1"), "dropout=VALUE"),
        (("train", "multi30k", "--overwrit"), "--overwrite"),
        (("train", "multi30k", "--qwxz"), "no such option"),
    ],
)
def test_a_setting_that_is_written_as_an_option_is_named(
    transduce: Command, given: tuple[str, ...], meant: str
) -> None:
    status, _, errors = transduce(*given)
    assert status == 2 and errors.count("\n") == 1
    assert meant in errors


def test_the_model_comes_before_the_text(transduce: Command, tiny_run: Path, corpus: Path) -> None:
    status, _, errors = transduce("translate", corpus / "test.en", tiny_run)
    assert status == 2
    assert f"the model comes first: translate {tiny_run} {corpus / 'test.en'}" in errors
