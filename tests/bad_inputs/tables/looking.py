"""Looking into models and runs, and aligning words."""

from bad_inputs.damages import empty, garbage, write
from bad_inputs.row import row

HEAD = '{"layer":0,"head":0,"shift":0,"agreement":0.5}'
ASKED = "look run 'The dog sleeps.' --target 'Der Hund schläft.' -o out.html"
MISTAKEN = (
    ("look", "name a model and a sentence"),
    ("look nowhere", "expected a model and one sentence"),
    ("look run 'a dog' -o out.gif", "out.gif: expected a name that ends in"),
    ("look lm 'the' --max-tokens 100 -o out.html", "window"),
    ("look lm 'the' --target '' -o out.html", "continuation is empty"),
    ("look exported 'a dog' -o out.html", "neither an ensemble nor an exported one"),
    ("look run 'a dog' --context 'a cat' -o out.html", "--context is for models that read context, and run does not"),
    ("look --positions rnn -o out.png", "rnn has no position encodings"),
    ("look run 'a dog' --instead x -o out.html", "--instead goes with --why WORD"),
    ("look run test.en --why x --probe position", "--why and --probe exclude each other"),
    ("look run --why x -o out.html", "expected a model and one sentence"),
    ("look run 'a dog' --why x --context 'a cat' -o out.html", "--context is for models that read context"),
    ("look lm 'the' --why x -o out.html", "--why is for models that translate, and lm does not"),
    ("look exported 'a dog' --why x -o out.html", "neither an ensemble nor an exported one"),
    (
        f"{ASKED} --why Katze",
        "“Katze” is not a word of the translation “Der Hund schläft.”; ask about one of its words",
    ),
    (f"{ASKED} --why 'Der Hund'", "“Der Hund” is not a word of the translation"),
    (f"{ASKED} --why Hund --instead 'die Katze'", "“die Katze” is not one word"),
    (f"{ASKED} --why Hund --instead Hund", "“Hund” is the word that stands there; name another one"),
    (f"{ASKED} --why Hund --instead 犬", "the model's vocabulary cannot write “犬”; name another word"),
    ("look run --probe position", "--probe takes a model and a file of its sources"),
    ("look run test.en --probe position -o out.html", "must end in .png, .svg or .pdf"),
    ("look run test.en --probe nowhere", "nowhere"),
    ("look run test.en --probe train.en", "tags"),
    ("look lm test.en --probe position", "probes are for models that translate"),
    ("look run --over-training", "--over-training takes a run's folder and one sentence"),
    ("look mean 'a dog' --over-training", "mean is not in a run's folder, so its checkpoints are unknown"),
    ("look lm 'the' --over-training", "lm is a language model, which is not supported here"),
    ("align run", "give either a source and a target file"),
    ("align run test.en test.de --symmetrize best", "symmetrize: no method 'best'; expected one of"),
    ("align run test.en test.de --reverse mean", "other direction"),
    ("translate run test.en --details", "add --json"),
    ("translate run test.en --explain --json", "--explain is for a terminal"),
)
LEAVES = {"leaves": ("run/model/alignment.json", "mean/alignment.json")}

ROWS = [
    *(row(command, words, **LEAVES) for command, words in MISTAKEN),
    row("look run -o out.html", (), empty("run/log.jsonl"), status=0, leaves=("out.html",), harmless=True),
    row("look run -o out.html", "run/log.jsonl:1: damaged", garbage("run/log.jsonl")),
    row("align run test.en test.de", "alignment.json is damaged", write("run/model/alignment.json", "{")),
    row(
        "align run test.en test.de",
        "no head 0 in a layer 7",
        write("run/model/alignment.json", HEAD.replace('"layer":0', '"layer":7')),
    ),
]
