"""All settings of a run that learns to find the answers to questions in passages."""

from transduce.models.heads import SpanHeadConfig
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig


class AnsweringConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a model to answer questions."""

    data: ExamplesConfig
    """What is learned from: files in the form of SQuAD's JSON, or a built-in data set."""
    head: SpanHeadConfig = SpanHeadConfig()
    """How answers are sought."""
