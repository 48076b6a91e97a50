"""A ZIP file of a model is as good as its folder, and one that is no such thing is refused before it is unpacked."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import transduce
from transduce.base.errors import CheckpointError
from transduce.base.unzipping import unzipped
from transduce.bundle.model_bundle import find_bundle
from transduce.experiment import train

pytestmark = pytest.mark.slow


@pytest.fixture(params=["model", "model in a folder", "run"])
def zipped(request: pytest.FixtureRequest, tiny_run: Path, tmp_path: Path) -> Path:
    """A ZIP file as systems make it of a model's folder, of what is in it, or of a run's."""
    folder, root = {
        "model": (tiny_run / "model", "."),
        "model in a folder": (tiny_run, "model"),
        "run": (tiny_run.parent, "tiny"),
    }[request.param]
    return Path(shutil.make_archive(str(tmp_path / "packed"), "zip", folder, root))


def test_a_zipped_model_translates_as_its_folder(zipped: Path, tiny_run: Path) -> None:
    text = ["the old dog sees a cat", "a cat sleeps"]
    assert transduce.load(zipped).translate(text) == transduce.load(tiny_run).translate(text)
    assert find_bundle(zipped) == find_bundle(zipped)


def test_a_model_may_start_from_a_zipped_one_and_adapters_may_need_it(
    zipped: Path, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    files = [str(corpus / "train.en"), str(corpus / "train.de")]
    changes = {"training": {"start_from": str(zipped), "updates": 2, "adapters": {"rank": 2, "save": "apart"}}}
    held_out = {"data": {"validation": [str(corpus / "dev.en"), str(corpus / "dev.de")]}}
    run = train(files, tmp_path / "run", overrides=changes | held_out).run
    assert transduce.load(run).translate(["a cat sleeps"])


def make(path: Path, *entries: tuple[str, bytes], link: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if link else 0o100644) << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return path


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/outside", "a\\..\\..\\outside"])
def test_nothing_is_written_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match="is a path outside of its folder"):
        unzipped(make(tmp_path / "model.zip", ("config.toml", b""), (name, b"x")))


def test_links_bombs_and_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"'config\.toml' in it is a link"):
        unzipped(make(tmp_path / "link.zip", ("config.toml", b"/etc/passwd"), link=True))
    with pytest.raises(CheckpointError, match="would be 100,000,000 bytes in 1 files, which no model is"):
        unzipped(make(tmp_path / "bomb.zip", ("weights.safetensors", bytes(100_000_000))))
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(CheckpointError, match=r"text\.zip: is no ZIP file of a model, or damaged"):
        find_bundle(tmp_path / "text.zip")
    with pytest.raises(CheckpointError, match="is not a model"):
        find_bundle(make(tmp_path / "other.zip", ("readme.txt", b"hello")))


def test_commands_take_a_zipped_model_wherever_they_take_a_folder(
    tiny_run: Path, corpus: Path, tmp_path: Path, transduce: Callable[..., tuple[int, str, str]]
) -> None:
    zipped = shutil.make_archive(str(tmp_path / "packed"), "zip", tiny_run / "model")
    for verb in (
        ("info",),
        ("translate", corpus / "test.en", "-o", tmp_path / "out.de"),
        ("evaluate", "--source", corpus / "test.en", "--reference", corpus / "test.de"),
        ("score", "--source", corpus / "test.en", "--target", corpus / "test.de"),
        ("align", corpus / "test.en", corpus / "test.de"),
        ("look", "a cat sleeps", "-o", tmp_path / "look.html"),
        (
            "shortlist",
            "--source",
            corpus / "train.en",
            "--target",
            corpus / "train.de",
            "-o",
            tmp_path / "short.safetensors",
        ),
    ):
        status, _, errors = transduce(verb[0], zipped, *verb[1:])
        assert status == 0, (verb, errors)
    status, _, errors = transduce("shortlist", zipped, "--source", corpus / "train.en", "--target", corpus / "train.de")
    assert status == 2
    assert "name the file to write (--out)" in errors
