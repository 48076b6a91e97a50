"""Pairs come aligned out of files, or an error says which line of which file is wrong."""

import csv
import gzip
import io
import json
import lzma
import re

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from transduce.base.errors import DataError
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.formats import parallel_files, references_in, segments, text_file
from transduce.corpora.lines import open_bytes, read_lines

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pairs(corpus):
    return [(pair.source, pair.target) for pair in corpus]


def reading_fails(path, pattern, columns=None):
    with pytest.raises(DataError, match=pattern) as caught:
        list(parallel_files([path], columns))
    assert str(path) in str(caught.value)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")), max_size=7))
@example(["\ufeffa\u2028b\x0cd\x85f\rg\x1ch\r", "\ufeffb"])
def test_only_a_newline_ends_a_line(tmp_path_factory, lines):
    path = write(tmp_path_factory.mktemp("lines") / "text", "".join(f"{line}\n" for line in lines))
    expected = [line.removesuffix("\r") for line in lines]
    if expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert list(read_lines(path)) == expected


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_read_as_plain_ones(tmp_path, ending):
    text = "".join(f"Satz {i} größer\n" for i in range(3000))
    path = write(tmp_path / f"text{ending}", COMPRESS[ending](text.encode()))
    assert list(read_lines(path)) == text.split("\n")[:-1]


@pytest.mark.parametrize("ending", COMPRESS)
def test_parts_that_were_joined_are_read_to_the_end(tmp_path, ending):
    parts = [b"one\n" * 7, b"", b"two\n" * 50_000, b"three"]
    path = write(tmp_path / f"text{ending}", b"".join(map(COMPRESS[ending], parts)))
    with open_bytes(path) as stream:
        assert stream.read() == b"".join(parts)


@pytest.mark.parametrize("ending", [ending for ending in COMPRESS if ending])
@pytest.mark.parametrize("part", [0.3, 0.7, 0.99])
def test_a_compressed_file_that_was_cut_off_is_an_error(tmp_path, ending, part):
    whole = COMPRESS[ending]("".join(f"line {i * i}\n" for i in range(20_000)).encode())
    path = write(tmp_path / f"text{ending}", whole[: int(part * len(whole))])
    with pytest.raises(DataError, match=rf"text{ending}: damaged after line \d+ .*cut off"):
        list(read_lines(path))


@pytest.mark.parametrize("ending", [ending for ending in COMPRESS if ending])
def test_a_file_that_is_not_compressed_as_its_name_says_is_an_error(tmp_path, ending):
    path = write(tmp_path / f"text{ending}", b"plain text\n" * 5)
    with pytest.raises(DataError, match=rf"text{ending}: damaged after line 0"):
        list(read_lines(path))
    with pytest.raises(DataError, match=rf"text{ending}: damaged: a compressed file cannot be empty"):
        list(read_lines(write(path, b"")))


def test_json_needs_two_keys_and_no_endless_nesting(tmp_path):
    path = write(tmp_path / "pairs.jsonl", '{"source": "ja", "target": "yes"}\n' + "[" * 100_000 + "\n")
    with pytest.raises(DataError, match=r"pairs\.jsonl: expected two keys, source and target, found \['source'\]"):
        list(parallel_files([path], ["source"]))
    with pytest.raises(DataError, match=r"pairs\.jsonl: line 2 is not JSON \(nested too deeply\)"):
        list(parallel_files([path]))


def test_bytes_that_are_not_utf8_name_file_line_byte_and_remedy(tmp_path):
    path = write(tmp_path / "latin.de", b"eins\nzwei\n" + "für".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.de: line 3 is not UTF-8 \(byte 0xfc at position 2\).*iconv"):
        list(read_lines(path))


@pytest.mark.parametrize(("source_lines", "target_lines"), [(3, 5), (5, 3), (0, 2), (2, 0), (1003, 1002)])
def test_unequal_line_counts_give_both_counts(tmp_path, source_lines, target_lines):
    source = write(tmp_path / "a.de", "ja\n" * source_lines)
    target = write(tmp_path / "a.en", "yes\n" * target_lines)
    expected = f"{source} has {source_lines:,} lines but {target} has {target_lines:,}; they must be aligned"
    with pytest.raises(DataError, match=re.escape(expected)):
        list(parallel_files([source, target]))


@given(st.lists(st.tuples(*[st.text("ab \t\u2028", max_size=5)] * 2), max_size=7))
def test_two_files_are_zipped_blank_lines_and_all_as_often_as_wanted(tmp_path_factory, expected):
    folder = tmp_path_factory.mktemp("two")
    source = write(folder / "s.gz", gzip.compress("".join(f"{s}\n" for s, _ in expected).encode()))
    target = write(folder / "t", "\n".join(t for _, t in expected) + "\n" * bool(expected))
    corpus = parallel_files([source, target])
    assert pairs(corpus) == pairs(corpus) == expected


def test_two_passes_at_once_do_not_disturb_each_other(tmp_path):
    corpus = parallel_files([write(tmp_path / "s", "a\nb\nc\n"), write(tmp_path / "t", "A\nB\nC\n")])
    first, second = iter(corpus), iter(corpus)
    assert next(first) == next(second) == SentencePair("a", "A")
    assert next(first) == SentencePair("b", "B")
    assert [pair.source for pair in second] == ["b", "c"]


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\r\ufeff"), max_size=9)


@given(st.lists(st.tuples(cells, cells, cells), max_size=5))
def test_tsv_columns_are_taken_by_number_quotes_and_all(tmp_path_factory, rows):
    text = "".join("\t".join(row) + "\n" for row in rows)
    path = write(tmp_path_factory.mktemp("tsv") / "x.tsv", text)
    assert pairs(parallel_files([path], [1, 2])) == [(row[0], row[1]) for row in rows]
    assert pairs(parallel_files([path], [3, 1])) == [(row[2], row[0]) for row in rows]


def test_tsv_cells_may_hold_a_lone_carriage_return_and_be_very_long(tmp_path):
    long = "x" * 200_000
    path = write(tmp_path / "x.tsv", f'a\rb\t"c\n{long}\td\n')
    assert pairs(parallel_files([path])) == [("a\rb", '"c'), (long, "d")]


def test_tsv_columns_are_taken_by_their_names_in_the_header(tmp_path):
    path = write(tmp_path / "x.tsv.gz", gzip.compress(b"id\ten\tde\n7\tyes\tja\n"))
    assert pairs(parallel_files([path], ["de", "en"])) == [("ja", "yes")]


def test_a_tsv_column_that_is_missing_lists_the_header(tmp_path):
    reading_fails(
        write(tmp_path / "x.tsv", "id\ten\n7\tyes\n"), "no column 'de' in its header; it has id, en", ["en", "de"]
    )


def test_a_tsv_of_more_than_two_columns_needs_their_names(tmp_path):
    path = write(tmp_path / "x.tsv", "1276\tLet's go!\t5350\tLos!\n")
    reading_fails(path, r"its lines have 4 columns; set data\.columns to those of source and target")
    assert pairs(parallel_files([path], [2, 4])) == [("Let's go!", "Los!")]


@pytest.mark.parametrize("name", ["x.tsv", "x.csv", "x.csv.gz"])
@pytest.mark.parametrize("header", [["id", "de", "en", "note"], ["id", "Source", "Target_text", "note"]])
def test_columns_that_the_first_line_names_are_found(tmp_path, name, header):
    sign = "\t" if "tsv" in name else ","
    text = "".join(sign.join(row) + "\n" for row in [header, ["7", "ja", "yes", "so"], ["8", "nein", "no", ""]])
    path = write(tmp_path / name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    corpus = parallel_files([path], languages=("de-AT", "en"))
    assert pairs(corpus) == [("ja", "yes"), ("nein", "no")]
    assert corpus.name == f"{path} (columns {header[1]} and {header[2]})"
    assert pairs(parallel_files([path], [2, 3])) == [(header[1], header[2]), ("ja", "yes"), ("nein", "no")]


def test_a_column_of_that_name_tells_documents(tmp_path):
    path = write(tmp_path / "x.tsv", "document\tsource\ttarget\n7\tja\tyes\n8\tnein\tno\n")
    assert [pair.document for pair in parallel_files([path])] == ["7", "8"]
    path = write(tmp_path / "x.jsonl", '{"source": "ja", "target": "yes", "document": 7}\n')
    assert [pair.document for pair in parallel_files([path])] == ["7"]


def test_a_table_without_names_is_pairs_from_its_first_line(tmp_path):
    assert pairs(parallel_files([write(tmp_path / "x.tsv", "ja\tyes\n")], languages=("de", "en"))) == [("ja", "yes")]
    assert pairs(parallel_files([write(tmp_path / "x.csv", "ja,yes\n")], languages=("de", "en"))) == [("ja", "yes")]


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)] * 3), min_size=1))
def test_csv_is_read_as_it_is_written(tmp_path_factory, rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    path = write(tmp_path_factory.mktemp("csv") / "x.csv", stream.getvalue())
    assert pairs(parallel_files([path], ["c", "a"])) == [(row[2], row[0]) for row in rows]


def test_a_cell_of_several_lines_is_one_segment_and_lines_are_counted_on(tmp_path):
    path = write(tmp_path / "x.csv", 'de;en\n"ja\nund";"yes ""and"""\nnein;no;never\n')
    reading_fails(path, r"line 4 has 3 columns where the first line has 2 \(commas or the like", ["de", "en"])
    assert next(iter(parallel_files([path], ["de", "en"]))) == SentencePair("ja und", 'yes "and"')


def test_a_quotation_mark_that_is_not_closed_names_its_line(tmp_path):
    reading_fails(write(tmp_path / "x.csv", 'a,b\n"c,d\n'), r"line 2: its cells cannot be distinguished")


@given(st.lists(st.sampled_from(["a\tb", "c d\te"]), max_size=9), st.sampled_from(["a\tb\tc", "a", "", "\t\t\t"]))
def test_every_tsv_line_has_as_many_columns_as_the_first(tmp_path_factory, good, odd):
    lines = ["x\ty", *good, odd, *good]
    path = write(tmp_path_factory.mktemp("tsv") / "x.tsv", "".join(f"{line}\n" for line in lines))
    columns = odd.count("\t") + 1
    reading_fails(path, rf"x\.tsv: line {len(good) + 2} has {columns} ")


@pytest.mark.parametrize("columns", [[1], [1, 2, 3, 1], [0, 1], [-1, 2]])
def test_tsv_columns_must_be_two_or_three_counted_from_1(tmp_path, columns):
    reading_fails(
        write(tmp_path / "x.tsv", "a\tb\tc\n"),
        "expected two columns, or three with a document's, from 1, found",
        columns,
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)


@given(st.lists(st.tuples(texts, texts), max_size=5), st.booleans())
def test_jsonl_holds_any_text(tmp_path_factory, rows, ascii_only):
    lines = [json.dumps({"id": 3, "source": s, "target": t}, ensure_ascii=ascii_only) for s, t in rows]
    path = write(tmp_path_factory.mktemp("jsonl") / "x.jsonl", "".join(f"{line}\n" for line in lines))
    assert pairs(parallel_files([path])) == rows
    assert pairs(parallel_files([path], ["target", "source"])) == [(t, s) for s, t in rows]


GOOD = '{"source": "a", "target": "b"}\n'


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ('{"source": "a", "en": "b"}', r"line 2 has no text under 'target'; it has source, en \(set data.columns\)"),
        ('{"source": "a", "target": 7}', "line 2 has no text under 'target'"),
        ("{'source'}", "line 2 is not JSON"),
        ("", "line 2 is not JSON"),
        ('["a", "b"]', "line 2 is not a JSON object such as .*source.*target"),
    ],
)
def test_a_jsonl_line_that_is_no_pair_is_named(tmp_path, line, pattern):
    reading_fails(write(tmp_path / "x.jsonl", f"{GOOD}{line}\n"), pattern)


@pytest.mark.parametrize("name", ["pairs", "pairs.txt", "pairs.cs.gz", "pairs.gz"])
def test_one_file_of_an_unknown_ending_lists_the_known_ones(tmp_path, name):
    path = write(tmp_path / name, "a\tb\n")
    with pytest.raises(DataError, match=rf"{name}: one file of pairs must end in \.tsv, \.csv, .*two files"):
        parallel_files([path])


@pytest.mark.parametrize("paths", [["-"], ["-", "-"], ["some/folder/-"]])
def test_standard_input_is_refused_as_a_corpus(paths):
    with pytest.raises(DataError, match=r"a corpus is read several times, which standard input \(-\) cannot be"):
        parallel_files(paths)


def test_standard_input_is_read_as_lines(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("grün\r\nblau".encode())))
    assert list(read_lines("-")) == ["grün", "blau"]


@pytest.mark.parametrize("ending", COMPRESS)
def test_a_missing_file_is_an_error_before_anything_is_read(tmp_path, ending):
    there = write(tmp_path / "t", "b\n")
    with pytest.raises(DataError, match=rf"gone{ending}: cannot be opened \(No such file"):
        parallel_files([tmp_path / f"gone{ending}", there])


def test_a_folder_is_not_a_text_file(tmp_path):
    with pytest.raises(DataError, match="is a folder; expected a text file"):
        parallel_files([tmp_path, tmp_path])


@pytest.mark.parametrize("count", [0, 3])
def test_the_number_of_files_is_one_or_two(tmp_path, count):
    with pytest.raises(DataError, match="expected two line-aligned files or one file of pairs"):
        parallel_files([write(tmp_path / f"{i}.tsv", "a\tb\n") for i in range(count)])


def test_columns_are_refused_for_two_files(tmp_path):
    files = [write(tmp_path / name, "a\n") for name in "st"]
    with pytest.raises(DataError, match="columns are for one file of pairs"):
        parallel_files(files, [1, 2])


def test_content_changes_with_the_text_the_order_and_the_columns(tmp_path):
    a, b, c = (
        write(tmp_path / name, text) for name, text in [("a.tsv", "x\ty\n"), ("b.tsv", "y\tx\n"), ("c", "x\ty\n")]
    )
    contents = [
        parallel_files(*arguments).content() for arguments in [([a, b],), ([b, a],), ([a],), ([b],), ([a], [2, 1])]
    ]
    assert len(set(contents)) == len(contents)
    assert parallel_files([c, b]).content() == contents[0]  # where a file lies does not matter
    write(a, "x\tz\n")
    assert parallel_files([a]).content() != contents[2]


def test_pairs_in_memory_have_a_content_of_their_own():
    variants = [[("a", "b")], [("ab", "")], [("b", "a")], [("a", "b")] * 2, []]
    contents = [
        ParallelCorpus.of_pairs("x", [SentencePair(*pair) for pair in variant]).content() for variant in variants
    ]
    assert len(set(contents)) == len(variants)


def test_segments_of_sgml_are_lines(tmp_path):
    (tmp_path / "s.en.sgm").write_text(
        '<srcset setid="x" srclang="any">\n<doc docid="d">\n<hl>\n<seg id="1">A &amp; B</seg>\n</hl>\n<p>\n'
        '<seg id="2"> c &lt;d&gt; </seg>\n</p>\n</doc>\n</srcset>\n'
    )
    (tmp_path / "t.de").write_text("eins\nzwei\n")
    pairs = [(pair.source, pair.target) for pair in parallel_files([tmp_path / "s.en.sgm", tmp_path / "t.de"])]
    assert pairs == [("A & B", "eins"), ("c <d>", "zwei")]
    (tmp_path / "s.en.sgm").write_text('\n<seg id="1">never\n')
    with pytest.raises(
        DataError, match=r"s\.en\.sgm: line 2: <seg> without </seg>; expected <seg>\.\.\.</seg> on one line"
    ):
        list(parallel_files([tmp_path / "s.en.sgm", tmp_path / "t.de"]))


def document(name, system, *texts):
    lines = "".join(f"<seg id={number}> {text}</seg>\n" for number, text in enumerate(texts, 1))
    return f"<DOC docid={name}{system}>\n{lines}</DOC>\n"


@pytest.mark.parametrize(
    "text",
    [
        "".join(document(name, f' sysid="{n}"', *(f"{name}{n}{s}" for s in range(size)))
                for n in "123" for name, size in (("b", 2), ("a", 1))),
        "".join(document(name, f" genre='nw' sysid='{n}'", *(f"{name}{n}{s}" for s in range(size)))
                for name, size in (("b", 2), ("a", 1)) for n in "123"),
        "".join(f'<refset refid="{n}">' + document('"b"', "", f"b{n}0", f"b{n}1") + document("'a'", "", f"a{n}0")
                + "</refset>\n" for n in "123"),
        "".join(f'<tstset sysid="{n}">\n' + document("b", "", f"b{n}0", f"b{n}1") + "</tstset>\n<tstset>"
                + document("a", "", f"a{n}0") for n in "123"),
    ],
    ids=["translator by translator", "document by document", "refsets", "tstsets"],
)  # fmt: skip
def test_sgml_has_the_references_of_several_translators_in_the_order_of_the_documents(tmp_path, text):
    (tmp_path / "r.sgm").write_text(text)
    (tmp_path / "s").write_text("x\ny\nz\n")
    expected = [[f"b{n}0", f"b{n}1", f"a{n}0"] for n in "123"]
    assert references_in(tmp_path / "r.sgm") == expected
    assert [pair.target for pair in parallel_files([tmp_path / "s", tmp_path / "r.sgm"])] == expected[0]


def test_sgml_of_one_translator_and_lines_have_one_reference(tmp_path):
    (tmp_path / "r.sgm").write_text(
        document("a", " sysid=x", "1") + document("b", " sysid=y", "2") + document("b", " sysid=y", "3")
    )
    (tmp_path / "none.sgm").write_text("")
    (tmp_path / "lines").write_text(document("a", " sysid=x", "1") * 2)
    assert list(segments(tmp_path / "r.sgm")) == ["1", "2", "3"]
    assert [references_in(tmp_path / name) for name in ("r.sgm", "none.sgm", "lines")] == [[["1", "2", "3"]], [[]], []]


@pytest.mark.parametrize(("second", "counts"), [(["a", "b"], "3 and 2"), (["a", "b", "c", "d"], "3 and 4"), ([], "3")])
def test_sgml_whose_references_differ_is_refused(tmp_path, second, counts):
    both = document("a", " sysid=1", "x") + document("a", " sysid=2", "x")
    (tmp_path / "r.sgm").write_text(
        both + document("b", " sysid=1", "a", "b", "c") + document("b", " sysid=2", *second)
    )
    expected = (
        f"r.sgm: the references of document 'b' have {counts} segments; expected 2 references with as many segments"
    )
    with pytest.raises(DataError, match=re.escape(expected)):
        references_in(tmp_path / "r.sgm")


def test_a_corpus_of_several_reads_one_after_another():
    parts = [ParallelCorpus.of_pairs("x", [SentencePair(f"{n}", "y")]) for n in range(3)]
    joined = ParallelCorpus.joined("all", parts)
    for _ in range(2):
        assert [pair.source for pair in joined] == ["0", "1", "2"]
    assert joined.content() != ParallelCorpus.joined("all", parts[::-1]).content()


def test_lines_of_one_language_may_be_a_stretch_of_a_file(tmp_path):
    (tmp_path / "x.txt").write_text("a\nb\nc\nd\n")
    stretches = [(0, None), (1, 3), (3, None)]
    assert [list(text_file(tmp_path / "x.txt", *s)) for s in stretches] == [["a", "b", "c", "d"], ["b", "c"], ["d"]]
    assert len({text_file(tmp_path / "x.txt", *s).content() for s in stretches}) == 3


@pytest.mark.parametrize("name", ["film.srt", "film.VTT", "program.po", "memory.tmx", "page.html.gz", "report.docx"])
def test_documents_are_refused_as_lines_with_what_to_do(tmp_path, name):
    document = write(tmp_path / name, b"PK\x03\x04\xff")
    text = write(tmp_path / "text", "a\n")
    for paths in ([document, text], [text, document]):
        with pytest.raises(DataError, match=f"{name}: .* is not supported; .* plain text with one segment per line"):
            parallel_files(paths)
    with pytest.raises(DataError, match="is not supported; convert it"):
        list(read_lines(document))


@pytest.mark.parametrize("name", ["text", "text.txt", "text.de", "notes.md", "a.b.c", "post"])
def test_text_of_any_other_name_is_read(tmp_path, name):
    assert list(read_lines(write(tmp_path / name, "a\n"))) == ["a"]


def test_a_third_column_or_a_blank_line_tells_the_document(tmp_path):
    table = write(tmp_path / "x.tsv", "7\ta\tb\n7\tc\td\n8\te\tf\n")
    expected = [SentencePair("b", "a", "7"), SentencePair("d", "c", "7"), SentencePair("f", "e", "8")]
    assert list(parallel_files([table], [3, 2, 1])) == expected
    rows = [{"source": "b", "target": "a", "film": "7"}]
    objects = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert list(parallel_files([objects], ["source", "target", "film"])) == expected[:1]
    source, target = write(tmp_path / "x.de", "a\n \nb\nc\n\n"), write(tmp_path / "x.en", "A\n\nB\n\nD\n")
    documents = [pair.document for pair in parallel_files([source, target])]
    assert documents == ["", "1", "1", "1", "1"], "one blank side divides nothing"
