"""The notebook runs from top to bottom, and shows bars, tables and pages, nothing red."""

import os
from pathlib import Path

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def test_the_notebook_runs_and_shows_what_it_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSDUCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", 4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "a notebook is kept without outputs"
    nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    if kept := os.environ.get("TRANSDUCE_KEEP_NOTEBOOK"):
        nbformat.write(notebook, kept)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    shown = "\n".join(output["data"].get("text/html", "") for output in outputs if "data" in output)
    assert shown.count("<progress") == 2 and shown.count('max="100" value="100"') == 2
    assert shown.count("<b>RunResult</b>") == 2 and shown.count("data:image/png;base64,") == 2
    for expected in ("<b>Translator</b>", "<b>Translation</b>", "<iframe srcdoc=", "queries (down)", "first_word"):
        assert expected in shown
    said = "\n".join(output["data"]["text/plain"] for output in outputs if "data" in output)
    assert "Score(score=" in said and "('model.attention.score', '__main__:Cosine')" in said
    assert "Difference(difference=" in said
