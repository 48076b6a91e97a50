"""The command line reports the engine that runs a model, and lets one choose it."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from transduce.inference.constraints import Piece
from transduce.inference.engines.pytorch import PyTorchEngine

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(sure_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TRANSDUCE_ENGINE")
    return Path(shutil.copytree(sure_model, tmp_path / "model"))


def test_engines_are_told_of_where_one_is_asked_for_and_not_at_any_other_translation(
    transduce: Command, model: Path, corpus: Path, tmp_path: Path
) -> None:
    source, asked = corpus / "test.en", ("--engine", "auto")
    status, output, errors = transduce("translate", model, source, *asked)
    assert status == 0
    assert f"transduce: the engine is CTranslate2 4.8.5 ({model}/.ctranslate2/" in errors
    for options in ((), ("--engine", "pytorch"), (*asked, "--quiet")):
        assert transduce("translate", model, source, *options) == (0, output, "")
    errors = transduce("translate", model, source, "--sample", *asked)[2]
    assert "transduce: the engine is PyTorch, for sampling\n" in errors
    page = tmp_path / "page.html"
    page.write_text("<p>The dog sleeps.</p>", encoding="utf-8")
    assert "the engine is CTranslate2" in transduce("translate", model, page, *asked)[2]
    assert "engine" not in transduce("translate", model, page)[2]


def test_info_says_what_runs_a_model(transduce: Command, model: Path, tiny_run: Path, corpus: Path) -> None:
    assert json.loads(transduce("info", model, "--json")[1])["engine"].startswith("CTranslate2, unless ")
    transduce("translate", model, corpus / "test.en")
    assert json.loads(transduce("info", model, "--json")[1])["engine"].startswith("CTranslate2 4")
    (refused,) = (path.with_suffix(".refused") for path in (model / ".ctranslate2").iterdir() if path.is_dir())
    shutil.rmtree(refused.with_suffix(""))
    refused.write_text("no such activation", encoding="utf-8")
    assert "PyTorch, for no such activation\n" in transduce("info", model)[1]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_scores_are_equal_with_either_engine(transduce: Command, model: Path, corpus: Path, verb: str) -> None:
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de", "--json")
    command = (verb, model, *([corpus / "test.de"] if verb == "compare" else []), *files)
    status, output, errors = transduce(*command, "--engine", "auto")
    assert status == 0 and "the engine is CTranslate2 " in errors
    status, of_pytorch, errors = transduce(*command, "--engine", "pytorch")
    assert status == 0 and "the engine is" not in errors + transduce(*command)[2]
    scores = [json.loads(each).get("chrf", json.loads(each).get("systems")) for each in (output, of_pytorch)]
    assert scores[0] == scores[1] is not None


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
