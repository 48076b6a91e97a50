"""Recipes that are not TOML, or not the settings of a run, or not in their range."""

from bad_inputs.damages import change, empty, folder, replace, write
from bad_inputs.row import Row, row
from bad_inputs.world import TINY

TRAIN = "train tiny.toml --out new -q"


def _recipe(more: str, words: str | tuple[str, ...], **options: object) -> Row:
    """A recipe with something before all else of it."""
    return row(TRAIN, words, write("tiny.toml", more + TINY), **options)


ROWS = [
    row(TRAIN, ("tiny.toml", "is missing"), empty("tiny.toml")),
    row(TRAIN, "tiny.toml", folder("tiny.toml")),
    row(TRAIN, ("tiny.toml", "not valid TOML"), change("tiny.toml", lambda text: b"\xef\xbb\xbf" + text)),
    _recipe(f"seed = {'[' * 100_000}\n", "tiny.toml"),
    _recipe(f"{'a.' * 3_000}a = 1\n", "tiny.toml"),
    _recipe(f"seed = {'9' * 400}\n", "seed"),
    _recipe(f"seed = {2**64}\n", "seed"),
    _recipe("seed = -1\n", "seed: must be at least 0"),
    _recipe('seed = "one"\n', ("seed", "expected int")),
    _recipe("seed = 2026-11-22\n", ("seed", "expected int")),
    row(f"{TRAIN} training.r_drop=5", "the setting 'r_drop' has been removed; leave it out"),
    row(f"{TRAIN} tokenizer.dropout=0.1", "dropout"),
    _recipe("sed = 1\n", ("unknown key 'sed'", "'seed'")),
    _recipe("optimizer = 1\n", ("optimizer", "expected table")),
    row(TRAIN, ("'kind' is missing", "transformer, recurrent"), replace("tiny.toml", 'kind = "transformer"\n', "")),
    row(
        TRAIN,
        ("'transfomer' is not one of", "did you mean 'transformer'"),
        replace("tiny.toml", '"transformer"', '"transfomer"'),
    ),
    row(TRAIN, "model.kind", replace("tiny.toml", '"transformer"', "1")),
    row(f"{TRAIN} model.cell=gru", ("model", "unknown key 'cell'")),
    row("train rnn.toml --out new -q model.attention.window=3", ("model.attention", "unknown key 'window'")),
    # Changes on the command line
    row(f"{TRAIN} data.train.0=a", "'train' is a value, not a table"),
    row([*TRAIN.split(), "seed=" + "x" * 100_000], "seed: expected int"),
    row([*TRAIN.split(), "seed=" + "[" * 60_000], "seed"),
    row(f"{TRAIN} seed={'9' * 10_000}", "seed"),
    row("train tiny.toml -q --out new -- --resume", "'--resume' is not a setting"),
    row(f"{TRAIN} optimizer.schedule.kind=cosin", ("'cosin'", "'cosine'")),
    # Settings that do not go together
    row(TRAIN, "one of updates, epochs and minutes", replace("tiny.toml", "updates = 6", "updates = 6\nepochs = 1")),
    row(TRAIN, "either target_tokens or sentences", replace("tiny.toml", "[batching]", "[batching]\nsentences = 3")),
    row(
        TRAIN,
        "either every_updates or every_epochs",
        replace("tiny.toml", "[validation]", "[validation]\nevery_epochs = 1"),
    ),
    row(f"{TRAIN} data.dataset=copy", "either dataset or train"),
    row(f"{TRAIN} data.split=random", "validation files are given"),
    row(f"{TRAIN} data.validation_share=0.1", "validation files are given"),
    row(f"{TRAIN} data.sequences.symbols=3", "only for the data sets copy and reverse"),
    row(f"{TRAIN} tokenizer.file=own.json", 'kind = "file" requires file ='),
    row(f"{TRAIN} tokenizer.source.kind=bytes", "tokenizer.target go together"),
    row(f"{TRAIN} optimizer.learning_rate=1 'optimizer.schedule={{kind=\"noam\",dim=9}}'", "leave learning_rate out"),
    row(f"{TRAIN} model.heads=5", "dim 12 is not a multiple of heads 5"),
    row(f"{TRAIN} model.kv_heads=2", "heads 3 is not a multiple of kv_heads 2"),
    row(f"{TRAIN} model.norm_kind=batch", "model.norm_kind: 'batch' is not one of layer, rms"),
    row(f"{TRAIN} model.positions=rotary model.heads=4", "even key_dim"),
    row(f"{TRAIN} model.tie=all", ("tie", "tokenizer.shared")),
    row("train rnn.toml --out new -q model.bridge=copy", "bridge = copy needs"),
    row("train rnn.toml --out new -q model.attention.score=dot", "dot score needs"),
    row("train rnn.toml --out new -q model.reverse_source=true", "bidirectional = false"),
    row("train rnn.toml --out new -q model.uniform_bound=0.1", "uniform_bound"),
    row(f"{TRAIN} validation.best_by=beauty", ("no metric", ", loss")),
    row(f"{TRAIN} training.precision=float16", "'float16' is not one of"),
    row(f"{TRAIN} tokenizer.normalize=nfc", "'nfc' is not one of"),
    row(f"{TRAIN} search.n_best=3", "from 1 to the beam's size, 1"),
    row(f"{TRAIN} model.positions=learned model.max_positions=3", ("model.max_positions = 3", "data.max_tokens")),
    # Models to start from
    row(f"{TRAIN} training.start_from=nowhere", ("nowhere", "no such model")),
    row(f"{TRAIN} training.start_from=run model.dim=24", "model.dim was 12"),
    row([*TRAIN.split(), r'training.start_from="a\u0000b"'], "start_from"),
    # Data sets by name
    row("train quickstart --out new -q data.split=random", "split of its own"),
    row(
        "train copy --out new -q data.sequences.symbols=1 data.sequences.max_length=5",
        "data.sequences: 20,000 different sequences wanted",
    ),
    row(
        TRAIN,
        "columns",
        replace("tiny.toml", 'source = "en"\ntarget = "de"\n', ""),
        replace(
            "tiny.toml",
            'train = ["train.en", "train.de"]\nvalidation = ["dev.en", "dev.de"]\ntest = ["test.en", "test.de"]',
            'dataset = "copy"\ncolumns = [1, 2]\nsequences = {train = 30, validation = 5, test = 5}',
        ),
    ),
    # Numbers
    row(f"{TRAIN} model.dim=many", "model.dim: expected"),
    row(f"{TRAIN} optimizer.learning_rate=nan", "learning_rate"),
    row(f"{TRAIN} model.dim=300000000 model.heads=1", "dim", status=(1, 2), seconds=20),
    row(f"{TRAIN} model.dim={10**30} model.heads=1", "dim", status=(1, 2), seconds=20),
    row(f"{TRAIN} training.start_from=rnn", "training.start_from"),
    row(f"{TRAIN} training.start_from=exported", "is an exported model"),
]
