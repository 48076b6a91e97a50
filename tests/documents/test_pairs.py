"""Parallel text out of documents: what stands beside its translation, or is shown at the same time."""

from pathlib import Path

import pytest

from transduce.base.errors import DataError
from transduce.corpora.formats import languages_in_file, parallel_files

pytest.importorskip("polib")


def pairs(*paths: Path, columns: list[str] | None = None) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in parallel_files(paths, columns)]


def test_a_catalogue_gives_what_is_translated_and_no_drafts(folder: Path) -> None:
    assert pairs(folder / "a.po") == [("The dog sees %(name)s.", "Der Hund sieht %(name)s.")]
    assert pairs(folder / "a.xlf") == [("The dog", "Der Hund")]
    assert pairs(folder / "two.xliff") == [("The man", "Der Mann")]


def test_the_languages_choose_the_texts_and_turn_a_file_about(folder: Path) -> None:
    memory = folder / "a.tmx"
    assert pairs(memory, columns=["en", "fr"]) == [("The small cat.", "Le chat.")]
    assert pairs(memory, columns=["de", "en"]) == [("Der Hund", "The dog")]
    assert pairs(folder / "a.xlf", columns=["de", "en"]) == [("Der Hund", "The dog")]
    assert pairs(folder / "a.po", columns=["de", "en"]) == [("Der Hund sieht %(name)s.", "The dog sees %(name)s.")]
    with pytest.raises(DataError, match="no text in 'it'"):
        pairs(memory, columns=["it", "en"])
    with pytest.raises(DataError, match="its columns are its languages"):
        list(parallel_files([memory], [1, 2]))


def test_the_languages_of_a_file_are_known(folder: Path, tmp_path: Path) -> None:
    assert languages_in_file(folder / "a.xlf") == ("en", "de")
    assert languages_in_file(folder / "a.tmx") is None
    two = tmp_path / "two.tmx"
    two.write_text((folder / "a.tmx").read_text("utf-16").replace('"fr"', '"de"').replace("de-AT", "de"))
    assert languages_in_file(two) == ("en", "de")
    assert pairs(two) == [("The small cat.", "Le chat."), ("The dog", "Der Hund")]


def cue(start: float, end: float, text: str) -> str:
    times = [f"00:00:{int(time):02},{round(time * 1000) % 1000:03}" for time in (start, end)]
    return f"1\n{times[0]} --> {times[1]}\n{text}\n\n"


def test_subtitles_go_together_by_their_times(tmp_path: Path) -> None:
    first, second = tmp_path / "a.en.srt", tmp_path / "a.de.srt"
    first.write_text(
        cue(1, 2, "One.") + cue(2.1, 4, "<i>Two</i>\nand three.") + cue(5, 6, "Four.") + cue(8, 9, "Five.")
    )
    second.write_text(
        cue(1.2, 2.1, "Eins.")
        + cue(2.2, 3, "Zwei")
        + cue(3, 4.1, "und drei.")
        + cue(5.8, 7, "Mehr.")
        + cue(8, 9, "Fünf.")
    )
    assert pairs(first, second) == [("One.", "Eins."), ("Two and three.", "Zwei und drei."), ("Five.", "Fünf.")]


def test_a_damaged_document_is_a_mistake_in_the_data(tmp_path: Path) -> None:
    damaged = tmp_path / "a.tmx"
    damaged.write_bytes(b"<tmx>")
    with pytest.raises(DataError, match="not well-formed XML"):
        pairs(damaged)
    (tmp_path / "b.tmx.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="damaged"):
        pairs(tmp_path / "b.tmx.gz")
