"""Which texts a run learns from: files of the user's own, or a built-in data set by its name."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pooch

from transduce.config import Settings
from transduce.errors import ConfigError, DataError
from transduce.text.corpus import ParallelCorpus, SentencePair
from transduce.text.formats import parallel_files
from transduce.text.grammar import derive_pairs, split_pairs


class CorpusConfig(Settings, frozen=True):
    """One of several training corpora."""

    files: str | list[str]
    """Two line-aligned files, or one .tsv or .jsonl file of pairs; .gz, .xz and .zst are read too."""
    weight: float = 1.0
    """How many times each of its pairs is seen in an epoch; 0.5 shows a new random half in each epoch."""

    def __post_init__(self) -> None:
        if self.weight <= 0:
            raise ValueError("weight must be above 0")


class DataConfig(Settings, frozen=True):
    """A built-in data set, or files; paths are relative to the file that names them."""

    dataset: str | None = None
    """Name of a built-in data set: multi30k, or grammar (generated English and German)."""
    source: str = "source"
    """Language to translate from; chooses the side of a built-in data set."""
    target: str = "target"
    """Language to translate to."""
    train: str | list[str | CorpusConfig] | None = None
    """Training files: two line-aligned ones, one .tsv or .jsonl, or several corpora with weights."""
    validation: str | list[str] | None = None
    """Validation files."""
    test: str | list[str] | None = None
    """Test files, scored when training ends."""
    columns: list[int | str] | None = None
    """Source and target column of a .tsv (numbers from 1, or names in its header), or keys of a .jsonl."""
    max_tokens: int | None = None
    """Training pairs with more tokens on a side are left out, counted and shown; no limit unless given."""

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.train is not None and self.validation is None:
            raise ValueError("training files need validation files beside them")


@dataclass(frozen=True)
class WeightedCorpus:
    """A training corpus and how many times its pairs are seen in an epoch."""

    corpus: ParallelCorpus
    weight: float = 1.0


@dataclass(frozen=True)
class Splits:
    """What a run trains on, validates on, and is tested on at its end."""

    train: list[WeightedCorpus]
    validation: ParallelCorpus
    test: ParallelCorpus | None


def open_splits(config: DataConfig, folder: Path) -> Splits:
    """The corpora that the settings name; relative paths start from the folder."""
    if config.dataset is not None:
        dataset = find_dataset(config.dataset)
        train, validation, test = (
            open_split(config.dataset, split, config.source, config.target)
            for split in (dataset.train, dataset.validation, dataset.test)
        )
        return Splits([WeightedCorpus(train)], validation, test)
    assert config.train is not None and config.validation is not None
    train_files = [config.train] if isinstance(config.train, str) else config.train
    plain = [entry for entry in train_files if isinstance(entry, str)]
    if plain and len(plain) < len(train_files):
        raise ConfigError("data.train: file names and tables cannot be mixed; write each corpus as [[data.train]]")
    corpora = [entry for entry in train_files if isinstance(entry, CorpusConfig)] or [CorpusConfig(files=plain)]

    def open_files(files: str | list[str]) -> ParallelCorpus:
        paths = [folder / file for file in ([files] if isinstance(files, str) else files)]
        return parallel_files(paths, config.columns if len(paths) == 1 else None)

    return Splits(
        [WeightedCorpus(open_files(entry.files), entry.weight) for entry in corpora],
        open_files(config.validation),
        open_files(config.test) if config.test is not None else None,
    )


@dataclass(frozen=True)
class Dataset:
    """A data set that can be had by its name."""

    description: str
    licence: str
    languages: tuple[str, ...]
    train: str
    validation: str
    test: str
    splits: tuple[str, ...]
    open: Callable[[str, str, str], ParallelCorpus]
    """(split, source language, target language) to pairs."""


def find_dataset(name: str) -> Dataset:
    """The data set of that name."""
    if name not in DATASETS:
        raise ConfigError(f"data.dataset: no data set '{name}'; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def open_split(name: str, split: str, source: str, target: str) -> ParallelCorpus:
    """One split of a built-in data set in one direction."""
    dataset = find_dataset(name)
    if split not in dataset.splits:
        raise ConfigError(f"{name} has no split '{split}'; it has {', '.join(dataset.splits)}")
    for language in (source, target):
        if language not in dataset.languages:
            raise ConfigError(f"{name} has no language '{language}'; it has {', '.join(dataset.languages)}")
    if source == target:
        raise ConfigError(f"{name}: source and target are both '{source}'")
    return dataset.open(split, source, target)


def cache_folder() -> Path:
    """Where downloads and token stores are kept: TRANSDUCE_CACHE, or the user's cache."""
    return Path(os.environ.get("TRANSDUCE_CACHE") or pooch.os_cache("transduce"))


def fetch(dataset: str, file: str, address: str, sha256: str) -> Path:
    """A file of a data set: from TRANSDUCE_DATA, else from the cache, else downloaded; its hash is checked."""
    local = os.environ.get("TRANSDUCE_DATA")
    if local and (path := Path(local) / dataset / file).is_file():
        if pooch.file_hash(str(path)) != sha256:
            raise DataError(f"{path}: its contents are not those of {dataset}'s {file} (SHA-256 differs)")
        return path
    folder = cache_folder() / "datasets" / dataset
    try:
        pooch.get_logger().setLevel("WARNING")
        return Path(pooch.retrieve(address, known_hash=f"sha256:{sha256}", fname=file, path=folder))
    except ValueError:  # the wrong hash; pooch has removed the file
        raise DataError(f"{address}: the download is not {dataset}'s {file} (SHA-256 differs)") from None
    except OSError as error:
        raise DataError(
            f"{address} cannot be downloaded ({type(error).__name__}); get it elsewhere, put it in a folder as "
            f"{dataset}/{file}, and set TRANSDUCE_DATA to that folder"
        ) from None


MULTI30K_HOME = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
MULTI30K_SHA256 = {
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}


def _open_multi30k(split: str, source: str, target: str) -> ParallelCorpus:
    files = [f"{split}.{language}.gz" for language in (source, target)]
    return parallel_files([fetch("multi30k", f, f"{MULTI30K_HOME}/{f}", MULTI30K_SHA256[f]) for f in files])


GRAMMAR_SIZES = {"train": 96_000, "validation": 500, "test": 1_000}


def _open_grammar(split: str, source: str, target: str) -> ParallelCorpus:
    if source == "de":
        raise ConfigError("grammar translates from en to de only: several English sentences share a German one")
    part = _grammar_parts()[list(GRAMMAR_SIZES).index(split)]
    return ParallelCorpus.of_pairs(f"grammar {split}", part)


@lru_cache(maxsize=1)
def _grammar_parts() -> tuple[list[SentencePair], list[SentencePair], list[SentencePair]]:
    pairs = derive_pairs(sum(GRAMMAR_SIZES.values()), seed=1)
    return split_pairs(pairs, GRAMMAR_SIZES["validation"], GRAMMAR_SIZES["test"])


DATASETS = {
    "multi30k": Dataset(
        "Image captions in English, German and French (Elliott et al. 2016); 29,000 training pairs",
        "research and education only",
        ("de", "en", "fr"),
        train="train",
        validation="val",
        test="test_2016_flickr",
        splits=("train", "val", "test_2016_flickr"),
        open=_open_multi30k,
    ),
    "grammar": Dataset(
        "English and German sentences derived from a grammar that ships with Transduce",
        "Apache-2.0",
        ("en", "de"),
        train="train",
        validation="validation",
        test="test",
        splits=("train", "validation", "test"),
        open=_open_grammar,
    ),
}
