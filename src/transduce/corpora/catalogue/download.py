"""Downloads public files into a folder of the cache: resumed after a break, verified, complete under their names."""

import hashlib
import http.client
import json
import lzma
import ssl
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from transduce.base.errors import DataError
from transduce.base.files import locked, sha256, write_text

RECORD = "downloads.json"
ATTEMPTS = 4  # in a row that bring nothing
PAUSE = 0.5  # seconds before the second attempt, twice as many before each further one
PATIENCE = 30  # seconds without a byte
CHUNK = 1 << 16
MAX_BYTES = 4 << 30  # of a download or an unpacked file: four times the largest of the data sets

Progress = Callable[[str, int, int | None], None]
"""A function called with an address, the bytes that are there, and how many there will be, if that is known."""


@dataclass(frozen=True)
class Remote:
    """A public file, and the parts of it that are kept."""

    address: str
    keep: Mapping[str, str]
    """The names of files that are kept, with their paths in the archive; one name and "" for a plain file."""
    checksum: str | None = None
    """The checksum, as "sha256:..." or "md5:..."; None if it is not known: then the first download's is recorded."""
    size: int | None = None
    """The size in bytes, roughly if the address does not pin a version."""
    advice: str | None = None
    """Words on what to do if it cannot be downloaded (default: where to put the files of a data set)."""
    optional: Mapping[str, str] = field(default_factory=dict)
    """Files that are kept, too, if the archive has them."""


@dataclass
class Record:
    """A record of the files in a folder of downloads."""

    addresses: dict[str, str]
    """The SHA-256 of the file from each address."""
    files: dict[str, str]
    """The SHA-256 of each file that is kept."""

    @staticmethod
    def read(folder: Path) -> "Record":
        """Reads the folder's record, empty if there is none or it is damaged."""
        try:
            tree = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            return Record(dict(tree["addresses"]), dict(tree["files"]))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            return Record({}, {})

    def write(self, folder: Path) -> None:
        """Saves the record in the folder."""
        write_text(folder / RECORD, json.dumps({"addresses": self.addresses, "files": self.files}, indent=1))


def announce(tell: Callable[[str], None]) -> Progress:
    """Returns a function that reports progress in lines: one when a download begins."""
    announced: set[str] = set()

    def progress(address: str, done: int, total: int | None) -> None:
        if address not in announced:
            announced.add(address)
            tell(f"downloading {address}" + (f" ({total / 2**20:,.1f} MB)" if total else ""))

    return progress


def retrieve(remote: Remote, folder: Path, progress: Progress | None = None) -> None:
    """Downloads files that are missing from the folder or changed; waits for another process that does so.

    Raises DataError for an address that cannot be reached, a wrong or changed checksum, or an archive that is damaged
    or lacks a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        record = Record.read(folder)
        if all(is_intact(folder / name, record.files.get(name)) for name in remote.keep):
            return
        download = _download(remote, folder, record, progress)
        record.addresses[remote.address] = sha256(download)
        try:
            for name, content in _contents(download, remote):
                _write(content, folder / name)
                record.files[name] = sha256(folder / name)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise DataError(f"{remote.address}: a damaged archive ({error})") from None
        except (RuntimeError, NotImplementedError) as error:  # of zipfile: encrypted, or packed in an unknown way
            raise DataError(f"{remote.address}: an archive that cannot be unpacked here ({error})") from None
        finally:
            if download.name not in remote.keep:
                download.unlink()
        record.write(folder)


def is_intact(path: Path, expected: str | None) -> bool:
    """Returns True if a file exists and has the expected SHA-256."""
    return expected is not None and path.is_file() and sha256(path) == expected


def _download(remote: Remote, folder: Path, record: Record, progress: Progress | None) -> Path:
    """Returns the file at the address, with the checksum known or recorded."""
    name = next(iter(remote.keep)) if list(remote.keep.values()) == [""] else remote.address.rsplit("/", 1)[-1]
    recorded = record.addresses.get(remote.address)
    checksum = remote.checksum or (f"sha256:{recorded}" if recorded else None)
    download = folder / name
    while True:
        if download.exists() and (checksum is None or _has(download, checksum)):
            return download
        resuming = _Resuming(folder / f"{name}.part", checksum is not None, progress)
        try:
            resuming.download(remote.address, download)
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            advice = remote.advice or (
                f"get it elsewhere, put what is needed of it ({', '.join(remote.keep)}) in a folder named "
                f"{folder.name}, and set TRANSDUCE_DATA to the folder above that"
            )
            raise DataError(
                f"{remote.address} cannot be downloaded ({describe(error)}); try again later, or {advice}"
            ) from None
        if checksum is None or _has(download, checksum):
            return download
        download.unlink()
        if resuming.has_resumed:  # perhaps two versions of the file, one begun and one continued
            continue
        if remote.checksum is None:
            raise DataError(
                f"{remote.address} has changed since it was first downloaded (SHA-256 was {recorded}); if that is "
                f"right, remove {folder / RECORD} and try again"
            )
        kind = remote.checksum.partition(":")[0].upper().replace("SHA", "SHA-")
        raise DataError(f"{remote.address}: the download is not the {name} expected ({kind} differs)")


def _has(path: Path, checksum: str) -> bool:
    """Returns True if a file has a checksum as in "md5:..."."""
    kind, _, expected = checksum.partition(":")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest() == expected


class TooLargeError(DataError):
    """An error for a download that is far larger than any data set; it is not written."""

    def __init__(self, source: str) -> None:
        super().__init__(f"{source}: over {MAX_BYTES / 2**30:g} GiB, more than any file of the data sets; not kept")


class _Resuming:
    """Downloads into a .part file, which it continues if the bytes already there can be trusted."""

    def __init__(self, part: Path, is_verified: bool, progress: Progress | None) -> None:
        self.part = part
        self.is_verified = is_verified
        self.progress = progress
        self.has_resumed = False
        self._version = part.with_name(f"{part.name}.version")  # the server's name for this state of the file

    def download(self, address: str, path: Path) -> None:
        """Downloads a file from an address to a path that it gets once it is whole."""
        fruitless = 0
        while True:
            before = self._size()
            try:
                self._continue(address)
                break
            except TooLargeError:
                self.part.unlink(missing_ok=True)
                self._version.unlink(missing_ok=True)
                raise
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as e:
                if isinstance(e, urllib.error.HTTPError) and e.code == 416:  # nothing after the part: it is no part
                    self.part.unlink(missing_ok=True)
                elif isinstance(e, urllib.error.HTTPError) and e.code < 500 and e.code not in (408, 429):
                    raise
                fruitless = 0 if self._size() > before else fruitless + 1
                if fruitless == ATTEMPTS:
                    raise
                time.sleep(PAUSE * 2**fruitless)
        self.part.replace(path)
        self._version.unlink(missing_ok=True)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _continue(self, address: str) -> None:
        """Makes one connection; raises ConnectionError if it ends too early."""
        version = self._version.read_text(encoding="utf-8") if self._version.exists() else None
        start = self._size() if self.is_verified or version else 0
        headers = {"User-Agent": "transduce", "Accept-Encoding": "identity"}
        if start:
            headers |= {"Range": f"bytes={start}-"} | ({"If-Range": version} if version else {})
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=PATIENCE) as response:
            if response.status != 206:
                start = 0
                self._keep_version(response.headers)
            self.has_resumed |= start > 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            if total is not None and total > MAX_BYTES:
                raise TooLargeError(address)
            with self.part.open("ab" if start else "wb") as part:
                done = start
                while chunk := response.read(CHUNK):
                    part.write(chunk)
                    done += len(chunk)
                    if done > MAX_BYTES:
                        raise TooLargeError(address)
                    if self.progress:
                        self.progress(address, done, total)
        if total is not None and done < total:
            raise ConnectionError(f"it ended after {done:,} of {total:,} bytes")

    def _keep_version(self, headers: Mapping[str, str]) -> None:
        tag = headers.get("ETag", "")
        version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")
        if version:
            self._version.write_text(version, encoding="utf-8")
        else:
            self._version.unlink(missing_ok=True)


def _contents(download: Path, remote: Remote) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Yields each name to keep with its bytes; None for the download itself. Only names asked for are ever written."""
    if list(remote.keep.values()) == [""]:
        yield next(iter(remote.keep)), None
        return
    wanted = {path: name for name, path in {**remote.optional, **remote.keep}.items()}
    reader = _zip_members if download.suffix == ".zip" else _tar_members
    for path, content in reader(download, wanted.keys()):
        yield wanted.pop(path), content
        if not wanted:
            return
    if missing := [path for path in wanted if path in remote.keep.values()]:
        raise DataError(f"{remote.address}: the archive has no file {', '.join(missing)}")


def _zip_members(path: Path, wanted: Any) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for name in dict.fromkeys(name for name in archive.namelist() if name in wanted):
            with archive.open(name) as content:
                yield name, content


def _tar_members(path: Path, wanted: Any) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path, "r|*") as archive:  # read once from front to back
        for member in archive:
            name = member.name.removeprefix("./")
            content = archive.extractfile(member) if member.isfile() and name in wanted else None
            if content is not None:
                yield name, content


def _write(content: IO[bytes] | None, path: Path) -> None:
    """Copies into a file that has its name only when it is whole."""
    if content is None:
        return
    beside = path.with_name(f".{path.name}.new")
    try:
        with beside.open("wb") as stream:
            while chunk := content.read(CHUNK):
                if stream.tell() + len(chunk) > MAX_BYTES:
                    raise TooLargeError(path.name)
                stream.write(chunk)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def describe(error: Exception) -> str:
    """Describes why an address cannot be read, in a few words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    return str(error.reason if isinstance(error, urllib.error.URLError) else error) or type(error).__name__
