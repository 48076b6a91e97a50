"""The config.toml of a model folder."""

from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import msgspec

from transduce.base.config import Settings, convert, read_toml
from transduce.base.errors import CheckpointError, ConfigError, InputError
from transduce.base.ranges import PositiveInt
from transduce.base.task_table import TASKS
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.directions import MANY, Direction, LanguageTokens
from transduce.corpora.languages import UNKNOWN
from transduce.models.adapters import AdaptersConfig
from transduce.models.families import ModelConfig
from transduce.models.heads import HeadConfig
from transduce.text.tokenizer_settings import BREAK, TokenizerConfig

FORMAT = 2  # in 1, settings had other names

Kind = TypeVar("Kind", bound=Settings)


class BaseConfig(Settings, frozen=True):
    """The settings of another bundle that this one needs."""

    path: str
    """The other bundle's folder, relative to this one's."""
    sha256: str
    """See `identity`."""


class BundleConfig(Settings, frozen=True):
    """The description of a bundle: enough to build its model again, nothing of how it was trained."""

    retired: ClassVar = {"terms": None}

    format: int
    """Version of the folder's layout."""
    source: str
    """Source language."""
    target: str
    """Target language."""
    model: ModelConfig
    """Family and sizes of the model."""
    tokenizer: TokenizerConfig
    """Settings that the tokenizers were made with."""
    longest_source: PositiveInt
    """Maximum tokens read at once in training: of a source sentence (longer text is translated in pieces), or a window
    of running text."""
    task: str = "translation"
    """The task of the model; see task_table.py."""
    begin: Literal["bos", "eos"] = "bos"
    """The token that begins outputs; in running text, where lines follow one another, the end of a line."""
    head: HeadConfig | None = None
    """The head on an encoder of texts."""
    adapters: AdaptersConfig | None = None
    """The adapters in `weights.safetensors`, beside the weights that they adapt; loading the bundle merges them."""
    base: BaseConfig | None = None
    """The bundle of all other weights, if this one holds only adapters."""
    languages: LanguageTokens | None = None
    """Languages of a model of several directions, and their tokens; source and target are the chosen direction."""
    context: ContextConfig | None = None
    """The sentences before a source that the model reads; None for a model of sentences alone."""

    @property
    def marks(self) -> dict[str, str]:
        """The tokens that mark texts, as `Tokenizer.marks` has them."""
        return ({} if self.languages is None else self.languages.tokens) | ({BREAK: BREAK} if self.context else {})

    def model_as(self, kind: type[Kind]) -> Kind:
        """Returns the model's settings as those of a known family."""
        assert isinstance(self.model, kind), f"a {type(self.model).__name__} is no {kind.__name__}"
        return self.model

    def directed(self, direction: Direction) -> "BundleConfig":
        """Returns a copy with a direction chosen."""
        return msgspec.structs.replace(self, source=direction.source, target=direction.target)

    def find_direction(self, to: str | None = None, from_: str | None = None) -> Direction:
        """Returns the requested direction; the only one of a model of one direction.

        Raises InputError for a language that the model does not know, or if the choice is ambiguous.
        """
        if self.languages is None:
            for asked, code, verb in ((from_, self.source, "reads"), (to, self.target, "writes")):
                if asked is not None and asked != code:
                    raise InputError(f"the model {verb} {code}, not {asked[:20]}; leave that out, or use another model")
            return Direction(self.source, self.target)
        chosen = self.target != MANY
        if to is None and chosen:
            to = self.target
            from_ = from_ or (None if self.source in (MANY, UNKNOWN[0]) else self.source)
        return self.languages.find(to, from_)


def read_config(folder: Path) -> BundleConfig:
    """Reads the settings in a bundle's config.toml."""
    path = folder / "config.toml"
    try:
        tree = read_toml(path)
        version = tree.get("format")
        if isinstance(version, int) and version > FORMAT:
            raise CheckpointError(
                f"{folder} has format {version}, but this Transduce reads up to {FORMAT}; install a newer Transduce"
            )
        if isinstance(version, int) and not isinstance(version, bool) and version < FORMAT:
            raise CheckpointError(
                f"{folder} has format {version}, from before settings were renamed; train the model again, or "
                "use the Transduce that made it"
            )
        config = convert(tree, BundleConfig, str(path), is_saved=True)
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    if config.task not in TASKS:
        raise CheckpointError(f"{path}: its task is '{config.task}', but there are {', '.join(TASKS)}")
    return config
