"""Where the text encoder of a run comes from: drawn for it, taken from a bundle, or from its own checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec
from torch import nn

from transduce.bundle import FORMAT, BundleConfig, ModelBundle, read_config, read_tokenizers
from transduce.config import differences
from transduce.errors import CheckpointError, ConfigError
from transduce.models.bert import Bert
from transduce.models.families import EncoderConfig, build_encoder_model
from transduce.models.heads import EncoderModel, HeadConfig, build_head
from transduce.task_table import TASKS
from transduce.tasks.encoder_settings import EncoderExperimentConfig
from transduce.tasks.task import Tell
from transduce.text.tokenizer import TokenizerConfig, Tokenizers
from transduce.training.checkpoint import BUNDLE
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class EncoderOrigin:
    """What a run begins with."""

    tokenizers: Tokenizers
    tokenizer: TokenizerConfig
    """How the tokenizers were made."""
    config: EncoderConfig
    start: ModelBundle | None
    """With the weights of `training.start_from`; None where they are to be drawn."""

    def without_pooler(self) -> "EncoderOrigin":
        """The same for a head that has no use for the vector of a whole text."""
        config = msgspec.structs.replace(self.config, pooler=False)
        if self.start is not None:
            encoder = cast(EncoderModel, self.start.model).encoder
            assert isinstance(encoder, Bert)
            encoder.pooler = None
        return replace(self, config=config)

    def build(self, head: HeadConfig | None) -> EncoderModel:
        """The model with a head: a fresh one, unless that of the model to start from is for the same."""
        if self.start is None:
            return build_encoder_model(self.config, len(self.tokenizers.target), head)
        model = self.start.model
        assert isinstance(model, EncoderModel)
        if head == self.start.config.head:
            return model
        encoder = model.encoder
        assert isinstance(encoder, nn.Module)
        return EncoderModel(encoder, None if head is None else build_head(head, encoder))

    def bundle(self, task: str, language: str, head: HeadConfig | None, longest: int) -> ModelBundle:
        """The run's model before its first update."""
        config = BundleConfig(
            format=FORMAT,
            task=task,
            source=language,
            target=language,
            model=self.config,
            tokenizer=self.tokenizer,
            longest_source=longest,
            head=head,
        )
        return ModelBundle(config, self.build(head), self.tokenizers)


def find_encoder(
    config: EncoderExperimentConfig,
    folder: Path,
    checkpoint: Path | None,
    processes: Processes,
    make_tokenizers: Callable[[], Tokenizers],
    tell: Tell,
) -> EncoderOrigin:
    """What a run with these settings begins with, or goes on with from a checkpoint.

    Raises ConfigError or CheckpointError for a bundle to start from that does not fit.
    """
    if checkpoint is not None:
        known = read_config(checkpoint / BUNDLE)
        tokenizers = read_tokenizers(checkpoint / BUNDLE, known.tokenizer)
        origin = EncoderOrigin(tokenizers, known.tokenizer, _encoder_config(known, "training.start_from"), None)
    elif config.training.start_from is None:
        assert config.model is not None  # as is checked
        origin = EncoderOrigin(processes.broadcast(make_tokenizers), config.tokenizer, config.model, None)
    else:
        origin = _start_from(config, folder / config.training.start_from, tell)
    limit = origin.config.max_positions
    if config.batching.max_tokens > limit:
        raise ConfigError(
            f"batching.max_tokens = {config.batching.max_tokens}, but the encoder has {limit} positions; lower it to "
            "at most as many"
        )
    return origin


def _start_from(config: EncoderExperimentConfig, path: Path, tell: Tell) -> EncoderOrigin:
    try:
        start = ModelBundle.load(path)
    except CheckpointError as error:
        raise CheckpointError(f"training.start_from: {error}") from None
    found = _encoder_config(start.config, f"training.start_from: {path}")
    if config.model is not None and config.model != found:
        first = next(iter(differences(found, config.model, "model.").values()))
        raise ConfigError(f"training.start_from: {first}; leave [model] out: the model's settings are those of {path}")
    if config.tokenizer != TokenizerConfig() and (
        ignored := differences(start.config.tokenizer, config.tokenizer, "tokenizer.")
    ):
        tell(
            f"tokenizer: that of {path} is kept; these settings differ from it and have no effect: {', '.join(ignored)}"
        )
    return EncoderOrigin(start.tokenizers, start.config.tokenizer, found, start)


def _encoder_config(bundle: BundleConfig, where: str) -> EncoderConfig:
    if TASKS[bundle.task].probe != "texts":
        raise ConfigError(f"{where} is {TASKS[bundle.task].title}, which has no encoder of texts that could be trained")
    return msgspec.convert(msgspec.to_builtins(bundle.model), EncoderConfig)
