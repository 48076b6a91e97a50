"""The initial text encoder of a run: random, from a bundle, or from the run's own checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import msgspec

from transduce.base.config import differences
from transduce.base.errors import CheckpointError, ConfigError
from transduce.base.task_table import TASKS
from transduce.bundle.bundle_config import FORMAT, BundleConfig, read_config
from transduce.bundle.model_bundle import ModelBundle, read_tokenizers
from transduce.models.bert import Bert, BertConfig
from transduce.models.families import EncoderConfig, build_encoder_model, encoder_limit, encoder_of
from transduce.models.heads import EncoderModel, HeadConfig, build_head
from transduce.models.transformer import TransformerConfig
from transduce.models.transformer_encoder import TransformerEncoderConfig
from transduce.models.xlnet import XLNetConfig
from transduce.tasks.encoder_settings import EncoderExperimentConfig
from transduce.tasks.task import Tell
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import SideConfig, TokenizerConfig
from transduce.training.checkpoint import BUNDLE
from transduce.training.distributed import Processes

CLASS, SEPARATOR = "<cls>", "<sep>"  # of published XLNets, whose texts end with others


@dataclass(frozen=True)
class EncoderOrigin:
    """The tokenizers and the encoder that a run begins with."""

    tokenizers: Tokenizers
    tokenizer: TokenizerConfig
    """Settings that the tokenizers were made with."""
    config: EncoderConfig
    start: ModelBundle | None
    """The bundle of `training.start_from`; None for random initial weights."""

    def without_pooler(self) -> "EncoderOrigin":
        """Returns a copy for a head without a pooler; only BERT's settings mention it."""
        if not isinstance(self.config, BertConfig):
            return self
        config = msgspec.structs.replace(self.config, pooler=False)
        if self.start is not None:
            encoder = self.start.reader.encoder
            assert isinstance(encoder, Bert)
            encoder.pooler = None
        return replace(self, config=config)

    def build(self, head: HeadConfig) -> EncoderModel:
        """Returns the encoder with a head: that of `training.start_from` if its settings are the same, else a new
        one."""
        if self.start is None:
            return build_encoder_model(self.config, len(self.tokenizers.target), head)
        model = self.start.model
        if isinstance(model, EncoderModel) and head == self.start.config.head:
            return model
        encoder = encoder_of(self.config, model, head)
        return EncoderModel(encoder, build_head(head, encoder))

    def bundle(self, task: str, language: str, head: HeadConfig, longest: int) -> ModelBundle:
        """Returns the run's model before its first update."""
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
    """Returns the tokenizers and the encoder that a run begins with, or resumes from a checkpoint.

    Raises ConfigError or CheckpointError for a bundle to start from that does not fit.
    """
    if checkpoint is not None:
        known = read_config(checkpoint / BUNDLE)
        tokenizers = read_tokenizers(checkpoint / BUNDLE, known)
        origin = EncoderOrigin(tokenizers, known.tokenizer, cast(EncoderConfig, known.model), None)
    elif config.training.start_from is None:
        assert config.model is not None  # as is checked
        origin = EncoderOrigin(processes.broadcast(make_tokenizers), config.tokenizer, config.model, None)
    else:
        origin = _start_from(config, folder / config.training.start_from, tell)
    limit = encoder_limit(origin.config)
    if limit is not None and config.batching.max_tokens > limit:
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
    encoder = _encoder_config(start.config, f"training.start_from: {path}")
    if config.model is not None and config.model != encoder:
        first = next(iter(differences(encoder, config.model, "model.").values()))
        raise ConfigError(f"training.start_from: {first}; leave [model] out: the model's settings are those of {path}")
    if config.tokenizer != TokenizerConfig() and (
        ignored := differences(start.config.tokenizer, config.tokenizer, "tokenizer.")
    ):
        tell(
            f"tokenizer: that of {path} is kept; these settings differ from it and have no effect: {', '.join(ignored)}"
        )
    tokenizer, tokenizer_config = _reading_tokenizer(start)
    return EncoderOrigin(Tokenizers(tokenizer, tokenizer), tokenizer_config, encoder, start)


def _encoder_config(bundle: BundleConfig, where: str) -> EncoderConfig:
    """Returns the settings of a bundle's text encoder: its own, an XLNet, or the encoder of a translating
    Transformer."""
    match bundle.model:
        case BertConfig() | XLNetConfig() | TransformerEncoderConfig():
            return bundle.model
        case TransformerConfig():
            return TransformerEncoderConfig.of(bundle.model)
    kind = bundle.model.__struct_config__.tag
    raise ConfigError(
        f'{where} is {TASKS[bundle.task].title} (model.kind = "{kind}"), which has no encoder of texts that could be '
        "trained"
    )


def _reading_tokenizer(start: ModelBundle) -> tuple[Tokenizer, TokenizerConfig]:
    """Returns the tokenizer of a model's encoder: a translation model's source side; an XLNet's with the class and
    separator tokens, if it has them."""
    tokenizer, config = start.tokenizers.source, start.config.tokenizer
    if not config.is_shared:
        side = config.of_source
        config = TokenizerConfig(**{name: getattr(side, name) for name in SideConfig.__struct_fields__})
    special, known = config.special, tokenizer.backend.token_to_id
    if isinstance(start.config.model, XLNetConfig) and special and None not in map(known, (CLASS, SEPARATOR)):
        special = msgspec.structs.replace(special, bos=CLASS, eos=SEPARATOR)
        config = msgspec.structs.replace(config, special=special)
        tokenizer = Tokenizer(tokenizer.backend, special)
    return tokenizer, config
