"""Settings of runs that start from a model, and models of adapters, that cannot be followed."""

from bad_inputs.damages import remove, replace, write
from bad_inputs.row import row

TRAIN = "train tiny.toml --out new -q training.start_from=run"

MODEL = """[model]
kind = "transformer"
encoder_layers = 1
decoder_layers = 1
dim = 12
heads = 3
feed_forward_dim = 20
"""

SETTINGS = (
    ("training.adapters.rank=13", "training.adapters.rank = 13"),
    ("training.adapters.alpha=0", "alpha"),
    ("training.adapters.dropout=1", "dropout"),
    ("training.adapters.layers=['bridge']", "no linear layers in 'bridge'"),
    ("training.adapters.save=both", "'both' is not one of"),
    ("training.adapters.size=3", "unknown key 'size'"),
    ("training.new_words={}", "new_words needs a file of words"),
    ("training.new_words.file=nowhere", "training.new_words.file: nowhere cannot be read"),
    ("training.new_words.file=empty.txt", "empty.txt has no words"),
    ("training.new_words.file=test.en", "is more than one word; write one a line"),
    ("validation.general_weight=0.5", "there is no data.general_validation"),
    ("optimizer.frozen=['head']", "optimizer.frozen: the model has no part 'head'; it has embeddings, encoder"),
    ("optimizer.frozen=['encoder','decoder']", "all parts of the model are frozen"),
)

EXTEND = "extend rnn --texts test.en -o out"
"""The model is one of bpe, from German to English."""

EXTENDED = (
    (f"{EXTEND} --language de", "rnn has the language 'de' already"),
    (f"{EXTEND} --language 'a b'", "'a b' is no code of a language"),
    (f"{EXTEND} --language fr --like de", "leave like out"),
    ("extend run --language fr --texts test.en -o out", "divides text by neither bpe nor unigram"),
    ("extend polyglot --language fr --texts test.en -o out --like zz", "has no token of 'zz'"),
)

ROWS = [
    *(row(command, words) for command, words in EXTENDED),
    row(
        "extend rnn --language fr --texts blank.txt -o out",
        "there is no text to learn subwords from",
        write("blank.txt", "\n"),
    ),
    *(row([*TRAIN.split(), change], words, write("empty.txt", "")) for change, words in SETTINGS),
    row("train tiny.toml --out new -q training.adapters.rank=2", "name it in start_from"),
    row("merge run -o out", "run is a whole model"),
    row(
        "train tiny.toml --out new -q training.start_from=nowhere",
        ("training.start_from", "no such model"),
        replace("tiny.toml", MODEL, ""),
    ),
    row(TRAIN, "config.toml", remove("run/model/config.toml")),
]
