"""The engine of exported pages: Bergamot Translator in WebAssembly, fetched once, verified and kept in the cache."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transduce.base.errors import InputError
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.catalogue.download import Progress, Remote, retrieve

PACKAGE, VERSION = "@browsermt/bergamot-translator", "0.4.9"
SHA512 = (
    "6cdbae0b033f267b0861008a5dc60a153e10739bcb32807c35bbf3f1178882ce"
    "f1cde6caf126be47c8842bc98bbcd05efd6699eb3acf69442294bb114ff79af1"
)
FILE = f"bergamot-translator-{VERSION}.tgz"
NOTICE = (
    f"Bergamot Translator {VERSION} (the npm package {PACKAGE}), under the Mozilla Public License 2.0; its source is "
    "at https://github.com/browsermt/bergamot-translator"
)
SCRIPT, PROGRAM = (f"package/worker/bergamot-translator-worker.{ending}" for ending in ("js", "wasm"))
REGISTRY = "https://registry.npmjs.org"
PATIENCE = 120  # seconds for npm


@dataclass(frozen=True)
class PageEngine:
    """An engine that translates in a web page."""

    script: bytes
    """JavaScript that starts the program."""
    program: bytes
    """WebAssembly."""
    notice: str
    """Name, licence and source of the engine, for people."""


def load_engine(package: Path | None = None, progress: Progress | None = None) -> PageEngine:
    """Returns the engine from its npm package: a file, or the one in the cache, fetched if it is not there yet.

    It is fetched by npm where that is installed, else from the registry that the environment variable
    NPM_CONFIG_REGISTRY names, or npm's own.

    Raises:
        InputError: if the file is missing, or is not the package of this version (SHA-512 differs).
        DataError: if the package cannot be fetched.
    """
    if package is None:
        package = _fetch(progress)
    elif not package.is_file():
        raise InputError(f"{package}: no such file; expected the npm package of {PACKAGE} {VERSION}")
    elif not _is_genuine(package):
        raise InputError(
            f"{package} is not the npm package of {PACKAGE} {VERSION} (SHA-512 differs); get it by "
            f"`npm pack {PACKAGE}@{VERSION}`"
        )
    with tarfile.open(package) as archive:
        script, program = (archive.extractfile(name) for name in (SCRIPT, PROGRAM))
        assert script is not None and program is not None
        return PageEngine(script.read(), program.read(), NOTICE)


def _fetch(progress: Progress | None) -> Path:
    """Returns the package in the cache."""
    folder = cache_folder() / "engines"
    package = folder / FILE
    if not (package.is_file() and _is_genuine(package)):
        folder.mkdir(parents=True, exist_ok=True)
        _pack(folder)
    registry = os.environ.get("NPM_CONFIG_REGISTRY") or REGISTRY
    address = f"{registry.rstrip('/')}/{PACKAGE}/-/{FILE}"
    advice = f"get the npm package of {PACKAGE} {VERSION} elsewhere, and name its file (engine)"
    retrieve(Remote(address, {FILE: ""}, f"sha512:{SHA512}", advice=advice), folder, progress)
    return package


def _pack(folder: Path) -> None:
    """Fetches the package by npm, with its registry and proxy; does nothing if npm is not there or fails."""
    npm = shutil.which("npm")
    if npm is None:
        return
    command = [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent", "--ignore-scripts", "--fetch-retries=0"]
    with tempfile.TemporaryDirectory(dir=folder) as here:
        with suppress(subprocess.TimeoutExpired, OSError):
            subprocess.run(command, cwd=here, capture_output=True, check=False, timeout=PATIENCE)
        for packed in Path(here).glob("*.tgz"):
            if _is_genuine(packed):
                packed.replace(folder / FILE)


def _is_genuine(package: Path) -> bool:
    with package.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest() == SHA512
