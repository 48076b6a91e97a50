"""`transduce shortlist`, and the verbs that use what it learns."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file

Command = Callable[..., tuple[int, str, str]]
FILE = "shortlist.safetensors"


@pytest.fixture
def run(tiny_run: Path, corpus: Path, tmp_path: Path) -> Path:
    """A copy of a run, where a shortlist may be put; its settings name files beside the copy."""
    shutil.copytree(tiny_run, tmp_path / "runs" / "tiny")
    settings = tmp_path / "runs" / "tiny" / "experiment.toml"
    text = settings.read_text(encoding="utf-8")
    for file in corpus.glob("*.??"):
        text = text.replace(next(word for word in text.split('"') if word.endswith(file.name)), str(file))
    settings.write_text(text, encoding="utf-8")
    return tmp_path / "runs" / "tiny"


def test_a_run_learns_from_its_training_data_and_translates_with_it(
    transduce: Command, run: Path, corpus: Path
) -> None:
    status, output, errors = transduce("shortlist", run, "--per-token", 5, "--frequent", 3, "--json")
    assert status == 0, errors
    found = json.loads(output)
    assert (found["pairs"], found["of_pairs"], found["validation"]["pairs"]) == (120, 120, 23)
    assert found["shortlist"] == str(run / "model" / FILE)
    assert 0.5 < found["validation"]["covered"] <= found["training"]["covered"] <= 1
    assert found["validation"]["list_size"] < found["vocabulary"]
    assert "learning from 120 of 120 sentence pairs" in errors

    source, reference = corpus / "test.en", corpus / "test.de"
    for options in (("--shortlist",), ("--shortlist", "--precision", "int8")):
        status, output, errors = transduce("translate", run, source, *options, "--max-extra", 9)
        assert (status, output.count("\n")) == (0, 17), errors
    files = ("--source", source, "--reference", reference, "--beam-size", 1)
    assert transduce("evaluate", run, *files, "--shortlist")[0] == 0
    assert transduce("compare", run, reference, *files, "--shortlist", "--quiet")[0] == 0


def test_a_model_learns_from_text_of_its_own_as_it_does_from_its_run(
    transduce: Command, run: Path, corpus: Path, tmp_path: Path
) -> None:
    sides, files = [corpus / "train.en", corpus / "train.de"], [tmp_path / name for name in ("a", "b", "c")]
    lines = zip(*(side.read_text(encoding="utf-8").splitlines() for side in sides), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in lines), encoding="utf-8")
    shutil.copytree(run / "model", tmp_path / "elsewhere")
    status, output, errors = transduce(
        "shortlist", tmp_path / "elsewhere", "--source", sides[0], "--target", sides[1], "--out", files[0], "--quiet"
    )
    assert (status, errors) == (0, "")
    assert (
        "learned from 120 of 120 sentence pairs\ntext it was learned from, 120 pairs: a sentence's list has" in output
    )
    assert f"the shortlist is {files[0]}" in output
    assert transduce("shortlist", tmp_path / "elsewhere", "--pairs", tmp_path / "pairs.tsv", "--out", files[1])[0] == 0
    assert "validation data, 23 pairs" in transduce("shortlist", run / "model", "--out", files[2])[1]
    first, *others = (load_file(file) for file in files)
    assert all((first[name] == other[name]).all() for other in others for name in ("lists", "always"))
    assert transduce("translate", run, corpus / "test.en", "--shortlist-file", files[0], "--beam-size", 1)[0] == 0


def test_what_cannot_be_learned_or_used_is_one_line_and_exit_2(
    transduce: Command, run: Path, corpus: Path, tmp_path: Path
) -> None:
    source, elsewhere = corpus / "test.en", tmp_path / "elsewhere"
    shutil.copytree(run / "model", elsewhere)
    (tmp_path / "there").write_text("mine")
    assert transduce("export", run, "-o", tmp_path / "exported")[0] == 0
    assert transduce("shortlist", run, "--out", tmp_path / "good")[0] == 0
    for arguments, told in (
        (("shortlist", run, "--source", source), "give --source and --target, or --pairs, or none"),
        (("shortlist", run, "--source", source, "--target", source, "--pairs", source), "or none of them"),
        (("shortlist", run, "--out", tmp_path / "there"), "there exists; remove it or choose another file"),
        (("shortlist", run, "--out", tmp_path / "no" / "where"), "where: its folder does not exist"),
        (
            ("shortlist", elsewhere),
            "is not in a run's folder, so its training data are unknown; give source and target, or pairs",
        ),
        (("shortlist", tmp_path / "exported"), "which only supports translation; use the original model"),
        (("translate", run, source, "--shortlist"), "no such shortlist; learn one with: transduce shortlist"),
        (("evaluate", run, "--source", source, "--reference", source, "--shortlist"), "no such shortlist"),
        (("translate", run, source, "--shortlist", "--shortlist-file", tmp_path / "good"), "exclude each other"),
        (("translate", run, source, "--shortlist-file", tmp_path / "there"), "is damaged, or no shortlist"),
        (
            ("translate", tmp_path / "exported", source, "--shortlist-file", tmp_path / "good"),
            "is an exported model, which takes no shortlist; leave it out",
        ),
    ):
        status, output, errors = transduce(*arguments)
        assert (status, output, errors.count("\n")) == (2, "", 1), (arguments, errors)
        assert told in errors
    assert (tmp_path / "there").read_text() == "mine"
