"""Training, validation and test files that cannot be read, or do not fit together; and how they are cleaned."""

from bad_inputs.damages import (
    append,
    cut,
    empty,
    folder,
    write,
    write_gz,
)
from bad_inputs.row import Row, row

TRAIN = "train tiny.toml --out new -q"
LATIN = "schön\n".encode("latin-1")
SGM = '<doc>\n<seg id="1">A dog.</seg>\n<seg id="2">A cat.</seg>\n</doc>\n'
SEVERAL = "".join(SGM.replace("<doc>", f'<doc docid="news" sysid="{name}">') for name in "ABC")


def _pairs(file: str, content: str | bytes, words: str | tuple[str, ...], columns: str = "", **options: object) -> Row:
    """One file of pairs to train on."""
    command = [*TRAIN.split(), f'data.train="{file}"', *([f"data.columns={columns}"] if columns else [])]
    return row(command, words, write(file, content), **options)


def _two(words: str | tuple[str, ...], *damages: object, **options: object) -> Row:
    return row(TRAIN, words, *damages, **options)


ROWS = [
    # A test set on the command line
    row("train train.en train.de --test dev.en -q -o new", "dev.en"),
    row("train x.csv --source-column en", "go together", write("x.csv", "en,de\na,b\n")),
    row(
        "train x.csv --source-column en --target-column fr",
        "no column 'fr' in its header; it has en, de",
        write("x.csv", "en,de\na,b\n"),
    ),
    row("train x.csv", "x.csv: line 2: its cells", write("x.csv", 'en,de\n"a,b\n')),
    # Two files
    _two("train.en is a folder", folder("train.en")),
    _two(("train.en has 0 lines", "train.de has"), empty("train.en")),
    _two(("train.en", "train.de"), empty("train.en"), empty("train.de")),
    _two(("train.de: line", "is not UTF-8"), append("train.de", LATIN)),
    _two(("dev.en", "unknown"), write("train.en", "a\n"), write("train.de", "b\n")),
    _two(("dev.en and", "no sentence pairs"), empty("dev.en"), empty("dev.de")),
    row(
        TRAIN,
        "",
        write("dev.en", "The dog " * 60 + "\n"),
        write("dev.de", "Der Hund " * 60 + "\n"),
        status=0,
        harmless=True,
        leaves=("new*",),
    ),
    # The names of files
    row(f"{TRAIN} data.train=[]", "expected two"),
    row(f'{TRAIN} \'data.train=["a.tsv","train.en","train.de"]\'', "a.tsv"),
    row(f"{TRAIN} 'data.train=[1,2]'", "data.train[0]"),
    row(f'{TRAIN} \'data.train=["-","train.de"]\'', "standard input (-)"),
    row(f'{TRAIN} \'data.train=["a", {{files="b.tsv"}}]\'', "cannot be mixed"),
    row(
        'train tiny.toml --out new \'data.validation=["train.en","train.de"]\'',
        "72 whole pairs are in the training data too",
        status=0,
        leaves=("new*",),
    ),
    # Tables between tabs
    _pairs("p.tsv", "\n\n", "p.tsv: line 1 has 1 of the 2 columns"),
    _pairs("p.tsv", "a\tb\n", "columns", f"[1,{10**30}]"),
    _pairs("p.tsv", "a\tb\n", "expected two columns", "[1]"),
    _pairs("p.tsv", "a\tb\n", "data.columns: expected", "both"),
    _pairs("p.tsv", "a\tb\n", "data.columns", "[true,false]"),
    _pairs("p.tsv", "a\tb\n", "line 1 has 2 of the 3 columns", "[1,2,3]"),
    row(f"{TRAIN} data.context.before=0", "data.context.before: must be at least 1"),
    row(f"{TRAIN} data.context.before=1 data.doctor=500", "context: sentences would lose those before them"),
    row(f"{TRAIN} training.start_from=run data.context.before=1", "the model reads no context"),
    # JSON objects, one a line
    _pairs("p.jsonl", '{"source":"a","target":"b"}\n\n', "p.jsonl: line 2 is not JSON"),
    _pairs("p.jsonl", '{"source":"a"}\n', ("line 1 has no text under 'target'", "data.columns")),
    # WMT's SGML
    row(
        'train tiny.toml --out new -q \'data.train=["a.sgm","b.sgm"]\'',
        "a.sgm: line 1: <seg> without </seg>",
        write("a.sgm", '<seg id="1">A dog.\n<seg id="2">A cat.</seg>\n'),
        write("b.sgm", SGM),
    ),
    row(
        f'{TRAIN} \'data.train=["a.sgm.gz","b.sgm"]\'',
        "a.sgm.gz: damaged",
        write_gz("a.sgm.gz", SGM * 50),
        cut("a.sgm.gz"),
        write("b.sgm", SGM),
    ),
    row(
        "evaluate test.de --reference a.sgm",
        "a.sgm: the references of document 'news' have 2 and 2 and 1 segments; expected 3 references with as many",
        write("a.sgm", SEVERAL.rpartition("<seg")[0]),
    ),
    row(
        "evaluate o --reference a.sgm --reference b",
        "a.sgm: 2, a.sgm: 2, a.sgm: 2, b: 3",
        write("a.sgm", SEVERAL),
        write("b", "A dog.\nA cat.\n\n"),
        write("o", "A dog.\nA cat.\n"),
    ),
    # Packed
    row("train tiny.toml --out new -q data.train=p.tsv.gz", "p.tsv.gz", write("p.tsv.gz", "")),
    # Cleaning
    row("train tiny.toml --out new -q 'data.cleaning=[{kind=\"lenght\"}]'", "did you mean 'length'"),
    row('train tiny.toml --out new -q \'data.cleaning=[{kind="duplicates", of="word"}]\'', "'word' is not one of"),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="script", side="source", scripts=["Klingon"]}]\'',
        "'Klingon' is not a Unicode script",
    ),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="language", side="source", language="tlh"}]\'',
        "'tlh' is not a language that can be detected",
    ),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="script", side="source", scripts=[]}]\'',
        "at least one script",
    ),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="script", side="left", scripts=["Latin"]}]\'',
        "'left' is not one of",
    ),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="prefix", side="source", prefixes=["I\'"\'"\'m"]}]\'',
        "can never match",
    ),
    row(
        'train tiny.toml --out new -q \'data.cleaning=[{kind="prefix", side="source", prefixes=[""]}]\'',
        "can never match",
    ),
    row(
        "train tiny.toml --out new -q 'data.cleaning=[{kind=\"length\", min_words=3, max_words=2}]'",
        "max_words must be at least min_words",
    ),
    row(f"{TRAIN} data.max_tokens=1", "no sentence pairs are left"),
    row(
        f"{TRAIN} tokenizer.kind=bpe tokenizer.size=90000", ("tokenizer.size = 90,000", "set tokenizer.size to at most")
    ),
    row(f"{TRAIN} tokenizer.min_frequency=100000", ("min_frequency", "tokenizer")),
    _two("train.de", write("train.en", "a\n" * 9), write("train.de", " \n" * 9)),
]
