"""The sources of a run's validation data, by which an exported model is measured."""

from pathlib import Path

from transduce.base.task_table import check_tool
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle
from transduce.corpora.splits import open_splits
from transduce.experiment.recipe import recipe_known_of


def validation_sources(model: Path) -> list[str]:
    """Returns the source side of the validation data of a model's run; InputError if it is in no run's folder,
    or no translator."""
    check_tool(model, read_config(find_bundle(model)).task, "translator")
    recipe = recipe_known_of(model, "validation data", "give text to measure it by (sentences)")
    return [pair.source for pair in open_splits(recipe.config.data, recipe.folder).validation]
