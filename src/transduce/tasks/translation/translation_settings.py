"""All settings of a run that learns to translate."""

from typing import ClassVar

from transduce.corpora.data_settings import DataConfig
from transduce.data.sentence_pairs import BatchingConfig
from transduce.models.families import EncoderDecoderConfig
from transduce.search.beam import Beam
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.text.tokenizer_settings import TokenizerConfig, tokenizer_setting


class TranslationConfig(ExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that learns to translate."""

    objects: ClassVar = {"tokenizer": tokenizer_setting}

    data: DataConfig
    """The sentence pairs to learn from."""
    model: EncoderDecoderConfig
    """The model to train."""
    phrases: bool = False
    """Learn a phrase-based model of the same pairs, too, and keep the better of the two, by chrF on the validation
    data; for some thousands of pairs or fewer."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """The tokenizer, which makes tokens of text."""
    batching: BatchingConfig = BatchingConfig()
    """Batch size."""
    search: Beam = Beam()
    """The search that translates the test set when training ends."""
