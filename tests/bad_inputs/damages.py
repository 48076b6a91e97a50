"""The ways in which files are made bad, each a small function that gives a `Damage`."""

import gzip
import http.server
import json
import lzma
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace as with_changes
from pathlib import Path
from typing import Any

from bad_inputs.row import Damage


def write(path: str, content: str | bytes) -> Damage:
    """A file of this content, in place of any that is there."""

    def do() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)

    return Damage(path, do)


def write_gz(path: str, content: str | bytes) -> Damage:
    """A gzip file."""
    return write(path, gzip.compress(content.encode() if isinstance(content, str) else content))


def write_xz(path: str, content: str | bytes) -> Damage:
    """An xz file."""
    return write(path, lzma.compress(content.encode() if isinstance(content, str) else content))


def write_zst(path: str, content: str | bytes) -> Damage:
    """A zstandard file."""
    import zstandard

    return write(path, zstandard.compress(content.encode() if isinstance(content, str) else content))


def change(path: str, make: Callable[[bytes], bytes]) -> Damage:
    """The file with its bytes changed."""
    return Damage(path, lambda: Path(path).write_bytes(make(Path(path).read_bytes())) and None)


def empty(path: str) -> Damage:
    """The file without any bytes."""
    return change(path, lambda content: b"")


def cut(path: str) -> Damage:
    """The first half of the file."""
    return change(path, lambda content: content[: len(content) // 2])


def append(path: str, more: str | bytes) -> Damage:
    """The file with something after its end."""
    return change(path, lambda content: content + (more.encode() if isinstance(more, str) else more))


def flip(path: str, place: float = 0.6) -> Damage:
    """The file with one bit changed, so far in."""

    def make(content: bytes) -> bytes:
        at = int(len(content) * place)
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return change(path, make)


def garbage(path: str) -> Damage:
    """Bytes that are of no format and no encoding."""
    return write(path, bytes(range(255, 0, -1)) * 8)


def replace(path: str, old: str, new: str) -> Damage:
    """The file with one text for another, which must be there."""

    def make(content: bytes) -> bytes:
        assert old.encode() in content, f"{path} has no {old!r}"
        return content.replace(old.encode(), new.encode())

    return change(path, make)


def edit_json(path: str, edit: Callable[[Any], Any]) -> Damage:
    """A JSON file with its tree changed: by what `edit` does to it, or gives in its place."""

    def make(content: bytes) -> bytes:
        tree = json.loads(content)
        result = edit(tree)
        return json.dumps(tree if result is None else result).encode()

    return change(path, make)


def remove(path: str) -> Damage:
    """No such file or folder."""

    def do() -> None:
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path)
        else:
            Path(path).unlink()

    return Damage(path, do)


def folder(path: str) -> Damage:
    """A folder where a file should be."""

    def do() -> None:
        Path(path).unlink(missing_ok=True)
        Path(path).mkdir(parents=True)

    return Damage(path, do)


def copy(source: str, path: str) -> Damage:
    """A file or folder in place of another."""

    def do() -> None:
        if Path(source).is_dir():
            if Path(path).exists():
                shutil.rmtree(path)
            shutil.copytree(source, path, symlinks=True)
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)

    return Damage(path, do)


def move(path: str, target: str) -> Damage:
    """A file or folder under another name."""

    def do() -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(path).rename(target)

    return Damage(path, do)


def link(path: str, target: str) -> Damage:
    """A symbolic link, perhaps to nowhere or to itself."""

    def do() -> None:
        Path(path).unlink(missing_ok=True)
        Path(path).symlink_to(target)

    return Damage(path, do)


def fifo(path: str) -> Damage:
    """A named pipe that nobody writes to."""

    def do() -> None:
        Path(path).unlink(missing_ok=True)
        os.mkfifo(path)

    return Damage(path, do)


def edit_tensors(path: str, edit: Callable[[dict[str, Any]], Any]) -> Damage:
    """A safetensors file with its tensors changed, its facts kept."""

    def do() -> None:
        from safetensors import safe_open
        from safetensors.torch import load_file, save_file

        tensors = load_file(path)
        with safe_open(path, framework="pt") as file:
            facts = file.metadata()
        edit(tensors)
        save_file(tensors, path, facts)

    return Damage(path, do)


def reseal(bundle: str) -> Damage:
    """The checksums in a bundle's probe made right again, as those do who mean harm."""
    import hashlib

    def do() -> None:
        probe = Path(bundle, "probe.json")
        tree = json.loads(probe.read_bytes())
        for name in tree["sha256"]:
            if Path(bundle, name).is_file():
                tree["sha256"][name] = hashlib.sha256(Path(bundle, name).read_bytes()).hexdigest()
        probe.write_text(json.dumps(tree), encoding="utf-8")

    return Damage(f"{bundle}/probe.json", do)


def serve(dataset: str, content: bytes | None, checked: bool = False, **faults: Any) -> Damage:
    """All downloads of a data set come from a server of our own: this content, or none, with a FileServer's faults."""
    from file_server import FileServer

    def do() -> None:
        from transduce.corpora.catalogue.registry import DATASETS

        server = FileServer(Path(".served"))
        server.folder.mkdir()
        for name, value in faults.items():
            setattr(server, name, value)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None: ...

        running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        remotes = []
        for remote in DATASETS[dataset].remotes:
            name = remote.address.rsplit("/", 1)[-1]
            if content is not None:
                (server.folder / name).write_bytes(content)
            address = f"http://127.0.0.1:{running.server_address[1]}/{name}"
            remotes.append(with_changes(remote, address=address, checksum=remote.checksum if checked else None))
        DATASETS[dataset] = with_changes(DATASETS[dataset], remotes=tuple(remotes))

    return Damage("downloads", do)
