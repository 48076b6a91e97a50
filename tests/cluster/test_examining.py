"""`transduce data doctor` examines the files of a corpus as one, and writes what is left of each."""

import csv
import json
from pathlib import Path

import pytest

from transduce.apps.cli.main import app, run
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import parallel_files
from transduce.corpora.generated.grammar import derive_pairs


def rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of pairs: the second repeats some of the first, has copies, and another person's address."""
    monkeypatch.chdir(tmp_path)
    pairs = list(dict.fromkeys(derive_pairs(900, seed=1)))
    halves = [pairs[:400], [*pairs[400:], *pairs[:20]]]
    halves[1] += [SentencePair(pair.source, pair.source) for pair in pairs[:30]]
    halves[1].append(SentencePair(f"{pairs[0].source} a.b@example.org", f"{pairs[0].target} a.b@example.org"))
    for number, half in enumerate(halves):
        lines = [f"{pair.source}\t{pair.target}\n" for pair in half]
        Path(f"part-{number}.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(lambda: app(["data", "doctor", *words])) == 0
    return capsys.readouterr().out


def test_a_report_is_written_nowhere(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(parts.iterdir())
    found = json.loads(call(capsys, "part-*.tsv", "--processes", "1", "--json"))
    assert found["faults"]["copied"]["found"] == 30 and found["faults"]["repeated"]["found"] == 20
    assert found["personal"] == {"e-mail": 1} and found["verdict"].startswith("cleaning pays")
    assert sorted(parts.iterdir()) == before
    assert found["verdict"] in call(capsys, "part-*.tsv", "--processes", "1", "--page", "page.html")
    assert found["verdict"][1:] in Path("page.html").read_text(encoding="utf-8")


def test_each_file_is_written_with_what_was_left_out_and_why(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "part-*.tsv", "-o", "out", "--clean", "--mask", "--scores", "--processes", "1")
    left = rows(Path("out/left-out/part-1.tsv"))
    assert left[0] == ["reason", "source", "target"]
    assert sum("copy" in reason for reason, *_ in left) == 30
    assert sum("came before" in reason for reason, *_ in left) == 20
    kept = list(parallel_files([Path("out/part-1.tsv")]))
    assert kept[-1].source.endswith(" [e-mail]") and kept[-1].target.endswith(" [e-mail]")
    scores = rows(Path("out/scores/part-1.tsv"))
    assert len(scores) - 1 == len(rows(Path("part-1.tsv"))) == len(kept) + len(left) - 1
    assert scores[0][:4] == ["source", "target", "fault", "repairs"] and "misaligned" in scores[0]
    assert [row[2] for row in scores].count("copied") == 30
    Path("out/part-1.tsv").unlink()  # one that was stopped before it was complete
    again = Path("out/part-0.tsv").stat()
    call(capsys, "part-*.tsv", "-o", "out", "--clean", "--mask", "--scores", "--processes", "1")
    assert list(parallel_files([Path("out/part-1.tsv")])) == kept
    assert Path("out/part-0.tsv").stat() == again
    assert "no pairs were examined" in call(
        capsys, "part-*.tsv", "-o", "out", "--clean", "--mask", "--scores", "--processes", "1"
    )


def test_repairing_alone_keeps_all_pairs(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "part-1.tsv", "-o", "out", "--repair", "--processes", "1")
    assert rows(Path("out/part-1.tsv")) == rows(Path("part-1.tsv"))
    assert rows(Path("out/left-out/part-1.tsv")) == [["reason", "source", "target"]]


def test_pairs_of_a_test_and_those_unlike_a_text_are_left_out(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = rows(Path("part-0.tsv"))
    for held_out in (25, 10):  # the file changes between two jobs of one process
        lines = [f"{source.upper()}\t-\n" for source, _ in first[:held_out]]
        Path("test.tsv").write_text("".join(lines), encoding="utf-8")
        words = ("part-0.tsv", "-o", f"without-{held_out}", "--test", "test.tsv", "--processes", "1", "--json")
        assert json.loads(call(capsys, *words))["faults"]["in the test data"]["found"] == held_out
    Path("like.en").write_text("The dog sings.\nA dog sees the dog.\n", encoding="utf-8")
    words = ("part-0.tsv", "-o", "best", "--like", "like.en", "--best", "100", "--processes", "1", "--json")
    found = json.loads(call(capsys, *words))
    assert found["pairs"] - found["faults"]["unlike"]["found"] == pytest.approx(100, abs=5)
    kept = [source for source, _ in rows(Path("best/part-0.tsv"))]
    assert sum("dog" in source for source in kept) > 1.4 * len(kept) * sum("dog" in s for s, _ in first) / len(first)


def test_what_was_left_out_is_not_read_again_with_what_is_left(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "part-*.tsv", "-o", "out", "--processes", "1")
    left = sum(len(rows(file)) for file in Path("out").glob("*.tsv"))
    assert json.loads(call(capsys, "out/*.tsv", "--processes", "1", "--json"))["pairs"] == left
    call(capsys, "out/left-out/part-1.tsv", "-o", "again", "--processes", "1")  # pairs as any others
    assert Path("again/part-1.tsv").exists()


def test_documents_stay(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = list(parallel_files([Path("part-0.tsv")]))
    lines = [
        {"source": pair.source, "target": pair.target, "document": number // 10} for number, pair in enumerate(pairs)
    ]
    Path("a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    call(capsys, "a.jsonl", "-o", "out", "--processes", "1")
    call(capsys, "out/a.jsonl", "-o", "tables", "--ending", ".tsv", "--processes", "1")
    kept = list(parallel_files([Path("out/a.jsonl")]))
    of_source = {pair.source: str(number // 10) for number, pair in enumerate(pairs)}
    assert len(kept) > 350 and all(pair.document == of_source[pair.source] for pair in kept)
    assert [pair.document for pair in parallel_files([Path("tables/a.tsv")], (1, 2, 3))] == [p.document for p in kept]


def test_mistakes_are_told_before_the_work(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--page", "no/page.html"), ("--test", "no.tsv"), ("--like", "no.en")):
        assert run(lambda words=words: app(["data", "doctor", "part-0.tsv", *words])) == 2
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1 and "no" in told.err


def test_files_of_lines_may_have_lost_some(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = rows(Path("part-0.tsv"))
    Path("a.en").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    Path("a.de").write_text("".join(f"{target}\n" for _, target in [*pairs[:200], *pairs[201:]]), encoding="utf-8")
    told = call(capsys, "a.en", "a.de", "-o", "out", "--processes", "1")
    assert "moved in a.en: lines 20" in told and "1 line earlier" in told
    left = list(zip(Path("out/a.en").read_text().splitlines(), Path("out/a.de").read_text().splitlines(), strict=True))
    assert len(left) >= len(pairs) - 4 and sum([*pair] in pairs for pair in left) >= len(pairs) - 4


def test_several_processes_find_the_same(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = call(capsys, "part-*.tsv", "-o", "alone", "--processes", "1")
    assert call(capsys, "part-*.tsv", "-o", "two", "--processes", "2") == alone
    for file in Path("alone").glob("*.tsv"):
        assert file.read_bytes() == (Path("two") / file.name).read_bytes()
