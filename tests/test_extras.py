"""Who lacks a package of an extra reads in one line which extra to add, before any work is begun."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import transduce
from docsegments.extras import TRAINING, check_installed, require
from small_corpus import small_corpus
from transduce.analysis.pictures import training_pictures
from transduce.base.errors import InputError
from transduce.evaluation.translations import score_chrf

ROOT = Path(__file__).parent.parent
PACKAGES = {"yaml": "pyyaml", "markdown_it": "markdown-it-py"}
"""Packages whose modules have another name."""


def lack(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Makes a module one that is not installed."""
    monkeypatch.setitem(sys.modules, module, None)


def test_the_line_names_the_package_and_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, "absent")
    line = "this needs absent, which is not installed; add it with: pip install 'transduce[serve]'"
    with pytest.raises(InputError) as caught:
        require("absent.within", "serve")
    assert str(caught.value) == line
    with pytest.raises(InputError) as caught:
        check_installed("serve", "json", "absent", "nowhere")
    assert str(caught.value) == line


def test_a_package_that_is_damaged_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "damaged.py").write_text("raise ImportError('libGL.so.1: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"damaged is installed, but cannot be imported \(libGL.so.1: no such file\)"):
        require("damaged", "serve")


@pytest.mark.slow
def test_each_package_is_in_the_extra_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: {re.match(r"[\w-]+", requirement)[0].replace("-", "_") for requirement in requirements}  # type: ignore[index]
        for extra, requirements in project["optional-dependencies"].items()
    }
    asked = 0
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            names = [each.value for each in node.args if isinstance(each, ast.Constant)]
            if node.func.id == "require" and len(names) == 2:
                (module, extra), asked = names, asked + 1
                package = str(module).partition(".")[0]
                assert PACKAGES.get(package, package).replace("-", "_") in extras[str(extra)], (file, module, extra)
    assert asked > 10
    assert set(TRAINING) == extras["train"]
    base = {re.match(r"[\w-]+", requirement)[0] for requirement in project["dependencies"]}  # type: ignore[index]
    assert not base & set(TRAINING)


@pytest.mark.parametrize("package", TRAINING)
def test_training_is_refused_before_it_begins(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, package)
    with pytest.raises(InputError, match=rf"needs {package}, .* pip install 'transduce\[train\]'"):
        transduce.train(small_corpus(20), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_scores_and_pictures_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, "sacrebleu")
    with pytest.raises(InputError, match=r"needs sacrebleu, .* pip install 'transduce\[train\]'"):
        score_chrf(["a"], ["a"])
    lack(monkeypatch, "matplotlib")
    pictures = training_pictures([])
    with pytest.raises(InputError, match=r"needs matplotlib, .* pip install 'transduce\[train\]'"):
        pictures.save(tmp_path / "curves.png")
    pictures.save(tmp_path / "curves.html")  # pages need no package
    assert [path.name for path in tmp_path.iterdir()] == ["curves.html"]
