"""Opens a model of any form that a translator can use, from its folder or file."""

import atexit
import shutil
import tempfile
import threading
from pathlib import Path

from transduce.devices import find_device
from transduce.inference.engines.ctranslate2.package import is_package, write_package
from transduce.inference.engines.exported import ExportedModel, Model, open_model

_made: dict[tuple[Path, int], Path] = {}
_lock = threading.Lock()


def open_any(path: str | Path, device: str = "auto") -> Model:
    """Opens the folder of a model, a run, or an exported model, or a package of Argos Translate, whose form for engines
    is in a temporary folder while the program runs.

    Raises as `open_model` and `write_package` do.
    """
    path = Path(path)
    if not is_package(path):
        return open_model(path, device)
    key = (path.resolve(), path.stat().st_mtime_ns)
    with _lock:
        if key not in _made:
            folder = Path(tempfile.mkdtemp(prefix="transduce-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _made[key] = write_package(path, folder / "model")
    return ExportedModel.load(_made[key], find_device("cpu" if device == "auto" else device))
