"""All settings of a run that pre-trains a text encoder."""

from typing import Annotated

from msgspec import Meta

from transduce.config import Settings
from transduce.data.masking import MaskingConfig
from transduce.ranges import ShareWithin
from transduce.tasks.encoder_settings import EncoderExperimentConfig
from transduce.text.tokenizer import TokenizerConfig


class DocumentsConfig(Settings, frozen=True):
    """Built-in data sets, or files of text, a sentence a line and a blank line between documents; paths are relative to
    the file that names them."""

    dataset: str | list[str] | None = None
    """Names of built-in texts, or of sentence pairs, of which one side is read."""
    language: str = "en"
    """Language of the text."""
    train: str | list[str] | None = None
    """Training files, plain text or .gz, .xz and .zst."""
    validation: str | list[str] | None = None
    """Validation files (default: a share of the documents)."""
    validation_share: ShareWithin | None = None
    """Share of the documents to validate on, drawn at random (default: 0.02)."""
    document_lines: Annotated[int, Meta(ge=2, le=1_000_000)] = 100
    """Maximum lines of a document; text without blank lines is cut into documents of this length."""

    def _check_together(self) -> None:
        for name in ("dataset", "train", "validation"):
            if (named := getattr(self, name)) is not None and not named:
                raise ValueError(f"{name} is empty; name one or more, or leave it out")
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.validation_share is not None and self.validation is not None:
            raise ValueError("validation_share: validation data are given; leave one of them out")


class PretrainingConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that pre-trains a text encoder."""

    data: DocumentsConfig
    """The documents to learn from."""
    tokenizer: TokenizerConfig = TokenizerConfig(kind="bert", lowercase=True)
    """The tokenizer, which makes tokens of text and must have [MASK]. A model to start from keeps its own."""
    masking: MaskingConfig = MaskingConfig()
    """Settings for hiding tokens."""
    next_sentence: bool = True
    """Also learn whether a text follows another (RoBERTa leaves it out)."""
