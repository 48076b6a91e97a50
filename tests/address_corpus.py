"""A made language whose form of address no source tells: only the translations before."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from pronoun_corpus import settings
from transduce.experiment import load_recipe, train

VERBS = {
    "come": ("kommst", "kommen"),
    "laugh": ("lachst", "lachen"),
    "read": ("liest", "lesen"),
    "go": ("gehst", "gehen"),
}


def familiar(verb: str) -> str:
    return f"du {VERBS[verb][0]}"


def polite(verb: str) -> str:
    return f"Sie {VERBS[verb][1]}"


def trained(folder: Path, shared: bool = True) -> Path:
    """Trains a model that reads the sentences before and their translations; returns its run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        for name, count, seed in (("train.tsv", 300, 1), ("valid.tsv", 40, 2)):
            draw, rows = random.Random(seed), []
            for number in range(count):
                form = draw.choice([familiar, polite])
                rows += [f"{seed}-{number}\t{form(verb)}\tyou {verb}\n" for verb in draw.choices(list(VERBS), k=4)]
            (folder / name).write_text("".join(rows))
        recipe = settings(200, source="en", target="de", context={"before": 2, "side": "both", "dropout": 0.1})
        recipe["tokenizer"]["shared"] = shared
        (folder / "recipe.toml").write_text(tomli_w.dumps(recipe))
        train(load_recipe(folder / "recipe.toml"), folder / "run")
    return folder / "run"


def half_confirmed(form: Callable[[str], str]) -> str:
    """Returns a .po file, of whose texts the first two are translated."""
    lines = [f'msgid "you {verb}"\nmsgstr "{form(verb) if number < 2 else ""}"' for number, verb in enumerate(VERBS)]
    return "\n\n".join(['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"', *lines, ""])
