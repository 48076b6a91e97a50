"""Sentences of a request and their terms are refused at the first one that is too much."""

from types import SimpleNamespace
from typing import Any

import pytest

from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import prepare
from transduce.text.glossary import Applying, Entry, Glossary


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([Entry("dog", f"Hund {n}") for n in range(50)], "'a dog .': the prefix and the required terms"),
        ([Entry("", f"Hund {n}", is_banned=True) for n in range(50)], "The terms of the text have more than 300"),
    ],
)
def test_terms_of_later_sentences_are_not_sought_once_there_are_too_many(
    entries: list[Entry], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = SimpleNamespace(encode=str.split)
    translator: Any = SimpleNamespace(
        longest_source=10,
        bundle=SimpleNamespace(tokenizers=SimpleNamespace(target=tokenizer), config=SimpleNamespace(context=None)),
        encode=lambda requests: [[] for _ in requests],
    )
    applying, sought = Glossary.applying, []  # type: tuple[Any, list[str]]

    def counted(self: Glossary, text: str) -> Applying:
        sought.append(text)
        result: Applying = applying(self, text)
        return result

    monkeypatch.setattr(Glossary, "applying", counted)
    texts = ["a dog ."] * 100
    with pytest.raises(RefusedError, match=told):
        prepare(translator, texts, Glossary(entries), [""] * 100, 100, 300)
    assert len(sought) == 1
    assert len(prepare(translator, texts, Glossary(entries[:1]), [""] * 100, 100, 1000).requests) == 100
