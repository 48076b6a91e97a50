"""Looking into models and runs, and aligning words."""

from bad_inputs.damages import append, empty, garbage, remove, write
from bad_inputs.row import row

HEAD = '{"layer":0,"head":0,"shift":0,"agreement":0.5}'
MISTAKEN = (
    ("look", "name a model and a sentence"),
    ("look nowhere", "expected a model and one sentence"),
    ("look nowhere 'a dog'", "nowhere: no such model"),
    ("look test.en 'a dog'", "test.en: no such model"),
    ("look run 'a dog' -o out.gif", "out.gif: expected a name that ends in"),
    ("look run 'a dog' -o out", "out: expected a name that ends in"),
    ("look run 'a dog' -o nowhere/out.html", "nowhere"),
    ("look run 'a dog' -o tiny.toml", "tiny.toml: expected a name"),
    ("look run 'a dog' 'a cat' -o out.html", "one sentence"),
    ("look run '' -o out.html", "no text to look at"),
    ("look run '  ' -o out.html", "no text to look at"),
    (["look", "run", "dog " * 300, "-o", "out.html"], "tokens, but the model reads at most"),
    ("look run 'a dog' --beam-size 0 -o out.html", "--beam-size"),
    ("look run 'a dog' --length-penalty nan -o out.html", "--length-penalty"),
    ("look run 'a dog' --normalization none -o out.html", "--normalization"),
    ("look lm 'the' --max-tokens 0 -o out.html", "--max-tokens"),
    ("look lm 'the' --max-tokens 100 -o out.html", "window"),
    ("look lm 'the' --target '' -o out.html", "continuation is empty"),
    ("look exported 'a dog' -o out.html", "neither an ensemble nor an exported one"),
    ("look run 'a dog' --device abacus -o out.html", "abacus"),
    ("look run 'a dog' --threads 0 -o out.html", "--threads"),
    ("look run cache -o out.html", "cache is not the folder of a run"),
    ("look run --target x -o out.html", "expected a model and one sentence"),
    ("look --positions run rnn -o out.png", "--positions takes one model"),
    ("look --positions run --target x -o out.png", "--positions takes one model"),
    ("look --positions rnn -o out.png", "rnn has no position encodings"),
    ("look --positions nowhere -o out.png", "nowhere: no such model"),
    ("align", "model"),
    ("align run", "give either a source and a target file"),
    ("align run test.en", "give either a source and a target file"),
    ("align run test.en test.de --pairs test.tsv", "give either a source and a target file"),
    ("align run test.en nowhere", "nowhere"),
    ("align run test.en train.de", "lines"),
    ("align run - test.de", "standard input"),
    ("align run --pairs test.en", "test.en"),
    ("align nowhere test.en test.de", "nowhere: no such model"),
    ("align lm test.en test.de", "transduce generate"),
    ("align exported test.en test.de", "exported"),
    ("align run test.en test.de --symmetrize best", "symmetrize: no method 'best'; expected one of"),
    ("align run test.en test.de --reverse mean", "other direction"),
    ("align run test.en test.de --reverse nowhere", "nowhere"),
    ("align run test.en test.de -o nowhere/out", "nowhere"),
    ("align run test.en test.de -o run", "is a folder"),
    ("translate run test.en --details", "add --json"),
    ("translate run test.en --explain --json", "--explain is for a terminal"),
    ("translate run test.en --explain --n-best 2", "--explain is for a terminal"),
    ("translate run test.en --explain -o out", "--explain is for a terminal"),
    ("translate run test.en --json --details --with mean", "only a single model"),
)
LEAVES = {"leaves": ("run/model/alignment.json", "mean/alignment.json")}

ROWS = [
    *(
        row(f"looking: {' '.join(command)[:60] if isinstance(command, list) else command}", command, 2, words, **LEAVES)
        for command, words in MISTAKEN
    ),
    row("looking: a file that is there", "look run 'a dog' -o out.html", 2, "out.html exists", write("out.html", "x")),
    *(
        row(
            f"looking: an empty log, as {out}",
            f"look run -o {out}",
            0,
            (),
            empty("run/log.jsonl"),
            leaves=(out,),
            harmless=True,
        )
        for out in ("out.html", "out.png")
    ),
    row("looking: no log", "look run -o out.html", 2, "has no log.jsonl", remove("run/log.jsonl")),
    row("looking: a damaged log", "look run -o out.html", 2, "run/log.jsonl:1: damaged", garbage("run/log.jsonl")),
    row("looking: a line of another kind", "look run -o out.html", 2, "damaged", append("run/log.jsonl", "[1]\n")),
    *(
        row(f"{verb} by a head that is {name}", f"{verb} run {rest}", 2, words, write("run/model/alignment.json", text))
        for verb, rest in (("align", "test.en test.de"), ("look", "'a dog' -o out.html"))
        for name, text, words in (
            ("no JSON", "{", "alignment.json is damaged"),
            ("empty", "", "alignment.json is damaged"),
            ("of a layer that is not there", HEAD.replace('"layer":0', '"layer":7'), "no head 0 in a layer 7"),
            ("of a head that is not there", HEAD.replace('"head":0', '"head":9'), "no head 9 in a layer 0"),
            ("negative", HEAD.replace('"head":0', '"head":-1'), "alignment.json is damaged"),
            ("shifted too far", HEAD.replace('"shift":0', '"shift":5'), "alignment.json is damaged"),
        )
    ),
]
