"""Language models: their settings, their text, what is asked of them, and verbs of the other task."""

from bad_inputs.damages import write
from bad_inputs.row import row

TRAIN = "train lm.toml --out new -q"

SETTINGS = (
    ("task=speech", "no task 'speech'"),
    ("task=translation", "unknown key"),
    ("model.kind=transformer", "model"),
    ("model.positions=relative", "model.positions"),
    ("model.tie=all", "model.tie"),
    ("batching.sentences=3", "sentences"),
    ("batching.bidirectional=true", 'batching.bidirectional is for model.kind = "xlnet"'),
    ("batching.bidirectional=true batching.target_tokens=9 batching.window=5", "batching: bidirectional"),
    ("validation.best_by=chrf", "best_by"),
    ("data.source=en", "source"),
    ("data.validation_share=0", "validation_share"),
    ("data.train=[]", "data: train names no file"),
    ("training.start_from=run", "a translation model"),
)

MISTYPED = (
    ("generate lm 'the' --stop ''", "stop"),
    ("score lm --pairs test.tsv", "--target"),
    ("evaluate lm --dataset multi30k", "multi30k"),
    ("compare lm run --metric chrf", "run is not a language model"),
    ("compare lm ./lm/model --split test", "--split"),
    ("sweep lm.toml training.updates=1,2 --metric bleu", "no metric 'bleu' of language models"),
)


ROWS = [
    *(row(f"{TRAIN} {change}", words) for change, words in SETTINGS),
    *(row(command, words) for command, words in MISTYPED),
    row(f"{TRAIN} data.validation=dev.en", "dev.en", write("dev.en", b"")),
    row("generate run the", "transduce translate"),
]
