"""A corpus of OPUS is found by its name, downloaded whole or continued, verified, and ready to train on."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from file_server import FileServer
from transduce.apps.cli.main import app, run
from transduce.base.errors import DataError, InputError
from transduce.corpora.catalogue.opus import OpusName, download_opus, find_corpus, pinned
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.splits import open_splits

GERMAN = "".join(f"Hund Nummer {number} rennt.\n" for number in range(200))
ENGLISH = "".join(f"Dog number {number} runs.\n" for number in range(200))
README = "Corpus Name: Tatoeba\nLicense: CC BY 2.0 FR\n"
ASKED = OpusName.parse("opus:Tatoeba/en-de")


def archive(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for name, text in {"Tatoeba.de-en.de": GERMAN, "Tatoeba.de-en.en": ENGLISH, **files}.items():
            zipped.writestr(name, text)
    return packed.getvalue()


def entry(server: FileServer, **facts: Any) -> dict[str, Any]:
    known = {"corpus": "Tatoeba", "source": "de", "target": "en", "preprocessing": "moses", "version": "v2023-04-12"}
    return known | {"alignment_pairs": 200, "size": 7, "url": f"{server.address}/de-en.txt.zip"} | facts


def listed(server: FileServer, *entries: Any, version: str = "latest") -> None:
    """Let the index answer with these."""
    folder = server.folder / "opusapi"
    folder.mkdir(exist_ok=True)
    query = f"?corpus=Tatoeba&source=de&target=en&preprocessing=moses&version={version}"
    (folder / query).write_text(json.dumps({"corpora": list(entries)}))


@pytest.fixture
def opus(file_server: FileServer, monkeypatch: pytest.MonkeyPatch) -> FileServer:
    """OPUS with one corpus."""
    monkeypatch.setenv("TRANSDUCE_OPUS", f"{file_server.address}/opusapi/")
    (file_server.folder / "de-en.txt.zip").write_bytes(archive(README=README))
    listed(file_server, entry(file_server))
    return file_server


def test_a_corpus_is_downloaded_continued_verified_and_learned_from(opus: FileServer) -> None:
    corpus = pinned(ASKED, ASKED.folder)
    opus.drops = [900, 2000]
    assert (corpus.name, corpus.version, corpus.pairs, corpus.size) == ("Tatoeba/de-en", "v2023-04-12", 200, 7 * 1024)
    downloaded = download_opus(ASKED, corpus, ASKED.folder)
    assert [file.read_text() for file in downloaded.files] == [ENGLISH, GERMAN]
    assert downloaded.licence == "CC BY 2.0 FR"
    assert [range_ for _, range_ in opus.asked if range_] == ["bytes=900-", "bytes=2900-"]
    data = DataConfig(train=[str(file) for file in downloaded.files], source="en", target="de")
    (pair, *_) = next(iter(open_splits(data, Path()).train)).corpus
    assert pair.source.startswith("Dog number") and pair.target.startswith("Hund Nummer")
    before = len(opus.asked)
    listed(opus, entry(opus, version="v2024"))  # what is there is pinned
    assert download_opus(ASKED, pinned(ASKED, ASKED.folder), ASKED.folder) == downloaded
    assert len(opus.asked) == before
    downloaded.files[0].write_text("changed")
    download_opus(ASKED, pinned(ASKED, ASKED.folder), ASKED.folder)
    assert downloaded.files[0].read_text() == ENGLISH
    downloaded.files[0].unlink()
    (opus.folder / "de-en.txt.zip").write_bytes(archive(more="x"))
    with pytest.raises(DataError, match="has changed since it was first downloaded"):
        download_opus(ASKED, corpus, ASKED.folder)


def test_a_version_can_be_named_and_the_command_says_what_is_there(
    opus: FileServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed(opus, entry(opus, version="v1"), version="v1")
    folder = tmp_path / "mine"
    assert run(lambda: app(["data", "get", "opus:Tatoeba/de-en@v1", "-o", str(folder)])) == 0
    out, errors = capsys.readouterr()
    assert "licence: CC BY 2.0 FR" in out
    files = json.loads(out.splitlines()[-1].removeprefix("data.train = "))
    assert files == [str(folder / f"Tatoeba.de-en.{language}") for language in ("de", "en")]
    assert "Tatoeba/de-en of OPUS, v1: 200 pairs, 0.0 MB packed" in errors
    assert run(lambda: app(["data", "get", "opus:Tatoeba/de-en", "-o", str(folder), "--json", "-q"])) == 0
    assert json.loads(capsys.readouterr().out)["version"] == "v1"
    assert run(lambda: app(["data", "get", "opus:Tatoeba/de-en@v2", "-o", str(folder)])) == 2
    assert "has Tatoeba/de-en v1 already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"corpora": []}', "has no corpus Tatoeba of de-en"),
        ("<html>", "is no index of OPUS"),
        ("[]", "is no index of OPUS"),
        ('{"corpora": [3]}', "is no index of OPUS"),
    ],
)
def test_an_index_without_the_corpus_is_one_line(answer: str, words: str, opus: FileServer) -> None:
    (index,) = (opus.folder / "opusapi").iterdir()
    index.write_text(answer)
    with pytest.raises((InputError, DataError), match=words):
        find_corpus(ASKED)


@pytest.mark.parametrize(
    "facts", [{"url": "file:///etc/passwd.zip"}, {"url": 3}, {"version": None}, {"url": "https://x/y"}]
)
def test_an_entry_that_cannot_be_used_is_one_line(facts: dict[str, Any], opus: FileServer) -> None:
    listed(opus, entry(opus, **facts))
    with pytest.raises(DataError, match="in a way that cannot be used"):
        find_corpus(ASKED)


def test_an_index_that_is_not_there_and_an_archive_without_the_files_are_one_line(
    opus: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr("Tatoeba.de-en.de", GERMAN)
    (opus.folder / "de-en.txt.zip").write_bytes(packed.getvalue())
    with pytest.raises(DataError, match=r"the archive has no file Tatoeba\.de-en\.en"):
        download_opus(ASKED, pinned(ASKED, ASKED.folder), ASKED.folder)
    monkeypatch.setenv("TRANSDUCE_OPUS", "http://127.0.0.1:9/")
    with pytest.raises(DataError, match=r"cannot be read .*try again later"):
        find_corpus(ASKED)


@pytest.mark.parametrize(
    "name", ["opus:", "opus:Tatoeba", "opus:Tatoeba/de", "opus:../x/de-en", "opus:Tatoeba/de-de", "opus:a/de-en@/x"]
)
def test_names_of_another_form_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="names no corpus of OPUS"):
        OpusName.parse(name)
