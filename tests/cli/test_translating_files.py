"""`transduce translate` with a document: the same document in the other language, a log, and options that fit."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("polib")
pytest.importorskip("rapidfuzz")

Command = Callable[..., tuple[int, str, str]]
FAST = ("--beam-size", 1, "--max-ratio", 0, "--max-extra", 4)

PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "The dog sees %s."
msgstr ""

msgid "The man"
msgstr "Der Mann"
"""


def test_a_catalogue_is_translated_into_another(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    import polib

    (tmp_path / "a.po").write_text(PO)
    out, log = tmp_path / "a.de.po", tmp_path / "log.jsonl"
    status, output, errors = transduce("translate", tiny_run, tmp_path / "a.po", "-o", out, "--log", log, *FAST)
    assert (status, output) == (0, "")
    first, second = polib.pofile(str(out))
    assert first.msgstr.count("%s") == 1
    assert second.msgstr == "Der Mann"
    assert "2 segments: 1 translated, 1 translated before and left" in errors
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["origin"] for line in lines] == ["model", "document"]


def test_translations_that_a_file_has_are_replaced_where_that_is_asked_for(
    transduce: Command, tiny_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.po").write_text(PO)
    kept = transduce("translate", tiny_run, tmp_path / "a.po", *FAST)
    assert transduce("translate", tiny_run, tmp_path / "a.po", "--fill-only", *FAST) == kept
    status, output, errors = transduce("translate", tiny_run, tmp_path / "a.po", "--retranslate", *FAST)
    assert status == 0
    assert "2 segments: 2 translated" in errors
    assert ("Der Mann" in kept[1], "Der Mann" in output) == (True, False)


def test_a_document_in_another_encoding_stays_in_it(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    cue = "1\r\n00:00:01,000 --> 00:00:02,000\r\n{}\r\n"
    (tmp_path / "a.srt").write_bytes(cue.format("{一只狗}").encode("gbk"))
    assert "name its encoding" in transduce("translate", tiny_run, tmp_path / "a.srt", *FAST)[2]
    out = tmp_path / "b.srt"
    found = transduce("translate", tiny_run, tmp_path / "a.srt", "-o", out, "--encoding", "gbk", "--quiet", *FAST)
    assert found == (0, "", "")
    assert out.read_bytes().decode("gbk") == cue.format("{一只狗}")


def test_a_page_from_standard_input_goes_to_standard_output(
    transduce: Command, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.html").write_bytes("<p>The <b>dog</b>\r\n<!-- é -->".encode())
    from_file = transduce("translate", tiny_run, tmp_path / "a.html", "--quiet", *FAST)
    assert from_file[0] == 0
    assert from_file[1].endswith("<!-- é -->")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.html").read_bytes())))
    assert transduce("translate", tiny_run, "--format", "html", "--quiet", *FAST) == from_file


def test_lines_stay_lines_unless_a_format_is_asked_for(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The dog\nsleeps.\n\nThe man\n")
    lines = transduce("translate", tiny_run, tmp_path / "a.txt", "--quiet", *FAST)[1]
    paragraphs = transduce("translate", tiny_run, tmp_path / "a.txt", "--format", "text", "--quiet", *FAST)[1]
    assert (lines.count("\n"), paragraphs.count("\n")) == (4, 3)
    (tmp_path / "a.md").write_text("# The dog\n")
    as_lines = transduce("translate", tiny_run, tmp_path / "a.md", "--format", "lines", "--quiet", *FAST)
    assert as_lines[0] == 0


def test_a_memory_comes_before_the_model(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text(PO)
    (tmp_path / "m.tsv").write_text("The dog sees %s.\tEs sieht %s der Hund.\n")
    status, output, errors = transduce("translate", tiny_run, tmp_path / "a.po", "--memory", tmp_path / "m.tsv", *FAST)
    assert status == 0
    assert 'msgstr "Es sieht %s der Hund."' in output
    assert "1 from the memory" in errors
