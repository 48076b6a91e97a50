"""A made language whose verbs drop their pronouns: only the sentence before tells who is meant."""

import random
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from transduce.experiment import load_recipe, train

PEOPLE = {"anna": "she", "maria": "she", "otto": "he", "hans": "he"}
VERBS = {"geht": "goes", "ruft": "calls", "lacht": "laughs", "liest": "reads"}


def documents(count: int, seed: int) -> list[list[tuple[str, str]]]:
    """Returns documents of four pairs: a person comes, and does something, twice."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        lines = []
        for _ in range(2):
            person, verb = draw.choice(list(PEOPLE)), draw.choice(list(VERBS))
            lines += [(f"{person} kommt", f"{person} comes"), (f"dann {verb}", f"then {PEOPLE[person]} {VERBS[verb]}")]
        made.append(lines)
    return made


def write_table(path: Path, count: int, seed: int) -> Path:
    """Writes documents as a table: document, target, source."""
    rows = [
        f"{seed}-{number}\t{target}\t{source}\n"
        for number, lines in enumerate(documents(count, seed))
        for source, target in lines
    ]
    path.write_text("".join(rows))
    return path


def settings(updates: int, **data: Any) -> dict[str, Any]:
    """Returns the settings of a small run on train.tsv and valid.tsv."""
    return {
        "data": {
            "train": "train.tsv", "validation": "valid.tsv", "source": "de", "target": "en", "columns": [3, 2, 1],
            "context": {"before": 2, "dropout": 0.1}, **data,
        },
        "tokenizer": {"kind": "words", "min_frequency": 1},
        "batching": {"target_tokens": 512},
        "model": {
            "kind": "transformer", "encoder_layers": 1, "decoder_layers": 1, "dim": 32, "heads": 2,
            "feed_forward_dim": 64, "dropout": 0.0,
        },
        "training": {"updates": updates},
        "optimizer": {"learning_rate": 5e-3, "schedule": {"kind": "constant"}},
        "validation": {"every_updates": updates, "metrics": ["exact_match"]},
    }  # fmt: skip


def trained(folder: Path) -> Path:
    """Trains a model that reads the sentences before; returns its run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        write_table(folder / "train.tsv", 300, 1)
        write_table(folder / "valid.tsv", 40, 2)
        (folder / "recipe.toml").write_text(tomli_w.dumps(settings(120)))
        train(load_recipe(folder / "recipe.toml"), folder / "run")
    return folder / "run"
