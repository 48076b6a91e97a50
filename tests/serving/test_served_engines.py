"""A server has the fastest engine before it listens, and its answers are those of PyTorch."""

from pathlib import Path

import pytest
import requests
from running_server import Serve

from transduce.inference.translator import Translator


def test_a_server_runs_plain_beams_by_ctranslate2_and_the_rest_by_pytorch(
    serve: Serve, sure_model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ctranslate2")
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:5]
    expected = [translation.text for translation in Translator.load(sure_model, engine="pytorch").translate(lines)]
    monkeypatch.delenv("TRANSDUCE_ENGINE")
    running = serve(sure_model)
    (model,) = requests.get(f"{running.url}/health", timeout=60).json()["models"]
    assert model["engine"].startswith("CTranslate2 ")
    body = {"source": "en", "target": "de"}
    assert running.post("/translate", {**body, "q": lines}).json()["translatedText"] == expected
    asked = {**body, "text": lines[0], "alignment": True, "prefix": "Der"}
    (sentence,) = running.post("/v1/translate", asked).json()["sentences"]
    assert sentence["target"].split()[0] == "Der"
    assert len(sentence["details"]["words"]) == len(sentence["target"].split())
