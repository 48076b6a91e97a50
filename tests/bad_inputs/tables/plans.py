"""Plans of recipes for GPUs."""

from bad_inputs.row import row

ROWS = [
    row("a plan: an unknown recipe", "plan multi31k", 2, "no recipe 'multi31k'"),
    row("a plan: no such recipe file", "plan no.toml", 2, "no.toml: no such file"),
    row("a plan: two files of text", "plan train.de train.en", 2, ("train.de", "plan takes a recipe, not files")),
    row("a plan: a setting that is none", "plan tiny.toml model.width=8", 2, "width"),
    row("a plan: a GPU that is not known", "plan tiny.toml --gpu h900", 2, ("--gpu", "h100")),
    row("a plan: no GPUs", "plan tiny.toml --gpus 0", 2, ("--gpus", "from 1 to 1,024")),
    row("a plan: hardly any memory", "plan tiny.toml --memory 0.5", 2, ("--memory", "from 1 to 1,024")),
    row("a plan: a recurrent model", "plan rnn.toml -q", 2, ("depends on numbers", "plan is for Transformers")),
    row("a plan: an encoder without a model to start from", "plan sst2", 2, "training.start_from is missing"),
]
