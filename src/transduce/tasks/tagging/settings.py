"""All settings of a run that learns to tag the words of sentences."""

from transduce.ranges import PositiveInt
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig


class TaggedConfig(ExamplesConfig, frozen=True):
    """A built-in data set of tagged sentences, or files of them; paths are relative to the file that names them.

    A file has a word and its tag (O, B-kind or I-kind) on each line and a blank line between sentences, or ends in
    .jsonl and has "words" and "tags" in the object on each line.
    """

    word: PositiveInt | None = None
    """Column of words; default: the first."""
    tag: PositiveInt | None = None
    """Column of tags; default: the last."""


class TaggingConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a tagger."""

    data: TaggedConfig
    """What is learned from."""
