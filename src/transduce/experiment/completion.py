"""Completing a recipe from the model that its training starts from: [model], [tokenizer], languages, context."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.config import to_tree
from transduce.base.errors import CheckpointError
from transduce.base.task_table import check_task
from transduce.bundle.bundle_config import BundleConfig, read_config
from transduce.bundle.model_bundle import find_bundle
from transduce.tasks.experiment_settings import ExperimentConfig


def complete(tree: dict[str, Any], type_: type[ExperimentConfig], folder: Path) -> dict[str, Any]:
    """Returns a recipe's settings, completed by those of the bundle that `training.start_from` names.

    They complete unset settings of [model], [tokenizer], the languages and the context. Tasks whose model is a part of
    the bundle's, such as its encoder, take it themselves.

    Raises CheckpointError or InputError if a recipe without [model] names a bundle that cannot be read or is for
    another task; if it has [model], loading the bundle raises the error.
    """
    training = tree.get("training")
    start = training.get("start_from") if isinstance(training, Mapping) else None
    needs_model = any(field.name == "model" and field.required for field in msgspec.structs.fields(type_))
    if not isinstance(start, str) or not needs_model:
        return tree
    task = tree.get("task", "translation")
    try:
        bundle = read_config(find_bundle(folder / start))
    except CheckpointError as error:
        if "model" in tree:
            return tree
        raise CheckpointError(f"training.start_from: {error}") from None
    if bundle.task != task:
        if "model" not in tree:
            check_task(f"training.start_from: {start}", bundle.task, task)
        return tree
    return tree | _settings_of(bundle, tree)


def _settings_of(bundle: BundleConfig, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the tables that a bundle completes."""
    tables: dict[str, Any] = {}
    model, known = tree.get("model", {}), to_tree(bundle)["model"]
    if isinstance(model, Mapping) and model.get("kind", known["kind"]) == known["kind"]:
        tables["model"] = known | dict(model)
    if not tree.get("tokenizer") and not bundle.tokenizer.names_files:  # whose paths it does not know
        tables["tokenizer"] = to_tree(bundle.tokenizer)
    if not isinstance(data := tree.get("data", {}), Mapping):
        return tables
    if bundle.languages is None and "directions" not in data:
        languages = {"language": bundle.source}
        if bundle.task == "translation":
            languages = {"source": bundle.source, "target": bundle.target}
        tables["data"] = data = languages | dict(data)
    if bundle.context is not None and isinstance(asked := data.get("context", {}), Mapping):
        tables["data"] = {**data, "context": to_tree(bundle.context) | dict(asked)}
    return tables
