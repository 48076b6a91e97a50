"""Data sets by name: the folder of data, downloads, archives, the record of them, and the cache with its stores."""

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from bad_inputs.damages import append, cut, empty, flip, folder, garbage, link, provide, remove, replace, serve, write
from bad_inputs.row import Damage, Row, row

GET = "data get tatoeba-eng-fra"
TARS = "data get newstest"
KEPT = "cache/datasets/tatoeba-eng-fra"
RECORD = f"{KEPT}/downloads.json"
TRAIN = "train tiny.toml --out new -q"
DATA = {"TRANSDUCE_DATA": "data"}
OF_MULTI30K = 'dataset = "multi30k"\n'
FILES = 'train = ["train.en", "train.de"]\nvalidation = ["dev.en", "dev.de"]\ntest = ["test.en", "test.de"]\n'


def _zip(content: bytes = b"Go.\tVa !\n", name: str = "fra.txt", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def _tar(*members: tuple[str, bytes | str], kind: str = "w:gz") -> bytes:
    """Members with bytes, or of a special type that a text names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=kind) as archive:  # type: ignore[call-overload]
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                member.type = {"link": tarfile.SYMTYPE, "fifo": tarfile.FIFOTYPE, "folder": tarfile.DIRTYPE}[content]
                member.linkname = "/etc/passwd"
                archive.addfile(member)
    return packed.getvalue()


def _get(name: str, words: str | tuple[str, ...], *damages: Damage, command: str = GET, **options: Any) -> Row:
    return row(f"a download: {name}", f"{command} -q", (1, 2), words, *damages, **options)


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
    row("OPUS: another form of a name", "data get opus:Tatoeba", 2, "names no corpus of OPUS"),
    row("OPUS: no network", OPUS, (1, 2), "cannot be read", environment=NO_OPUS),
    row(
        "OPUS: facts that are damaged",
        OPUS,
        (1, 2),
        "opus.json is damaged",
        write("new/opus.json", "{"),
        environment=NO_OPUS,
    ),
    row("a folder for a built-in data set", "data get multi30k -o new", 2, "--output is for corpora of OPUS"),
    # Downloads
    _get("no network", ("cannot be downloaded", "TRANSDUCE_DATA")),
    _get("nothing at the address", ("cannot be downloaded (HTTP 404",), serve("tatoeba-eng-fra", None)),
    *(
        _get(
            f"status {status}",
            f"cannot be downloaded (HTTP {status}",
            serve("tatoeba-eng-fra", _zip(), failures=[status] * 9),
        )
        for status in (401, 403, 410, 429, 500, 503)
    ),
    _get(
        "it ends too early, always",
        ("cannot be downloaded (it ended after 0 of",),
        serve("tatoeba-eng-fra", _zip(), drops=[0] * 99),
        leaves=(f"{KEPT}/*.part*",),
    ),
    _get("a page in its place", "fra-eng.zip: a damaged archive", serve("tatoeba-eng-fra", b"<html>Not here.</html>")),
    _get("empty", "fra-eng.zip", serve("tatoeba-eng-fra", b"")),
    _get("garbage", "fra-eng.zip: a damaged archive", serve("tatoeba-eng-fra", bytes(range(256)))),
    _get("an archive that was cut off", "fra-eng.zip: a damaged archive", serve("tatoeba-eng-fra", _zip()[:-30])),
    _get(
        "an archive with a changed byte", "fra-eng.zip: a damaged archive", serve("tatoeba-eng-fra", bytes(WRONG_SUM))
    ),
    _get(
        "an archive without the file", "the archive has no file fra.txt", serve("tatoeba-eng-fra", _zip(name="deu.txt"))
    ),
    _get(
        "an archive of nothing", "the archive has no file fra.txt", serve("tatoeba-eng-fra", b"PK\x05\x06" + bytes(18))
    ),
    _get(
        "a file that would stand elsewhere",
        "the archive has no file fra.txt",
        serve("tatoeba-eng-fra", _zip(name="../fra.txt")),
    ),
    _get(
        "a folder in place of the file",
        "the archive has no file fra.txt",
        serve("tatoeba-eng-fra", _zip(b"", name="fra.txt/")),
    ),
    _get(
        "an archive of another kind",
        "fra-eng.zip: a damaged archive",
        serve("tatoeba-eng-fra", _tar(("fra.txt", b"a\tb\n"))),
    ),
    _get("a member that is encrypted", "fra-eng.zip", serve("tatoeba-eng-fra", bytes(ENCRYPTED))),
    _get("a member packed in an unknown way", "fra-eng.zip", serve("tatoeba-eng-fra", bytes(OTHER_METHOD))),
    _get("a small archive of a large file", "too large", serve("tatoeba-eng-fra", _bomb(60)), megabytes=50),
    _get(
        "contents other than are known",
        ("train.de.gz", "SHA-256 differs"),
        serve("multi30k", b"x", checked=True),
        command="data get multi30k",
    ),
    _get(
        "contents other than are known, by MD5",
        ("test.tgz", "MD5 differs"),
        serve("newstest", b"x", checked=True),
        command=TARS,
    ),
    _get(
        "a page in the place of a tar", "test.tgz: a damaged archive", serve("newstest", b"<html></html>"), command=TARS
    ),
    _get("an empty tar", "test.tgz", serve("newstest", b""), command=TARS),
    _get("a tar that was cut off", "test.tgz", serve("newstest", _tar(("a", bytes(9999)))[:90]), command=TARS),
    _get("a tar without the files", "the archive has no file", serve("newstest", _tar(("a", b"b"))), command=TARS),
    *(
        _get(
            f"a tar with a {kind} for a file",
            "the archive has no file",
            serve("newstest", _tar(("test/newstest2008-src.en.sgm", kind))),
            command=TARS,
        )
        for kind in ("link", "fifo", "folder")
    ),
    _get(
        "a tar with changed bytes",
        "test.tgz: a damaged archive",
        serve("newstest", _tar(("a", bytes(range(256)) * 40), kind="w:gz")[:60] + bytes(99)),
        command=TARS,
    ),
    _get(
        "what was recorded is no more",
        ("has changed since it was first downloaded", "downloads.json"),
        serve("tatoeba-eng-fra", _zip()),
        Damage(RECORD, lambda: _record_of_another()),
    ),
    # The record, the lock, and what is kept
    _get("no network, a damaged record", "cannot be downloaded", garbage(RECORD)),
    _get("no network, an empty record", "cannot be downloaded", write(RECORD, "")),
    _get("no network, a record that is a list", "cannot be downloaded", write(RECORD, "[]")),
    _get("no network, a record that is null", "cannot be downloaded", write(RECORD, "null")),
    _get("no network, a record of numbers", "cannot be downloaded", write(RECORD, '{"addresses": 1, "files": 2}')),
    _get("no network, a record of a text", "cannot be downloaded", write(RECORD, '{"addresses": "a", "files": "b"}')),
    _get("no network, a record nested 100,000 times", "cannot be downloaded", write(RECORD, "[" * 100_000)),
    _get("no network, a record that is a folder", "cannot be downloaded", folder(RECORD)),
    _get("no network, a file without a record", "cannot be downloaded", write(f"{KEPT}/eng-fra.txt", "a\tb\n")),
    row("a download: a lock that is a folder", f"{GET} -q", (1, 2), ".lock", folder(f"{KEPT}/.lock")),
    row("a download: a file in the place of its folder", f"{GET} -q", (1, 2), "tatoeba-eng-fra", write(KEPT, "")),
    row(
        "a download: a record that cannot be written",
        f"{GET} -q",
        (1, 2),
        "downloads.json",
        serve("tatoeba-eng-fra", _zip()),
        folder(RECORD),
    ),
    row(
        "a download: more than the disk holds",
        f"{GET} -q",
        1,
        "too large",
        serve("tatoeba-eng-fra", bytes(300_000)),
        megabytes=0.1,
        leaves=(f"{KEPT}/*.part*",),
    ),
    # The folder of data
    *(
        row(f"data: {name}", TRAIN, 2, words, _of_multi30k(), *damages, environment=DATA, **more)
        for name, words, damages, more in (
            ("no such folder", ("cannot be downloaded",), [], {}),
            ("a file as the folder", ("cannot be downloaded",), [write("data", "")], {}),
            ("a file as the data set's folder", ("cannot be downloaded",), [write("data/multi30k", "")], {}),
            (
                "other contents",
                ("train.en.gz", "SHA-256 differs"),
                [write(f"data/multi30k/train.{language}.gz", "x") for language in ("de", "en", "fr")],
                {},
            ),
            (
                "one language is lacking",
                "SHA-256 differs",
                [write(f"data/multi30k/train.{language}.gz", "x") for language in ("de", "en")],
                {},
            ),
            ("a folder as a file", "cannot be downloaded", [folder("data/multi30k/train.de.gz")], {}),
            (
                "no part but training",
                "cannot be downloaded",
                [provide("multi30k", *(f"train.{x}.gz" for x in ("de", "en", "fr")))],
                {},
            ),
            (
                "packed text that was cut off",
                "train.de.gz: damaged",
                [
                    provide(
                        "multi30k",
                        *(f"{s}.{x}.gz" for s in ("train", "val", "test_2016_flickr") for x in ("de", "en", "fr")),
                    ),
                    cut("data/multi30k/train.de.gz"),
                ],
                {},
            ),
        )
    ),
    row(
        "data: one language is lacking that is not asked for",
        TRAIN,
        0,
        "",
        _of_multi30k(),
        provide(
            "multi30k", *(f"{split}.{x}.gz" for split in ("train", "val", "test_2016_flickr") for x in ("de", "en"))
        ),
        environment=DATA,
        harmless=True,
        leaves=("new*",),
    ),
    row("data: a list with a folder that is not there", "data list", 0, "", harmless=True, environment=DATA),
    row(
        "data: a list with a file as the folder", "data list", 0, "", write("data", ""), harmless=True, environment=DATA
    ),
    row(
        "data: a list with a folder of a long name",
        "data list --json",
        (1, 2),
        "File name too long",
        environment={"TRANSDUCE_DATA": "x" * 300},
    ),
    row("data: evaluated without a network", "evaluate run --dataset multi30k", 2, "cannot be downloaded"),
    row("data: compared without a network", "compare run mean --dataset multi30k", 2, "cannot be downloaded"),
    # The cache
    *(
        row(f"cache: {name}: {verb}", verb, (1, 2), words, *damages, environment=environment, **more)
        for verb in (TRAIN, f"{GET} -q")
        for name, words, damages, environment, more in (
            ("a file", "cache", [remove("cache"), write("cache", "")], {}, {}),
            ("a place of no files", "/proc", [], {"TRANSDUCE_CACHE": "/proc/cache"}, {}),
            ("a link to itself", "cache", [remove("cache"), link("cache", "cache")], {}, {}),
            ("a name too long", "File name too long", [], {"TRANSDUCE_CACHE": "x" * 300}, {}),
        )
    ),
    row("cache: a file: a list of data", "data list", 0, "", remove("cache"), write("cache", ""), harmless=True),
    row(
        "cache: no home to keep it in",
        TRAIN,
        (1, 2),
        "/proc/nowhere",
        environment={"TRANSDUCE_CACHE": None, "HOME": "/proc/nowhere"},
    ),
    row(
        "cache: stores that are a file",
        TRAIN,
        (1, 2),
        "cache/stores",
        remove("cache/stores"),
        write("cache/stores", ""),
    ),
    *(
        row(
            f"cache: a text's text.ids: {harm}",
            "train lm.toml --out new -q",
            0,
            "",
            _each_store("text.ids", damage),
            harmless=True,
            leaves=("new*",),
        )
        for harm, damage in (("not there", remove), ("cut off", cut), ("one bit changed", flip), ("empty", empty))
    ),
    *(
        row(
            f"cache: a store's {file}: {harm}", TRAIN, 0, "", _each_store(file, damage), harmless=True, leaves=("new*",)
        )
        for file, harm, damage in (
            ("source.ids", "not there", remove),
            ("target.ids", "cut off", cut),
            ("source.offsets", "one bit changed", flip),
            ("target.offsets", "longer", lambda path: append(path, "x")),
            ("source.lengths", "cut off", cut),
            ("target.lengths", "one bit changed", flip),
            ("store.json", "empty", empty),
            ("store.json", "garbage", garbage),
            ("store.json", "a list", lambda path: write(path, "[]")),
            ("store.json", "a number", lambda path: write(path, "7")),
            ("store.json", "nested 100,000 times", lambda path: write(path, "[" * 100_000)),
            (
                "store.json",
                "other keys",
                lambda path: write(path, '{"checksums": {}, "dtype": "object", "dropped": {}}'),
            ),
        )
    ),
]


def _record_of_another() -> None:
    from transduce.corpora.catalogue.registry import DATASETS

    (remote,) = DATASETS["tatoeba-eng-fra"].remotes
    write(RECORD, f'{{"addresses": {{"{remote.address}": "{"0" * 64}"}}, "files": {{}}}}').do()
