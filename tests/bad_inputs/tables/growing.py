"""Data that is to grow: pools to choose sentences from, and pairs from which no forecast can be made."""

from bad_inputs.damages import append, folder, garbage, remove, write
from bad_inputs.row import row

NEXT = "data next train.en train.de --pool pool.en --words 9"
POOL = write("pool.en", "A dog sleeps.\nThe dog sleeps.\n")
MANY = write("many.tsv", "".join(f"a dog {number}\tein Hund {number}\n" for number in range(70_000)))
BLANK = write("blank.tsv", "\t\n" * 500)

ROWS = [
    row("a pool that is not there", NEXT, 2, "pool.en: cannot be opened"),
    row("a pool that is a folder", NEXT, 2, "pool.en is a folder", folder("pool.en")),
    row("a pool of other bytes", NEXT, 2, "not UTF-8", POOL, garbage("pool.en")),
    row("a pool without a sentence", NEXT, 2, "no sentence that is not known", write("pool.en", "\n \n")),
    row(
        "a pool of known sentences", "data next train.en --pool train.en --words 9", 2, "no sentence that is not known"
    ),
    row("a pool of long sentences", NEXT, 2, "at most 9 words", write("pool.en", "a " * 10)),
    row("no words to translate", f"{NEXT[:-1]}0", 2, ("--words", "at least 1"), POOL),
    row("no pool", "data next train.en --words 9", 2, "--pool"),
    row("three files of known sentences", f"{NEXT} test.en", 2, "3 files of known sentences", POOL),
    row("known sentences that are not there", NEXT, 2, "train.de: cannot be opened", POOL, remove("train.de")),
    row("known sentences that are not aligned", NEXT, 2, "aligned", POOL, append("train.de", "Ein Hund.\n")),
    row("chosen sentences over a file", f"{NEXT} -o train.en", 2, "train.en exists", POOL),
    row("a forecast from a file that is not there", "data forecast no.tsv", 2, "no.tsv: cannot be opened"),
    row("a forecast from one text", "data forecast train.en", 2, "one file of pairs"),
    row("a forecast from few pairs", "data forecast train.en train.de", 2, "too few for a forecast"),
    row("a forecast from blank pairs", "data forecast blank.tsv", 2, "too few for a forecast", BLANK),
    row("a forecast from too many pairs", "data forecast many.tsv", 2, "too many for a forecast", MANY),
    row("a picture of no kind", "data forecast train.tsv --picture new.gif", 2, "must end in .png"),
    row("a picture in no folder", "data forecast train.tsv --picture no/new.png", 2, "its folder does not exist"),
]
