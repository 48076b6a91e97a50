"""Runs: training, averaging, sweeps, distillation and shortlists from recipes."""

from transduce.experiment.adapting import merge
from transduce.experiment.automatic import Files, from_words
from transduce.experiment.average import Average, average
from transduce.experiment.distillation import backtranslate, distill
from transduce.experiment.learn_shortlist import LearnedShortlist, ShortlistSettings, learn_shortlist
from transduce.experiment.new_language import add_language
from transduce.experiment.preview import preview
from transduce.experiment.recipe import Recipe, describe_recipe, load_recipe, recipes
from transduce.experiment.run import RunResult, train
from transduce.experiment.sweep import Sweep, sweep
from transduce.experiment.synthetic_pairs import Selection
from transduce.experiment.synthetic_stages import SyntheticRun
from transduce.experiment.synthetic_texts import HeldOutFiles
from transduce.experiment.training_plan import TrainingPlan, plan
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.translation.translation_settings import TranslationConfig

__all__ = [
    "Average",
    "ExperimentConfig",
    "Files",
    "HeldOutFiles",
    "LearnedShortlist",
    "Recipe",
    "RunResult",
    "Selection",
    "ShortlistSettings",
    "Sweep",
    "SyntheticRun",
    "TrainingPlan",
    "TranslationConfig",
    "add_language",
    "average",
    "backtranslate",
    "describe_recipe",
    "distill",
    "from_words",
    "learn_shortlist",
    "load_recipe",
    "merge",
    "plan",
    "preview",
    "recipes",
    "sweep",
    "train",
]
