"""Data that is to grow: pools to choose sentences from, and pairs from which no forecast can be made."""

from bad_inputs.damages import write
from bad_inputs.row import row

NEXT = "data next train.en train.de --pool pool.en --words 9"
POOL = write("pool.en", "A dog sleeps.\nThe dog sleeps.\n")
MANY = write("many.tsv", "".join(f"a dog {number}\tein Hund {number}\n" for number in range(70_000)))

ROWS = [
    row(NEXT, "no sentence that is not known", write("pool.en", "\n \n")),
    row(NEXT, "at most 9 words", write("pool.en", "a " * 10)),
    row(f"{NEXT[:-1]}0", ("--words", "at least 1"), POOL),
    row("data next train.en --words 9", "--pool"),
    row(f"{NEXT} test.en", "3 files of known sentences", POOL),
    row("data forecast train.en train.de", "too few for a forecast"),
    row("data forecast many.tsv", "too many for a forecast", MANY),
    row("data forecast train.tsv --picture new.gif", "must end in .png"),
    row("data forecast train.tsv --picture no/new.png", "its folder does not exist"),
]
