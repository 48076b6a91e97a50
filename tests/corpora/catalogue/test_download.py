"""A download ends whole and verified, or with one line and nothing under its name."""

import hashlib
import io
import tarfile
import zipfile
from random import Random

import pytest

from transduce.base.errors import DataError
from transduce.corpora.catalogue import download
from transduce.corpora.catalogue.download import RECORD, Remote, announce, retrieve

CONTENT = bytes(range(256)) * 1000


def checksum(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "kept"


def remote(server, name="a.bin", content=CONTENT, known=True, keep=None):
    (server.folder / name).write_bytes(content)
    return Remote(f"{server.address}/{name}", keep or {name: ""}, checksum(content) if known else None)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in (RECORD, ".lock"))


def test_a_file_is_downloaded_once(file_server, folder):
    for _ in range(2):
        retrieve(remote(file_server), folder)
        assert (folder / "a.bin").read_bytes() == CONTENT
    assert file_server.asked == [("a.bin", None)]
    assert names(folder) == ["a.bin"]


@pytest.mark.parametrize("known", [True, False])
def test_a_dropped_connection_is_taken_up_where_it_broke(file_server, folder, known):
    file_server.drops = [100_000, 7_000, 50_001]
    retrieve(remote(file_server, known=known), folder)
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert [wanted for _, wanted in file_server.asked] == [None, "bytes=100000-", "bytes=107000-", "bytes=157001-"]
    assert names(folder) == ["a.bin"]


def test_a_server_that_ignores_ranges_is_read_from_the_beginning(file_server, folder):
    file_server.drops, file_server.knows_ranges = [100_000], False
    retrieve(remote(file_server), folder)
    assert (folder / "a.bin").read_bytes() == CONTENT


def test_a_later_download_goes_on_with_the_part_of_an_earlier_one(file_server, folder):
    file_server.drops = [100_000] + [0] * download.ATTEMPTS
    with pytest.raises(DataError, match=r"a\.bin cannot be downloaded .*ended after 100,000 of 256,000 bytes.*again"):
        retrieve(remote(file_server), folder)
    assert not (folder / "a.bin").exists()
    retrieve(remote(file_server), folder)
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert file_server.asked[-1] == ("a.bin", "bytes=100000-")


@pytest.mark.parametrize("known", [True, False])
def test_parts_of_two_versions_are_never_joined(file_server, folder, known):
    old, new = CONTENT, CONTENT[::-1]
    file_server.drops = [100_000] + [0] * download.ATTEMPTS
    with pytest.raises(DataError):
        retrieve(remote(file_server, content=old, known=known), folder)
    retrieve(remote(file_server, content=new, known=known), folder)
    assert (folder / "a.bin").read_bytes() == new


def test_a_part_longer_than_the_file_is_thrown_away(file_server, folder):
    folder.mkdir()
    (folder / "a.bin.part").write_bytes(CONTENT + b"more")
    retrieve(remote(file_server), folder)
    assert (folder / "a.bin").read_bytes() == CONTENT


def test_a_server_out_of_breath_is_asked_again(file_server, folder):
    file_server.failures = [503, 429, 500]
    retrieve(remote(file_server), folder)
    assert (folder / "a.bin").read_bytes() == CONTENT


def test_a_server_that_stays_down_is_given_up(file_server, folder):
    file_server.failures = [503] * download.ATTEMPTS
    with pytest.raises(DataError, match="HTTP 503"):
        retrieve(remote(file_server), folder)
    assert len(file_server.asked) == download.ATTEMPTS


def test_what_is_not_there_says_where_to_put_it(file_server, folder):
    with pytest.raises(DataError, match=r"none cannot be downloaded \(HTTP 404.*\(x, y\) in a folder named kept"):
        retrieve(Remote(f"{file_server.address}/none", {"x": "a/x", "y": "a/y"}), folder)
    assert len(file_server.asked) == 1
    assert names(folder) == []


def test_other_contents_than_expected_are_an_error_and_not_kept(file_server, folder):
    expected = remote(file_server)
    (file_server.folder / "a.bin").write_bytes(b"something else")
    with pytest.raises(DataError, match=r"a\.bin: the download is not the a\.bin expected \(SHA-256 differs\)"):
        retrieve(expected, folder)
    assert names(folder) == []


def test_a_change_of_a_file_whose_checksum_was_unknown_is_noticed(file_server, folder):
    retrieve(remote(file_server, known=False), folder)
    (folder / "a.bin").unlink()
    changed = remote(file_server, content=b"new", known=False)
    with pytest.raises(DataError, match=r"has changed since it was first downloaded.*remove .*downloads\.json"):
        retrieve(changed, folder)
    (folder / RECORD).unlink()
    retrieve(changed, folder)
    assert (folder / "a.bin").read_bytes() == b"new"


@pytest.mark.parametrize("known", [True, False])
def test_a_kept_file_that_was_damaged_is_downloaded_anew(file_server, folder, known):
    wanted = remote(file_server, known=known)
    retrieve(wanted, folder)
    (folder / "a.bin").write_bytes(b"damaged")
    retrieve(wanted, folder)
    assert (folder / "a.bin").read_bytes() == CONTENT


def packed_zip(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def packed_tgz(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


ARCHIVES = [("a.zip", packed_zip), ("a.tgz", packed_tgz)]
FILES = {"../evil": b"out", "deep/er/x.de": b"ja", "deep/er/x.en": b"yes", "/tmp/evil": b"out", "x.de": b"other"}


@pytest.mark.parametrize(("name", "pack"), ARCHIVES)
def test_only_what_is_wanted_of_an_archive_is_kept(file_server, folder, name, pack):
    keep = {"mine.de": "deep/er/x.de", "mine.en": "deep/er/x.en"}
    retrieve(remote(file_server, name, pack(FILES), keep=keep), folder)
    assert names(folder) == ["mine.de", "mine.en"]
    assert (folder / "mine.de").read_bytes() == b"ja"
    assert not (folder.parent / "evil").exists()
    retrieve(remote(file_server, name, pack(FILES), keep=keep), folder)
    assert len(file_server.asked) == 1


@pytest.mark.parametrize(("name", "pack"), ARCHIVES)
def test_an_archive_that_lacks_a_file_or_is_damaged_says_so(file_server, folder, name, pack):
    keep = {"x.de": "deep/er/x.de", "x.fr": "deep/er/x.fr"}
    with pytest.raises(DataError, match=rf"{name}: the archive has no file deep/er/x\.fr"):
        retrieve(remote(file_server, name, pack(FILES), keep=keep), folder)
    cut = pack({"deep/er/x.de": CONTENT, "deep/er/x.fr": Random(1).randbytes(50_000)})[:-5_000]
    with pytest.raises(DataError, match=rf"{name}: a damaged archive"):
        retrieve(remote(file_server, name, cut, keep=keep), folder.with_name("other"))
    assert names(folder.with_name("other")) in ([], ["x.de"])


def test_a_link_in_an_archive_is_not_followed(file_server, folder, tmp_path):
    (tmp_path / "secret").write_text("secret")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("x")
        member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(member)
    with pytest.raises(DataError, match="has no file x"):
        retrieve(remote(file_server, "a.tgz", stream.getvalue(), keep={"x": "x"}), folder)
    assert names(folder) == []


def test_progress_counts_bytes_and_is_announced_once(file_server, folder):
    file_server.drops = [100_000]
    told, lines = [], []
    announced = announce(lines.append)

    def progress(address, done, total):
        told.append((done, total))
        announced(address, done, total)

    retrieve(remote(file_server), folder, progress)
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert lines == [f"downloading {file_server.address}/a.bin (0.2 MB)"]


def test_a_download_without_end_is_cut_off_and_removed(file_server, folder, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", 100_000)
    with pytest.raises(DataError, match=r"a\.bin: over .* more than any file of the data sets"):
        retrieve(remote(file_server), folder)
    assert names(folder) == []


def test_an_archive_that_unpacks_to_far_too_much_is_not_unpacked(file_server, folder, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", bytes(10_000_000))
    monkeypatch.setattr(download, "MAX_BYTES", 1_000_000)
    with pytest.raises(DataError, match=r"bomb\.txt: over .* more than any file of the data sets"):
        retrieve(remote(file_server, "b.zip", packed.getvalue(), keep={"bomb.txt": "bomb.txt"}), folder)
    assert names(folder) == []


def test_members_that_come_twice_or_are_encrypted_are_no_traceback(file_server, folder):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for name in ("a.txt", "a.txt", "b.txt"):
            archive.writestr(name, name)
    keep = {"a.txt": "a.txt", "b.txt": "b.txt"}
    retrieve(remote(file_server, "c.zip", packed.getvalue(), keep=keep), folder)
    assert names(folder) == ["a.txt", "b.txt"]
    encrypted = bytearray(packed.getvalue())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # a bit of each member's flags says so
        start = -1
        while (start := encrypted.find(mark, start + 1)) >= 0:
            encrypted[start + place] |= 1
    with pytest.raises(DataError, match=r"d\.zip: an archive that cannot be unpacked here .*encrypted"):
        retrieve(remote(file_server, "d.zip", bytes(encrypted), keep=keep), folder.with_name("other"))
