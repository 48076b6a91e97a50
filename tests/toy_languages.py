"""A toy of three languages: letters (de), the digits that stand for them (en), and capital letters backwards (fr)."""

import itertools
import random
from pathlib import Path
from typing import Any

WORDS = "bcdfgh"
DIRECTIONS = ["de-en", "de-fr", "en-de", "fr-de", "en-fr"]
UNSEEN = "fr-en"


def spell(words: tuple[str, ...], language: str) -> str:
    """A sentence in one of the languages."""
    other = {"de": WORDS, "en": "123456", "fr": WORDS[::-1].upper()}[language]
    return " ".join(other[WORDS.index(word)] for word in words)


def sentences() -> list[tuple[str, ...]]:
    """All of one or two words, in a random order that is always the same."""
    found = [words for length in (1, 2) for words in itertools.product(WORDS, repeat=length)]
    random.Random(3).shuffle(found)
    return found


def write_corpora(folder: Path) -> None:
    """train, dev and test in each language, line by line."""
    everything = sentences()
    for name, part in (("test", everything[:5]), ("dev", everything[5:9]), ("train", everything[9:])):
        for language in ("de", "en", "fr"):
            text = "".join(f"{spell(words, language)}\n" for words in part)
            (folder / f"{name}.{language}").write_text(text)


def data_of(name: str) -> list[dict[str, Any]]:
    """The corpora of a part as settings name them: two of them name their languages, one by its files alone."""
    return [
        {"files": [f"{name}.de", f"{name}.en"], "source": "de", "target": "en"},
        {"files": [f"{name}.fr", f"{name}.de"]},
        {"files": [f"{name}.en", f"{name}.fr"], "source": "en", "target": "fr"},
    ]


def settings(place: str, updates: int = 200, **data: Any) -> dict[str, Any]:
    """A recipe for the corpora; small enough to be learned in some seconds."""
    parts = {name: data_of(stem) for name, stem in (("train", "train"), ("validation", "dev"), ("test", "test"))}
    return {
        "data": {**parts, "directions": DIRECTIONS, "language_token": place, **data},
        "tokenizer": {"kind": "words", "min_frequency": 1},
        "batching": {"target_tokens": 200},
        "model": {
            "kind": "transformer",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dim": 32,
            "heads": 4,
            "feed_forward_dim": 64,
            "dropout": 0.0,
            "tie": "all",
        },
        "training": {"updates": updates, "precision": "float32"},
        "optimizer": {"learning_rate": 1e-2, "schedule": {"kind": "linear", "warmup": 10}},
        "checkpoint": {"every_updates": 40},
        "validation": {"every_updates": 40, "metrics": ["exact_match"]},
    }
