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


@pytest.mark.slow
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
