"""Train, understand and use attention models that turn one sequence into another."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transduce.base.environment import prepare_environment
from transduce.base.version import VERSION

if TYPE_CHECKING:
    from transduce.analysis.interventions import intervene as intervene
    from transduce.analysis.interventions import places as places
    from transduce.analysis.probes import probe as probe
    from transduce.base.errors import TransduceError as TransduceError
    from transduce.corpora.corpus import SentencePair as SentencePair
    from transduce.evaluation.compare import compare as compare
    from transduce.evaluation.evaluate import evaluate as evaluate
    from transduce.experiment.distillation import backtranslate as backtranslate
    from transduce.experiment.distillation import distill as distill
    from transduce.experiment.over_checkpoints import over_training as over_training
    from transduce.experiment.recipe import load_recipe as load_recipe
    from transduce.experiment.run import train as train
    from transduce.experiment.training_plan import plan as plan
    from transduce.inference.answerer import Answerer as Answerer
    from transduce.inference.classifier import Classifier as Classifier
    from transduce.inference.generator import Generation as Generation
    from transduce.inference.generator import Generator as Generator
    from transduce.inference.loading import load as load
    from transduce.inference.model_documents import DocumentTranslator as DocumentTranslator
    from transduce.inference.request import Request as Request
    from transduce.inference.scorer import Scorer as Scorer
    from transduce.inference.tagger import Tagger as Tagger
    from transduce.inference.text_encoder import Encoder as Encoder
    from transduce.inference.translation import Translation as Translation
    from transduce.inference.translator import Translator as Translator
    from transduce.inference.why_word import why as why
    from transduce.search.beam import Beam as Beam
    from transduce.search.choices import MinimumBayesRisk as MinimumBayesRisk
    from transduce.search.diverse import DiverseBeam as DiverseBeam
    from transduce.search.sampling import Sampling as Sampling
    from transduce.tasks.language.language_settings import LanguageConfig as LanguageConfig
    from transduce.tasks.translation.translation_settings import TranslationConfig as TranslationConfig

_MODULES = {
    "load": "transduce.inference.loading",
    "train": "transduce.experiment.run",
    "plan": "transduce.experiment.training_plan",
    "distill": "transduce.experiment.distillation",
    "backtranslate": "transduce.experiment.distillation",
    "evaluate": "transduce.evaluation.evaluate",
    "compare": "transduce.evaluation.compare",
    "places": "transduce.analysis.interventions",
    "intervene": "transduce.analysis.interventions",
    "probe": "transduce.analysis.probes",
    "why": "transduce.inference.why_word",
    "over_training": "transduce.experiment.over_checkpoints",
    "Translator": "transduce.inference.translator",
    "Translation": "transduce.inference.translation",
    "DocumentTranslator": "transduce.inference.model_documents",
    "Generator": "transduce.inference.generator",
    "Generation": "transduce.inference.generator",
    "Classifier": "transduce.inference.classifier",
    "Tagger": "transduce.inference.tagger",
    "Answerer": "transduce.inference.answerer",
    "Encoder": "transduce.inference.text_encoder",
    "Request": "transduce.inference.request",
    "Beam": "transduce.search.beam",
    "DiverseBeam": "transduce.search.diverse",
    "Sampling": "transduce.search.sampling",
    "MinimumBayesRisk": "transduce.search.choices",
    "Scorer": "transduce.inference.scorer",
    "SentencePair": "transduce.corpora.corpus",
    "TranslationConfig": "transduce.tasks.translation.translation_settings",
    "LanguageConfig": "transduce.tasks.language.language_settings",
    "load_recipe": "transduce.experiment.recipe",
    "TransduceError": "transduce.base.errors",
}
"""The module of each public name: it is imported on first use, so that `transduce --help` needs no torch."""

__all__ = [
    "load",
    "train",
    "plan",
    "distill",
    "backtranslate",
    "evaluate",
    "compare",
    "places",
    "intervene",
    "probe",
    "why",
    "over_training",
    "Translator",
    "Translation",
    "DocumentTranslator",
    "Generator",
    "Generation",
    "Classifier",
    "Tagger",
    "Answerer",
    "Encoder",
    "Request",
    "Beam",
    "DiverseBeam",
    "Sampling",
    "MinimumBayesRisk",
    "Scorer",
    "SentencePair",
    "TranslationConfig",
    "LanguageConfig",
    "load_recipe",
    "TransduceError",
    "__version__",
]

__version__ = VERSION

prepare_environment()  # before anything loads torch


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'transduce' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
