"""Benchmarks take hours, so no test runs them whole: here those settings that they change are looked up."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"^## (`\[.*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SETTING = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \|", re.MULTILINE)
CHANGE = re.compile(r"""["']((?:\w+\.)+\w+)=""")


@pytest.fixture(scope="module")
def known() -> set[str]:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    return {
        f"{table}.{name}"
        for title, text in TABLE.findall(page)
        for table in re.findall(r"`\[([\w.]+)\]`", title)
        for name in ("kind", *re.findall(r"\w+", " ".join(SETTING.findall(text))))
    }


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda script: script.stem)
def test_every_setting_that_a_benchmark_changes_exists(script: Path, known: set[str]) -> None:
    changed = set(CHANGE.findall(script.read_text(encoding="utf-8")))
    assert changed <= known, changed - known
