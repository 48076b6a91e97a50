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
    ("training.adapters.rank=0", "training.adapters.rank"),
    ("training.adapters.rank=1.5", "training.adapters.rank"),
    ("training.adapters.rank=13", "training.adapters.rank = 13"),
    ("training.adapters.alpha=0", "alpha"),
    ("training.adapters.dropout=1", "dropout"),
    ("training.adapters.layers=['bridge']", "no linear layers in 'bridge'"),
    ("training.adapters.layers=decoder", "layers"),
    ("training.adapters.save=both", "'both' is not one of"),
    ("training.adapters=3", "training.adapters"),
    ("training.adapters.size=3", "unknown key 'size'"),
    ("training.new_words={}", "new_words needs a file of words"),
    ("training.new_words.frequent=0", "frequent"),
    ("training.new_words={frequent=3, min_pieces=1}", "min_pieces"),
    ("training.new_words.file=nowhere", "training.new_words.file: nowhere cannot be read"),
    ("training.new_words.file=empty.txt", "empty.txt has no words"),
    ("training.new_words.file=test.en", "is more than one word; write one a line"),
    ("validation.general_weight=0.5", "there is no data.general_validation"),
    ("validation.general_weight=2", "general_weight"),
    ("data.general_validation=['nowhere.en','nowhere.de']", "nowhere.en"),
    ("data.general_test=['test.en']", "test.en"),
    ("optimizer.frozen=['head']", "optimizer.frozen: the model has no part 'head'; it has embeddings, encoder"),
    ("optimizer.frozen=['']", "optimizer.frozen: the model has no part ''"),
    ("optimizer.frozen=encoder", "optimizer.frozen"),
    ("optimizer.frozen=['encoder','decoder']", "all parts of the model are frozen"),
)

EXTEND = "extend rnn --texts test.en -o out"
"""The model is one of bpe, from German to English."""

EXTENDED = (
    (f"{EXTEND} --language de", "rnn has the language 'de' already"),
    (f"{EXTEND} --language 'a b'", "'a b' is no code of a language"),
    (f"{EXTEND} --language fr --like de", "leave like out"),
    (f"{EXTEND} --language fr --pieces -1", "--pieces"),
    (f"{EXTEND} --language fr --keep nowhere", "nowhere"),
    ("extend rnn --language fr --texts nowhere -o out", "nowhere"),
    ("extend run --language fr --texts test.en -o out", "divides text by neither bpe nor unigram"),
    ("extend nowhere --language fr --texts test.en -o out", "nowhere: no such model"),
    ("extend lm --language fr --texts test.en -o out", "transduce generate"),
    ("extend many --language fr --texts test.en -o out", "divides text by neither bpe nor unigram"),
    ("extend polyglot --language fr --texts test.en -o out --like zz", "has no token of 'zz'"),
)

ROWS = [
    *(row(f"a new language: {command}", command, 2, words) for command, words in EXTENDED),
    row(
        "a new language without text",
        "extend rnn --language fr --texts blank.txt -o out",
        2,
        "there is no text to learn subwords from",
        write("blank.txt", "\n"),
    ),
    row("a new language that is there", f"{EXTEND} --language fr", 2, "exists", write("out/model", "x")),
    *(
        row(f"adaptation with {change}", [*TRAIN.split(), change], 2, words, write("empty.txt", ""))
        for change, words in SETTINGS
    ),
    row(
        "adapters without a model to adapt",
        "train tiny.toml --out new -q training.adapters.rank=2",
        2,
        "name it in start_from",
    ),
    row("a whole model to merge", "merge run -o out", 2, "run is a whole model"),
    row(
        "no [model], and no model to start from",
        "train tiny.toml --out new -q training.start_from=nowhere",
        2,
        ("training.start_from", "no such model"),
        replace("tiny.toml", MODEL, ""),
    ),
    row("a model to start from that is damaged", TRAIN, 2, "config.toml", remove("run/model/config.toml")),
]
