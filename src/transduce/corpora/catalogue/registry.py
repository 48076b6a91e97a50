"""The built-in data sets of datasets.toml: what each is, where it is public, and which files hold its splits."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Literal

import msgspec

from transduce.base.errors import ConfigError
from transduce.corpora.catalogue.download import Remote

Layout = Mapping[str, tuple[str, ...]]
"""The files of each split, read one after another. `{language}` in a name makes it one file per language; a name
without it is a table with a column for each language, in the data set's order."""

PARTS = ("train", "validation", "test")

WHOLE = "all"
"""The one split of a data set that comes in one piece and is split by its users."""


@dataclass(frozen=True)
class Dataset:
    """A data set that can be opened by its name."""

    name: str
    description: str
    licence: str
    languages: tuple[str, ...]
    size: int
    """The number of training pairs; lines of text of one language; all pairs if there is no split."""
    splits: Layout = field(default_factory=dict)
    """The files of each split, as downloaded."""
    remotes: tuple[Remote, ...] = ()
    provided: Layout = field(default_factory=dict)
    """The files of a split as a folder of data may hold them, other than the downloaded ones."""
    partial: Mapping[str, str] = field(default_factory=dict)
    """The part of a split that the provided files hold, if it is not the whole."""
    kind: Literal["pairs", "text", "labels", "tags", "questions", "generated"] = "pairs"
    validation: str = "validation"
    """The split to validate on."""
    test: str | None = "test"
    """The split to test on."""
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The first line of a split in its file, and the first one after it if there are any, if it is not the whole."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of files that the folder TRANSDUCE_DATA may hold, by name."""

    columns: Mapping[str, int | str] = field(default_factory=dict)
    """The columns of texts and labels in its files: "text", "second" and "label", see LabelColumns; or of each language
    and of the "document" in a table of pairs, if they are not just the languages."""

    label_names: Mapping[str, str] = field(default_factory=dict)
    """The names of labels by their form in the files, such as a number."""

    @property
    def has_own_split(self) -> bool:
        """True if its makers have split it."""
        return WHOLE not in self.splits

    @property
    def split_names(self) -> list[str]:
        """The names of the splits that can be opened."""
        return list(self.splits) if self.splits and self.has_own_split else list(PARTS)

    @property
    def download_size(self) -> int | None:
        """The bytes of all downloads, if all are known."""
        sizes = [remote.size for remote in self.remotes]
        return sum(size for size in sizes if size) if all(sizes) else None


def find_dataset(name: str) -> Dataset:
    """Returns the data set of that name."""
    if name not in DATASETS:
        raise ConfigError(f"data.dataset: no data set '{name}'; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def in_language(file: str, language: str) -> str:
    """Returns the file of one language."""
    return file.replace("{language}", language)


def _dataset(name: str, table: dict[str, Any]) -> Dataset:
    """Returns the data set that a table of datasets.toml describes."""
    home = table.pop("home", None)
    dataset = msgspec.convert({"name": name, **table}, Dataset)
    remotes = []
    for remote in dataset.remotes:
        each = [(kept, path, language) for kept, path in remote.keep.items() for language in dataset.languages]
        keep = {in_language(kept, language): in_language(path, language) for kept, path, language in each}
        remotes.append(replace(remote, keep=keep))
    if home is not None:
        elsewhere = {file for remote in remotes for file in remote.keep}
        patterns = [pattern for files in dataset.splits.values() for pattern in files]
        files = dict.fromkeys(in_language(pattern, language) for pattern in patterns for language in dataset.languages)
        known = {file: f"sha256:{checksum}" for file, checksum in dataset.sha256.items()}
        at_home = [Remote(f"{home}/{file}", {file: ""}, known.get(file)) for file in files if file not in elsewhere]
        remotes = [*at_home, *remotes]
    if "test" not in table and dataset.splits and dataset.has_own_split and "test" not in dataset.splits:
        dataset = replace(dataset, test=None)
    return replace(dataset, remotes=tuple(remotes))


TABLES = tomllib.loads(resources.files("transduce.corpora.catalogue").joinpath("datasets.toml").read_text("utf-8"))
DATASETS = {name: _dataset(name, table) for name, table in TABLES.items()}
