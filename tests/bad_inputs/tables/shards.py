"""Corpora in many files that cannot be cleaned or tokenized."""

from bad_inputs.damages import folder, write
from bad_inputs.row import row

CLEAN = "data clean train.tsv -o new --step length --processes 1 -q"
TOKENIZE = "data tokenize train.tsv --model run -o new --processes 1 -q"
DOCTOR = "data doctor train.tsv --processes 1 -q"
PARTS = "data clean part-*.tsv -o new --step length --processes 1 -q"

ROWS = [
    row("data clean train.tsv -o new", ("no steps are given", "transduce data doctor")),
    row("data clean train.tsv -o new --step overlap", "overlap needs held-out data"),
    row(
        "data clean lines.en -o new --step length",
        "lines.en: one file of pairs must end in .tsv",
        write("lines.en", "a"),
    ),
    row("data doctor lines.en -o new", "lines.en: one file of pairs must end in .tsv", write("lines.en", "a")),
    row([*CLEAN.split(), "--step", "ratio best=3"], ("step 'ratio best=3'", "most")),
    row([*CLEAN.split(), "--step", "ratio most=0"], "step 'ratio most=0'"),
    row([*CLEAN.split(), "--step", "ratio most="], "step 'ratio most='"),
    row(PARTS, "part-*.tsv: no file matches this pattern"),
    row(
        "data clean train.parquet -o new --step length -q",
        "train.parquet: cannot be read as Parquet",
        write("train.parquet", "a"),
    ),
    row(CLEAN, "new exists; remove it or choose another folder", write("new", "")),
    row(
        CLEAN,
        "new was begun with other job",
        folder("new"),
        write("new/x.tsv", ""),
        write("new/.transduce.json", '{"job": "tokenize"}'),
    ),
    row(f"{CLEAN} --ending .csv", "pairs are written as .tsv, .jsonl"),
    row(f"{CLEAN} --source-column de", "--source-column and --target-column go together"),
    row("data clean train.tsv ./train.tsv -o new --step length", "two of the files"),
    row(TOKENIZE.replace("run", "no"), "no"),
    row(f"{CLEAN} --ray local", "--processes is for this machine; leave it out with --ray"),
    row(f"{DOCTOR} --mask", "--clean, --repair, --mask, --scores and --best say what is written; give --output too"),
    row(f"{DOCTOR} --best 5 -o new", "--best chooses the pairs that are most like a text; give --like too"),
    row(f"{DOCTOR} --page train.tsv", "train.tsv exists"),
    row(f"{DOCTOR} --like train.tsv --test no.tsv", "no.tsv"),
    row(f"{DOCTOR} --like empty", "it has no word of either side", write("empty", "")),
    row("data doctor train.en no.de", "no.de"),
    row("data doctor train.en", "train.en"),
    row("train train.en train.de data.doctor=-1", "data.doctor"),
    row("train multi30k data.doctor=9 --dry-run", "doctor: only for training files"),
    row("translate run test.*n", "written to a folder, but the output is -"),
    row("score run --source t*.en --target test.de -o new", "2 and 1 files"),
]
