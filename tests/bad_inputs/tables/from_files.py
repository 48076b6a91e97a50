"""Training from files alone, for which settings are chosen."""

from bad_inputs.damages import append, copy, cut, empty, folder, garbage, write, write_gz
from bad_inputs.row import row

TWO = "train train.en train.de --out new -q"
LATIN = "schön\n".encode("latin-1")

ROWS = [
    *(
        row(f"from files: {name}", command, 2, words, *damages)
        for name, command, words, damages in (
            ("the first is not there", "train no.en train.de --out new -q", "no.en", []),
            ("the second is not there", "train train.en no.de --out new -q", "no.de: cannot be opened", []),
            ("neither is there", "train no.en no.de --out new -q", "no.en", []),
            ("one alone", "train train.en --out new -q", ("train.en", "translations"), []),
            ("three", "train train.en train.de test.en --out new -q", "found 3", []),
            ("a folder", "train run train.de --out new -q", "run is a folder", []),
            ("two folders", "train run rnn --out new -q", "run is a folder", []),
            ("empty ones", TWO, ("train.en", "no sentence pairs"), [empty("train.en"), empty("train.de")]),
            ("an empty one", TWO, "train.en has 0 lines", [empty("train.en")]),
            ("unequal ones", TWO, "aligned line by line", [append("train.en", "More.\n")]),
            ("blank ones", TWO, "too few to learn from", [write("train.en", "\n" * 99), write("train.de", "\n" * 99)]),
            (
                "a few pairs",
                TWO,
                ("19 of 19", "20 or more"),
                [
                    write("train.en", "".join(f"a{n}.\n" for n in range(19))),
                    write("train.de", "".join(f"b{n}.\n" for n in range(19))),
                ],
            ),
            (
                "one pair many times",
                TWO,
                "too few to learn from",
                [write("train.en", "a\n" * 99), write("train.de", "b\n" * 99)],
            ),
            ("text of one language that is not there", f"{TWO} model.kind=phrases --mono no.de", "no.de: cannot", []),
            ("text of the source language", f"{TWO} model.kind=phrases --mono test.en", "test.en is in en", []),
            ("text of one language for a neural model", f"{TWO} phrases=false --mono test.de", "phrase-based", []),
            ("the same on both sides", "train train.en train.en --out new -q", "train.en", []),
            ("untranslated text", TWO, "train.en", [copy("train.en", "train.de")]),
            ("Latin-1", TWO, "is not UTF-8", [append("train.de", LATIN)]),
            ("garbage", TWO, "train.de: line 1 is not UTF-8", [garbage("train.de")]),
            (
                "a table of one column",
                "train p.tsv --out new -q",
                "p.tsv: line 1 has 1 of the 2",
                [write("p.tsv", "a\n" * 99)],
            ),
            ("a table that is empty", "train p.tsv --out new -q", ("p.tsv", "no sentence pairs"), [write("p.tsv", "")]),
            ("a table that is a folder", "train p.tsv --out new -q", "p.tsv is a folder", [folder("p.tsv")]),
            ("a table that is not there", "train p.tsv --out new -q", "p.tsv: cannot be opened", []),
            (
                "a packed table that was cut off",
                "train p.tsv.gz --out new -q",
                "p.tsv.gz: damaged",
                [write_gz("p.tsv.gz", "".join(f"a{n}\tb{n}\n" for n in range(999))), cut("p.tsv.gz")],
            ),
            (
                "objects that are none",
                "train p.jsonl --out new -q",
                "p.jsonl: line 1 is not JSON",
                [write("p.jsonl", "x\n")],
            ),
            ("a change of an unknown key", f"{TWO} model.hiden=3", "unknown key 'hiden'", []),
            ("a change of an unknown table", f"{TWO} modle.dim=3", "unknown key 'modle'", []),
            ("a change out of range", f"{TWO} training.updates=0", "updates", []),
            ("a change of a wrong type", f"{TWO} training.updates=many", "training.updates: expected int", []),
            ("a change without a value", f"{TWO} training.updates", "found 3", []),
            ("a change before the files", "train seed=2 train.en train.de --out new -q", "is not a setting", []),
            ("a share that leaves nothing", f"{TWO} data.validation_share=0.9 data.test_share=0.2", "share", []),
            (
                "validation that is not there",
                f'{TWO} \'data.validation=["no.en","no.de"]\'',
                "no.en: cannot be opened",
                [],
            ),
            ("a data set too", f"{TWO} data.dataset=copy", "either dataset or train", []),
        )
    ),
    row("from files: over a run", "train train.en train.de --out run -q", 2, ("run exists", "resume")),
    row(
        "from files: going on with other files",
        "train dev.en dev.de --out run --resume -q",
        2,
        "run was started with other files",
    ),
    row("from files: on standard input", "train - train.de --out new -q", 2, "standard input"),
    row("from files: names with an equals sign that are not there", "train a=b.en a=b.de --out new -q", 2, "found 0"),
    row(
        "from files: a table and a file",
        "train train.tsv train.de --out new -q training.updates=1",
        2,
        "train.tsv",
        seconds=20,
    ),
]
