"""Recipes that are not TOML, or not the settings of a run; settings of one kind are in settings.py."""

from bad_inputs.damages import change, empty, folder, garbage, link, replace, write
from bad_inputs.row import Row, row
from bad_inputs.world import TINY

TRAIN = "train tiny.toml --out new -q"


def _recipe(name: str, more: str, words: str | tuple[str, ...], **options: object) -> Row:
    """A recipe with something before all else of it."""
    return row(name, TRAIN, 2, words, write("tiny.toml", more + TINY), **options)


ROWS = [
    row("an empty recipe", TRAIN, 2, ("tiny.toml", "is missing"), empty("tiny.toml")),
    row("a folder as a recipe", TRAIN, 2, "tiny.toml", folder("tiny.toml")),
    row("a recipe that is a link to itself", TRAIN, 2, "tiny.toml", link("tiny.toml", "tiny.toml")),
    row("garbage as a recipe", TRAIN, 2, ("tiny.toml", "UTF-8"), garbage("tiny.toml")),
    row("a recipe in Latin-1", TRAIN, 2, ("tiny.toml", "UTF-8"), write("tiny.toml", "# ä\n".encode("latin-1"))),
    row(
        "a recipe in UTF-16",
        TRAIN,
        2,
        ("tiny.toml", "UTF-8"),
        change("tiny.toml", lambda text: text.decode().encode("utf-16")),
    ),
    row(
        "a recipe with a mark at its beginning",
        TRAIN,
        2,
        ("tiny.toml", "not valid TOML"),
        change("tiny.toml", lambda text: b"\xef\xbb\xbf" + text),
    ),
    row("a recipe with NUL characters", TRAIN, 2, ("tiny.toml", "not valid TOML"), write("tiny.toml", "\0" * 9)),
    row("a recipe in JSON", TRAIN, 2, ("tiny.toml", "not valid TOML"), write("tiny.toml", '{"data": {}}')),
    row("a recipe in YAML", TRAIN, 2, ("tiny.toml", "not valid TOML"), write("tiny.toml", "data:\n  train: a\n")),
    row("a program as a recipe", "train /bin/true.toml", 2, "/bin/true.toml: no such file"),
    _recipe("a text without its end", 'seed = "\n', "not valid TOML"),
    _recipe("a table without its end", "[data\n", "not valid TOML"),
    _recipe("a value without its key", "= 3\n", "not valid TOML"),
    _recipe("a key without its value", "seed =\n", "not valid TOML"),
    _recipe("a key twice", "seed = 1\nseed = 2\n", "not valid TOML"),
    _recipe("a table twice", "[data]\n", "not valid TOML"),
    _recipe("a list that is nested 100,000 times", f"seed = {'[' * 100_000}\n", "tiny.toml"),
    _recipe("a table that is nested 100,000 times", f"seed = {'{a=' * 100_000}\n", "tiny.toml"),
    _recipe("a key of 3,000 parts", f"{'a.' * 3_000}a = 1\n", "tiny.toml"),
    _recipe("tables in tables, 500 deep", f"[{'a.' * 500}a]\nb = 1\n", "nested more than"),
    _recipe("an integer of 10,000 digits", f"seed = {'9' * 10_000}\n", "tiny.toml"),
    _recipe("an integer of 400 digits", f"seed = {'9' * 400}\n", "seed"),
    _recipe("an integer beyond 64 bits", f"seed = {2**64}\n", "seed"),
    _recipe("a seed below 0", "seed = -1\n", "seed: must be at least 0"),
    _recipe("a seed in words", 'seed = "one"\n', ("seed", "expected int")),
    _recipe("a seed with a point", "seed = 1.5\n", ("seed", "expected int")),
    _recipe("a seed that is true", "seed = true\n", ("seed", "expected int")),
    _recipe("a seed that is a date", "seed = 2026-11-22\n", ("seed", "expected int")),
    _recipe("a seed that is a time", "seed = 12:00:00\n", ("seed", "expected int")),
    _recipe("a seed that is a list", "seed = [1]\n", ("seed", "expected int")),
    _recipe("a seed that is a table", "seed = {a = 1}\n", ("seed", "expected int")),
    row(
        "two passes over tokens that differ",
        f"{TRAIN} training.r_drop=5 training.teacher_forcing.last=0.5",
        2,
        "r_drop compares two passes over the same tokens; leave teacher_forcing out",
    ),
    row(
        "BPE-dropout beside two tokenizers",
        f"{TRAIN} tokenizer.kind=bpe tokenizer.dropout=0.1 tokenizer.source.kind=bpe tokenizer.target.kind=bpe",
        2,
        "two tokenizers have a dropout each: tokenizer.source.dropout, tokenizer.target.dropout",
    ),
    row("BPE-dropout of words", f"{TRAIN} tokenizer.dropout=0.1", 2, 'dropout is for kind = "bpe"; leave it out'),
    _recipe("an unknown key", "sed = 1\n", ("unknown key 'sed'", "'seed'")),
    _recipe("a key in capitals", "SEED = 1\n", "unknown key 'SEED'"),
    _recipe("a key without a name", '"" = 1\n', "unknown key ''"),
    _recipe("a key of a line feed", '"a\\nb" = 1\n', "unknown key 'a b'"),
    _recipe("an unknown table", "[modle]\nkind = 1\n", ("unknown key 'modle'", "'model'")),
    _recipe("a table that is a number", "optimizer = 1\n", ("optimizer", "expected table")),
    _recipe("a table that is a text", 'optimizer = "adam"\n', ("optimizer", "expected table")),
    _recipe("a table that is a list", "[[optimizer]]\n", ("optimizer", "expected table")),
    *(
        row(
            f"no table [{table}]",
            TRAIN,
            2,
            f"'{table}' is missing",
            change(
                "tiny.toml",
                lambda text, table=table: b"".join(
                    part for part in _tables(text) if not part.startswith(f"[{table}]".encode())
                ),
            ),
        )
        for table in ("data", "model", "training")
    ),
    row(
        "a model of no kind",
        TRAIN,
        2,
        ("'kind' is missing", "transformer, recurrent"),
        replace("tiny.toml", 'kind = "transformer"\n', ""),
    ),
    row(
        "a model of an unknown kind",
        TRAIN,
        2,
        ("'transfomer' is not one of", "did you mean 'transformer'"),
        replace("tiny.toml", '"transformer"', '"transfomer"'),
    ),
    row("a model of a numbered kind", TRAIN, 2, "model.kind", replace("tiny.toml", '"transformer"', "1")),
    row("a setting of another kind of model", f"{TRAIN} model.cell=gru", 2, ("model", "unknown key 'cell'")),
    row(
        "a setting of another kind of attention",
        "train rnn.toml --out new -q model.attention.window=3",
        2,
        ("model.attention", "unknown key 'window'"),
    ),
    # Changes on the command line
    *(
        row(f"a change without a value: {change}", f"{TRAIN} {change}", 2, (f"'{change.strip(chr(39))}'", "key=value"))
        for change in ("training.updates", "seed", "=3", ".=3", "a..b=3", "training.=3", "'='", "'a b'")
    ),
    row("a change within a value", f"{TRAIN} seed.a=1", 2, "seed: expected int, got table"),
    row("a change within a list", f"{TRAIN} data.train.0=a", 2, "'train' is a value, not a table"),
    row("a change to an unknown key", f"{TRAIN} model.hiden=3", 2, "unknown key 'hiden'"),
    row("a change to an unknown table", f"{TRAIN} modle.dim=3", 2, "unknown key 'modle'"),
    row("a change to nothing", f"{TRAIN} training.updates=", 2, "training.updates: expected int, got str"),
    row("a change with blanks", [*TRAIN.split(), "training.updates = many"], 2, "training.updates: expected int"),
    row("a change with a line feed", [*TRAIN.split(), "seed=1\nb=2"], 2, "seed"),
    row("a change of 1 MB", [*TRAIN.split(), "seed=" + "x" * 100_000], 2, "seed: expected int"),
    row("a change that is nested", [*TRAIN.split(), "seed=" + "[" * 60_000], 2, "seed"),
    row("a change to 10,000 digits", f"{TRAIN} seed={'9' * 10_000}", 2, "seed"),
    row("a change that is an option", "train tiny.toml -q --out new -- --resume", 2, "'--resume' is not a setting"),
    row("a schedule of an unknown kind", f"{TRAIN} optimizer.schedule.kind=cosin", 2, ("'cosin'", "'cosine'")),
    # Settings that do not go together
    row(
        "updates and epochs",
        TRAIN,
        2,
        "one of updates, epochs and minutes",
        replace("tiny.toml", "updates = 6", "updates = 6\nepochs = 1"),
    ),
    row(
        "neither updates nor epochs",
        TRAIN,
        2,
        "one of updates, epochs and minutes",
        replace("tiny.toml", "updates = 6\n", ""),
    ),
    row(
        "tokens and sentences",
        TRAIN,
        2,
        "either target_tokens or sentences",
        replace("tiny.toml", "[batching]", "[batching]\nsentences = 3"),
    ),
    row(
        "validations by updates and epochs",
        TRAIN,
        2,
        "either every_updates or every_epochs",
        replace("tiny.toml", "[validation]", "[validation]\nevery_epochs = 1"),
    ),
    row("a data set and files", f"{TRAIN} data.dataset=copy", 2, "either dataset or train"),
    row(
        "neither a data set nor files",
        TRAIN,
        2,
        "either dataset or train",
        replace("tiny.toml", 'train = ["train.en", "train.de"]\n', ""),
    ),
    row("a split of files", f"{TRAIN} data.split=random", 2, "validation files are given"),
    row("a share of files", f"{TRAIN} data.validation_share=0.1", 2, "validation files are given"),
    row("sequences of files", f"{TRAIN} data.sequences.symbols=3", 2, "only for the data sets copy and reverse"),
    row("a tokenizer's file without its kind", f"{TRAIN} tokenizer.file=own.json", 2, 'kind = "file" requires file ='),
    row("a tokenizer of kind file without one", f"{TRAIN} tokenizer.kind=file", 2, 'kind = "file" requires file ='),
    row("a tokenizer of one side", f"{TRAIN} tokenizer.source.kind=bytes", 2, "tokenizer.target go together"),
    row(
        "a rate beside noam's own",
        f"{TRAIN} optimizer.learning_rate=1 'optimizer.schedule={{kind=\"noam\",dim=9}}'",
        2,
        "leave learning_rate out",
    ),
    row("a width that heads do not share", f"{TRAIN} model.heads=5", 2, "dim 12 is not a multiple of heads 5"),
    row("key heads that heads do not share", f"{TRAIN} model.kv_heads=2", 2, "heads 3 is not a multiple of kv_heads 2"),
    row(
        "a norm of another kind",
        f"{TRAIN} model.norm_kind=batch",
        2,
        "model.norm_kind: 'batch' is not one of layer, rms",
    ),
    row("rotary positions of odd width", f"{TRAIN} model.positions=rotary model.heads=4", 2, "even key_dim"),
    row("one matrix for two vocabularies", f"{TRAIN} model.tie=all", 2, ("tie", "tokenizer.shared")),
    row("a bridge between unequal widths", "train rnn.toml --out new -q model.bridge=copy", 2, "bridge = copy needs"),
    row("a dot score of unequal widths", "train rnn.toml --out new -q model.attention.score=dot", 2, "dot score needs"),
    row(
        "a backward encoder of two directions",
        "train rnn.toml --out new -q model.reverse_source=true",
        2,
        "bidirectional = false",
    ),
    row("a bound that nothing draws from", "train rnn.toml --out new -q model.uniform_bound=0.1", 2, "uniform_bound"),
    row("best by a score of no meaning", f"{TRAIN} validation.best_by=beauty", 2, ("no metric", ", loss")),
    row("a precision of no meaning", f"{TRAIN} training.precision=float16", 2, "'float16' is not one of"),
    row("a normalisation of no meaning", f"{TRAIN} tokenizer.normalize=nfc", 2, "'nfc' is not one of"),
    row("a beam smaller than its outputs", f"{TRAIN} search.n_best=3", 2, "from 1 to the beam's size, 1"),
    row(
        "learned positions too few",
        f"{TRAIN} model.positions=learned model.max_positions=3",
        2,
        ("model.max_positions = 3", "data.max_tokens"),
    ),
    # Models to start from
    row("no model to start from", f"{TRAIN} training.start_from=nowhere", 2, ("nowhere", "no such model")),
    row("a file to start from", f"{TRAIN} training.start_from=test.en", 2, "test.en"),
    row("a folder that is no model to start from", f"{TRAIN} training.start_from=cache", 2, "cache is not a model"),
    row(
        "a model of another size to start from", f"{TRAIN} training.start_from=run model.dim=24", 2, "model.dim was 12"
    ),
    row("a model of another kind to start from", f"{TRAIN} training.start_from=rnn", 2, "training.start_from"),
    row("an exported model to start from", f"{TRAIN} training.start_from=exported", 2, "is an exported model"),
    row("a start from without a name", f"{TRAIN} training.start_from=", 2, "start_from"),
    row("a start from with a NUL", [*TRAIN.split(), r'training.start_from="a\u0000b"'], 2, "start_from"),
    # Data sets by name
    row("an unknown data set", "train quickstart --out new -q data.dataset=gramar", 2, "no data set 'gramar'"),
    row("a data set without a name", "train quickstart --out new -q data.dataset=", 2, "no data set ''"),
    row("a data set of one language", "train quickstart --out new -q data.dataset=ptb", 2, "text of one language"),
    row("a language that a data set lacks", "train quickstart --out new -q data.target=fr", 2, "no language 'fr'"),
    row("a data set from a language to itself", "train quickstart --out new -q data.target=en", 2, "both 'en'"),
    row(
        "a data set in a wrong direction",
        "train quickstart --out new -q data.source=de data.target=en",
        2,
        "en to de only",
    ),
    row("a split of a data set that has one", "train quickstart --out new -q data.split=random", 2, "split of its own"),
    row(
        "more sequences than there are",
        "train copy --out new -q data.sequences.symbols=1 data.sequences.max_length=5",
        2,
        "data.sequences: 20,000 different sequences wanted",
    ),
    row(
        "columns of a data set",
        TRAIN,
        2,
        "columns",
        replace("tiny.toml", 'source = "en"\ntarget = "de"\n', ""),
        replace(
            "tiny.toml",
            'train = ["train.en", "train.de"]\nvalidation = ["dev.en", "dev.de"]\ntest = ["test.en", "test.de"]',
            'dataset = "copy"\ncolumns = [1, 2]\nsequences = {train = 30, validation = 5, test = 5}',
        ),
    ),
]


def _tables(text: bytes) -> list[bytes]:
    first, *others = text.split(b"\n[")
    return [first, *(b"[" + other + b"\n" for other in others)]
