"""Distillation and back-translation of what is not there, is damaged, or was begun otherwise."""

from bad_inputs.damages import cut, folder, garbage, remove, write
from bad_inputs.row import row

DISTILL = "distill run train.en,train.de --recipe tiny.toml -o new -q"
BACK = "backtranslate run train.en --recipe tiny.toml -o new -q"
AGAIN = "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q"  # as it was taught before
TAUGHT = ("taught/*",)

ROWS = [
    row("distill mean --recipe tiny.toml -o new", "data are unknown"),
    row(
        "distill firefox test.en --validation dev.en dev.de --recipe tiny.toml -o new -q",
        ("no sentence pairs are left", "that reached the longest length"),
        leaves=("new", "new/*"),
    ),
    row("distill run --recipe lm.toml -o new", "lm does not learn to translate"),
    row(f"{DISTILL} data.source=fr", "data.source: the data are those that are made here"),
    row(
        "distill run train.en,train.de,dev.de -o new --recipe tiny.toml",
        "expected two line-aligned files, source,target",
    ),
    row(f"{DISTILL} p.tsv", "p.tsv: line 2", write("p.tsv", "a\tb\na\tb\tc\n")),
    row("distill run e.en -o new --recipe tiny.toml", "no sentences", write("e.en", "")),
    row(f"{DISTILL} --step lenght", ("step 'lenght'", "length")),
    row(f"{DISTILL} --drop-worst 1", "--drop-worst must be"),
    row(f"{DISTILL} --pairs-weight -1", "--pairs-weight must be"),
    row(f"{DISTILL} --metric comet", "comet"),
    row(DISTILL, "new holds other files", folder("new"), write("new/x", "")),
    row(f"{AGAIN} --beam-size 2", "taught/translations was begun with other search"),
    row(
        "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q",
        "remove it, and its sentences are translated again",
        garbage("taught/translations/test-00000.jsonl.zst"),
        leaves=("taught/*",),
    ),
    row(
        "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q",
        "figures.json is damaged",
        garbage("taught/data/figures.json"),
        leaves=("taught/*",),
    ),
    row(
        "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q",
        "translated.jsonl.zst",
        garbage("taught/data/translated.jsonl.zst"),
        leaves=("taught/*",),
    ),
    row(
        "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q",
        "validation.jsonl.zst",
        garbage("taught/data/validation.jsonl.zst"),
        leaves=("taught/*",),
    ),
    row(
        "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q",
        "test.jsonl.zst",
        garbage("taught/data/test.jsonl.zst"),
        leaves=("taught/*",),
    ),
    row(
        AGAIN,
        ("pairs-00000.jsonl.zst", "remove it, and its sentences are translated again"),
        cut("taught/translations/pairs-00000.jsonl.zst"),
        remove("taught/data"),
        leaves=TAUGHT,
    ),
    row(AGAIN, "", garbage("taught/report.json"), status=0, leaves=TAUGHT, prints=True, harmless=True),
    row("backtranslate mean dev.de -o new --validation dev.de dev.en -q", "in a run's folder"),
    row("backtranslate run seed=2 -o new", "no text to translate back"),
    row("backtranslate run train.tsv -o new", "train.tsv: expected text of one language"),
    row([*BACK.split(), "--tag", "a b"], "the tag 'a b' must be one word"),
    row(f"{BACK} --pairs many.toml --to fr", "fr"),
    row(f"{AGAIN} --pairs-weight 1", ("pairs_weight", "remove taught/data")),
]
