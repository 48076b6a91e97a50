"""Checks a release: installs its wheel in fresh environments, and runs the smoke test in each.

`make release-check` calls it. The environments are: each Python from 3.11 to 3.14 that runs this file, is on PATH or
that pyenv has, with the newest dependencies; the first of them also with the lowest versions of pyproject.toml
(PyTorch's apart), and with no extra. A table of minutes and megabytes is printed at the end; minutes of the processor
tell what a busy machine would have taken alone. pip's own settings choose the index: with
`PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu` it takes PyTorch's build for processors.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
EXTRAS = "train,serve,documents,export"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OF_TORCH = ("torch", "torchgen", "functorch", "nvidia", "triton", "cuda")
"""The beginnings of folders in site-packages that PyTorch brings."""
MEGABYTE = 10**6


@dataclass(frozen=True)
class Environment:
    """A fresh environment."""

    python: Path
    version: str
    extras: str
    lowest: bool = False

    @property
    def title(self) -> str:
        """The environment in words."""
        extras = f"[{self.extras}]" if self.extras else "no extra"
        return f"{self.version}, {extras}, {'lowest' if self.lowest else 'newest'} versions"


@dataclass(frozen=True)
class Clock:
    """A time, and the processor time that all child processes have taken until then; the latter is 0 on Windows."""

    wall: float
    children: float

    @staticmethod
    def now() -> "Clock":
        """Reads the clock."""
        times = os.times()
        return Clock(time.perf_counter(), times.children_user + times.children_system)

    def until(self, later: "Clock") -> str:
        """Returns the minutes from this time to a later one, and those of the processor."""
        return f"{(later.wall - self.wall) / 60:.1f} ({(later.children - self.children) / 60:.1f})"


def main() -> None:
    """Runs the check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--versions", nargs="+", default=VERSIONS, help="versions of Python (default: all four)")
    parser.add_argument("--only", choices=("newest", "lowest", "base"), help="one kind of environment alone")
    parser.add_argument("--wheel", type=Path, help="the wheel (default: the one in dist)")
    parser.add_argument("--model", type=Path, help="a model for the environment without an extra")
    parser.add_argument("--torch", default="torch", help="PyTorch's requirement, such as torch==2.13.0")
    options = parser.parse_args()
    wheel = (options.wheel or next(ROOT.glob("dist/*.whl"), ROOT / "dist")).resolve()
    if not wheel.is_file():
        raise SystemExit("there is no wheel; run `make release` first, or name one with --wheel")
    pythons = {version: python for version in options.versions if (python := find_python(version)) is not None}
    missing = [version for version in options.versions if version not in pythons]
    if not pythons:
        raise SystemExit(f"no Python of {', '.join(options.versions)} is on PATH or in pyenv")
    first = next(iter(pythons))
    environments = [Environment(python, version, EXTRAS) for version, python in pythons.items()]
    environments += [Environment(pythons[first], first, EXTRAS, lowest=True), Environment(pythons[first], first, "")]
    kinds = {"newest": environments[: len(pythons)], "lowest": environments[-2:-1], "base": environments[-1:]}
    rows = []
    with tempfile.TemporaryDirectory(prefix="transduce-release-") as folder:
        model = options.model or Path(folder) / "model"
        for environment in kinds.get(options.only, environments):
            rows.append(check(environment, wheel, Path(folder) / "environment", model, options.torch))
    print(
        "\n| Python, extras, versions | PyTorch | MB | without PyTorch | minutes to install (processor) | smoke test |"
    )
    print("|---|---|--:|--:|--:|---|")
    print("\n".join(rows))
    if missing:
        print(f"\nnot checked, since there is no such Python here: {', '.join(missing)}")
    if not all(row.endswith("passed |") for row in rows):
        raise SystemExit(1)


def find_python(version: str) -> Path | None:
    """Returns a Python of a version: the one that runs this file, of pyenv, or on PATH; None if there is none."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)  # on Windows none is called python3.12
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    on_path = shutil.which(f"python{version}")
    for python in [*map(str, of_pyenv), *([on_path] if on_path else [])]:
        if subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return Path(python)
    return None


def lowest_versions() -> list[str]:
    """Returns constraints: each lower bound of pyproject.toml as the only version, but PyTorch's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][extra] for extra in EXTRAS.split(",")]
    bounds: dict[str, tuple[int, ...]] = {}
    for requirement in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        name, bound = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        version = tuple(map(int, bound.split(".")))
        bounds[name] = max(bounds.get(name, ()), version)  # of an extra that asks for more
    return [f"{name}=={'.'.join(map(str, bound))}" for name, bound in bounds.items() if name != "torch"]


def check(environment: Environment, wheel: Path, folder: Path, model: Path, torch: str) -> str:
    """Installs the wheel in a fresh environment, runs the smoke test and removes the environment; returns a row."""
    print(f"\n== {environment.title}", flush=True)
    subprocess.run([environment.python, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(lowest_versions() if environment.lowest else []), encoding="utf-8")
    wanted = f"{wheel}[{environment.extras}]" if environment.extras else str(wheel)
    install = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint", constraints, torch, wanted]
    try:
        started = Clock.now()
        subprocess.run(install, check=True, cwd=folder)
        installed = Clock.now()
        (packages,) = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
        sizes = {path.name: size_of(path) for path in packages.iterdir()}
        own = sum(size for name, size in sizes.items() if not name.startswith(OF_TORCH) and name != "pip")
        total = sum(sizes.values()) - sizes.get("pip", 0)
        version = [python, "-c", "from importlib.metadata import version; print(version('torch'))"]
        torch_version = subprocess.run(version, check=True, capture_output=True, text=True).stdout.strip()
        uses_model = ["--model", model] if model.exists() else ["--keep", model]
        smoke = [python, SMOKE, *([] if environment.extras and model.exists() else uses_model)]
        passed = subprocess.run(smoke, check=False, cwd=folder).returncode == 0
        facts = f"{total / MEGABYTE:,.0f} | {own / MEGABYTE:,.0f} | {started.until(installed)}"
        took = installed.until(Clock.now())
        return f"| {environment.title} | {torch_version} | {facts} | {took} {'passed' if passed else 'FAILED'} |"
    except subprocess.CalledProcessError:
        return f"| {environment.title} |  |  |  |  | not installed |"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def size_of(path: Path) -> int:
    """Returns the bytes of a file, or of the files in a folder."""
    return sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


if __name__ == "__main__":
    main()
