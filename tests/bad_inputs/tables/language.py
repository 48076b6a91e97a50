"""Language models: their settings, their text, what is asked of them, and verbs of the other task."""

from bad_inputs.damages import remove, write
from bad_inputs.row import row

TRAIN = "train lm.toml --out new -q"

SETTINGS = (
    ("task=speech", "no task 'speech'"),
    ("task=[]", "task"),
    ("task=translation", "unknown key"),
    ("model.kind=transformer", "model"),
    ("model.layers=0", "model.layers"),
    ("model.heads=5", "heads"),
    ("model.positions=relative", "model.positions"),
    ("model.tie=all", "model.tie"),
    ("batching.window=0", "batching.window"),
    ("batching.window=-1", "batching.window"),
    ("batching.window=many", "batching.window"),
    ("batching.sentences=3", "sentences"),
    ("validation.metrics=['bleu']", "validation.metrics"),
    ("validation.best_by=chrf", "best_by"),
    ("tokenizer.shared=false", "tokenizer"),
    ("data.source=en", "source"),
    ("data.validation_share=0", "validation_share"),
    ("data.validation_share=1.5", "validation_share"),
    ("data.dataset=multi30k", "data"),
    ("search.size=3", "search"),
    ("training.start_from=run", "a translation model"),
)

MISTYPED = (
    ("generate lm 'the' --max-tokens 0", "--max-tokens"),
    ("generate lm 'the' --max-tokens many", "--max-tokens"),
    ("generate lm 'the' --stop ''", "stop"),
    ("generate lm 'the' --temperature 0.5", "--temperature"),
    ("generate lm 'the' --sample --temperature 0", "--temperature"),
    ("generate lm 'the' --sample --top-p 0", "--top-p"),
    ("generate lm 'the' --sample --beam-size 4", "--beam-size"),
    ("generate lm 'the' --n-best 3", "--n-best"),
    ("generate lm 'the' --groups 3 --beam-size 4", "groups"),
    ("generate lm 'the' --diversity 1", "--diversity"),
    ("generate lm 'the' --with nowhere", "nowhere"),
    ("generate lm 'the' --with run", "a translation model"),
    ("generate lm 'the' --precision float16", "--precision"),
    ("generate lm 'the' -o nowhere/out", "nowhere"),
    ("generate lm 'the' -o lm", "is a folder"),
    ("generate nowhere 'the'", "nowhere"),
    ("generate run 'the'", "transduce translate"),
    ("generate", "model"),
    ("translate lm test.en", "transduce generate"),
    ("translate run test.en --with lm", "transduce generate"),
    ("score lm --pairs test.tsv", "--target"),
    ("score lm --source test.en --target test.de", "--target"),
    ("score lm", "--target"),
    ("evaluate lm --reference nowhere", "nowhere"),
    ("evaluate lm --dataset multi30k", "multi30k"),
    ("evaluate lm --dataset ptb --reference test.en", "exclude each other"),
    ("compare lm run --reference test.de", "run is no language model"),
    ("compare lm test.de --reference test.de", "test.de is no language model"),
    ("compare lm lm", "lm is named twice"),
    ("compare lm ./lm/model --reference nowhere", "nowhere"),
    ("compare lm ./lm/model --reference test.en --dataset ptb", "exclude each other"),
    ("compare lm ./lm/model --split test", "--split"),
    ("compare lm ./lm/model --source test.en --reference test.de", "--source"),
    ("evaluate lm --source test.en --reference test.de", "--source"),
    ("evaluate lm --reference test.de --direction de-en", "--direction"),
    ("sweep lm.toml training.updates=1,2 --metric bleu", "no metric 'bleu' of language models"),
    ("shortlist lm", "transduce generate"),
    ("export lm -o out", "lm"),
    ("average lm --last 9 --out new", "has only"),
)

TEXTS = (
    ("empty", b"", "train.en"),
    ("blank", b"\n\n\n\n", "train.en"),
    ("one line", b"the dog\n", "train.en"),
    ("Latin-1", "gr\xfc\xdfe\n".encode("latin-1") * 50, "train.en"),
    ("UTF-16", "the dog sleeps\n".encode("utf-16") * 50, "train.en"),
)

ROWS = [
    *(row(f"a language model's setting: {change}", f"{TRAIN} {change}", 2, words) for change, words in SETTINGS),
    *(row(f"a language model asked: {command}", command, 2, words) for command, words in MISTYPED),
    *(row(f"running text: {what}", TRAIN, 2, words, write("train.en", text)) for what, text, words in TEXTS),
    row("running text: not there", TRAIN, 2, "train.en", remove("train.en")),
    row("running text: validation that is empty", f"{TRAIN} data.validation=dev.en", 2, "dev.en", write("dev.en", b"")),
    row("running text: a test that is empty", TRAIN, 2, "test.en", write("test.en", b"")),
    row(
        "a language model without its tokenizer",
        "generate lm the",
        2,
        "tokenizer.json",
        remove("lm/model/tokenizer.json"),
    ),
]
