"""Corpora in many files that cannot be cleaned or tokenized."""

from bad_inputs.damages import cut, folder, write, write_gz
from bad_inputs.row import row

CLEAN = "data clean train.tsv -o new --step length --processes 1 -q"
TOKENIZE = "data tokenize train.tsv --model run -o new --processes 1 -q"
PARTS = "data clean part-*.tsv -o new --step length --processes 1 -q"

ROWS = [
    row("cleaning without steps", "data clean train.tsv -o new", 2, "expected steps of data.cleaning"),
    row("cleaning with overlap", "data clean train.tsv -o new --step overlap", 2, ("not overlap", "held-out")),
    row("an unknown step", "data clean train.tsv -o new --step lenght", 2, ("step 'lenght'", "length")),
    row("an unknown setting of a step", [*CLEAN.split(), "--step", "ratio best=3"], 2, ("step 'ratio best=3'", "most")),
    row("a value that a step cannot have", [*CLEAN.split(), "--step", "ratio most=0"], 2, "step 'ratio most=0'"),
    row("a setting of a step without a value", [*CLEAN.split(), "--step", "ratio most="], 2, "step 'ratio most='"),
    row("a recipe that is not there", "data clean train.tsv -o new --recipe no.toml", 2, "no.toml"),
    row("a file to clean that is not there", "data clean no.tsv -o new --step length", 2, "no.tsv: cannot be opened"),
    row("a pattern that no file matches", PARTS, 2, "part-*.tsv: no file matches this pattern"),
    row(
        "a Parquet file that is none",
        "data clean train.parquet -o new --step length -q",
        2,
        "train.parquet: cannot be read as Parquet",
        write("train.parquet", "a"),
    ),
    row("three files of lines", "data clean a b c -o new --step length", 2, "3 files; expected files of pairs"),
    row("lines of two files that are not aligned", "data clean train.en dev.de -o new --step length", 2, "aligned"),
    row(
        "a shard that is cut off",
        PARTS.replace(".tsv", ".tsv.gz"),
        2,
        "damaged",
        write_gz("part-1.tsv.gz", "a\tb\n"),
        cut("part-1.tsv.gz"),
    ),
    row("a shard with a tab too many", PARTS, 2, "part-1.tsv: line 2 has 3", write("part-1.tsv", "a\tb\na\tb\tc\n")),
    row("an output folder with other files", CLEAN, 2, "new holds other files", folder("new"), write("new/x", "")),
    row(
        "an output folder that is a file", CLEAN, 2, "new exists; remove it or choose another folder", write("new", "")
    ),
    row(
        "an output folder of another job",
        CLEAN,
        2,
        "new was begun with other job",
        folder("new"),
        write("new/x.tsv", ""),
        write("new/.transduce.json", '{"job": "tokenize"}'),
    ),
    row(
        "an output folder with a damaged record",
        CLEAN,
        2,
        ".transduce.json is damaged",
        folder("new"),
        write("new/x.tsv", ""),
        write("new/.transduce.json", "["),
    ),
    row("an ending that cannot be written", f"{CLEAN} --ending .csv", 2, "pairs are written as .tsv, .jsonl"),
    row("an ending that is no file of pairs", f"{CLEAN} --ending .txt", 2, "pairs are written as .tsv, .jsonl"),
    row("only one column", f"{CLEAN} --source-column de", 2, "--source-column and --target-column go together"),
    row("a column that a shard lacks", f"{CLEAN} --source-column x --target-column y", 2, "no column 'x'"),
    row("two files of one name", "data clean train.tsv ./train.tsv -o new --step length", 2, "two of the files"),
    row("a model to tokenize with that is not there", TOKENIZE.replace("run", "no"), 2, "no"),
    row(
        "processes on a cluster", f"{CLEAN} --ray local", 2, "--processes is for this machine; leave it out with --ray"
    ),
    row("several files to standard output", "translate run test.*n", 2, "written to a folder, but the output is -"),
    row("several files to a file", "translate run test.?? -o test.en", 2, "but the output is test.en"),
    row("no files to translate", "translate run no.* -o new", 2, "no.*: no file matches this pattern"),
    row("no files to score", "score run --pairs no.* -o new", 2, "no.*: no file matches this pattern"),
    row("sources without targets", "score run --source t*.en --target test.de -o new", 2, "2 and 1 files"),
    row(
        "a damaged one of several files",
        "translate run part-* -o new -q",
        2,
        "part-2: line 1 is not UTF-8",
        write("part-2", b"\xff\n"),
    ),
]
