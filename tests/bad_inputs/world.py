"""The folder that every row begins with a copy of: a corpus, recipes, and tiny models of every kind."""

import gzip
import json
import shutil
from pathlib import Path

from bert_folder import write_bert
from firefox_folder import write_firefox
from gpt2_folder import write_gpt2
from m2m100_folder import write_m2m100, write_nllb
from marian_folder import write_marian
from xlnet_folder import write_xlnet

TINY = """
[data]
train = ["train.en", "train.de"]
validation = ["dev.en", "dev.de"]
test = ["test.en", "test.de"]
source = "en"
target = "de"

[tokenizer]
kind = "words"
shared = false
min_frequency = 1

[batching]
target_tokens = 256

[model]
kind = "transformer"
encoder_layers = 1
decoder_layers = 1
dim = 12
heads = 3
feed_forward_dim = 20

[training]
updates = 6
precision = "float32"
report_every = 2

[checkpoint]
every_updates = 2

[validation]
every_updates = 3

[search]
size = 1
max_ratio = 0.0
max_extra = 3
"""

RECURRENT = """
[data]
train = ["train.de", "train.en"]
validation = ["dev.de", "dev.en"]
source = "de"
target = "en"

[tokenizer]
kind = "bpe"
size = 330
lowercase = true

[batching]
target_tokens = 256

[model]
kind = "recurrent"
dim = 8
encoder_dim = 6
decoder_dim = 10
attention = { kind = "luong" }

[training]
updates = 2
precision = "float32"
"""

CUSTOMARY = """
[data]
train = ["train.en", "train.de"]
validation = ["dev.en", "dev.de"]

[tokenizer]
kind = "file"
file = "own.json"

[batching]
target_tokens = 256

[model]
kind = "transformer"
encoder_layers = 1
decoder_layers = 1
dim = 12
heads = 3
feed_forward_dim = 20

[training]
updates = 2
precision = "float32"
"""

SEQUENCES = """
[data]
dataset = "copy"
sequences = { train = 30, validation = 5, test = 5 }

[tokenizer]
kind = "words"
min_frequency = 1

[model]
kind = "transformer"
encoder_layers = 1
decoder_layers = 1
dim = 12
heads = 3
feed_forward_dim = 20

[training]
updates = 2
precision = "float32"

[search]
size = 1
"""

MANY = TINY.replace(
    """
train = ["train.en", "train.de"]
validation = ["dev.en", "dev.de"]
test = ["test.en", "test.de"]
source = "en"
target = "de"
""",
    """
train = [{ files = ["train.en", "train.de"] }]
validation = [{ files = ["dev.en", "dev.de"] }]
test = [{ files = ["test.en", "test.de"] }]
directions = ["en-de", "de-en"]
""",
).replace("shared = false", "shared = true")

LANGUAGE = """
task = "language"

[data]
train = "train.en"
test = "test.en"

[tokenizer]
kind = "characters"
min_frequency = 1

[batching]
window = 12
target_tokens = 48

[model]
kind = "causal-transformer"
layers = 1
dim = 12
heads = 3
feed_forward_dim = 20

[training]
updates = 4
precision = "float32"

[checkpoint]
every_updates = 2

[validation]
every_updates = 2
"""


ENCODER = """
[model]
kind = "bert"
layers = 1
dim = 12
heads = 3
max_positions = 40

[batching]
examples = 8
max_tokens = 24

[training]
updates = 2
precision = "float32"

[checkpoint]
every_updates = 1
"""

READERS = {
    "classes": 'task = "classification"\n[data]\ntrain = "classes.tsv"\ntest = "classes.tsv"\n',
    "pairs": 'task = "classification"\n[data]\ntrain = "classes.tsv"\nsecond = 1\nlabel = 2\n',
    "tags": 'task = "tagging"\n[data]\ntrain = "tags.conll"\n',
    "answers": 'task = "answering"\n[data]\ntrain = "asked.json"\n',
    "words": 'task = "encoder"\n[data]\ntrain = "train.en"\ndocument_lines = 3\nvalidation_share = 0.3\n',
}
"""Recipes of what stands on a text encoder, but for the tables that they share, by the names of their runs."""


def write_examples() -> None:
    """Write what models with a text encoder learn from."""
    labelled = (("a dog", "good"), ("the cat", "bad"), ("a bird sees", "good"))
    rows = [f"{text} {i}\t{label}\n" for i in range(20) for text, label in labelled]
    Path("classes.tsv").write_text("".join(rows), encoding="utf-8")
    sentences = [f"Ada\tB-person\nlives\tO\n{i}\tO\n\nin\tO\nRome\tB-place\n{i}\tO\n\n" for i in range(15)]
    Path("tags.conll").write_text("".join(sentences), encoding="utf-8")
    answer = {"text": "Rome", "answer_start": 7}
    passages = [
        {"context": f"Ada in Rome {i}", "qas": [{"id": str(i), "question": "where?", "answers": [answer]}]}
        for i in range(20)
    ]
    Path("asked.json").write_text(json.dumps({"data": [{"paragraphs": passages}]}), encoding="utf-8")
    for name, text in READERS.items():
        kind = 'kind = "bert"' if name == "words" else 'kind = "words"\nmin_frequency = 1'
        Path(f"{name}.toml").write_text(f"{text}\n[tokenizer]\n{kind}\n{ENCODER}", encoding="utf-8")


def write_project() -> None:
    """Make a project with a few segments, for others to damage."""
    from transduce.apps.projects.project import Project
    from transduce.apps.projects.project_settings import ProjectSettings

    shop = Project.create("projects/shop", ProjectSettings(source="en", target="de"))
    for number in range(30):
        shop.store.confirm(f"The dog number {number} sleeps.", "", f"Der Hund Nummer {number} schläft.")
    shop.close()


def teach() -> None:
    """Distil the run, which is hardly trained, as if its translations were the references."""
    from unittest.mock import patch

    from transduce.experiment import distill, translated_shards
    from transduce.experiment.translated_shards import Translated

    def known(_: object, sentences: list[tuple[str, str]], *others: object) -> list[Translated]:
        return [Translated(source=source, translation=target, score=-1.0) for source, target in sentences]

    with patch.object(translated_shards, "_translate", known):
        distill("run", ["dev.en,dev.de"], "taught", recipe="tiny.toml", overrides=["training.updates=2"])


def prepare(folder: Path) -> None:
    """Fill the working folder; takes a few seconds."""
    from small_corpus import small_corpus
    from transduce.corpora.generated.grammar import split_pairs
    from transduce.experiment import average, load_recipe, train
    from transduce.experiment.learn_shortlist import learn_shortlist
    from transduce.experiment.sweep import sweep
    from transduce.text.tokenizer_settings import TokenizerConfig
    from transduce.text.tokenizer_training import train_tokenizers

    for name, part in zip(("train", "dev", "test"), split_pairs(small_corpus(90), 11, 7), strict=True):
        Path(f"{name}.en").write_text("".join(f"{pair.source}\n" for pair in part), encoding="utf-8")
        Path(f"{name}.de").write_text("".join(f"{pair.target}\n" for pair in part), encoding="utf-8")
        table = "".join(f"{pair.source}\t{pair.target}\n" for pair in part)
        Path(f"{name}.tsv").write_text(table, encoding="utf-8")
    Path("test.en.gz").write_bytes(gzip.compress(Path("test.en").read_bytes()))
    recipes = {"tiny": TINY, "rnn": RECURRENT, "own": CUSTOMARY, "copy": SEQUENCES, "lm": LANGUAGE, "many": MANY}
    for name, text in recipes.items():
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    Path("terms.tsv").write_text("dog\tHund\n", encoding="utf-8")
    write_examples()
    write_project()
    for name, run in (("tiny", "run"), *((name, name) for name in ("rnn", "lm", "many", *READERS))):
        train(load_recipe(f"{name}.toml"), Path(run))
    average(Path("run"), out=Path("mean"))
    sweep("tiny.toml", {}, out="swept")
    teach()
    texts = [Path(f"train.{language}").read_text(encoding="utf-8").splitlines() for language in ("en", "de")]
    train_tokenizers(TokenizerConfig(kind="words", min_frequency=1), *texts).source.save(Path("own.json"))
    learn_shortlist(Path("run"), out=Path("short.safetensors"))
    write_gpt2(Path("gpt2"))
    write_xlnet(Path("xlnet"))
    if _has("sentencepiece"):
        write_firefox(Path("firefox"), texts[0] + texts[1])
    if _has("transformers") and _has("sentencepiece"):
        import sentencepiece
        import transformers

        from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface

        write_marian(transformers, sentencepiece, Path("marian"), [texts[0] * 2, texts[1] * 2], size=60)
        import_huggingface(Path("marian"), Path("opus"))
        write_m2m100(transformers, sentencepiece, Path("m2m100"), texts[0] + texts[1], size=80)
        write_nllb(transformers, sentencepiece, Path("nllb"), texts[0] + texts[1], size=80)
        import_huggingface(Path("nllb"), Path("polyglot"))
    if _has("ctranslate2"):
        from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2

        export_ctranslate2(Path("run"), Path("exported"))
    write_bert(Path("minilm"))
    for run in (
        "run",
        "rnn",
        "lm",
        "many",
        "swept/recipe/seed-1",
        "taught/run",
        *READERS,
    ):  # nothing reads these, and every row copies what is here
        shutil.rmtree(f"{run}/tensorboard")
        Path(run, "curves.png").unlink()


def _has(library: str) -> bool:
    from importlib.util import find_spec

    return find_spec(library) is not None
