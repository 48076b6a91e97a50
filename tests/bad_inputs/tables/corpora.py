"""Training, validation and test files that cannot be read, or do not fit together; and how they are cleaned."""

from bad_inputs.damages import (
    append,
    copy,
    cut,
    empty,
    folder,
    garbage,
    link,
    remove,
    write,
    write_gz,
    write_xz,
    write_zst,
)
from bad_inputs.row import Row, row

TRAIN = "train tiny.toml --out new -q"
SOURCES = "train.en"
LATIN = "schön\n".encode("latin-1")
SGM = '<doc>\n<seg id="1">A dog.</seg>\n<seg id="2">A cat.</seg>\n</doc>\n'


def _pairs(
    name: str, file: str, content: str | bytes, words: str | tuple[str, ...], columns: str = "", **options: object
) -> Row:
    """One file of pairs to train on."""
    command = [*TRAIN.split(), f'data.train="{file}"', *([f"data.columns={columns}"] if columns else [])]
    return row(f"{file}: {name}", command, 2, words, write(file, content), **options)


def _two(name: str, words: str | tuple[str, ...], *damages: object, **options: object) -> Row:
    return row(f"two files: {name}", TRAIN, 2, words, *damages, **options)  # type: ignore[arg-type]


ROWS = [
    # A test set on the command line
    row("a test file that is not there", "train train.en train.de --test no.en no.de -q -o new", 2, "no.en: cannot be"),
    row("a test file without its other side", "train train.en train.de --test dev.en -q -o new", 2, "dev.en"),
    row("a column alone", "train x.csv --source-column en", 2, "go together", write("x.csv", "en,de\na,b\n")),
    row(
        "a column that is not there",
        "train x.csv --source-column en --target-column fr",
        2,
        "no column 'fr' in its header; it has en, de",
        write("x.csv", "en,de\na,b\n"),
    ),
    row("a quotation mark too few", "train x.csv", 2, "x.csv: line 2: its cells", write("x.csv", 'en,de\n"a,b\n')),
    # Two files
    _two("one is not there", ("train.en: cannot be opened", "No such file"), remove("train.en")),
    _two("one is a folder", "train.en is a folder", folder("train.en")),
    _two("one is a link to itself", "train.en: cannot be opened", link("train.en", "train.en")),
    _two("one is empty", ("train.en has 0 lines", "train.de has"), empty("train.en")),
    _two("both are empty", ("train.en", "train.de"), empty("train.en"), empty("train.de")),
    _two("one is a line longer", ("train.en has", "aligned line by line"), append("train.en", "More.\n")),
    _two("one is in Latin-1", ("train.de: line", "is not UTF-8"), append("train.de", LATIN)),
    _two("one is garbage", "train.de: line 1 is not UTF-8", garbage("train.de")),
    _two("one is in UTF-16", "train.de: line 1 is not UTF-8", write("train.de", "Hund\n".encode("utf-16"))),
    _two("all lines are blank", "train.en", write("train.en", "\n" * 9), write("train.de", "\n" * 9)),
    _two("one side is blank", "train.de", write("train.en", "a\n" * 9), write("train.de", " \n" * 9)),
    _two("one pair", ("dev.en", "unknown"), write("train.en", "a\n"), write("train.de", "b\n")),
    _two("validation is not there", "dev.en: cannot be opened", remove("dev.en")),
    _two("validation is empty", ("dev.en and", "no sentence pairs"), empty("dev.en"), empty("dev.de")),
    _two("validation is a line longer", ("dev.de has", "aligned"), append("dev.de", "Mehr.\n")),
    _two("validation is in Latin-1", "dev.de: line", append("dev.de", LATIN)),
    _two("validation is blank", "no sentence pairs are left", write("dev.en", "\n"), write("dev.de", "\n")),
    _two("validation is of other words", ("dev", "unknown"), write("dev.en", "Q W E\n"), write("dev.de", "Q W E\n")),
    _two("test is not there", "test.de: cannot be opened", remove("test.de")),
    _two("test is empty", "test", empty("test.en"), empty("test.de")),
    _two("test is a line longer", ("test.de has", "aligned"), append("test.de", "Mehr.\n")),
    _two("test is in Latin-1", "test.de: line", append("test.de", LATIN)),
    _two("test is blank", "test", write("test.en", "\n\n"), write("test.de", "\n\n")),
    row(
        "paragraphs alone to validate on",
        TRAIN,
        0,
        "",
        write("dev.en", "The dog " * 60 + "\n"),
        write("dev.de", "Der Hund " * 60 + "\n"),
        harmless=True,
        leaves=("new*",),
    ),
    # The names of files
    row("no training files", f"{TRAIN} data.train=[]", 2, "expected two"),
    row("one training file of two", f"{TRAIN} 'data.train=[\"train.en\"]'", 2, (".tsv, .csv", "two files")),
    row("three training files", f'{TRAIN} \'data.train=["a.tsv","train.en","train.de"]\'', 2, "a.tsv"),
    row("a training file without a name", f'{TRAIN} \'data.train=["","train.de"]\'', 2, "is a folder"),
    row("a training file that is a number", f"{TRAIN} 'data.train=[1,2]'", 2, "data.train[0]"),
    row("a training file with a NUL", [*TRAIN.split(), r'data.train=["a\u0000b","train.de"]'], 2, "data.train"),
    row("a training file with a line feed", [*TRAIN.split(), r'data.train=["a\nb","train.de"]'], 2, "cannot be opened"),
    row(
        "a training file with a long name",
        f'{TRAIN} \'data.train=["{"x" * 300}","train.de"]\'',
        (1, 2),
        "File name too long",
    ),
    row("a training file on standard input", f'{TRAIN} \'data.train=["-","train.de"]\'', 2, "standard input (-)"),
    row("validation on standard input", f'{TRAIN} \'data.validation=["-","-"]\'', 2, "standard input (-)"),
    row("a training file of no format", f"{TRAIN} data.train=train.odd", 2, "train.odd", write("train.odd", "a,b\n")),
    row(
        "a training folder",
        f"{TRAIN} data.train=run",
        2,
        "run",
    ),
    row("files and tables mixed", f'{TRAIN} \'data.train=["a", {{files="b.tsv"}}]\'', 2, "cannot be mixed"),
    row("a corpus without files", f"{TRAIN} 'data.train=[{{weight=1.0}}]'", 2, ("data.train[0]", "'files' is missing")),
    row("a corpus of no files", f"{TRAIN} 'data.train=[{{files=[]}}]'", 2, "expected two"),
    row("columns for two files", f"{TRAIN} data.columns=[1,2]", 2, "columns"),
    row(
        "the same file on both sides", f'{TRAIN} \'data.train=["train.en","train.en"]\'', 2, "unknown to the tokenizer"
    ),
    row(
        "training and validation in the same files",
        'train tiny.toml --out new \'data.validation=["train.en","train.de"]\'',
        0,
        "72 whole pairs are in the training data too",
        leaves=("new*",),
    ),
    # Tables between tabs
    _pairs("empty", "p.tsv", "", "p.tsv"),
    _pairs("blank lines", "p.tsv", "\n\n", "p.tsv: line 1 has 1 of the 2 columns"),
    _pairs("one column", "p.tsv", "a\tb\nc\n", "p.tsv: line 2 has 1 of the 2 columns"),
    _pairs("commas", "p.tsv", "a,b\n", "p.tsv: line 1 has 1 of the 2 columns"),
    _pairs("Latin-1", "p.tsv", b"a\t" + LATIN, "p.tsv: line 1 is not UTF-8"),
    _pairs("UTF-16", "p.tsv", "a\tb\n".encode("utf-16"), "p.tsv: line 1 is not UTF-8"),
    _pairs("a header that lacks a column", "p.tsv", "en\tde\na\tb\n", ("no column 'fr'", "en, de"), '["en","fr"]'),
    _pairs("column 0", "p.tsv", "a\tb\n", "data.columns[0]: must be at least 1", "[0,1]"),
    _pairs("column -1", "p.tsv", "a\tb\n", "data.columns[0]: must be at least 1", "[-1,1]"),
    _pairs("column 3 of 2", "p.tsv", "a\tb\n", "line 1 has 2 of the 3 columns", "[1,3]"),
    _pairs("a column beyond any", "p.tsv", "a\tb\n", "columns", f"[1,{10**30}]"),
    _pairs("one column named", "p.tsv", "a\tb\n", "expected two columns", "[1]"),
    _pairs("three columns named", "p.tsv", "a\tb\tc\n", "expected two columns", "[1,2,3]"),
    _pairs("no columns named", "p.tsv", "a\tb\n", "columns", "[]"),
    _pairs("the same column twice", "p.tsv", "a\tb\n" * 9, "columns", "[1,1]"),
    _pairs("columns in words", "p.tsv", "a\tb\n", "data.columns: expected", "both"),
    _pairs("columns that are true", "p.tsv", "a\tb\n", "data.columns", "[true,false]"),
    _pairs("a header twice", "p.tsv", "en\ten\na\tb\n" * 3, "columns", '["en","en"]'),
    _pairs("a header alone", "p.tsv", "en\tde\n", "p.tsv", '["en","de"]'),
    row("p.tsv: a folder", f"{TRAIN} data.train=p.tsv", 2, "p.tsv is a folder", folder("p.tsv")),
    row("p.tsv: not there", f"{TRAIN} data.train=p.tsv", 2, "p.tsv: cannot be opened"),
    row("p.tsv: a link to itself", f"{TRAIN} data.train=p.tsv", 2, "p.tsv: cannot be opened", link("p.tsv", "p.tsv")),
    # JSON objects, one a line
    _pairs("empty", "p.jsonl", "", "p.jsonl"),
    _pairs("a blank line", "p.jsonl", '{"source":"a","target":"b"}\n\n', "p.jsonl: line 2 is not JSON"),
    _pairs("half an object", "p.jsonl", '{"source":"a"', "p.jsonl: line 1 is not JSON"),
    _pairs("one list", "p.jsonl", '[{"source":"a","target":"b"}]\n', "p.jsonl: line 1 is not a JSON object"),
    _pairs("a text", "p.jsonl", '"source"\n', "p.jsonl: line 1 is not a JSON object"),
    _pairs("a number", "p.jsonl", "1\n", "p.jsonl: line 1 is not a JSON object"),
    _pairs("null", "p.jsonl", "null\n", "p.jsonl: line 1 is not a JSON object"),
    _pairs("no target", "p.jsonl", '{"source":"a"}\n', ("line 1 has no text under 'target'", "data.columns")),
    _pairs("an empty object", "p.jsonl", "{}\n", "line 1 has no text under 'source'"),
    _pairs("a target of null", "p.jsonl", '{"source":"a","target":null}\n', "no text under 'target'"),
    _pairs("a target that is a number", "p.jsonl", '{"source":"a","target":1}\n', "no text under 'target'"),
    _pairs("a target that is a list", "p.jsonl", '{"source":"a","target":["b"]}\n', "no text under 'target'"),
    _pairs("other keys", "p.jsonl", '{"en":"a","de":"b"}\n', ("no text under 'source'", "en, de")),
    _pairs("keys that are not there", "p.jsonl", '{"en":"a","de":"b"}\n', "no text under 'fr'", '["en","fr"]'),
    _pairs("keys by number", "p.jsonl", '{"en":"a","de":"b"}\n', "no text under '1'", "[1,2]"),
    _pairs("one key", "p.jsonl", '{"source":"a","target":"b"}\n', "columns", '["source"]'),
    _pairs("three keys", "p.jsonl", '{"a":"a","b":"b","c":"c"}\n', "columns", '["a","b","c"]'),
    _pairs("no keys", "p.jsonl", '{"source":"a","target":"b"}\n', "columns", "[]"),
    _pairs("NaN", "p.jsonl", '{"source":NaN,"target":"b"}\n', "line 1 is not JSON"),
    _pairs("single quotes", "p.jsonl", "{'source':'a','target':'b'}\n", "line 1 is not JSON"),
    _pairs("half a surrogate", "p.jsonl", '{"source":"\\ud800","target":"b"}\n', "line 1 is not JSON"),
    _pairs("nested 200,000 times", "p.jsonl", '{"a":' * 200_000 + "\n", "p.jsonl: line 1"),
    _pairs("lists nested 200,000 times", "p.jsonl", "[" * 200_000 + "\n", "p.jsonl: line 1"),
    _pairs("an integer of 10,000 digits", "p.jsonl", '{"source":' + "9" * 10_000 + "}\n", "p.jsonl: line 1"),
    _pairs(
        "10,000 keys", "p.jsonl", "{" + ",".join(f'"k{n}":1' for n in range(10_000)) + "}\n", "no text under 'source'"
    ),
    _pairs("Latin-1", "p.jsonl", b'{"source":"\xe4","target":"b"}\n', "p.jsonl: line 1 is not UTF-8"),
    _pairs("UTF-16", "p.jsonl", '{"source":"a","target":"b"}\n'.encode("utf-16"), "p.jsonl: line 1 is not UTF-8"),
    row("p.jsonl: a folder", f"{TRAIN} data.train=p.jsonl", 2, "p.jsonl is a folder", folder("p.jsonl")),
    row("p.jsonl: not there", f"{TRAIN} data.train=p.jsonl", 2, "p.jsonl: cannot be opened"),
    # WMT's SGML
    *(
        row(
            f".sgm: {name}",
            f'{TRAIN} \'data.train=["a.sgm","b.sgm"]\'',
            2,
            words,
            write("a.sgm", source),
            write("b.sgm", SGM),
            **more,
        )  # type: ignore[arg-type]
        for name, source, words, more in (
            ("empty", "", ("a.sgm has 0 lines", "b.sgm has 2"), {}),
            ("no segments", "A dog.\nA cat.\n", ("a.sgm has 0 lines", "b.sgm has 2"), {}),
            ("one segment fewer", '<seg id="1">A dog.</seg>\n', ("a.sgm has 1 lines", "b.sgm has 2"), {}),
            (
                "a segment without its end",
                '<seg id="1">A dog.\n<seg id="2">A cat.</seg>\n',
                "a.sgm: line 1: <seg> without </seg>",
                {},
            ),
            (
                "a segment on two lines",
                '<seg id="1">A\ndog.</seg>\n<seg>A cat.</seg>\n',
                "a.sgm: line 1: <seg> without </seg>",
                {},
            ),
            ("two segments on one line", "<seg>A dog.</seg><seg>A cat.</seg>\n", "a.sgm", {}),
            ("a tag without its end", '<seg id="1"\n', "a.sgm: line 1: <seg> without </seg>", {}),
            ("Latin-1", b"<seg>\xe4</seg>\n<seg>b</seg>\n", "a.sgm: line 1 is not UTF-8", {}),
            ("UTF-16", SGM.encode("utf-16"), "a.sgm: line 1 is not UTF-8", {}),
            ("garbage", bytes(range(255, 0, -1)), "a.sgm: line 1 is not UTF-8", {}),
        )
    ),
    row(".sgm: one file alone", f"{TRAIN} data.train=a.sgm", 2, "a.sgm", write("a.sgm", SGM)),
    row(
        ".sgm: a folder",
        f'{TRAIN} \'data.train=["a.sgm","b.sgm"]\'',
        2,
        "a.sgm is a folder",
        folder("a.sgm"),
        write("b.sgm", SGM),
    ),
    row(
        ".sgm: packed and cut off",
        f'{TRAIN} \'data.train=["a.sgm.gz","b.sgm"]\'',
        2,
        "a.sgm.gz: damaged",
        write_gz("a.sgm.gz", SGM * 50),
        cut("a.sgm.gz"),
        write("b.sgm", SGM),
    ),
    # Packed
    *(
        row(f"packed pairs: {ending}: {name}", f"{TRAIN} data.train=p.tsv{ending}", 2, words, *damages)
        for ending, pack in ((".gz", write_gz), (".xz", write_xz), (".zst", write_zst))
        for name, words, damages in (
            ("cut off", "damaged after line", [pack(f"p.tsv{ending}", "a\tb\n" * 999), cut(f"p.tsv{ending}")]),
            ("plain", "damaged", [write(f"p.tsv{ending}", "a\tb\n")]),
            ("empty", f"p.tsv{ending}", [write(f"p.tsv{ending}", "")]),
            ("no lines", f"p.tsv{ending}", [pack(f"p.tsv{ending}", "")]),
        )
    ),
    row(
        "packed twice",
        f"{TRAIN} data.train=p.tsv.gz.gz",
        2,
        "p.tsv.gz.gz: line 1 is not UTF-8",
        write_gz("p.tsv.gz", "a\tb\n"),
        copy("p.tsv.gz", "q"),
        write_gz("p.tsv.gz.gz", b"\x1f\x8b\x08\0\0\0"),
    ),
    # Cleaning
    *(
        row(f"cleaning: {steps}", [*TRAIN.split(), f"data.cleaning={steps}"], 2, words)
        for steps, words in (
            ('[{kind="lenght"}]', "did you mean 'length'"),
            ("[{max_words=3}]", "'kind' is missing"),
            ('["duplicates"]', ("data.cleaning[0]", "expected table")),
            ('"duplicates"', ("data.cleaning", "expected array")),
            ('[{kind="duplicates", of="word"}]', "'word' is not one of"),
            ('[{kind="script", side="source", scripts=["Klingon"]}]', "'Klingon' is not a Unicode script"),
            ('[{kind="script", side="source", scripts=[]}]', "at least one script"),
            ('[{kind="script", side="left", scripts=["Latin"]}]', "'left' is not one of"),
            ('[{kind="script", side="source", scripts=["Latin}[a-z"]}]', "is not a Unicode script"),
            ('[{kind="prefix", side="source", prefixes=["I\'m"]}]', "can never match"),
            ('[{kind="prefix", side="source", prefixes=[""]}]', "can never match"),
            ('[{kind="length", min_words=3, max_words=2}]', "max_words must be at least min_words"),
            ('[{kind="overlap", of="neither"}]', "'neither' is not one of"),
        )
    ),
    *(
        row(f"nothing left by cleaning: {steps}", [*TRAIN.split(), f"data.cleaning={steps}"], 2, words)
        for steps, words in (
            ('[{kind="length", min_words=99}]', "fewer than 99 words"),
            ('[{kind="script", side="source", scripts=["Han"]}]', "not in Han script"),
            ('[{kind="prefix", side="source", prefixes=["zzz"]}]', "begins with none of the prefixes"),
            ('[{kind="prefix", side="source", prefixes=[]}]', "prefixes"),
        )
    ),
    row("all pairs are too long", f"{TRAIN} data.max_tokens=1", 2, "no sentence pairs are left"),
    row(
        "all pairs stand in validation",
        f'{TRAIN} \'data.validation=["train.en","train.de"]\' \'data.cleaning=[{{kind="overlap"}}]\'',
        2,
        "no sentence pairs are left",
    ),
    row(
        "a vocabulary larger than the text",
        f"{TRAIN} tokenizer.kind=bpe tokenizer.size=90000",
        2,
        ("tokenizer.size = 90,000", "set tokenizer.size to at most"),
    ),
    row(
        "a vocabulary of rare words alone", f"{TRAIN} tokenizer.min_frequency=100000", 2, ("min_frequency", "tokenizer")
    ),
]
