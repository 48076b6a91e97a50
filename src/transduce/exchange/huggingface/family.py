"""What must be known of a family of Hugging Face models to read and write it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.bundle import BundleConfig, ModelBundle
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import Rename
from transduce.exchange.huggingface.weights import Same
from transduce.text.tokenizer import TokenizerConfig


@dataclass(frozen=True)
class Family:
    """Models of one `model_type`."""

    model_type: str
    """As config.json says it."""
    title: str
    """As people call it."""
    architecture: str
    """The class of transformers that runs what is written, and that what is read is compared with."""
    architectures: Sequence[str]
    """All whose folders can be read."""
    special: Mapping[str, str]
    """What its special tokens are called where no file says it, by our roles."""
    is_byte_level: bool
    """Whether transformers gives it a byte-level tokenizer."""
    read: Callable[[Fields, TokenizerConfig], BundleConfig]
    """What config.json describes; raises InputError for a setting that cannot be carried over."""
    is_of: Callable[[BundleConfig], bool]
    """Whether a bundle's model is of this family, if perhaps with settings that it does not have."""
    problems: Callable[[BundleConfig], list[str]]
    """The settings of such a bundle that the family does not have, in words."""
    write: Callable[[ModelBundle], dict[str, Any]]
    """The config.json of a bundle without problems."""
    same: Callable[[BundleConfig], list[Same]]
    """Which tensors are the same."""
    rename: Rename
    """Brings the names of tensors into one form."""
    copies: Callable[[BundleConfig], Mapping[str, str]]
    """Tensors that some versions save although they are others, by name, as tied matrices are."""
