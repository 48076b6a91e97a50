"""All settings of a run that learns to classify texts, or to give them scores."""

from typing import Literal

from transduce.models.interface import Pooling
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig

Column = int | str


class LabelledConfig(ExamplesConfig, frozen=True):
    """A built-in data set of labelled texts, or files of them; paths are relative to the file that names them.

    A .tsv file has a text, or two, and a label on each line, with tabs between; a .jsonl file an object on each line.
    """

    text: Column | None = None
    """Column of the text: its number, or its name in the first line, or its key; default: the first, or "text"."""
    second: Column | None = None
    """Column of a second text, which is read together with the first; default: there is none."""
    label: Column | None = None
    """Column of the label; default: the one after the texts, or "label"."""


class ClassificationConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a classifier."""

    data: LabelledConfig
    """What is learned from."""
    predict: Literal["class", "score"] = "class"
    """What a label is: one of some classes, or a number."""
    pooling: Pooling = "pooler"
    """What labels are told from: a layer that reads the first token's vector (pooler, Devlin et al. 2019), the mean of
    all tokens' vectors, as encoders for sentence similarity are trained (mean, Reimers and Gurevych 2019), or the first
    token's vector itself (first)."""
