"""Ways of decoding on the command line, and scores of given pairs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.inference.loading import load
from transduce.search.beam import Beam
from transduce.search.choices import MinimumBayesRisk

LINES = ["The dog sleeps.", "", "A cat."]
SHORT = ("--max-ratio", 1, "--max-extra", 9)


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.en"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_a_glossary_is_honoured_and_reported(transduce: Command, tiny_run: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("dog\tFrau\ncat\tZebra\n\tHund\tban\n")
    glossary = ("--glossary", tmp_path / "terms.tsv")
    status, output, errors = transduce("translate", tiny_run, text, *glossary, "--json", *SHORT)
    first, blank, last = (json.loads(line) for line in output.splitlines())
    assert status == 0
    assert (first["satisfied"], first["unsatisfied"], first["violated"]) == (["Frau"], [], [])
    assert (blank["text"], blank["unsatisfied"]) == ("", [])
    assert last["unsatisfied"] == ["Zebra"]
    assert "1 of 2 required phrases satisfied, unsatisfied on line 3" in errors
    assert "1 unsatisfied, on line 3: the model's vocabulary cannot write 'Zebra'" in errors


def test_numbers_that_a_translation_changes_are_named(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.en").write_text("The dog sees 4711 cats.\nA cat.\n", encoding="utf-8")
    command = ("translate", tiny_run, tmp_path / "in.en", "--sample", "--json", *SHORT)  # samples require nothing
    status, output, errors = transduce(*command)
    assert status == 0
    assert [json.loads(line)["changed_numbers"] for line in output.splitlines()] == [["4711"], []]
    assert "1 numbers are changed in translations, on line 1; --json names them" in errors
    status, output, errors = transduce(*command, "--keep-numbers", "off")
    assert [json.loads(line)["changed_numbers"] for line in output.splitlines()] == [[], []]
    assert "numbers" not in errors


def test_prefixes_come_from_the_command_or_a_file(
    transduce: Command, tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    _, output, _ = transduce("translate", tiny_run, text, "--prefix", "Der Hund", *SHORT)
    first, blank, last = output.splitlines()
    assert first.startswith("Der Hund")
    assert last.startswith("Der Hund")
    assert blank == ""
    (tmp_path / "begun").write_text("Der Hund\n\nDie\n")
    _, output, _ = transduce("translate", tiny_run, text, "--prefix-file", tmp_path / "begun", *SHORT)
    assert output.startswith("Der Hund")
    assert output.splitlines()[2].startswith("Die")


def test_samples_repeat_with_their_seed(transduce: Command, tiny_run: Path, text: Path) -> None:
    command = ("translate", tiny_run, text, "--sample", "--top-k", 9, "--temperature", 2, "--n-best", 3, *SHORT)
    outputs = [transduce(*command, "--seed", seed)[1] for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]
    assert [line.split("\t")[0] for line in outputs[0].splitlines()] == ["1", "1", "1", "2", "3", "3", "3"]


def test_other_searches_and_ensembles_give_a_line_a_line(transduce: Command, tiny_run: Path, text: Path) -> None:
    for options in (
        ("--groups", 2, "--diversity", 1.5),
        ("--no-repeat-ngram", 2),
        ("--with", tiny_run),
    ):
        status, output, errors = transduce("translate", tiny_run, text, *options, *SHORT)
        assert status == 0, errors
        assert output.count("\n") == 3


@pytest.mark.slow
def test_minimum_bayes_risk_chooses_as_in_python(transduce: Command, tiny_run: Path, corpus: Path, text: Path) -> None:
    status, output, errors = transduce("translate", tiny_run, text, "--mbr", 8, *SHORT)
    assert status == 0, errors
    rule = MinimumBayesRisk(candidates=Beam(size=8, n_best=8, max_ratio=1.0, max_extra=9))
    assert output.splitlines() == [found.text for found in load(tiny_run).translate(LINES, rule)]
    status, output, errors = transduce("translate", tiny_run, text, "--mbr", 5, "--beam-size", 6, "--n-best", 2, *SHORT)
    assert status == 0, errors
    rule = MinimumBayesRisk(candidates=Beam(size=6, n_best=5, max_ratio=1.0, max_extra=9), n_best=2)
    found = load(tiny_run).translate(LINES, rule)
    assert [line.split("\t")[2] for line in output.splitlines() if line.split("\t")[0] == "1"] == [
        candidate.text for candidate in found[0].n_best
    ]
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de")
    plain, chosen = (transduce("evaluate", tiny_run, *files, "--json", *more) for more in ((), ("--mbr", 4)))
    assert plain[0] == chosen[0] == 0, chosen[2]
    assert plain[1].partition('"seconds"')[0] != chosen[1].partition('"seconds"')[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--sample", "--beam-size", 3], "--beam-size works with beam search only, not with --sample"),
        (["--top-p", 0.5], "--top-p goes with --sample"),
        (["--mbr", 4, "--sample"], "--mbr chooses among outputs of a beam; leave --sample out"),
        (["--mbr", 4, "--groups", 2], "--groups does not go with --mbr"),
        (["--mbr", 4, "--beam-size", 3], "--mbr 4 asks for more outputs than --beam-size 3 finds; raise it"),
        (["--mbr", 4, "--n-best", 5], "--n-best must be from 1 to the number of candidates, 4"),
        (["--sample", "--glossary", "TERMS"], "required phrases go with a plain beam"),
        (["--n-best", 6], "transduce: --n-best must be from 1 to the beam's size, 4"),
        (["--sample", "--temperature", 0], "use a beam of size 1"),
    ],
)
def test_options_that_make_no_sense_are_one_line_and_exit_2(
    transduce: Command, tiny_run: Path, text: Path, tmp_path: Path, options: list[object], told: str
) -> None:
    (tmp_path / "TERMS").write_text("dog\tHund\n")
    words = [tmp_path / "TERMS" if option == "TERMS" else option for option in options]
    status, _, errors = transduce("translate", tiny_run, text, "-o", tmp_path / "out.de", *words, "--max-extra", 3)
    assert (status, errors.count("\n")) == (2, 1)
    assert told in errors
    assert not (tmp_path / "out.de").exists()


def test_scores_of_two_files_and_of_one(transduce: Command, tiny_run: Path, text: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.de"
    target.write_text("Der Hund schläft.\n\nEine Katze.\n", encoding="utf-8")
    status, output, errors = transduce("score", tiny_run, "--source", text, "--target", target)
    assert status == 0
    rows = [[float(cell) for cell in line.split("\t")] for line in output.splitlines()]
    assert [len(row) for row in rows] == [3, 3, 3]
    assert "3 pairs" in errors
    pairs = tmp_path / "pairs.tsv"
    together = zip(LINES, target.read_text(encoding="utf-8").splitlines(), strict=True)
    pairs.write_text("".join(f"{source}\t{target}\n" for source, target in together), encoding="utf-8")
    _, output, errors = transduce("score", tiny_run, "--pairs", pairs, "--json", "--quiet")
    found = json.loads(output)
    assert [pair["log_probability"] for pair in found["pairs"]] == pytest.approx([row[0] for row in rows], abs=1e-3)
    assert found["total"]["log_probability"] == pytest.approx(sum(row[0] for row in rows), abs=1e-3)
    assert found["total"]["tokens"] == sum(len(pair["tokens"]) for pair in found["pairs"])
    assert errors == ""
