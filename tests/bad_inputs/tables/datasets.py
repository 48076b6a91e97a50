"""Data sets by name: the folder of data, downloads, archives, the record of them, and the cache with its stores."""

import io
import zipfile
from pathlib import Path
from typing import Any

from bad_inputs.damages import empty, flip, folder, remove, replace, serve, write
from bad_inputs.row import Damage, Row, row

GET = "data get tatoeba-eng-fra"
KEPT = "cache/datasets/tatoeba-eng-fra"
RECORD = f"{KEPT}/downloads.json"
DATA = {"TRANSDUCE_DATA": "data"}
OF_MULTI30K = 'dataset = "multi30k"\n'
FILES = 'train = ["train.en", "train.de"]\nvalidation = ["dev.en", "dev.de"]\ntest = ["test.en", "test.de"]\n'


def _zip(content: bytes = b"Go.\tVa !\n", name: str = "fra.txt", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def _get(words: str | tuple[str, ...], *damages: Damage, command: str = GET, **options: Any) -> Row:
    return row(f"{command} -q", words, *damages, status=(1, 2), **options)


def _bomb(megabytes: int) -> bytes:
    """A small archive of a large file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("fra.txt", "w") as member:
        for _ in range(megabytes):
            member.write(bytes(2**20))
    return packed.getvalue()


OPUS = "data get opus:Tatoeba/de-en -o new"
NO_OPUS = {"TRANSDUCE_OPUS": "http://127.0.0.1:9/"}


def _of_multi30k() -> Damage:
    return replace("tiny.toml", FILES, OF_MULTI30K)


def _each_store(name: str, damage: Any) -> Damage:
    """One file of every store in the cache damaged."""

    def do() -> None:
        for file in sorted(Path("cache/stores").glob(f"*/{name}")):
            damage(str(file)).do()

    return Damage(f"cache/stores/{name}", do)


ENCRYPTED = bytearray(_zip())
ENCRYPTED[6] |= 1  # in the member's own header,
ENCRYPTED[bytes(ENCRYPTED).rindex(b"PK\x01\x02") + 8] |= 1  # and in the archive's list
OTHER_METHOD = bytearray(_zip())
OTHER_METHOD[8] = 97
OTHER_METHOD[bytes(OTHER_METHOD).rindex(b"PK\x01\x02") + 10] = 97
WRONG_SUM = bytearray(_zip(method=zipfile.ZIP_STORED))
WRONG_SUM[40] ^= 1

ROWS = [
    row("data get opus:Tatoeba", "names no corpus of OPUS"),
    row(OPUS, "cannot be read", status=(1, 2), environment=NO_OPUS),
    row(OPUS, "opus.json is damaged", write("new/opus.json", "{"), status=(1, 2), environment=NO_OPUS),
    row("data get multi30k -o new", "--output is for corpora of OPUS"),
    # Downloads
    _get("fra-eng.zip: a damaged archive", serve("tatoeba-eng-fra", b"<html>Not here.</html>")),
    _get("the archive has no file fra.txt", serve("tatoeba-eng-fra", _zip(name="deu.txt"))),
    _get("too large", serve("tatoeba-eng-fra", _bomb(60)), megabytes=50),
    _get(("train.de.gz", "SHA-256 differs"), serve("multi30k", b"x", checked=True), command="data get multi30k"),
    _get(
        ("has changed since it was first downloaded", "downloads.json"),
        serve("tatoeba-eng-fra", _zip()),
        Damage(RECORD, lambda: _record_of_another()),
    ),
    # The record, the lock, and what is kept
    row(f"{GET} -q", "downloads.json", serve("tatoeba-eng-fra", _zip()), folder(RECORD), status=(1, 2)),
    # The folder of data
    row(
        "train tiny.toml --out new -q",
        ("train.en.gz", "SHA-256 differs"),
        _of_multi30k(),
        *[write(f"data/multi30k/train.{language}.gz", "x") for language in ("de", "en", "fr")],
        environment={"TRANSDUCE_DATA": "data"},
    ),
    row("data list", "", status=0, harmless=True, environment=DATA),
    # The cache
    row("train lm.toml --out new -q", "", _each_store("text.ids", remove), status=0, leaves=("new*",), harmless=True),
    row(
        "train tiny.toml --out new -q",
        "",
        _each_store("source.offsets", flip),
        status=0,
        leaves=("new*",),
        harmless=True,
    ),
    row(
        "train tiny.toml --out new -q", "", _each_store("store.json", empty), status=0, leaves=("new*",), harmless=True
    ),
]


def _record_of_another() -> None:
    from transduce.corpora.catalogue.registry import DATASETS

    (remote,) = DATASETS["tatoeba-eng-fra"].remotes
    write(RECORD, f'{{"addresses": {{"{remote.address}": "{"0" * 64}"}}, "files": {{}}}}').do()
