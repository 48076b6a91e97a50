"""`evaluate` and `compare` take models and finished outputs alike; each mistake is one clear line."""

import gzip
import html
import io
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import sacrebleu

from transduce.base.config import to_toml
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora import splits as datasets
from transduce.experiment import load_recipe
from transduce.inference.translator import Translator

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(corpus: Path) -> list[object]:
    """Options that name a test set."""
    return ["--source", corpus / "test.en", "--reference", corpus / "test.de"]


@pytest.fixture
def outputs(tmp_path: Path, corpus: Path) -> Path:
    """A file of outputs, worse than the references in a few lines."""
    lines = (corpus / "test.de").read_text(encoding="utf-8").splitlines()
    lines[2], lines[5] = "Der Hund.", ""
    (tmp_path / "outputs.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path / "outputs.de"


def test_finished_outputs_are_evaluated_without_their_sources(
    transduce: Command, outputs: Path, corpus: Path, files: list[object]
) -> None:
    status, output, errors = transduce("evaluate", outputs, "--reference", corpus / "test.de", "--json")
    found = json.loads(output)
    assert (status, errors, found["sentences"], found["seconds"]) == (0, "", 17, None)
    assert json.loads(transduce("evaluate", outputs, *files, "--json")[1]) == found
    output = transduce("evaluate", outputs, *files)[1]
    assert "17 sentences" in output
    assert "1,000 bootstrap resamples" in output


def test_a_page_about_outputs_and_about_a_model_is_written(
    transduce: Command, outputs: Path, corpus: Path, files: list[object], tiny_run: Path, tmp_path: Path
) -> None:
    for system, options in ((outputs, ()), (tiny_run, ("--robust", "--beam-size", 1))):
        status, _, errors = transduce("evaluate", system, *files, *options, "-o", tmp_path / f"{system.name}.html")
        assert status == 0, errors
        page = (tmp_path / f"{system.name}.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>") and "The worst sentences" in page
        assert ("As others type it" in page) == (system == tiny_run)


def test_outputs_come_from_standard_input_too(
    transduce: Command, outputs: Path, files: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(outputs.read_bytes())))
    assert transduce("evaluate", "-", *files)[1] == transduce("evaluate", outputs, *files)[1]


def test_references_in_several_files_count_together_as_those_in_one_of_sgml(
    transduce: Command, outputs: Path, corpus: Path, files: list[object], tmp_path: Path
) -> None:
    first, other = corpus / "test.de", tmp_path / "other.de"
    lists = [first.read_text(encoding="utf-8").splitlines(), outputs.read_text(encoding="utf-8").splitlines()]
    lists[1][7] = lists[1][5] = "Der Hund!"
    other.write_text("".join(f"{line}\n" for line in lists[1]), encoding="utf-8")
    documents = [
        f'<doc docid="1" sysid="{name}">\n' + "".join(f"<seg id=1>{html.escape(line)}</seg>\n" for line in lines)
        for name, lines in zip("ab", lists, strict=True)
    ]
    (tmp_path / "both.sgm").write_text("".join(documents), encoding="utf-8")
    found = json.loads(transduce("evaluate", outputs, "--reference", first, "--reference", other, "--json")[1])
    theirs = sacrebleu.corpus_bleu(outputs.read_text(encoding="utf-8").splitlines(), lists)
    assert found["bleu"]["score"] == pytest.approx(theirs.score, abs=1e-9)
    assert all("nrefs:2" in found[metric]["signature"] for metric in ("bleu", "chrf", "ter"))
    assert json.loads(transduce("evaluate", outputs, "--reference", tmp_path / "both.sgm", "--json")[1]) == found
    assert json.loads(transduce("evaluate", outputs, *files, "--reference", other, "--json")[1]) == found
    status, output, errors = transduce("compare", other, outputs, *files, "--reference", other, "--json")
    assert (status, errors) == (0, "")
    other_system, same = json.loads(output)["systems"]
    assert (other_system["bleu"]["score"], same["bleu"]) == (pytest.approx(100), found["bleu"])
    assert same["against_baseline"]["bleu"]["difference"] == pytest.approx(theirs.score - 100)


def test_all_four_bleus_are_printed_with_their_signatures(
    transduce: Command, outputs: Path, files: list[object]
) -> None:
    output = transduce("evaluate", outputs, *files, "--all-bleu")[1]
    for row in ("13a  cased", "13a  uncased", "intl cased", "intl uncased"):
        (line,) = (line for line in output.splitlines() if row in line)
        tokenize, case = row.split()
        assert f"tok:{tokenize}" in line
        assert ("case:lc" if case == "uncased" else "case:mixed") in line
    plain = json.loads(transduce("evaluate", outputs, *files, "--json")[1])
    found = json.loads(transduce("evaluate", outputs, *files, "--json", "--all-bleu")[1])
    assert len(found.pop("all_bleu")) == 4
    assert found == plain


@pytest.mark.slow
def test_a_model_and_outputs_are_compared(
    transduce: Command, tiny_run: Path, outputs: Path, files: list[object]
) -> None:
    packed = outputs.with_name("packed.de.gz")
    packed.write_bytes(gzip.compress(outputs.read_bytes()))
    status, output, errors = transduce("compare", outputs, tiny_run, packed, *files, "--beam-size", 1, "--json")
    assert status == 0, errors
    assert errors == f"{tiny_run}: translating 17 sentences ...\n"
    found = json.loads(output)
    assert [system["name"] for system in found["systems"]] == [str(outputs), str(tiny_run), str(packed)]
    assert found["systems"][2]["against_baseline"]["bleu"]["bootstrap_p"] == 1
    alone = json.loads(transduce("evaluate", tiny_run, *files, "--beam-size", 1, "--json")[1])
    assert found["systems"][1]["bleu"] == alone["bleu"]
    assert found["by_word_frequency"] is None


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["80", "100"])
def test_the_tables_fit_the_terminal(
    transduce: Command,
    outputs: Path,
    corpus: Path,
    files: list[object],
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    worse = outputs.with_name("worse [bold]")
    worse.write_text("Katze [red] :smile:\n" * 17)
    systems = (corpus / "test.de", outputs, worse, *files, "--train", outputs, "--words", "der die das")
    status, output, errors = transduce("compare", *systems)
    assert (status, errors) == (0, "")
    prose = [line for line in output.splitlines() if line.startswith(("A  ", "B  ", "C  ", "nrefs:", "p by rand"))]
    assert all(len(line) <= int(columns) for line in output.splitlines() if line not in prose)
    for expected in (
        "A  ",
        ", the baseline",
        "worse [bold]",
        "Katze [red] :smile:",
        "p is not corrected for testing 2 systems",
        "BLEU by words of the source",
        "Words of a kind: recall, precision",
        "0.0 %, 100.0 %",
        "Numbers of the source copied",
        "unseen",
        "Sentences that differ most",
        "case:mixed",
    ):
        assert expected in output
    assert "…" not in output


def test_without_training_text_the_option_is_named(transduce: Command, outputs: Path, files: list[object]) -> None:
    other = outputs.with_name("other.de")
    other.write_bytes(outputs.read_bytes())
    output = transduce("compare", outputs, other, *files)[1]
    assert "--train FILE" in output
    assert "Sentences that differ most" not in output


def test_a_data_set_gives_the_test_set_and_the_frequencies_of_words(
    transduce: Command, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "GRAMMAR_SIZES", {"train": 90, "validation": 11, "test": 13})
    monkeypatch.setattr(datasets, "_grammar_parts", datasets._grammar_parts.__wrapped__)
    model = ModelBundle.load(tiny_run).with_history(data="grammar")
    model.save(tmp_path / "model", [("The dog sleeps.", "Der Hund schläft.")])
    (tmp_path / "outputs").write_text("Der Hund schläft.\n" * 13, encoding="utf-8")
    on_grammar = ["--dataset", "grammar", "--json"]
    status, output, errors = transduce("compare", tmp_path / "model", tmp_path / "outputs", *on_grammar)
    assert status == 0, errors
    parts = json.loads(output)["by_word_frequency"]
    assert len(parts) > 1
    assert sum(part["words"] for part in parts) > 13
    status, output, _ = transduce("evaluate", tmp_path / "outputs", *on_grammar, "--direction", "en-de")
    assert (status, json.loads(output)["sentences"]) == (0, 13)

    other = replace(model, config=msgspec.structs.replace(model.config, target="nl"))
    other.save(tmp_path / "other", [("The dog sleeps.", "De hond slaapt.")])
    status, _, errors = transduce("compare", tmp_path / "model", tmp_path / "other", *on_grammar)
    assert status == 2
    assert "the models translate in different directions (en-de and en-nl)" in errors
    assert errors.count("\n") == 1


def test_an_existing_output_is_seen_before_anything_is_translated(
    transduce: Command, tiny_run: Path, files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translate(*_: object) -> None:
        raise AssertionError("the model was used")

    monkeypatch.setattr(Translator, "translate", translate)
    (tmp_path / "kept").write_text("mine")
    status, _, errors = transduce("evaluate", tiny_run, *files, "-o", tmp_path / "kept")
    assert (status, (tmp_path / "kept").read_text()) == (2, "mine")
    assert "exists" in errors


def test_cased_scores_of_a_model_that_writes_lower_case_are_remarked_on(
    transduce: Command, tiny_run: Path, tmp_path: Path, files: list[object]
) -> None:
    bundle = ModelBundle.load(tiny_run)
    tokenizer = msgspec.structs.replace(bundle.config.tokenizer, lowercase=True)
    lower = replace(bundle, config=msgspec.structs.replace(bundle.config, tokenizer=tokenizer))
    lower.save(tmp_path / "lower", [("The dog sleeps.", "Der Hund schläft.")])
    remark = f"{tmp_path / 'lower'} writes lower case only; --lowercase would score it fairly"
    greedy = [*files, "--beam-size", 1]
    assert remark in transduce("evaluate", tmp_path / "lower", *greedy)[2]
    assert transduce("compare", tmp_path / "lower", tiny_run, *greedy, "--lowercase", "--quiet")[2] == ""


def test_a_run_without_a_test_option_takes_its_own_test_set(
    transduce: Command, tiny_run: Path, files: list[object], tmp_path: Path
) -> None:
    expected = json.loads(transduce("evaluate", tiny_run, *files, "--json")[1])
    for model in (tiny_run, tiny_run / "model"):
        status, output, errors = transduce("evaluate", model, "--json")
        assert status == 0, errors
        assert "the test set is the run's own: " in errors
        assert "test.en" in errors
        assert {**json.loads(output), "seconds": 0} == {**expected, "seconds": 0}
    shutil.copytree(tiny_run / "model", tmp_path / "moved")
    status, _, errors = transduce("evaluate", tmp_path / "moved")
    assert (status, "moved is not in a run's folder" in errors, "give --dataset" in errors) == (2, True, True)


def test_runs_are_compared_on_their_own_test_set_if_it_is_one(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    for name, test in (("same", "test"), ("other", "dev"), ("none", None)):
        shutil.copytree(tiny_run, tmp_path / name)
        config = load_recipe(tiny_run).config
        data = {"validation": "dev", "train": "train", "test": test}
        paths = {key: stem and [str(corpus / f"{stem}.{side}") for side in ("en", "de")] for key, stem in data.items()}
        config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, **paths))
        (tmp_path / name / "experiment.toml").write_text(to_toml(config), encoding="utf-8")
    greedy = ("--beam-size", 1, "--quiet")
    status, output, errors = transduce("compare", tiny_run, tmp_path / "same", *greedy)
    assert (status, "17 sentences" in output, "the run's own" in errors) == (0, True, True)
    for name, told in (("other", "the runs have different test sets"), ("none", "none has no test set")):
        status, _, errors = transduce("compare", tiny_run, tmp_path / name, *greedy)
        assert (status, told in errors, errors.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "empty", "--reference", "empty"], "empty: nothing to evaluate"),
        (["evaluate", "a", "--reference", "b", "--mbr", "8"], "--mbr: nothing is translated, the outputs are in a"),
        (["compare", "a", "b", "./a", "--source", "a", "--reference", "a"], "./a is named twice, first as a"),
        (["compare", "RUN", "two", "--source", "a", "--reference", "a"], "two: 2 lines, but there are 3 references"),
        (["compare", "a", "b", "--source", "two", "--reference", "a"], "two has 2 lines but a has 3"),
        (["compare", "a", ".", "--source", "a", "--reference", "a"], "is not a model"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    transduce: Command, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("a", "x\ny\nz\n"), ("b", "x\ny\nw\n"), ("two", "x\ny\n"), ("empty", "")):
        (tmp_path / name).write_text(content)
    status, output, errors = transduce(*(tiny_run if argument == "RUN" else argument for argument in arguments))
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert told in errors


def test_a_test_set_in_the_other_order_by_its_names_is_refused(
    transduce: Command, tiny_run: Path, corpus: Path
) -> None:
    english, german = corpus / "test.en", corpus / "test.de"
    for command in (
        ("evaluate", tiny_run, "--source", german, "--reference", english),
        ("compare", tiny_run, tiny_run / "model", "--source", german, "--reference", english),
        ("score", tiny_run, "--source", german, "--target", english),
        ("align", tiny_run, german, english),
    ):
        status, _, errors = transduce(*command)
        assert status == 2
        assert "the source is en and the target de; name them in the other order" in errors
