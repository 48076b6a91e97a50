"""Every command and every block of code in README and docs runs, or is at least read."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from pages import PAGES, ROOT, examples
from workplace import Workplace, make_small, train_stand_in, write_data, write_files

from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2

pytestmark = pytest.mark.slow

HAS_CTRANSLATE2 = importlib.util.find_spec("ctranslate2") is not None


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with data sets, files and a run."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "files").mkdir()
    write_files(folder / "files")
    write_data(folder / "data", folder / "files")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSDUCE_CACHE", str(folder / "cache"))
        make_small(patch, folder / "data")
        train_stand_in(folder)
        yield folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_works(
    page: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = torch.get_num_threads()
    shutil.copytree(prepared / "files", tmp_path, dirs_exist_ok=True)
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    place = Workplace(tmp_path, prepared / "stand-in")
    failed = []
    for example in examples(page):
        if not HAS_CTRANSLATE2 and page == ROOT / "docs/export.md":
            continue
        try:
            place.do(example)
        except Exception as error:
            failed.append(f"{example.where}: {example.text.strip()}\n    {type(error).__name__}: {error}")
        torch.set_num_threads(threads)
    assert not failed, "\n".join(failed)


@pytest.mark.skipif(not HAS_CTRANSLATE2, reason="needs CTranslate2")
def test_an_exported_model_runs_where_there_is_no_transduce_and_no_pytorch(prepared: Path, tmp_path: Path) -> None:
    export_ctranslate2(prepared / "stand-in", tmp_path / "captions-fast")
    (code,) = (found.text for found in examples(ROOT / "docs/export.md") if "import ctranslate2" in found.text)
    check = "import sys\nassert not {'torch', 'transduce'} & sys.modules.keys()\n"
    subprocess.run([sys.executable, "-c", code + check], cwd=tmp_path, check=True, capture_output=True)
