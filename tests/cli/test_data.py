"""`transduce data` says where a data set stands, and gets it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.apps.cli.main import app, run
from transduce.corpora.catalogue.registry import DATASETS


@pytest.fixture
def transduce(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(lambda: app(list(arguments)))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def multi30k(file_server, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Multi30k as the server has it: small, and of unknown checksums."""
    remotes = []
    for remote in DATASETS["multi30k"].remotes:
        (name,) = remote.keep
        (file_server.folder / name).write_bytes(name.encode())
        remotes.append(dataclasses.replace(remote, address=f"{file_server.address}/{name}", checksum=None))
    monkeypatch.setitem(DATASETS, "multi30k", dataclasses.replace(DATASETS["multi30k"], remotes=tuple(remotes)))


def test_a_data_set_is_downloaded_whole_and_then_listed_as_there(
    transduce: Command, multi30k: None, tmp_path: Path
) -> None:
    def place() -> str:
        listed = json.loads(transduce("data", "list", "--json")[1])
        return next(each["where"] for each in listed if each["name"] == "multi30k")

    assert place() == "to download"
    status, output, errors = transduce("data", "get", "multi30k")
    assert (status, errors.count("downloading")) == (0, 9)
    folder = tmp_path / "cache" / "datasets" / "multi30k"
    assert str(folder) in output
    assert len(list(folder.glob("*.gz"))) == 9
    assert place() == "cache"
    status, output, errors = transduce("data", "get", "multi30k", "--json")
    assert json.loads(output)["folder"] == str(folder)
    assert errors == ""


def test_every_data_set_is_listed_with_its_licence(transduce: Command) -> None:
    status, output, _ = transduce("data", "list")
    assert status == 0
    listed = json.loads(transduce("data", "list", "--json")[1])
    assert [each["name"] for each in listed] == list(DATASETS)
    for each in listed:
        assert each["name"] in output
        assert {"description", "size", "languages", "licence", "splits", "where", "missing", "downloads"} <= each.keys()


def test_a_failed_download_is_one_line_and_exit_2(transduce: Command, multi30k: None, file_server) -> None:  # type: ignore[no-untyped-def]
    file_server.failures = [404]
    status, output, errors = transduce("data", "get", "multi30k", "--quiet")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert "HTTP 404" in errors


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_next_sentences_are_lines_for_a_translator(transduce: Command, tmp_path: Path) -> None:
    pool = write_lines(
        tmp_path / "pool.en", ["the cat sleeps", "the dog sleeps", "", "the cat sleeps", "the dog barks"]
    )
    known = write_lines(tmp_path / "known.en", ["the cat sleeps"])
    other = write_lines(tmp_path / "known.de", ["die Katze schläft"])
    pairs = write_lines(tmp_path / "known.tsv", ["the cat sleeps\tdie Katze schläft"])
    answers = []
    for number, files in enumerate(([known], [known, other], [pairs])):
        output = tmp_path / f"next{number}.en"
        status, shown, told = transduce("data", "next", *files, "--pool", pool, "--words", "3", "-o", str(output))
        assert (status, shown, told.count("\n")) == (0, "", 1)
        answers.append((output.read_text(encoding="utf-8"), told))
    assert answers == [answers[0]] * 3
    assert answers[0][0] in ("the dog sleeps\n", "the dog barks\n")
    assert "1 of 2 sentences, 3 words" in answers[0][1]


def test_next_sentences_need_nothing_known_and_are_numbered_in_json(transduce: Command, tmp_path: Path) -> None:
    pool = write_lines(tmp_path / "pool.en", ["a zebu", "the dog barks", "the dog sleeps"])
    status, shown, told = transduce("data", "next", "--pool", pool, "--words", "100", "--json", "--quiet")
    facts = json.loads(shown)
    assert (status, told) == (0, "")
    assert sorted(facts["lines"]) == [1, 2, 3]
    assert facts["before"] == {"words": 0.0, "pairs": 0.0}
    assert facts["after"] == {"words": 1.0, "pairs": 1.0}


def test_a_forecast_is_printed_and_drawn(transduce: Command, tmp_path: Path) -> None:
    words = ["ka", "to", "mi", "ru", "la", "ne", "so", "pi"]
    pairs = [f"{a} {b} {c} x\t{c} {b} {a} y" for a in words for b in words for c in words]
    corpus, picture = write_lines(tmp_path / "mine.tsv", pairs), tmp_path / "forecast.png"
    status, shown, told = transduce("data", "forecast", corpus, "--picture", str(picture))
    assert (status, told.count("\n")) == (0, 4)
    assert shown.splitlines()[-2].lstrip().startswith("5,120 pairs")
    assert picture.read_bytes().startswith(b"\x89PNG")
    status, shown, told = transduce("data", "forecast", corpus, "--json", "-q")
    assert (status, told) == (0, "")
    assert [each["pairs"] for each in json.loads(shown)["bleu"]] == [1024, 5120]
