"""A release: one version everywhere, dependencies with a lowest version, a wheel with all that the package reads."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

import transduce
from source_budget import allowed, lines

ROOT = Path(__file__).parent.parent
PACKAGES = ("transduce/", "docsegments/")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+), ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = re.search(r'^version: "?([\d.]+)"?$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest and cited
    assert newest[1] == cited[1] == transduce.__version__
    assert "version" in PROJECT["dynamic"]


def test_src_may_grow_by_what_the_changelog_says_users_got() -> None:
    released = "# Changelog\n\n## 0.3.0, not released yet\n\n- New.\n\n## 0.2.0, 1 May\n\n`src` has 1,000 lines."
    assert allowed(released) == 1020
    assert allowed(released.replace("New.", "New. (`src` +1,500)")) == 2520
    assert allowed(released.replace("lines.", "lines. (`src` +1,500)")) == 1020
    assert lines(ROOT / "src") <= allowed((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def test_axes_are_of_classes_and_not_of_aliases() -> None:
    """NumPy 2.5, which needs Python 3.12, made NDArray an alias that jaxtyping refuses."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Float", "Int", "Bool"):
                assert isinstance(node.slice, ast.Tuple)
                assert ast.unparse(node.slice.elts[0]) in ("Tensor", "np.ndarray"), f"{path}:{node.lineno}"


def test_each_dependency_has_a_lowest_version() -> None:
    requirements = [
        *PROJECT["dependencies"],
        *(each for of in PROJECT["optional-dependencies"].values() for each in of),
    ]
    assert all(re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=[\d.]+", requirement) for requirement in requirements)


def test_dependencies_are_pinned_for_development() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    extras = {extra: of for extra, of in PROJECT["optional-dependencies"].items() if extra not in ("ray", "tracking")}
    for requirement in [*PROJECT["dependencies"], *(each for of in extras.values() for each in of)]:
        name = re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")  # type: ignore[index]
        assert name in pinned, f"constraints.txt lacks {name}"


@pytest.mark.parametrize("workflow", ["ci", "release"])
def test_workflows_name_targets_files_and_extras_that_exist(workflow: str) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    jobs = yaml.safe_load((ROOT / f".github/workflows/{workflow}.yml").read_text(encoding="utf-8"))["jobs"]
    commands = "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)
    assert set(re.findall(r"\bmake ([\w-]+)", commands)) <= set(targets)
    assert all((ROOT / file).exists() for file in re.findall(r"(?<![\w/])(?:tests|deploy|src)/[\w/.-]+", commands))
    extras = {extra for names in re.findall(r"\.\[([\w,]+)\]", commands) for extra in names.split(",")}
    assert extras <= PROJECT["optional-dependencies"].keys()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built of a copy of the sources."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "deploy"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    program = "from setuptools import build_meta; build_meta.build_wheel('.')"
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_a_wheel_holds_all_of_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for package in PACKAGES
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        facts = Parser().parsestr(archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode())
    assert {name for name in names if name.startswith(PACKAGES)} == files
    assert "transduce/py.typed" in names
    others = {name for name in names if not name.startswith(PACKAGES)}
    assert all(".dist-info/" in name or "/share/transduce/deploy/" in name for name in others)
    assert any(name.endswith("licenses/LICENSE") for name in others)
    assert (facts["Name"], facts["Version"], facts["License-Expression"]) == (
        "transduce",
        transduce.__version__,
        "Apache-2.0 AND CC-BY-SA-4.0",
    )
    assert wheel.stat().st_size < 3_000_000
