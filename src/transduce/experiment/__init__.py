"""A run from its settings to its model: the rooms below, put together."""

from transduce.experiment.automatic import Files, from_words
from transduce.experiment.average import Average, average
from transduce.experiment.learn_shortlist import LearnedShortlist, ShortlistSettings, learn_shortlist
from transduce.experiment.recipe import ExperimentConfig, Recipe, describe_recipe, load_recipe, recipes
from transduce.experiment.run import RunResult, train
from transduce.experiment.sweep import Sweep, sweep

__all__ = [
    "Average",
    "ExperimentConfig",
    "Files",
    "LearnedShortlist",
    "Recipe",
    "RunResult",
    "ShortlistSettings",
    "Sweep",
    "average",
    "describe_recipe",
    "from_words",
    "learn_shortlist",
    "load_recipe",
    "recipes",
    "sweep",
    "train",
]
