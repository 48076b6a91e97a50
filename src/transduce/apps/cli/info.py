"""The verbs that print facts: `recipes` on the built-in experiments, `info` on a model."""

from typing import Any

from transduce.apps.cli.listing import print_facts
from transduce.apps.cli.messages import print_json
from transduce.apps.cli.options import Json, Model


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
    from transduce.inference.engines.automatic import AutomaticEngine
    from transduce.inference.engines.choice import engine_for
    from transduce.inference.engines.exported import ExportedModel, open_model
    from transduce.text.normalization import describe_normalization, normalization_examples

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
    facts["history"] = bundle.history
    if json:
        print_json(facts)
        return
    if changed:
        facts["normalization"] = {side: describe_normalization(changes) for side, changes in changed.items()}
    print_facts({key.removeprefix("config."): _shown(value) for key, value in flatten(facts).items()})


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
