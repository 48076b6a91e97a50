"""The command line reports the engine that runs a model, and lets one choose it."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.requests import Piece

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(sure_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRANSDUCE_ENGINE")
    return Path(shutil.copytree(sure_model, tmp_path / "model"))


def test_translate_tells_which_engine_it_takes_and_why(
    transduce: Command, model: Path, corpus: Path, tmp_path: Path
) -> None:
    source = corpus / "test.en"
    status, output, errors = transduce("translate", model, source)
    assert status == 0
    assert f"transduce: the engine is CTranslate2 4.8.5 ({model}/.ctranslate2/" in errors
    assert transduce("translate", model, source, "--engine", "pytorch") == (0, output, "")
    assert transduce("translate", model, source, "--quiet") == (0, output, "")
    errors = transduce("translate", model, source, "--sample")[2]
    assert "transduce: the engine is PyTorch, for sampling\n" in errors
    page = tmp_path / "page.html"
    page.write_text("<p>The dog sleeps.</p>", encoding="utf-8")
    assert "the engine is CTranslate2" in transduce("translate", model, page)[2]


def test_evaluate_tells_it_and_scores_are_equal(transduce: Command, model: Path, corpus: Path) -> None:
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de", "--json")
    status, output, errors = transduce("evaluate", model, *files)
    assert (status, errors.startswith("transduce: the engine is CTranslate2 ")) == (0, True)
    scores = [
        json.loads(each)["chrf"] for each in (output, transduce("evaluate", model, *files, "--engine", "pytorch")[1])
    ]
    assert scores[0] == scores[1]


def test_compare_tells_it_and_takes_another(transduce: Command, model: Path, corpus: Path) -> None:
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de", "--json")
    status, output, errors = transduce("compare", model, corpus / "test.de", *files)
    assert status == 0 and "the engine is CTranslate2" in errors
    status, of_pytorch, errors = transduce("compare", model, corpus / "test.de", *files, "--engine", "pytorch")
    assert status == 0 and "the engine is" not in errors
    assert json.loads(of_pytorch)["systems"] == json.loads(output)["systems"]


def test_batch_tokens_limit_what_is_searched_at_once(
    transduce: Command, model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def search(engine: PyTorchEngine, pieces: Sequence[Piece], *others: Any) -> Any:
        sizes.append(sum(len(piece.source) + 1 for piece in pieces))
        return usual(engine, pieces, *others)

    usual = PyTorchEngine.search
    monkeypatch.setattr(PyTorchEngine, "search", search)
    command = ("translate", model, corpus / "test.en", "--engine", "pytorch")
    expected = transduce(*command)
    whole, sizes[:] = max(sizes), []
    assert transduce(*command, "--batch-tokens", 100) == expected
    assert max(sizes) * 4 <= 100 < whole * 4  # 4 hypotheses
    status, _, errors = transduce(*command, "--batch-tokens", 0)
    assert status == 2 and "--batch-tokens" in errors
