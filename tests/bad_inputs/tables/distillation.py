"""Distillation and back-translation of what is not there, is damaged, or was begun otherwise."""

from bad_inputs.damages import append, cut, folder, garbage, remove, write
from bad_inputs.row import row

DISTILL = "distill run train.en,train.de --recipe tiny.toml -o new -q"
BACK = "backtranslate run train.en --recipe tiny.toml -o new -q"
AGAIN = "distill run dev.en,dev.de training.updates=2 --recipe tiny.toml -o taught -q"  # as it was taught before
TAUGHT = ("taught/*",)

ROWS = [
    row("a teacher that is not there", "distill no -o new", 2, "no: no such model"),
    row("a teacher that does not translate", "distill lm -o new", 2, "lm is a language model"),
    row("a teacher without its data", "distill mean --recipe tiny.toml -o new", 2, "data are unknown"),
    row("a second teacher of other tokens", f"{DISTILL} --with rnn", 2, "tokenizer"),
    row(
        "a teacher in Firefox's form that has learned nothing",
        "distill firefox test.en --validation dev.en dev.de --recipe tiny.toml -o new -q",
        2,
        ("no sentence pairs are left", "that reached the longest length"),
        leaves=("new", "new/*"),
    ),
    row("a student's recipe that is not there", "distill run --recipe nothing -o new", 2, "no recipe 'nothing'"),
    row(
        "a student that does not translate", "distill run --recipe lm.toml -o new", 2, "lm does not learn to translate"
    ),
    row("a student's setting that there is none of", f"{DISTILL} model.hiden=3", 2, "unknown key 'hiden'"),
    row("a student's data", f"{DISTILL} data.source=fr", 2, "data.source: the data are those that are made here"),
    row(
        "text to translate that is not there",
        "distill run no.en -o new --recipe tiny.toml",
        2,
        "no.en: cannot be opened",
    ),
    row("a folder as text to translate", "distill run cache -o new --recipe tiny.toml", 2, "cache is a folder"),
    row(
        "pairs to translate of three files",
        "distill run train.en,train.de,dev.de -o new --recipe tiny.toml",
        2,
        "expected two line-aligned files, source,target",
    ),
    row(
        "pairs to translate that are not aligned",
        "distill run train.en,dev.de -o new --recipe tiny.toml",
        2,
        "aligned line by line",
    ),
    row(
        "a table to translate with a tab too many",
        f"{DISTILL} p.tsv",
        2,
        "p.tsv: line 2",
        write("p.tsv", "a\tb\na\tb\tc\n"),
    ),
    row(
        "text to translate that is empty",
        "distill run e.en -o new --recipe tiny.toml",
        2,
        "no sentences",
        write("e.en", ""),
    ),
    row("text to translate in no encoding", f"{DISTILL} e.en", 2, "e.en: line 1 is not UTF-8", garbage("e.en")),
    row("a run without pairs to translate", f"{DISTILL} lm.toml", 2, "lm does not learn to translate"),
    row(
        "text to translate without held-out data",
        f"{DISTILL} no.en".replace(" run ", " mean "),
        2,
        "no.en: cannot be opened",
    ),
    row("a step that there is none of", f"{DISTILL} --step lenght", 2, ("step 'lenght'", "length")),
    row("a share of the worst that is all", f"{DISTILL} --drop-worst 1", 2, "--drop-worst must be"),
    row("a weight below nothing", f"{DISTILL} --pairs-weight -1", 2, "--pairs-weight must be"),
    row("a metric of no sentences", f"{DISTILL} --metric comet", 2, "comet"),
    row("a beam for samples", f"{DISTILL} --sample --beam-size 3", 2, "--beam-size works with beam search only"),
    row("a validation file that is not there", f"{DISTILL} --validation no.en no.de", 2, "no.en: cannot be opened"),
    row(
        "validation files that are empty",
        f"{DISTILL} --validation e.en e.de",
        2,
        "no sentence pairs",
        write("e.en", ""),
        write("e.de", ""),
    ),
    row("test files that are not there", f"{DISTILL} --test a b", 2, "a: cannot be opened"),
    row("a distillation into a file", DISTILL, 2, "new", write("new", "")),
    row("a distillation into other files", DISTILL, 2, "new holds other files", folder("new"), write("new/x", "")),
    row("a distillation into a run", "distill run --recipe tiny.toml -o rnn -q", 2, "rnn holds other files"),
    row(
        "a distillation of which nothing is left",
        f"{AGAIN} --step 'length min_words=500'",
        2,
        ("no sentence pairs are left", "with fewer than 500 words on a side"),
        remove("taught/data"),
        leaves=TAUGHT,
    ),
    row(
        "a distillation with another search",
        f"{AGAIN} --beam-size 2",
        2,
        "taught/translations was begun with other search",
    ),
    row(
        "a distillation of other texts",
        AGAIN.replace("dev.de", "dev.de train.en"),
        2,
        "taught/translations was begun with other texts",
    ),
    row(
        "a distillation by another teacher",
        AGAIN.replace(" run ", " mean ", 1) + " --validation dev.en dev.de --test test.en test.de",
        2,
        "taught/translations was begun with other models",
    ),
    row("a distillation with another weight", f"{AGAIN} --pairs-weight 1", 2, ("pairs_weight", "remove taught/data")),
    row("a distillation of another student", f"{AGAIN} seed=4", 2, "started with different settings: seed"),
    row(
        "a distillation whose texts have changed",
        AGAIN,
        2,
        ("test.de: the contents have changed since", "taught"),
        append("test.en", "More.\n"),
        append("test.de", "Mehr.\n"),
    ),
    *(
        row(f"a distillation with a damaged {path}", AGAIN, 2, words, garbage(f"taught/{path}"), leaves=TAUGHT)
        for path, words in (
            ("translations/.transduce.json", (".transduce.json is damaged", "choose another folder")),
            ("translations/test-00000.jsonl.zst", "remove it, and its sentences are translated again"),
            ("data/.transduce.json", (".transduce.json is damaged", "remove taught/data")),
            ("data/figures.json", "figures.json is damaged"),
            ("data/translated.jsonl.zst", "translated.jsonl.zst"),
            ("data/validation.jsonl.zst", "validation.jsonl.zst"),
            ("data/test.jsonl.zst", "test.jsonl.zst"),
        )
    ),
    row(
        "a distillation with translations that were cut off",
        AGAIN,
        2,
        ("pairs-00000.jsonl.zst", "remove it, and its sentences are translated again"),
        cut("taught/translations/pairs-00000.jsonl.zst"),
        remove("taught/data"),
        leaves=TAUGHT,
    ),
    row(
        "a distillation with a damaged report",
        AGAIN,
        0,
        "",
        garbage("taught/report.json"),
        leaves=TAUGHT,
        prints=True,
        harmless=True,
    ),
    row("a reverse model that is not there", "backtranslate no train.en -o new", 2, "no: no such model"),
    row("a reverse model that does not translate", "backtranslate lm train.en -o new", 2, "lm is a language model"),
    row(
        "a reverse model without settings",
        "backtranslate mean dev.de -o new --validation dev.de dev.en -q",
        2,
        "in a run's folder",
    ),
    row("no text to translate back", "backtranslate run -o new", 2, "TEXT"),
    row("only settings to translate back", "backtranslate run seed=2 -o new", 2, "no text to translate back"),
    row("pairs to translate back", "backtranslate run train.tsv -o new", 2, "train.tsv: expected text of one language"),
    row("text as true pairs", f"{BACK} --pairs train.en", 2, "train.en: expected text of one language as text"),
    row("a tag of two words", [*BACK.split(), "--tag", "a b"], 2, "the tag 'a b' must be one word"),
    row("a run of other languages as true pairs", f"{BACK} --pairs many.toml --to fr", 2, "fr"),
]
