"""The command line: each verb works, each mistake is one clear line and loses nothing."""

import gzip
import io
import itertools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

from toy_languages import settings, write_corpora
from transduce.apps.cli import main
from transduce.apps.cli.main import app
from transduce.corpora.catalogue.registry import DATASETS

Command = Callable[..., tuple[int, str, str]]
VERBS = app.all_commands()


MISTAKES = [
    "--nonsense",
    "nonsense",
    "translate",
    "train --nonsense",
    "serve",
    "data nonsense",
    "evaluate --beam-size x",
]


def test_help_version_and_mistakes_do_not_import_torch() -> None:
    program = """
import sys
from transduce.apps.cli.main import app, run
for number, words in enumerate(sys.argv[1:]):
    status = run(lambda: app(words.split()))
    assert status == (2 if words in %r else 0), words
    slow = {"torch", *(["numpy", "importlib.metadata", "rich.markdown", "sqlite3"] if number < 2 else [])}
    assert not slow & sys.modules.keys(), (words, slow & sys.modules.keys())
""" % (MISTAKES,)  # noqa: UP031
    words = ["--version", "--help", *MISTAKES, *(f"{verb} --help" for verb in VERBS)]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage:") == 1 + len(VERBS)


@pytest.mark.slow
def test_a_translation_imports_neither_training_nor_servers(tiny_run: Path) -> None:
    program = """
import sys
from transduce.__main__ import start
try:
    start()
finally:
    unused = ["training", "objectives", "serving", "projects", "evaluation", "cluster", "exchange", "experiment"]
    print(*sorted({f"transduce.{name}" for name in unused} & sys.modules.keys()), file=sys.stderr)
    print(*sorted({"torch._dynamo", "matplotlib", "transformers", "sqlite3"} & sys.modules.keys()), file=sys.stderr)
"""
    command = [sys.executable, "-c", program, "translate", str(tiny_run)]
    done = subprocess.run(command, input="a\n", capture_output=True, text=True, check=True)
    assert done.stdout.strip()
    assert done.stderr.splitlines()[-2:] == ["", ""], done.stderr


def test_arguments_that_a_message_names_are_options(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    """The library names them in brackets; what is no option of the command stays."""
    status, _, err = transduce("average", tiny_run, "-o", tmp_path)
    assert status == 2 and "choose another folder (--out)" in err
    assert main._with_options("a (beam_size) b (nothing) c (model)", VERBS["translate"]) == (
        "a (--beam-size) b (nothing) c (model)"
    )
    assert main._with_options("a (step)", VERBS["data"]) == "a (--step)"
    assert main._with_options("a (step)", None) == "a (step)"


def test_help_names_each_verb_with_a_sentence(transduce: Command) -> None:
    status, output, _ = transduce("--help")
    assert status == 0
    lines = [line.split(maxsplit=1) for line in output.partition("Commands:")[2].splitlines() if line.strip()]
    named = {line[0]: line[1] for line in lines if line[0] in VERBS}
    assert named.keys() == set(VERBS)
    assert all(sentence[0].isupper() for sentence in named.values())


def test_every_verb_helps_with_an_example(transduce: Command) -> None:
    for verb in VERBS:
        status, output, _ = transduce(verb, "--help")
        assert status == 0
        assert f"transduce {verb}" in output.replace("\n", " ")


def test_train_translate_evaluate_info(transduce: Command, recipe_file: Path, corpus: Path, tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    status, output, errors = transduce("train", recipe_file, "training.updates=10", "--out", run_folder, "--json")
    result = json.loads(output)
    assert status == 0
    assert {"run", "model", "updates", "seconds", "validation"} <= result.keys()
    assert result["updates"] == 10
    assert "update" in errors

    status, output, _ = transduce("translate", run_folder, corpus / "test.en")
    assert (status, output.count("\n")) == (0, 17)

    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de")
    status, output, _ = transduce("evaluate", run_folder, *files, "--json", "-o", tmp_path / "out.de")
    assert status == 0
    assert set(json.loads(output)["bleu"]) == {"score", "signature", "interval"}
    assert (tmp_path / "out.de").read_text(encoding="utf-8").count("\n") == 17
    status, output, _ = transduce("evaluate", run_folder, *files)
    assert "BLEU" in output
    assert "exact match" in output

    status, output, _ = transduce("info", run_folder, "--json")
    facts = json.loads(output)
    assert facts["history"]["updates"] == 10
    assert facts["history"]["test"]["bleu"] >= 0
    assert transduce("info", run_folder)[0] == 0


def test_a_run_goes_on_or_is_overwritten_by_its_folder(transduce: Command, recipe_file: Path, tmp_path: Path) -> None:
    quick = ("training.updates=2", "checkpoint.every_updates=2", "validation.every_updates=2", "--quiet", "--json")
    run = tmp_path / "run"
    assert transduce("train", recipe_file, *quick, "--out", run)[0] == 0
    status, output, errors = transduce("train", run, "training.updates=3", "--resume", "--quiet", "--json")
    assert (status, json.loads(output)["updates"]) == (0, 3), errors
    assert "replace it (--overwrite)" in transduce("train", recipe_file, *quick, "--out", run)[2]
    status, output, errors = transduce("train", recipe_file, *quick, "--out", run, "--overwrite")
    assert (status, json.loads(output)["updates"]) == (0, 2), errors


def test_recipes_are_listed(transduce: Command) -> None:
    assert "multi30k-words" in transduce("recipes")[1]
    assert "multi30k" in json.loads(transduce("recipes", "--json")[1])


@pytest.mark.slow
def test_a_stream_answers_while_it_is_open_and_has_a_line_for_each_odd_one(tiny_run: Path) -> None:
    lines = ["The dog sleeps.", "", "a\tb\u2028c\x0cd", "🙂", "مرحبا", "x " * 500, " "]
    command = [sys.executable, "-m", "transduce", "translate", str(tiny_run), "--beam-size", "1"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, encoding="utf-8", **pipes) as process:
        for _ in range(2):
            process.stdin.write("The dog sleeps.\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith("\n")
        output, errors = process.communicate("\n".join(lines) + "\n")
    assert process.returncode == 0, errors
    assert output.count("\n") == len(lines)
    translations = output.split("\n")
    assert translations[1] == translations[6] == ""


def test_compressed_input_and_n_best(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    packed = tmp_path / "in.gz"
    packed.write_bytes(gzip.compress(b"The dog sleeps.\n\n"))
    _, output, _ = transduce("translate", tiny_run, packed, "--n-best", 3)
    assert [line.split("\t")[0] for line in output.splitlines()] == ["1", "1", "1", "2"]
    _, output, _ = transduce("translate", tiny_run, packed, "--json")
    assert [json.loads(line)["text"] == "" for line in output.splitlines()] == [False, True]


def test_the_option_for_the_output_has_the_same_names_for_all_verbs() -> None:
    named = {verb: [p.opts for p in VERBS[verb].params if {"--out", "--output", "-o"} & set(p.opts)] for verb in VERBS}
    writing = {verb: names for verb, names in named.items() if names}
    assert set(writing) >= {"quickstart", "train", "average", "translate", "score", "evaluate", "shortlist", "export"}
    assert all(names == [["--output", "-o", "--out"]] for names in writing.values())


@pytest.mark.slow
@pytest.mark.skipif("TRANSDUCE_DATA" not in os.environ, reason="needs the data sets that TRANSDUCE_DATA names")
def test_multi30k_trains_in_any_direction(transduce: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lines of each file are enough."""
    (tmp_path / "data/multi30k").mkdir(parents=True)
    for file in Path(os.environ["TRANSDUCE_DATA"], "multi30k").glob("*.gz"):
        with gzip.open(file) as lines:
            few = b"".join(itertools.islice(lines, 300))
        (tmp_path / "data/multi30k" / file.name).write_bytes(gzip.compress(few))
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(DATASETS, "multi30k", replace(DATASETS["multi30k"], sha256={}))
    status, output, errors = transduce(
        "train",
        "multi30k",
        "data.source=fr",
        "data.target=en",
        "training.updates=1",
        "model.dim=16",
        "model.heads=2",
        "tokenizer={kind='characters', min_frequency=1}",  # BPE would learn longer than all else takes
        "search.size=1",
        "search.max_ratio=0",
        "search.max_extra=3",
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert status == 0, errors
    assert json.loads(output)["updates"] == 1


def test_average_and_runs(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    status, output, _ = transduce("average", tiny_run, "--last", 2, "--out", tmp_path / "mean", "--json")
    result = json.loads(output)
    assert status == 0
    assert result["checkpoints"] == ["000020", "000030"]
    assert result["validation"]["perplexity"] > 1
    assert transduce("info", tmp_path / "mean")[0] == 0
    status, _, errors = transduce("average", tiny_run, "--last", 2, "--best", 1, "--out", tmp_path / "other")
    assert (status, errors.count("\n")) == (2, 1)
    status, output, _ = transduce("runs", tiny_run.parent)
    assert status == 0
    assert "finished" in output
    assert json.loads(transduce("runs", tiny_run.parent, "--json")[1])[0]["updates"] == 30


@pytest.mark.slow
def test_the_command_to_try_a_model_of_several_directions_names_one(
    transduce: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    (tmp_path / "many.toml").write_text(tomli_w.dumps(settings("decoder", updates=2)))
    status, output, errors = transduce("train", tmp_path / "many.toml", "--out", tmp_path / "run", "-q")
    assert status == 0, errors
    words = shlex.split(output.splitlines()[-1].partition(" transduce ")[2])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ab\n")))
    status, output, errors = transduce(*words, "--max-ratio", 0, "--max-extra", 2)
    assert status == 0, errors
    assert output.count("\n") == 1
