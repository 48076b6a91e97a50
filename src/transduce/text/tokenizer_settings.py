"""Settings of tokenizers: one for both languages, or one for each."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta
from tokenizers import Tokenizer as Backend

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.ranges import PositiveInt
from transduce.corpora.given import kept_file

TokenizerKind = Literal[
    "bpe", "wordpiece", "unigram", "sentencepiece", "bert", "words", "whitespace", "characters", "bytes", "file"
]

PAD, UNK, BOS, EOS = SPECIALS = ("<pad>", "<unk>", "<bos>", "<eos>")
SUBWORDS = ("bpe", "wordpiece", "unigram", "sentencepiece", "bert")
BREAK = "<break>"  # after each sentence of the context before a source
DEFAULT_SUBWORDS = 8000

VocabularySize = Annotated[int, Meta(ge=len(SPECIALS) + 1, le=10_000_000)]


class SpecialTokens(Settings, frozen=True):
    """The special tokens of a tokenizer file by their roles; one may have several. No other is added to the file's."""

    pad: str
    """Padding of shorter sequences."""
    unknown: str
    """The token for what the vocabulary cannot spell."""
    bos: str
    """The beginning of a text."""
    eos: str
    """The end of a text."""
    mask: str | None = None
    """The token that hides a token of a text, which is to be guessed."""


class SideConfig(Settings, frozen=True):
    """Settings for one language's tokenizer."""

    retired: ClassVar = {"dropout": 0.0}

    kind: TokenizerKind = "bpe"
    """Subwords (bpe, wordpiece, unigram: rare characters fall back to bytes; sentencepiece: a unigram model of the
    SentencePiece library, whose file on-device engines read, with `<unk>` for rare characters; bert: WordPiece as BERT
    has it, with [MASK], and [UNK] for words that it cannot spell), words and punctuation (words), what white space
    divides (whitespace, for text that is tokenised already; `<unk>` in it is the unknown token), characters, bytes, or
    a file."""
    size: VocabularySize | None = None
    """Tokens in the vocabulary, the four special ones and 256 bytes included (sentencepiece: pieces of its model, to
    which `<pad>` and `<bos>` are added). Default: 8,000 for subwords, or all that
    a short training text yields; all for words and characters."""
    max_size: VocabularySize | None = None
    """Largest size of the vocabulary, in place of size: fewer tokens if the training text yields no more."""
    min_frequency: PositiveInt = 2
    """The fewest occurrences in training text of a kept word, merge (bpe, wordpiece) or character (characters)."""
    lowercase: bool = False
    """Lower-case the text."""
    normalize: Literal["none", "NFC", "NFKC", "NFD", "NFKD", "letters"] = "NFC"
    """Unicode normalisation of the text (sentencepiece: NFKC or none); letters: lower case, no accents, and all but
    letters and .!? become spaces."""
    file: str | None = None
    """For kind = "file": a Hugging Face tokenizer JSON of your own, or a model of SentencePiece (`.model` or `.spm`),
    unigram or BPE."""
    special: SpecialTokens | None = None
    """The file's special tokens (padding, beginning and so on); a text that spells one of them means it. Default:
    tokens with the usual names, missing ones are added, and no text means them."""

    def _check_together(self) -> None:
        if (self.kind == "file") != (self.file is not None):
            raise ValueError('kind = "file" requires file = "...", and the reverse')
        if self.size is not None and self.max_size is not None:
            raise ValueError("size and max_size exclude each other; leave one of them out")
        if self.kind == "sentencepiece" and self.normalize not in ("NFKC", "none"):
            raise ValueError(f'kind = "sentencepiece" requires normalize = "NFKC" or "none", not "{self.normalize}"')
        if self.kind == "sentencepiece" and self.lowercase and self.normalize == "none":
            raise ValueError('kind = "sentencepiece" with lowercase requires normalize = "NFKC"')
        if self.special is not None and self.file is None:
            raise ValueError('special is for kind = "file"; leave it out')

    @property
    def folds_case(self) -> bool:
        """True if upper and lower case become one."""
        return self.lowercase or self.normalize == "letters"

    def is_smaller_than_default(self, size: int) -> bool:
        """Returns True if a vocabulary of this size is less than the default, because its training text was short."""
        is_default = self.size is None and self.max_size is None
        return self.kind in SUBWORDS and is_default and size < DEFAULT_SUBWORDS


def tokenizer_setting(given: Any) -> Any:
    """Returns the setting for a tokenizer: a table as it is; for an object, a table for its file, written to the cache.

    An object is a `tokenizers.Tokenizer`, or one that holds such a one, as the fast tokenizers of transformers and a
    `transduce.text.tokenizer.Tokenizer` do. Raises ConfigError for another.
    """
    if given is None or isinstance(given, SideConfig | Mapping):
        return given
    backend = getattr(given, "backend_tokenizer", getattr(given, "backend", given))
    if not isinstance(backend, Backend):
        raise ConfigError(f"tokenizer: a {type(given).__name__} is none; expected settings, or a tokenizers.Tokenizer")
    file = kept_file("tokenizer-", ".json", [backend.to_str().encode()])
    return TokenizerConfig(kind="file", file=str(file))


class TokenizerConfig(SideConfig, frozen=True):
    """One tokenizer for both sides, or `[tokenizer.source]` and `[tokenizer.target]`."""

    objects: ClassVar = {"source": tokenizer_setting, "target": tokenizer_setting}

    shared: bool = True
    """One joint vocabulary for both languages, or one for each, with the same settings."""
    source: SideConfig | None = None
    """Settings of the source tokenizer; requires target too."""
    target: SideConfig | None = None
    """Settings of the target tokenizer; requires source too."""
    sample: PositiveInt = 2_000_000
    """Maximum number of training pairs, or lines, that a vocabulary is learned from, evenly spread over all."""

    def _check_together(self) -> None:
        SideConfig._check_together(self)
        if (self.source is None) != (self.target is None):
            raise ValueError("tokenizer.source and tokenizer.target go together")

    @staticmethod
    def of_files(is_shared: bool, special: SpecialTokens | None = None) -> "TokenizerConfig":
        """Returns the settings of tokenizers that came with a model, in one file of its bundle or one for each side."""
        if is_shared:
            return TokenizerConfig(kind="file", file="tokenizer.json", special=special)
        sides = [SideConfig(kind="file", file=f"{side}.json", special=special) for side in ("source", "target")]
        return TokenizerConfig(shared=False, source=sides[0], target=sides[1])

    @property
    def is_shared(self) -> bool:
        """True if both sides use the same tokenizer."""
        return self.shared and self.source is None

    @property
    def of_source(self) -> SideConfig:
        """Settings of the source tokenizer."""
        return self.source or self

    @property
    def of_target(self) -> SideConfig:
        """Settings of the target tokenizer."""
        return self.target or self

    @property
    def names_files(self) -> bool:
        """True if a tokenizer was brought in a file."""
        return any(side is not None and side.file is not None for side in (self, self.source, self.target))
