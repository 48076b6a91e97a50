"""The verbs that print facts: `recipes` on the built-in experiments, `info` on a model."""

from typing import TYPE_CHECKING, Any

from transduce.apps.cli.listing import print_facts
from transduce.apps.cli.options import Json, Model
from transduce.apps.cli.printing import print_json

if TYPE_CHECKING:
    from transduce.text.tokenizer import Tokenizer

EXAMPLES = ("Cafe\u0301", "ÉCOLE", "ﬁn", "½", "Ｆｕｌｌ", "5\u00a0km", "two  spaces", "to-day;", "O’Neill", "ｶﾞ")
"""Examples: letters apart from their accents, capitals, ligatures, fractions, full-width letters, spaces, marks."""


def recipes(*, json: Json = False) -> None:
    """List the built-in recipes.

    Example: `transduce recipes`
    """
    from transduce import experiment

    described = {name: experiment.describe_recipe(name) for name in experiment.recipes()}
    print_json(described) if json else print_facts(described)


def info(model: Model, *, json: Json = False) -> None:
    """Shows what a model is and how it was trained.

    Example: `transduce info runs/multi30k`
    """
    from transduce.base.config import flatten, to_tree
    from transduce.corpora.language_detector import DETECTION
    from transduce.inference.engines.automatic_engine import AutomaticEngine
    from transduce.inference.engines.choice import engine_for
    from transduce.inference.engines.exported import ExportedModel, open_model

    bundle = open_model(model)
    facts: dict[str, Any] = {
        "config": to_tree(bundle.config),
        "vocabulary": {"source": len(bundle.tokenizers.source), "target": len(bundle.tokenizers.target)},
    }
    sides = {"source": bundle.tokenizers.source, "target": bundle.tokenizers.target}
    examples = {side: normalization_examples(tokenizer) for side, tokenizer in sides.items()}
    if changed := {side: changes for side, changes in examples.items() if changes}:
        facts["normalization"] = changed
    if isinstance(bundle, ExportedModel):
        facts["export"] = {name: fact for name, fact in to_tree(bundle.export).items() if name != "sha256"}
    else:
        facts["parameters"] = sum(parameter.numel() for parameter in bundle.model.parameters())
        if bundle.config.task == "translation" and isinstance(
            engine := engine_for(bundle, engine="auto"), AutomaticEngine
        ):
            facts["engine"] = engine.expected()
    if (languages := bundle.config.languages) is not None and languages.directions is None:
        facts["directions"] = f"each of {len(languages.tokens)} languages into each other"
    own = {DETECTION: list(bundle.history[DETECTION])} if DETECTION in bundle.history else {}  # not the profiles
    facts["history"] = bundle.history | own
    if json:
        print_json(facts)
        return
    if changed:
        facts["normalization"] = {side: describe_normalization(changes) for side, changes in changed.items()}
    print_facts({key.removeprefix("config."): _shown(value) for key, value in flatten(facts).items()})


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def normalization_examples(tokenizer: "Tokenizer") -> dict[str, str]:
    """Returns the examples that normalisation changes, each with its result."""
    normalizer = tokenizer.backend.normalizer
    if normalizer is None:
        return {}
    results = {text: normalizer.normalize_str(text).strip() for text in EXAMPLES}
    return {text: normal for text, normal in results.items() if normal != text}


def describe_normalization(examples: dict[str, str]) -> str:
    """Describes the examples on one line; invisible characters are spelled by their codes."""
    return ", ".join(f"{_visible(text)} becomes {_visible(normal)}" for text, normal in examples.items())


def _visible(text: str) -> str:
    """Returns a text in quotes, with combining marks and odd spaces as \\u0301 and the like."""
    shown = "".join(
        character if character.isalnum() or character.isascii() or character in "’½" else ascii(character)[1:-1]
        for character in text
    )
    return f'"{shown}"'
