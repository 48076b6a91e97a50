"""The tree of sources: which files may import which, and what files are called."""

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_search_is_kept_from_every_model_family_and_knows_the_interface_alone() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rule,) = (contract for contract in contracts if contract["name"] == "Search knows no model family")
    models = ROOT / "src" / "transduce" / "models"
    files = {path.stem for path in models.iterdir() if path.stem not in ("__init__", "__pycache__", "interface")}
    assert set(rule["forbidden_modules"]) == {f"transduce.models.{name}" for name in files}


def test_each_file_name_occurs_once_and_no_file_has_more_than_400_lines() -> None:
    files = [path for path in (ROOT / "src").rglob("*.py") if path.name != "__init__.py"]
    assert not [name for name, count in Counter(path.name for path in files).items() if count > 1]
    assert not [str(path) for path in files if path.read_bytes().count(b"\n") > 400]
