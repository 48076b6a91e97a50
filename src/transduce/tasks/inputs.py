"""The inputs of a run, identified by hashes of their contents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from transduce.config import Settings
from transduce.files import sha256
from transduce.text.tokenizer import TokenizerConfig


class Input(Settings, frozen=True):
    """A text or folder that a run trains, validates or tests on, or starts from."""

    setting: str
    """The setting that names it."""
    name: str
    """The files, the data set's split, or the folder."""
    content: str
    """A hash of the content."""


class Corpus(Protocol):
    """Text that a run reads."""

    @property
    def name(self) -> str:
        """The files, or the data set's split."""
        ...

    def content(self) -> str:
        """Returns a hash that changes when the text does."""
        ...


def corpus_input(setting: str, corpus: Corpus) -> Input:
    """Returns a corpus as an input."""
    return Input(setting=setting, name=corpus.name, content=corpus.content())


def tokenizer_inputs(config: TokenizerConfig, folder: Path) -> Iterator[Input]:
    """Yields the tokenizer files that settings name, except missing ones, which are reported when they are opened."""
    for name, side in (("tokenizer", config), ("tokenizer.source", config.source), ("tokenizer.target", config.target)):
        if side is not None and side.file is not None and (path := folder / side.file).is_file():
            yield Input(setting=f"{name}.file", name=str(path), content=sha256(path))
