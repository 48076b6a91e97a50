"""Verifies that the files of models and runs are unchanged; an error names the changed one."""

from pathlib import Path
from typing import TypeVar

import msgspec

from transduce.base.errors import CheckpointError
from transduce.base.files import sha256

T = TypeVar("T")
CARD = "README.md"
"""The model card in a model's folder, which people may change."""
COPY_AGAIN = "copy the model again"
MAX_BYTES = 1 << 20  # of a JSON file; those that are written here have a few thousand


def checksums(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file of a folder."""
    return {file.name: sha256(file) for file in sorted(folder.iterdir())}


def check_unchanged(folder: Path, expected: dict[str, str], advice: str = COPY_AGAIN) -> None:
    """Raises CheckpointError, with advice, unless the files, except the model card, have these checksums."""
    for name, checksum in expected.items():
        if name == CARD:
            continue
        path = folder / name
        if not path.is_file():
            raise CheckpointError(f"{path} is missing; {advice}")
        if sha256(path) != checksum:
            raise CheckpointError(f"{path} has changed since it was saved (SHA-256 differs); {advice}")


def read_json(path: Path, kind: type[T], advice: str = COPY_AGAIN, most_bytes: int = MAX_BYTES) -> T:
    """Returns the contents of a JSON file; raises CheckpointError if it is missing, or is not of type `kind`."""
    try:
        if not path.is_file():  # reading a pipe would wait for its writer
            raise FileNotFoundError
        if path.stat().st_size > most_bytes:
            raise CheckpointError(f"{path} is damaged (more than {most_bytes:,} bytes); {advice}")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; {advice}") from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); {advice}") from None
