"""Finds the files of a data set: in the folder that TRANSDUCE_DATA names, in the cache, or still to download."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from transduce.base.errors import DataError
from transduce.base.files import sha256
from transduce.corpora.catalogue.download import Progress, retrieve
from transduce.corpora.catalogue.registry import Dataset, Layout, in_language

Place = Literal["TRANSDUCE_DATA", "a part in TRANSDUCE_DATA", "cache", "generated", "to download"]


@dataclass(frozen=True)
class Shelf:
    """The files of one split, in order, as paths that may have `{language}` in them."""

    files: tuple[str, ...]
    partial: str = ""
    """The part of the split that the files hold, if it is not the whole."""


def cache_folder() -> Path:
    """Returns the folder of downloads and token stores: TRANSDUCE_CACHE, or the user's cache."""
    return Path(os.environ.get("TRANSDUCE_CACHE") or platformdirs.user_cache_path("transduce"))


def downloads_folder(dataset: Dataset) -> Path:
    """Returns the folder of a data set's downloads."""
    return cache_folder() / "datasets" / dataset.name


def place_of(dataset: Dataset) -> Place:
    """Returns the source of the files that a run needs of a data set."""
    if dataset.kind == "generated":
        return "generated"
    if not what_is_missing(dataset):
        return "TRANSDUCE_DATA"
    if all(_is_downloaded(dataset, split, dataset.languages) for split in dataset.splits):
        return "cache"
    is_partial = any(_provided(dataset, [language]) for language in dataset.languages)
    return "a part in TRANSDUCE_DATA" if is_partial else "to download"


def what_is_missing(dataset: Dataset) -> list[str]:
    """Lists what the folder of data lacks of a data set, split by split; empty if it is whole."""
    of_each = {language: _provided(dataset, [language]) for language in dataset.languages}
    missing = []
    for split in dataset.splits:
        there = [language for language, layout in of_each.items() if split in layout]
        if not there:
            missing.append(f"{split}: not there")
        elif len(there) < len(dataset.languages):
            missing.append(f"{split}: only {' and '.join(there)}")
        elif lack := _lack(dataset, split, of_each[there[0]]):
            missing.append(f"{split}: only {lack}")
    return missing


def find_split(
    dataset: Dataset, split: str, progress: Progress | None = None, languages: Sequence[str] | None = None
) -> Shelf:
    """Returns the files of a split: whole ones come before a part, and existing ones before a download.

    Only the files of `languages` (default: all of the data set's) are needed.

    Raises DataError for a file of other contents than the data set's, or one that cannot be downloaded.
    """
    languages = languages or dataset.languages
    layout = _provided(dataset, languages)
    lack = _lack(dataset, split, layout) if split in layout else ""
    if split in layout and not (lack and _is_downloaded(dataset, split, languages)):
        folder = _data_folder(dataset)
        for file in _names(layout[split], languages):
            if (expected := dataset.sha256.get(file)) is not None and sha256(folder / file) != expected:
                raise DataError(
                    f"{folder / file}: its contents are not those of {dataset.name}'s {file} (SHA-256 differs)"
                )
        return Shelf(_in(folder, layout[split]), lack)
    download(dataset, list(_names(dataset.splits[split], languages)), progress)
    return Shelf(_in(downloads_folder(dataset), dataset.splits[split]))


def download(dataset: Dataset, files: list[str] | None = None, progress: Progress | None = None) -> Path:
    """Returns the folder in the cache with these files, or all, downloaded if they are not there yet."""
    folder = downloads_folder(dataset)
    if not dataset.remotes:
        named = ", ".join(files or [file for of_split in dataset.splits.values() for file in of_split])
        raise DataError(f"{dataset.name} is not public as these files; put {named} into $TRANSDUCE_DATA/{dataset.name}")
    for remote in dataset.remotes:
        if files is None or not remote.keep.keys().isdisjoint(files):
            retrieve(remote, folder, progress)
    return folder


def _data_folder(dataset: Dataset) -> Path:
    return Path(os.environ["TRANSDUCE_DATA"]) / dataset.name


def _provided(dataset: Dataset, languages: Sequence[str]) -> Layout:
    """Returns the splits that the folder of data holds in these languages, as downloaded or in a layout of its own."""
    if not os.environ.get("TRANSDUCE_DATA"):
        return {}
    folder = _data_folder(dataset)
    provided = {}
    for layout in (dataset.provided, dataset.splits):  # of the two, the downloads' own is whole
        for split, files in layout.items():
            if all((folder / file).is_file() for file in _names(files, languages)):
                provided[split] = files
    return provided


def _lack(dataset: Dataset, split: str, layout: Layout) -> str:
    """Returns the part of the split that the layout's files hold; "" for the whole."""
    return dataset.partial.get(split, "") if layout[split] != dataset.splits[split] else ""


def _is_downloaded(dataset: Dataset, split: str, languages: Sequence[str]) -> bool:
    folder = downloads_folder(dataset)
    return all((folder / file).is_file() for file in _names(dataset.splits[split], languages))


def _names(files: tuple[str, ...], languages: Sequence[str]) -> Iterator[str]:
    for file in files:
        yield from dict.fromkeys(in_language(file, language) for language in languages)


def _in(folder: Path, files: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder}{os.sep}{file}" for file in files)
