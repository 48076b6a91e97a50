"""Keeps pairs that are given from Python instead of files: written once into the cache, named after their content."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import DataError, InputError
from transduce.base.files import sync
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.corpus import SentencePair, as_pair


def pairs_setting(given: Any) -> Any:
    """Returns the value of a setting: names and tables as they are, else the name of a file that holds the pairs."""
    if given is None or isinstance(given, str | Path | Mapping) or not isinstance(given, Iterable):
        return given
    if isinstance(given, list | tuple) and not (given and (isinstance(given[0], SentencePair | list | tuple))):
        return given
    return str(write_pairs(given))


def write_pairs(pairs: Iterable[Any]) -> Path:
    """Writes a .jsonl file of the pairs, tuples (source, target) or SentencePairs; DataError for other values."""

    def lines() -> Iterable[bytes]:
        for number, pair in enumerate(pairs, 1):
            try:
                checked = as_pair(tuple(pair) if isinstance(pair, list) else pair)
            except InputError as error:
                raise DataError(f"pair {number:,}: {error}") from None
            document = {"document": checked.document} if checked.document else {}
            yield msgspec.json.encode({"source": checked.source, "target": checked.target, **document}) + b"\n"

    return kept_file("pairs-", ".jsonl", lines())


def kept_file(prefix: str, ending: str, content: Iterable[bytes]) -> Path:
    """Writes a file with this content to the cache; its name holds the content's hash."""
    folder = cache_folder() / "given"
    folder.mkdir(parents=True, exist_ok=True)
    building = folder / f".{prefix}{uuid.uuid4().hex}"
    digest = hashlib.sha256()
    try:
        with building.open("wb") as stream:
            for part in content:
                digest.update(part)
                stream.write(part)
        sync(building)
        return building.replace(folder / f"{prefix}{digest.hexdigest()[:16]}{ending}")
    finally:
        building.unlink(missing_ok=True)
