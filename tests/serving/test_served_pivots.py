"""A server answers in a direction through a third language, with what two models give one after the other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import requests
from running_server import Running

from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.pivot import Pivot
from transduce.inference.translator import Translator


@pytest.fixture(scope="module")
def second(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model from German to French."""
    bundle, folder = ModelBundle.load(tiny_run), tmp_path_factory.mktemp("second") / "de-fr"
    config = msgspec.structs.replace(bundle.config, source="de", target="fr")
    replace(bundle, config=config).save(folder, [("The dog sleeps.", "Der Hund schläft.")])
    return folder


@pytest.fixture(scope="module")
def served(tiny_run: Path, second: Path) -> Iterator[Running]:
    running = Running(tiny_run, second)
    yield running
    running.end()


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:2]


@pytest.fixture(scope="module")
def expected(tiny_run: Path, second: Path, sentences: list[str]) -> list[str]:
    pivot = Pivot(Translator.load(tiny_run), Translator.load(second))
    return [each.text for each in pivot.translate(sentences)]


@pytest.mark.slow
def test_the_direction_is_listed_and_answered_by_each_api(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    languages = {each["code"]: each["targets"] for each in requests.get(f"{served.url}/languages", timeout=60).json()}
    assert languages == {"en": ["de", "fr"], "de": ["fr"], "fr": []}
    (pivot,) = [m for m in requests.get(f"{served.url}/health", timeout=60).json()["models"] if "through" in m]
    assert (pivot["source"], pivot["target"], pivot["through"]) == ("en", "fr", "de")
    body = {"q": sentences, "source": "en", "target": "fr"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: served.post("/translate", body).json()["translatedText"], range(2)))
    assert answers == [expected] * 2
    asked = {"text": sentences[0], "source": "en", "target": "fr", "alignment": True}
    (sentence,) = served.post("/v1/translate", asked).json()["sentences"]
    assert sentence["target"] == expected[0]
    deepl = served.post(
        "/v2/translate",
        {"text": sentences[:1], "source_lang": "EN", "target_lang": "FR"},
        headers={"Authorization": "DeepL-Auth-Key x"},
    )
    assert deepl.json()["translations"][0]["text"] == expected[0]
    page = served.post("/translate", {**body, "q": f"<p>{sentences[0]}</p>", "format": "html"}).json()["translatedText"]
    assert page == f"<p>{expected[0]}</p>"


def test_a_typed_text_is_not_completed_and_the_models_own_directions_stay(
    served: Running, sentences: list[str]
) -> None:
    typed = {"text": sentences[0], "source": "en", "target": "fr", "typed": True, "prefix": "a"}
    answer = served.post("/v1/translate", typed)
    assert answer.status_code == 400 and "complete" in answer.json()["error"]
    assert served.post("/translate", {"q": "a", "source": "fr", "target": "en"}).status_code == 400


def test_models_are_replaced_while_a_pivot_is_at_work(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    def ask(number: int) -> str:
        if number == 2:
            served.server.models.reload()
        return served.post("/translate", {"q": sentences[number % 2], "source": "en", "target": "fr"}).json()[
            "translatedText"
        ]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == expected * 2
