"""Sweeps over settings and seeds."""

from bad_inputs.damages import append, copy, garbage, remove, write
from bad_inputs.row import row

SWEEP = "sweep tiny.toml training.updates=2 --out new -q"
AGAIN = "sweep tiny.toml search.size=1 --out swept -q"  # as it was swept before
BEFORE = "swept/recipe/seed-1"

ROWS = [
    row("a sweep: no recipe", "sweep multi31k seed=1 training.updates=1,2", 2, "expected a setting and its values"),
    row("a sweep: an unknown recipe", "sweep multi31k training.updates=1,2", 2, "no recipe 'multi31k'"),
    row("a sweep: no such recipe file", "sweep no.toml training.updates=1,2", 2, "no.toml: no such file"),
    row("a sweep: nothing to sweep", "sweep tiny.toml", 2, "expected a setting and its values"),
    row(
        "a sweep: of a file that is not there",
        "sweep train.en no.de model.dim=12,24 --out new -q",
        2,
        "no.de: cannot be opened",
    ),
    row("a sweep: of one file", "sweep train.en model.dim=12,24 --out new -q", 2, "give the file of its translations"),
    row(
        "a sweep: no test file",
        "sweep train.en train.de training.updates=2,3 --test no.en no.de --out new -q",
        2,
        "no.en: cannot be opened",
    ),
    row("a sweep: over the folder of a run", "sweep cache training.updates=1,2 --out new -q", 2, "cache"),
    *(
        row(f"a sweep: {setting or 'a blank'}", ["sweep", "tiny.toml", setting, "--out", "new", "-q"], 2, words)
        for setting, words in (
            ("", "expected a setting and its values"),
            ("training.updates", "'training.updates': expected a setting and its values"),
            ("training.updates=", "expected a setting and its values"),
            ("training.updates=2,", "expected a setting and its values"),
            ("training.updates=,2", "expected a setting and its values"),
            ("=2,3", "expected a setting and its values"),
            ("seed=1,2", "'seed=1,2': expected"),
            ("training.updates=2,many", "training.updates: expected int"),
            ("training.updates=2,0", "updates"),
            ("optimizer.learning_rate=0.1,nan", "learning_rate"),
            ("optimizer.learning_rate=0.1,-1", "learning_rate"),
            ("model.hiden=2,3", "unknown key 'hiden'"),
            ("model.heads=3,5", "dim 12 is not a multiple of heads 5"),
            ('data.test=["test.en","test.de"],["dev.en","dev.de"]', "change the test set"),
            ("training.updates=[2,3", "training.updates"),
            ("training.updates=2,2", "2"),
        )
    ),
    row("a sweep: one setting twice", f"{SWEEP} training.updates=3", 2, "'training.updates=3': expected"),
    row("a sweep: no seeds", f"{SWEEP} --seeds 0", 2, "--seeds must be from 1"),
    row("a sweep: seeds below 0", f"{SWEEP} --seeds -2", 2, "--seeds must be from 1"),
    row("a sweep: seeds in words", f"{SWEEP} --seeds two", 2, "--seeds"),
    row("a sweep: a metric of no meaning", f"{SWEEP} --metric accuracy", 2, ("accuracy", "bleu")),
    row("a sweep: a device of no meaning", f"{SWEEP} --device toaster", 2, "toaster"),
    row("a sweep: threads of no meaning", f"{SWEEP} --threads 0", 2, "--threads must be from 1"),
    row("a sweep: data that are not there", SWEEP, 2, "train.en: cannot be opened", remove("train.en")),
    row("a sweep: a test set that is not there", SWEEP, 2, "test.en: cannot be opened", remove("test.en")),
    row("a sweep: a test set of unequal length", SWEEP, 2, "aligned line by line", write("test.en", "One.\n")),
    row("a sweep: a test set that is empty", SWEEP, 2, "test", write("test.en", ""), write("test.de", "")),
    row("a sweep: into a file", SWEEP, (1, 2), "new", write("new", "")),
    row(
        "a sweep: into a place of no files",
        "sweep tiny.toml training.updates=2 -q --out /proc/new",
        (1, 2),
        "/proc/new",
    ),
    row(
        "a sweep: into the folder of another",
        SWEEP,
        2,
        "started with different settings",
        copy("rnn", "new/recipe/seed-1"),
    ),
    row(
        "a sweep: over what is no run",
        SWEEP,
        2,
        "new/recipe/seed-1",
        write("new/recipe/seed-1/notes", "mine"),
        leaves=("new/recipe/seed-1/.lock",),
    ),
    row(
        "a sweep: with a damaged checkpoint of before",
        "sweep tiny.toml training.updates=8 --out swept -q",
        2,
        "000006",
        garbage(f"{BEFORE}/checkpoints/000006/optimizer.safetensors"),
        leaves=("swept/*",),
    ),
    row(
        "a sweep: with a damaged model of before",
        AGAIN,
        2,
        "weights.safetensors",
        garbage(f"{BEFORE}/model/weights.safetensors"),
        garbage(f"{BEFORE}/checkpoints/000006/bundle/weights.safetensors"),
        leaves=("swept/*",),
    ),
    row(
        "a sweep: with other data",
        AGAIN,
        2,
        ("contents have changed since", "was started"),
        append("train.en", "More.\n"),
        append("train.de", "Mehr.\n"),
        leaves=("swept/*",),
    ),
]
