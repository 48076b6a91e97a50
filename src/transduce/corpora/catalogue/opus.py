"""Corpora of OPUS (Tiedemann 2012) by name; the first download pins their version and checksums."""

import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.config import Settings
from transduce.base.errors import DataError, InputError
from transduce.base.files import write_text
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.catalogue.download import PATIENCE, Progress, Remote, describe, retrieve

PREFIX = "opus:"
INDEX = "https://opus.nlpl.eu/opusapi/"
FACTS = "opus.json"
"""The file beside the data that pins what was downloaded; `downloads.json` has the checksums."""
NAME = re.compile(
    r"opus:([A-Za-z0-9][A-Za-z0-9._-]*)/([A-Za-z]\w*)-([A-Za-z]\w*)(?:@([A-Za-z0-9][A-Za-z0-9._-]*))?", re.A
)
MOST_INDEX_BYTES = 1 << 22
LICENCES = ("LICENSE", "README")
"""Files of an archive that may say its licence."""
LONGEST_LICENCE = 200  # characters that are shown


class OpusCorpus(Settings, frozen=True):
    """A corpus of the index, in the version that is downloaded."""

    name: str
    version: str
    address: str
    """The address of its archive of two line-aligned files."""
    pairs: int
    size: int
    """The bytes of the archive, roughly."""

    def _check_together(self) -> None:
        if not self.address.startswith(("https://", "http://")) or not self.address.endswith(".zip"):
            raise ValueError(f"{self.address[:80]!r} is no address of a ZIP file")


@dataclass(frozen=True)
class OpusFiles:
    """A corpus that is on this machine."""

    corpus: OpusCorpus
    folder: Path
    files: tuple[Path, Path]
    """The sentences of the first language that was asked for, and their translations."""
    licence: str


@dataclass(frozen=True)
class OpusName:
    """A corpus asked for by name, such as opus:Tatoeba/de-en or opus:Tatoeba/de-en@v2023-04-12."""

    corpus: str
    source: str
    target: str
    version: str | None

    @staticmethod
    def parse(text: str) -> "OpusName":
        """Parses a name; raises InputError for another form."""
        match = NAME.fullmatch(text)
        if match is None or match[2] == match[3]:
            raise InputError(
                f"{text[:80]!r} names no corpus of OPUS; expected opus:CORPUS/SOURCE-TARGET, such as "
                "opus:Tatoeba/de-en, with @VERSION if need be"
            )
        return OpusName(match[1], match[2], match[3], match[4])

    @property
    def pair(self) -> str:
        """Both languages in the order of OPUS."""
        return "-".join(sorted((self.source, self.target)))

    @property
    def folder(self) -> Path:
        """The folder in the cache."""
        version = "" if self.version is None else f"@{self.version}"
        return cache_folder() / "datasets" / "opus" / self.corpus / f"{self.pair}{version}"


def pinned(asked: OpusName, folder: Path) -> OpusCorpus:
    """Returns the corpus that was downloaded to a folder before, else the one of the index, which is then pinned.

    Raises InputError for a folder with another corpus, or a corpus that the index does not have; DataError if it cannot
    be read.
    """
    try:
        corpus = msgspec.json.decode((folder / FACTS).read_bytes(), type=OpusCorpus)
    except FileNotFoundError:
        corpus = find_corpus(asked)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / FACTS, msgspec.json.format(msgspec.json.encode(corpus)).decode())
        return corpus
    except (OSError, msgspec.DecodeError) as error:
        raise DataError(
            f"{folder / FACTS} is damaged ({error}); remove it, and the corpus is looked for again"
        ) from None
    if corpus.name != f"{asked.corpus}/{asked.pair}" or asked.version not in (None, corpus.version):
        raise InputError(f"{folder} has {corpus.name} {corpus.version} already; choose another folder (output)")
    return corpus


def download_opus(asked: OpusName, corpus: OpusCorpus, folder: Path, progress: Progress | None = None) -> OpusFiles:
    """Returns the files of a corpus, downloaded unless they are there with the checksums of the first download.

    Raises DataError as `retrieve` does.
    """
    names = {language: f"{asked.corpus}.{asked.pair}.{language}" for language in (asked.source, asked.target)}
    keep = {name: name for name in names.values()}
    optional = {name: name for name in LICENCES}
    retrieve(Remote(corpus.address, keep, advice="take another corpus", optional=optional), folder, progress)
    return OpusFiles(corpus, folder, (folder / names[asked.source], folder / names[asked.target]), _licence(folder))


def find_corpus(asked: OpusName) -> OpusCorpus:
    """Returns the index's entry; the environment variable TRANSDUCE_OPUS names another index.

    Raises InputError if it has no such corpus, DataError if it cannot be read.
    """
    index = os.environ.get("TRANSDUCE_OPUS") or INDEX
    source, target = asked.pair.split("-")
    query = {"corpus": asked.corpus, "source": source, "target": target, "preprocessing": "moses"}
    entries = _read_index(f"{index}?{urllib.parse.urlencode(query | {'version': asked.version or 'latest'})}")
    for entry in entries:
        known = {name: entry.get(name) for name in ("corpus", "source", "target", "preprocessing")}
        if known == query and asked.version in (None, entry.get("version")):
            return _corpus(asked, entry)
    version = f" in version {asked.version}" if asked.version else ""
    raise InputError(f"OPUS ({index}) has no corpus {asked.corpus} of {asked.pair}{version}; opus.nlpl.eu lists them")


def _read_index(address: str) -> list[dict[str, Any]]:
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "transduce"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            content = response.read(MOST_INDEX_BYTES)
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise DataError(f"the index of OPUS, {address}, cannot be read ({describe(error)}); try again later") from None
    try:
        entries = json.loads(content)["corpora"]
        if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
            return entries
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise DataError(f"{address} is no index of OPUS: it answers with no list of corpora")


def _corpus(asked: OpusName, entry: dict[str, Any]) -> OpusCorpus:
    pairs, kilobytes = (
        value if isinstance(value := entry.get(name), int) else 0 for name in ("alignment_pairs", "size")
    )
    try:
        named = {"name": f"{asked.corpus}/{asked.pair}", "version": entry.get("version"), "address": entry.get("url")}
        return msgspec.convert(named | {"pairs": pairs, "size": 1024 * kilobytes}, OpusCorpus)
    except msgspec.ValidationError as error:
        raise DataError(f"the index of OPUS describes {asked.corpus} in a way that cannot be used ({error})") from None


def _licence(folder: Path) -> str:
    """Returns the line of a corpus's own files that names its licence."""
    for name in LICENCES:
        try:
            with (folder / name).open(encoding="utf-8", errors="replace") as stream:
                lines = [line.strip() for line in stream.read(1 << 16).splitlines() if line.strip()]
        except OSError:
            continue
        named = [line.partition(":")[2].strip() for line in lines if line.lower().startswith(("license", "licence"))]
        if line := next(filter(None, named), lines[0] if lines and name == LICENCES[0] else ""):
            return "".join(character for character in line if character.isprintable())[:LONGEST_LICENCE]
    return "not stated in the archive; see opus.nlpl.eu"
