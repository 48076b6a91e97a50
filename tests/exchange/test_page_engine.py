"""The engine of exported pages is fetched once, verified, and used only if it is the one that is known."""

import base64
import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from file_server import FileServer
from transduce.apps.exchange.page import page_engine
from transduce.apps.exchange.page.page_engine import FILE, PACKAGE, PROGRAM, SCRIPT, VERSION, load_engine
from transduce.base.errors import DataError, InputError

ADDRESS = f"{PACKAGE}/-/{FILE}"


def package(program: bytes = b"program") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        files = {SCRIPT: b"script", PROGRAM: program, "package/package.json": b'{"name": "x", "version": "1.0.0"}'}
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


GENUINE, OTHER = package(), package(b"another program")


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_engine, "SHA512", hashlib.sha512(GENUINE).hexdigest())


@pytest.fixture
def without_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.fixture
def registry(file_server: FileServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FileServer:
    """A registry that serves GENUINE, and has none of npm's own addresses."""
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{file_server.address}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    serve(file_server, GENUINE)
    return file_server


def serve(registry: FileServer, content: bytes) -> None:
    path = registry.folder / ADDRESS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "engines" / FILE


def test_the_engine_is_fetched_once_from_the_registry(registry: FileServer, without_npm: None, tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        held = load_engine(progress=lambda address, done, total: said.append(address))
        assert (held.script, held.program) == (b"script", b"program")
    assert registry.asked == [(ADDRESS, None)]
    assert set(said) == {f"{registry.address}/{ADDRESS}"}
    assert VERSION in held.notice and "Mozilla Public License" in held.notice


def test_a_damaged_engine_in_the_cache_is_fetched_again(
    registry: FileServer, without_npm: None, tmp_path: Path
) -> None:
    load_engine()
    cached(tmp_path).write_bytes(GENUINE[:-40])
    assert load_engine().program == b"program"
    assert len(registry.asked) == 2


def test_another_engine_than_expected_is_not_kept(registry: FileServer, without_npm: None, tmp_path: Path) -> None:
    serve(registry, OTHER)
    with pytest.raises(DataError, match=rf"the download is not the {FILE} expected \(SHA-512 differs\)"):
        load_engine()
    assert not cached(tmp_path).exists()


def test_an_engine_out_of_reach_says_what_to_do(registry: FileServer, without_npm: None) -> None:
    (registry.folder / ADDRESS).unlink()
    with pytest.raises(
        DataError, match=rf"cannot be downloaded \(HTTP 404.*npm package of {PACKAGE}.*its file \(engine\)"
    ):
        load_engine()


def test_a_file_is_the_engine_if_it_has_its_hash(tmp_path: Path) -> None:
    (tmp_path / "genuine.tgz").write_bytes(GENUINE)
    (tmp_path / "other.tgz").write_bytes(OTHER)
    assert load_engine(tmp_path / "genuine.tgz").program == b"program"
    with pytest.raises(InputError, match=r"other\.tgz is not the npm package .*SHA-512 differs.*npm pack"):
        load_engine(tmp_path / "other.tgz")
    with pytest.raises(InputError, match=r"no\.tgz: no such file; expected the npm package"):
        load_engine(tmp_path / "no.tgz")


def offer(registry: FileServer, content: bytes) -> None:
    """Have the registry describe the package as npm asks for it, at an address of its own."""
    (registry.folder / "other").mkdir()
    (registry.folder / "other" / "package.tgz").write_bytes(content)
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"
    dist = {"tarball": f"{registry.address}/other/package.tgz", "integrity": integrity}
    described = {"name": PACKAGE, "dist-tags": {"latest": VERSION}}
    described |= {"versions": {VERSION: {"name": PACKAGE, "version": VERSION, "dist": dist}}}
    (registry.folder / PACKAGE.replace("/", "%2f")).write_text(json.dumps(described), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_npm_fetches_the_engine_and_is_not_trusted(registry: FileServer, tmp_path: Path) -> None:
    offer(registry, GENUINE)
    assert load_engine().program == b"program"
    names = [name for name, _ in registry.asked]
    assert "other/package.tgz" in names and ADDRESS not in names
    cached(tmp_path).unlink()
    shutil.rmtree(registry.folder / "other")
    offer(registry, OTHER)
    shutil.rmtree(tmp_path / "npm")
    assert load_engine().program == b"program"
    assert registry.asked[-1] == (ADDRESS, None)
