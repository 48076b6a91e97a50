"""Sweeps over settings and seeds."""

from bad_inputs.damages import garbage, write
from bad_inputs.row import row

SWEEP = "sweep tiny.toml training.updates=2 --out new -q"
BEFORE = "swept/recipe/seed-1"

ROWS = [
    row("sweep multi31k seed=1 training.updates=1,2", "expected a setting and its values"),
    row("sweep tiny.toml optimizer.learning_rate=0.1,nan --out new -q", "learning_rate"),
    row('sweep tiny.toml \'data.test=["test.en","test.de"],["dev.en","dev.de"]\' --out new -q', "change the test set"),
    row(f"{SWEEP} --metric accuracy", ("accuracy", "bleu")),
    row(f"{SWEEP} --device toaster", "toaster"),
    row(SWEEP, "new", write("new", ""), status=(1, 2)),
    row(
        "sweep tiny.toml training.updates=8 --out swept -q",
        "000006",
        garbage(f"{BEFORE}/checkpoints/000006/optimizer.safetensors"),
        leaves=("swept/*",),
    ),
]
