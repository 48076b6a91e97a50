"""The notebooks of the course run from top to bottom at a small size, and their exercises have solutions that pass."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, headings

from transduce.corpora.catalogue.dataset_files import cache_folder

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
sys.path.append(str(ROOT / "docs/site"))

import notebooks  # noqa: E402

FIRST = ROOT / "docs/course/0_first_look.ipynb"
NOTEBOOKS = sorted((ROOT / "docs/course").glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if path != FIRST]


def read(path: Path) -> Any:
    return nbformat.read(path, 4)


def cells_of(notebook: Any, tag: str) -> list[Any]:
    return [cell for cell in notebook.cells if notebooks.tagged(cell, tag)]


def test_there_are_eleven_lessons() -> None:
    assert sorted(int(path.stem.partition("_")[0]) for path in LESSONS) == list(range(1, 12))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in read(path).cells)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_sizes_and_each_exercise_a_solution_and_a_check(path: Path) -> None:
    notebook = read(path)
    (sizes,) = cells_of(notebook, "sizes")
    names = re.findall(r"^(\w+) =", sizes.source, re.MULTILINE)
    assert names == re.findall(r"^(\w+) =", sizes.metadata["small"], re.MULTILINE)
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", ()) if tag != "sizes"]
    assert len(tags) >= 6 and tags == ["exercise", "solution", "check"] * (len(tags) // 3)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_public_names_alone(path: Path) -> None:
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert not re.search(r"import .*\b_\w|\btransduce[\w.]*\._\w", code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    for cell in read(path).cells:
        for target, anchor in re.findall(
            r"\]\(([^)#\s]*)#?([^)\s]*)\)", cell.source if cell.cell_type == "markdown" else ""
        ):
            if "://" not in target:
                assert (path.parent / target).exists(), target
                assert not anchor or anchor in headings(path.parent / target), f"{target}#{anchor}"


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_and_its_solutions_pass(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    if (engines := cache_folder() / "engines").is_dir():  # lesson 8 would fetch one
        (tmp_path / "cache/engines").symlink_to(engines)
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    notebook = notebooks.execute(notebooks.solved(notebooks.small(read(path))), tmp_path, timeout=240)
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))
    complaints = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.get("name") == "stderr"
    ]
    assert complaints == []


@pytest.mark.slow
def test_the_first_look_runs_and_shows_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    first = read(FIRST)
    for cell in first.cells:
        cell.source = cell.source.replace("20_000", "4_000").replace("250", "20").replace("125", "10")
    notebook = notebooks.execute(first, tmp_path, timeout=240)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    shown = "\n".join(output["data"].get("text/html", "") for output in outputs if "data" in output)
    assert shown.count("<progress") == 2 and shown.count('max="20" value="20"') == 2
    assert shown.count("<b>RunResult</b>") == 2 and shown.count("data:image/png;base64,") == 2
    for expected in ("<b>Translator</b>", "<b>Translation</b>", "<iframe srcdoc=", "queries (down)", "first_word"):
        assert expected in shown
    said = "\n".join(output["data"]["text/plain"] for output in outputs if "data" in output)
    assert "Score(score=" in said and "('model.attention.score', '__main__:Cosine')" in said
    assert "Difference(difference=" in said
