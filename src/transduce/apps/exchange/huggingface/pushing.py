"""Plans and makes uploads of a model's folder to the Hugging Face hub."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from docsegments.extras import require
from transduce.base.errors import InputError
from transduce.base.verification import CARD

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?<![.-])(?<!\.git)", re.ASCII)
LONGEST_NAME = 96
DESCRIPTIONS = ("config.json", "config.toml")
"""A model's folder has one of these files."""


@dataclass(frozen=True)
class Upload:
    """The files of a folder and the repository that they are for."""

    folder: Path
    name: str
    """The repository's owner and name."""
    files: dict[str, int]
    """The bytes of each file, by its path within the folder."""
    names_license: bool
    """True if the model's card names a licence."""


def is_repository_name(name: str) -> bool:
    """Returns True for OWNER/NAME as the hub accepts it."""
    return _NAME.fullmatch(name) is not None and len(name) <= LONGEST_NAME and "--" not in name and ".." not in name


def plan_upload(folder: Path, name: str) -> Upload:
    """Plans an upload: all files of a model's folder except hidden ones.

    Raises InputError for a folder without a model or with a link in it, or a name that the hub does not accept.
    """
    if not is_repository_name(name):
        raise InputError(
            f"{name[:LONGEST_NAME]!r} is no name of a repository; expected OWNER/NAME, such as ada/captions"
        )
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected the folder of a model")
    if not any((folder / file).is_file() for file in DESCRIPTIONS):
        advice = f"; name {folder / 'model'}" if (folder / "model").is_dir() else ""
        raise InputError(f"{folder} is not a model: it has neither {' nor '.join(DESCRIPTIONS)}{advice}")
    files = {}
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if any(part.startswith(".") for part in inner.parts):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is a link or no plain file; only files of the folder itself are uploaded")
        if path.is_file():
            files[inner.as_posix()] = path.stat().st_size
    return Upload(folder, name, files, _names_license(folder / CARD))


def push(upload: Upload, private: bool = False) -> str:
    """Uploads the files in one commit, into a new or existing repository; returns its address.

    The account is the one that the library is logged in with; the environment variable HF_ENDPOINT names another hub.
    Raises InputError if the library is not installed, or if the hub refuses or cannot be reached.
    """
    library = require("huggingface_hub", "hub")
    api = library.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, library_name="transduce")
    additions = [
        library.CommitOperationAdd(path_in_repo=file, path_or_fileobj=upload.folder / file) for file in upload.files
    ]
    try:
        address = api.create_repo(upload.name, private=private, exist_ok=True)
        api.create_commit(upload.name, additions, commit_message="Upload a model made with Transduce")
    except Exception as error:  # of the library, or of the one that it sends by, which differs between versions
        raise InputError(f"{upload.name} is not uploaded: {_reason(error)}") from None
    return str(address)


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if status in (401, 403):
        return f"the hub refused it ({status}); log in with a token that may write: hf auth login"
    line = " ".join(str(error).split())[:300] or type(error).__name__
    return line if status is None else f"the hub answered {status} ({line})"


def _names_license(card: Path) -> bool:
    if not card.is_file():
        return False
    front = re.match(r"---\n(.*?)\n---\n", card.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    return front is not None and re.search(r"^license:", front[1], re.MULTILINE) is not None
