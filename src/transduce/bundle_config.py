"""What a model folder says of itself in its config.toml."""

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from transduce.config import Settings, convert, read_toml
from transduce.corpora.directions import MANY, Direction, LanguageTokens
from transduce.corpora.languages import UNKNOWN
from transduce.errors import CheckpointError, ConfigError, InputError
from transduce.models.adapters import AdaptersConfig
from transduce.models.families import ModelConfig
from transduce.models.heads import HeadConfig
from transduce.ranges import PositiveInt
from transduce.task_table import TASKS
from transduce.text.tokenizer import TokenizerConfig

FORMAT = 2  # in 1, settings had other names

Kind = TypeVar("Kind", bound=Settings)


class BaseConfig(Settings, frozen=True):
    """A bundle that another one needs."""

    path: str
    """Its folder, from that of the other."""
    sha256: str
    """See `identity`."""


class BundleConfig(Settings, frozen=True):
    """What a bundle is: enough to build its model again, nothing of how it was trained."""

    format: int
    """Version of the folder's layout."""
    source: str
    """Language that is read."""
    target: str
    """Language that is written."""
    model: ModelConfig
    """Family and sizes."""
    tokenizer: TokenizerConfig
    """How the tokenizers were made."""
    longest_source: PositiveInt
    """Most tokens read at once in training: a source sentence (longer text is translated in pieces), or a window of
    running text."""
    task: str = "translation"
    """What the model was trained for: see task_table.py."""
    begin: Literal["bos", "eos"] = "bos"
    """The token after which an output begins; in running text, where lines follow one another, the end of a line."""
    head: HeadConfig | None = None
    """What stands on an encoder of texts."""
    adapters: AdaptersConfig | None = None
    """Those in `weights.safetensors`, beside the weights that they adapt; they are merged when the bundle is loaded."""
    base: BaseConfig | None = None
    """The bundle with all other weights, if there are only those of adapters here."""
    languages: LanguageTokens | None = None
    """How a model of several directions is told which one; source and target are then that one, once it is chosen."""

    def model_as(self, kind: type[Kind]) -> Kind:
        """The settings of a model that is known to be of one family."""
        assert isinstance(self.model, kind), f"a {type(self.model).__name__} is no {kind.__name__}"
        return self.model

    def directed(self, direction: Direction) -> "BundleConfig":
        """The same with a direction chosen."""
        return msgspec.structs.replace(self, source=direction.source, target=direction.target)

    def find_direction(self, to: str | None = None, from_: str | None = None) -> Direction:
        """The direction that is meant; of a model of one direction, this.

        Raises InputError for a language that the model does not know, or where it is not clear which one is meant.
        """
        if self.languages is None:
            for asked, own, what in ((from_, self.source, "reads"), (to, self.target, "writes")):
                if asked is not None and asked != own:
                    raise InputError(f"the model {what} {own}, not {asked[:20]}; leave that out, or use another model")
            return Direction(self.source, self.target)
        chosen = self.target != MANY
        if to is None and chosen:
            to, from_ = self.target, from_ or self._chosen_source
        return self.languages.find(to, from_)

    @property
    def _chosen_source(self) -> str | None:
        return None if self.source in (MANY, UNKNOWN[0]) else self.source


def read_config(folder: Path) -> BundleConfig:
    """What a bundle's folder says it is."""
    path = folder / "config.toml"
    try:
        tree = read_toml(path)
        found = tree.get("format")
        if isinstance(found, int) and found > FORMAT:
            raise CheckpointError(
                f"{folder} has format {found}, but this Transduce reads up to {FORMAT}; install a newer Transduce"
            )
        if isinstance(found, int) and not isinstance(found, bool) and found < FORMAT:
            raise CheckpointError(
                f"{folder} has format {found}, from before settings were renamed; train the model again, or "
                "use the Transduce that made it"
            )
        config = convert(tree, BundleConfig, str(path), is_saved=True)
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    if config.task not in TASKS:
        raise CheckpointError(f"{path}: its task is '{config.task}', but there are {', '.join(TASKS)}")
    return config
