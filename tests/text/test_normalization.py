"""What normalisation does to text is told by examples that it changes, and by no others."""

from typing import Any

import pytest

from transduce.apps.cli.info import describe_normalization, normalization_examples
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

LINES = ["The small dog runs across the field, doesn't it?"] * 5


@pytest.mark.parametrize(
    ("options", "changed", "unchanged"),
    [
        ({}, {"Cafe\u0301": "Café", "two  spaces": "two spaces", "5\u00a0km": "5 km"}, ["ÉCOLE", "½", "ﬁn"]),
        ({"normalize": "none"}, {"two  spaces": "two spaces"}, ["Cafe\u0301", "½"]),
        ({"lowercase": True}, {"ÉCOLE": "école"}, ["½"]),
        ({"normalize": "NFKC"}, {"½": "1⁄2", "Ｆｕｌｌ": "Full", "ﬁn": "fin", "ｶﾞ": "ガ"}, ["ÉCOLE"]),
        ({"normalize": "letters"}, {"ÉCOLE": "ecole", "to-day;": "to day", "O’Neill": "o neill"}, []),
    ],
)
def test_examples_are_those_that_change(options: dict[str, Any], changed: dict[str, str], unchanged: list[str]) -> None:
    found = normalization_examples(train_tokenizer(SideConfig(kind="words", min_frequency=1, **options), LINES))
    assert changed.items() <= found.items()
    assert not found.keys() & unchanged
    assert all(text != normal for text, normal in found.items())


def test_what_cannot_be_seen_is_spelled() -> None:
    told = describe_normalization({"Cafe\u0301": "Café", "5\u00a0km": "5 km"})
    assert told == r'"Cafe\u0301" becomes "Café", "5\xa0km" becomes "5 km"'
