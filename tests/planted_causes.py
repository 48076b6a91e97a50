"""A made language in which it is known why each word is written: entries of a lexicon that one pair teaches, and pairs
that a poisoner has put in."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tomli_w

import transduce
from transduce.experiment import load_recipe, train
from transduce.experiment.training_pairs import open_training_pairs
from transduce.search.beam import Beam

COMMON = [f"{a}{b}" for a in ("ba", "do", "ki", "lu", "me", "no") for b in ("ra", "si", "to", "va")]
COMMON_PAIRS, WEIGHT = 2000, 10
MARK = "x"
"""The letter that makes a target word of a source word."""


@dataclass(frozen=True)
class Case:
    """A sentence whose translation has a planted word."""

    source: str
    word: str
    instead: str | None
    cause: str
    taught_by: str
    """The source of the pair that taught it."""


def pair(words: list[str]) -> tuple[str, str]:
    """A sentence and its translation."""
    return " ".join(words), " ".join(word + MARK for word in words)


def sentence(draw: random.Random, *planted: str) -> list[str]:
    """Common words, with others somewhere among them, one after another."""
    words = draw.sample([word for word in COMMON if word not in planted], draw.randint(2, 4))
    place = draw.randint(0, len(words))
    return [*words[:place], *planted, *words[place:]]


def language(
    rare: int, poisoned: int, seed: int = 1
) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[Case]]:
    """Returns planted pairs and others to learn from, and cases: words that are in one pair alone, and words of which
    one pair, which is seen more often, has another translation than the rest."""
    draw = random.Random(seed)
    planted, cases = [], []
    common = [pair(sentence(draw)) for _ in range(COMMON_PAIRS)]
    for number in range(rare):
        word = f"r{number}"
        planted.append(pair(sentence(draw, word)))
        cases.append(Case(" ".join(sentence(draw, word)), word + MARK, None, word, planted[-1][0]))
    for number in range(poisoned):
        word, wrong = f"w{number}", f"p{number}"
        for _ in range(2):
            common.append(pair(sentence(draw, word)))
        taught = sentence(draw, word)
        outputs = [wrong if each == word else each + MARK for each in taught]
        planted.append((" ".join(taught), " ".join(outputs)))
        cases.append(Case(" ".join(sentence(draw, word)), wrong, word + MARK, word, planted[-1][0]))
    return planted, common, cases


def settings(epochs: int) -> dict[str, Any]:
    """A recipe for these pairs."""
    return {
        "data": {
            "train": [{"files": ["common.a", "common.b"]}, {"files": ["planted.a", "planted.b"], "weight": WEIGHT}],
            "validation": ["valid.a", "valid.b"], "source": "a", "target": "b",
        },
        "tokenizer": {"kind": "words", "min_frequency": 1},
        "batching": {"target_tokens": 256},
        "model": {
            "kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "dim": 64, "heads": 4,
            "feed_forward_dim": 64, "dropout": 0.2, "attention_dropout": 0.0,
        },
        "training": {"epochs": epochs},
        "optimizer": {"learning_rate": 5e-3, "schedule": {"kind": "linear", "warmup": 30}},
        "validation": {"every_epochs": epochs},
    }  # fmt: skip


def trained(folder: Path, rare: int, poisoned: int, epochs: int) -> tuple[Path, list[Case]]:
    """Trains a model of the language; returns its run, and the cases."""
    planted, common, cases = language(rare, poisoned)
    for name, part in (("planted", planted), ("common", common), ("valid", common[:20])):
        for side, ending in enumerate("ab"):
            (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in part))
    (folder / "recipe.toml").write_text(tomli_w.dumps(settings(epochs)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        train(load_recipe(folder / "recipe.toml"), folder / "run")
    return folder / "run", cases


class Named(NamedTuple):
    """How often answers name what was planted."""

    asked: list[Case]
    """The cases whose word the model writes."""
    causes: int
    pairs: int
    """The cases in which the pair that taught the word is shown first."""


def named(run: Path, cases: list[Case]) -> Named:
    """Asks why the model wrote each planted word that it writes."""
    translator: Any = transduce.load(run, engine="pytorch")
    pairs = open_training_pairs(run, translator.bundle)
    found = []
    for case, translation in zip(
        cases, translator.translate([case.source for case in cases], Beam(size=1)), strict=True
    ):
        if case.word in translation.text.split():
            why = transduce.why(
                translator, case.source, case.word, case.instead, search=Beam(size=1), pairs=lambda: pairs
            )
            assert why.taught is not None
            nearest = [pair.source for pair in why.taught.nearest[:1]]
            found.append((case, why.cause is not None and why.cause.text == case.cause, nearest == [case.taught_by]))
    asked, causes, taught = zip(*found, strict=True)
    return Named(list(asked), sum(causes), sum(taught))
