"""Training from files alone, for which settings are chosen."""

from bad_inputs.damages import empty, write
from bad_inputs.row import row

ROWS = [
    row(
        "train train.en train.de --out new -q",
        "too few to learn from",
        write("train.en", "\n" * 99),
        write("train.de", "\n" * 99),
    ),
    row("train train.en train.de --out new -q model.kind=phrases --mono test.en", "test.en is in en"),
    row("train train.en train.de --out new -q phrases=false --mono test.de", "phrase-based"),
    row("train train.en train.de --out new -q data.validation_share=0.9 data.test_share=0.2", "share"),
    row("train dev.en dev.de --out run --resume -q", "run was started with other files"),
    row("train a=b.en a=b.de --out new -q", "found 0"),
    row("train train.tsv train.de --out new -q training.updates=1", "train.tsv", seconds=20),
    row(
        "train train.en train.de --out new -q", ("train.en", "no sentence pairs"), empty("train.en"), empty("train.de")
    ),
]
