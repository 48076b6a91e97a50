"""Plans of recipes for GPUs."""

from bad_inputs.row import row

ROWS = [
    row("plan train.de train.en", ("train.de", "plan takes a recipe, not files")),
    row("plan rnn.toml -q", ("depends on numbers", "plan is for Transformers")),
    row("plan sst2", "training.start_from is missing"),
]
