"""A server tells how good the translations of texts and of documents are."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from running_server import Running

from small_quality import PAIRS, small_quality
from transduce.inference.quality.quality_estimate import QualityEstimate, combined

LANGUAGES = {"source": "en", "target": "de"}


@pytest.fixture(scope="module")
def served(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("served") / "model"
    shutil.copytree(tiny_run / "model", folder)
    small_quality().save(folder)
    running = Running(folder)
    yield running
    running.end()


def test_a_text_of_several_sentences_has_one_estimate_of_all(served: Running) -> None:
    texts = [f"{PAIRS[0][0]} {PAIRS[1][0]}", PAIRS[2][0], "", "Zqx wvu kjh."]
    answer = served.post("/v1/translate", {"text": texts, **LANGUAGES}).json()
    both, one, none, unlike = answer["quality"]
    sentences = answer["sentences"]
    parts = [(QualityEstimate(**each["quality"]), each["target"]) for each in sentences[:2]]
    assert QualityEstimate(**both) == combined(parts)
    assert one == sentences[2]["quality"] and none is None and unlike["reason"] == "100% unseen words"


def test_libretranslates_answer_tells_it_too(served: Running) -> None:
    texts = [f"{PAIRS[0][0]} {PAIRS[1][0]}", PAIRS[2][0]]
    own = served.post("/v1/translate", {"text": texts, **LANGUAGES}).json()
    answer = served.post("/translate", {"q": texts, **LANGUAGES}).json()
    assert answer["quality"] == own["quality"]
    assert answer["faults"] == [
        own["sentences"][0]["faults"] + own["sentences"][1]["faults"],
        own["sentences"][2]["faults"],
    ]
    alone = served.post("/translate", {"q": texts[1], **LANGUAGES}).json()
    assert (alone["quality"], alone["faults"]) == (own["quality"][1], own["sentences"][2]["faults"])
    marked_up = served.post("/translate", {"q": texts[1], "format": "html", **LANGUAGES}).json()
    assert list(marked_up) == ["translatedText"]


def test_a_document_is_answered_with_how_many_sentences_need_work(served: Running, tiny_run: Path) -> None:
    text = "\n\n".join([f"{PAIRS[0][0]} {PAIRS[1][0]}", PAIRS[2][0], PAIRS[2][0], "Zqx wvu kjh."])
    file = {"file": ("a.txt", text.encode())}
    answer = requests.post(f"{served.url}/v1/translate_file", files=file, data=LANGUAGES, timeout=60)
    quality = json.loads(answer.text.splitlines()[-1])["quality"]
    assert (quality["sentences"], quality["unknown"]) == (3, 1), "a segment that occurs twice is translated once"
    low, high = quality["interval"]
    assert 0 <= low <= quality["work"] <= high <= 3
