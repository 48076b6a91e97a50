"""The interface of a family of Hugging Face models: all that reading and writing it needs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields, Setting
from transduce.apps.exchange.huggingface.folder import from_vocabulary, read_tokenizer, write_tokenizer
from transduce.apps.exchange.huggingface.tensor_names import Same
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig


class Family(ABC):
    """A family of models, those of one `model_type`, with its settings, tokens and tensors in both libraries."""

    model_type: str
    """The family's name in config.json."""
    title: str
    """The family's name for people."""
    architectures: Sequence[str]
    """All classes of transformers whose folders can be read."""
    inputs: Sequence[str] = ("input_ids", "attention_mask")
    """The inputs of the models of transformers."""
    roles: ClassVar[Mapping[str, str]] = {}
    """The names that transformers gives the family's special tokens, by our roles."""
    special: ClassVar[Mapping[str, str]] = {}
    """The default spelling of its special tokens, by our roles."""
    is_byte_level = False
    """True if transformers gives it a byte-level tokenizer."""
    has_own_tokenizers = False
    """True if the family has its own file formats for tokenizers."""
    needs: Sequence[str] = ()
    """The packages that transformers needs for the family's tokenizer."""
    config: type[Any]
    """The class of our models' settings."""
    settings: Sequence[Setting]
    """The settings that models of both libraries have."""
    sizes: str
    """The names of their settings that must fit together."""
    fixed: ClassVar[dict[str, object]] = {}
    """The only values that our models support of settings in config.json."""
    unwritten: ClassVar[dict[str, object]] = {}
    """More such settings, whose values are the defaults of transformers and are not written."""
    choices: ClassVar[dict[str, object]] = {}
    """The only values that models of transformers support of our settings."""
    has_even_dim = False
    """True if the width of its layers must be even."""
    buffers: tuple[str, ...] = ()
    """The endings of the names of buffers that older versions saved with the weights."""

    def is_of(self, config: BundleConfig) -> bool:
        """Returns True for a bundle whose model is of this family, even with unsupported settings."""
        return isinstance(config.model, self.config)

    def architecture(self, config: BundleConfig) -> str:
        """Returns the class of transformers that runs exported models, and that imported ones are compared with."""
        return self.architectures[0]

    def read(self, fields: Fields, tokenizer: TokenizerConfig) -> BundleConfig:
        """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
        for name, value in (self.unwritten | self.fixed).items():
            fields.must_be(name, value, value)
        fields.must_lack("quantization_config", "quantized weights cannot be carried over")
        settings = self.choices | self.read_settings(fields)
        try:
            model = self.config(**settings)
        except ValueError as error:
            raise InputError(f"{fields.path}: {error} ({self.sizes})") from None
        return BundleConfig(format=FORMAT, model=model, tokenizer=tokenizer, **self.read_bundle(fields, model))

    def read_settings(self, fields: Fields) -> dict[str, Any]:
        """Reads the settings of our model."""
        return {setting.ours: setting.read(fields) for setting in self.settings}

    @abstractmethod
    def read_bundle(self, fields: Fields, model: Any) -> dict[str, Any]:
        """Reads the bundle's settings, except those of the model and the tokenizer."""

    def problems(self, config: BundleConfig) -> list[str]:
        """Lists the settings of a bundle that the family does not support, in words."""
        activations = next(setting.known for setting in self.settings if setting.ours == "activation")
        wrong = unlike(self.title, config.model, self.choices, activations.values())
        dim = cast(Any, config.model).dim
        if self.has_even_dim and dim % 2:
            wrong.append(f"model.dim is {dim}, where {self.title} has an even number")
        return wrong

    def write(self, bundle: ModelBundle) -> dict[str, Any]:
        """Returns the config.json of a bundle without problems."""
        settings = self.fixed | self.write_settings(bundle.config.model) | self.write_own(bundle)
        return dict(sorted({"vocab_size": len(bundle.tokenizers.target), **settings}.items()))

    def write_settings(self, model: Any) -> dict[str, Any]:
        """Returns the settings of a model of ours."""
        return {setting.theirs: setting.write(model) for setting in self.settings}

    @abstractmethod
    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """Returns the settings in config.json that are in no table."""

    def read_search(self, folder: Path) -> dict[str, Any]:
        """Reads the default search of transformers from a folder."""
        return {}

    def write_search(self, bundle: ModelBundle) -> dict[str, Any]:
        """Returns the default search of transformers for a bundle."""
        return {}

    @abstractmethod
    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same."""

    def rename(self, config: BundleConfig, name: str) -> str | None:
        """Renames a tensor as `same` names it; None for a tensor that is not needed."""
        return None if name.endswith(self.buffers) else name

    def copies(self, config: BundleConfig) -> Mapping[str, str]:
        """Returns the originals of tensors that some versions save twice, such as tied matrices, by the copy's name."""
        return {}

    def read_tokenizers(self, folder: Path, fields: Fields) -> tuple[Tokenizers, TokenizerConfig]:
        """Reads the tokenizers of a folder."""
        tokenizer, special = read_tokenizer(folder, self.roles, self.special, self.is_byte_level, self.slow_tokenizer)
        return Tokenizers(tokenizer, tokenizer), TokenizerConfig.of_files(True, special)

    def slow_tokenizer(self, folder: Path, settings: Mapping[str, Any]) -> Backend:
        """Makes a tokenizer from the files that older versions wrote, and the contents of tokenizer_config.json."""
        return from_vocabulary(folder, settings)

    def write_tokenizers(self, folder: Path, bundle: ModelBundle) -> None:
        """Writes tokenizers into a folder; raises InputError for tokenizers that the format does not support."""
        write_tokenizer(folder, bundle.tokenizers.target, self.roles, self.inputs, self.longest(bundle))

    def longest(self, bundle: ModelBundle) -> int:
        """Returns the most tokens of a row."""
        return bundle.config.longest_source

    @abstractmethod
    def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
        """Returns the outputs of a bundle's model for a row of tokens, to be compared."""

    def their_inputs(self, tokens: Tensor) -> Mapping[str, Tensor]:
        """Returns the inputs of a transformers model, to be compared, from a row of tokens with an axis for the row."""
        return {"input_ids": tokens}

    def their_outputs(self, output: Any) -> Tensor:
        """Returns the outputs of a transformers model that are compared with `outputs`, with an axis for the row."""
        return cast(Tensor, output.logits)


def unlike(title: str, model: Any, expected: Mapping[str, object], activations: Iterable[str]) -> list[str]:
    """Lists the settings of a stack of attention layers that a family does not support, in words.

    Args:
        title: the family's title.
        model: the settings.
        expected: the required values of some settings; heads must also divide `dim` evenly.
        activations: the family's activations.
    """
    share = model.dim / model.heads
    shown = {"size_of_key": "key_dim", "size_of_value": "value_dim"}
    wrong = [
        f"model.{shown.get(name, name)} is {_toml(getattr(model, name))}, where {title} has {_toml(value)}"
        for name, value in {**expected, "norm_kind": "layer", "size_of_key": share, "size_of_value": share}.items()
        if getattr(model, name) != value
    ]
    if getattr(model, "kv_heads", None) not in (None, model.heads):
        wrong.append(f"model.kv_heads is {model.kv_heads}, where {title} has {model.heads} (heads)")
    known = list(dict.fromkeys(activations))
    if model.activation not in known:
        wrong.append(f"model.activation is {model.activation!r}, where {title} has one of {', '.join(known)}")
    return wrong


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else repr(value)
