"""Writes safetensors files; apart from `files`, which needs no PyTorch."""

import os
import re
import stat
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor


def save_tensors(tensors: dict[str, Tensor], path: Path, facts: dict[str, str] | None = None) -> None:
    """Writes a safetensors file, with facts in its header; raises OSError if the system refuses, as on a full disk."""
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)  # the umask's, where the library's own files are private
    try:
        save_file(tensors, path, facts)
        path.chmod(mode)
    except SafetensorError as error:  # the library has the system's error only as text
        match = re.search(r"os error (\d+)", str(error))
        if match is None:
            raise
        raise OSError(int(match[1]), os.strerror(int(match[1])), str(path)) from None
