"""A run from its settings to its model: the rooms below, put together."""

from transduce.experiment.average import Average, average
from transduce.experiment.recipe import ExperimentConfig, Recipe, describe_recipe, load_recipe, recipes
from transduce.experiment.run import RunResult, train

__all__ = [
    "Average",
    "ExperimentConfig",
    "Recipe",
    "RunResult",
    "average",
    "describe_recipe",
    "load_recipe",
    "recipes",
    "train",
]
