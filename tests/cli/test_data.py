"""`transduce data` says where a data set stands, and gets it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.cli.main import app, run
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
