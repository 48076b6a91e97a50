"""A virtual environment for each peer, made from PyPI when it is first needed."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".peers"
TORCH = "torch==2.13.0"


class NotInstalledError(Exception):
    """A peer could not be installed; the message says why."""


@dataclass(frozen=True)
class Environment:
    """What a peer needs."""

    package: str
    """The peer, as pip names it, with its version."""
    others: tuple[str, ...] = ()
    """What is installed before it."""
    without_dependencies: bool = False
    """Its own list no longer installs, or asks for much that is not needed; `others` are all that it uses."""


ENVIRONMENTS = {
    "joeynmt": Environment(
        "joeynmt==2.3.0",
        (
            TORCH,
            "importlib_metadata",
            "matplotlib",
            "numpy",
            "packaging",
            "pandas",
            "plotly",
            "pyyaml",
            "sacrebleu",
            "sacremoses",
            "sentencepiece",
            "setuptools<81",  # subword-nmt imports pkg_resources
            "subword-nmt",
            "tensorboard",
            "tqdm",
        ),
        without_dependencies=True,  # protobuf<3.21, and linters
    ),
    "eole": Environment(
        "eole==0.6.4",
        (
            TORCH,
            "configargparse",
            "ctranslate2==4.8.5",
            "huggingface_hub",
            "numpy",
            "pandas",
            "pyahocorasick",
            "pydantic",
            "pyonmttok",
            "pyyaml",
            "rapidfuzz",
            "rich",
            "sacrebleu",
            "safetensors",
            "sentencepiece",
            "six",
            "subword-nmt",
            "tensorboard",
            "tokenizers",
            "torch-optimi",
        ),
        without_dependencies=True,  # servers, sound, language identification
    ),
    "transformers": Environment("transformers==5.23.0", (TORCH, "numpy")),
    "trainer": Environment("transformers==5.23.0", (TORCH, "accelerate", "numpy", "sentencepiece")),
    "transformer-lens": Environment("transformer-lens==4.3.0", (TORCH, "sentencepiece")),
    "ctranslate2": Environment("ctranslate2==4.8.5", ("numpy",)),
    "libretranslate": Environment("libretranslate==1.9.6"),
}


def interpreter(name: str) -> Path:
    """The Python of a peer's environment, made if it is not there; "transduce" is the one that runs now.

    Raises NotInstalledError with pip's reason.
    """
    if name == "transduce":
        return Path(sys.executable)
    environment, folder = ENVIRONMENTS[name], FOLDER / name
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists() and done.read_text(encoding="utf-8") == repr(environment):
        return python
    print(f"installing {environment.package} into {folder}", file=sys.stderr, flush=True)
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if environment.others:
        _run([*install, *environment.others])
    _run([*install, *(["--no-deps"] if environment.without_dependencies else []), environment.package])
    done.write_text(repr(environment), encoding="utf-8")
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise NotInstalledError(f"not installed: {lines[-1] if lines else f'pip ended with {done.returncode}'}")
