"""Models of several directions: their settings, the languages that are asked for, and folders of M2M100 and NLLB."""

from typing import Any

from bad_inputs.damages import edit_json, move, remove, replace
from bad_inputs.row import Row, row
from bad_inputs.tables.huggingface import HARMS

TRAIN = "train many.toml --out new -q"
M2M100 = ("config.json", "model.safetensors", "sentencepiece.bpe.model", "tokenizer_config.json", "vocab.json")
NLLB = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def _settings(name: str, words: str | tuple[str, ...], more: str) -> Row:
    """A setting of the data in place of the directions."""
    named = 'directions = ["en-de", "de-en"]'
    return row(f"several directions: {name}", TRAIN, 2, words, replace("many.toml", named, more))


def _files(name: str, words: str | tuple[str, ...], old: str, new: str) -> Row:
    return row(f"several directions: {name}", TRAIN, 2, words, replace("many.toml", old, new))


def _config(folder: str, name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json(f"{folder}/config.json", lambda tree: tree | values)
    return row(f"{folder}: {name}", f"import {folder} -o new", 2, words, damage)


def _named(folder: str, name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json(f"{folder}/tokenizer_config.json", lambda tree: tree | values)
    return row(f"{folder}'s tokenizer: {name}", f"import {folder} -o new", 2, words, damage)


ROWS = [
    _settings("none", "one at least", "directions = []"),
    _settings("one without a target", "two different languages", 'directions = ["en"]'),
    _settings("into itself", "two different languages", 'directions = ["en-en"]'),
    _settings("twice the same", "named twice", 'directions = ["en-de", "en-de"]'),
    _settings("a number", "directions", "directions = 3"),
    _settings("no corpus of one", "en-fr: no corpus of data.train", 'directions = ["en-fr"]'),
    _settings("source and target too", "leave these out", 'directions = ["en-de"]\nsource = "en"\ntarget = "de"'),
    _settings("a token without them", "only with directions", 'language_token = "decoder"'),
    _settings("a token nowhere", "language_token", 'directions = ["en-de"]\nlanguage_token = "end"'),
    _settings("cold", "temperature: must be", 'directions = ["en-de"]\ntemperature = 0.5'),
    _settings("no number for a temperature", "temperature", 'directions = ["en-de"]\ntemperature = "hot"'),
    _files("a source without a target", "go together", '"train.de"] }', '"train.de"], source = "en" }'),
    _files(
        "files that do not tell their languages",
        "do not tell their languages",
        '{ files = ["train.en", "train.de"] }',
        '{ files = "train.tsv" }',
    ),
    _files("files that are not there", "nowhere.en", '"train.en"', '"nowhere.en"'),
    _files(
        "no validation data of one",
        "no corpus of data.validation",
        '["dev.en", "dev.de"] }',
        '["dev.en", "dev.de"], source = "en", target = "fr" }',
    ),
    row("several directions: none chosen", "translate many test.en", 2, "choose one (--to): de, en"),
    row("several directions: an unknown one", "translate many test.en --to fr", 2, "does not write 'fr'"),
    row("several directions: an unknown source", "translate many test.en --to de --from fr", 2, "does not read 'fr'"),
    row("several directions: one language twice", "translate many test.en --to de --from de", 2, "both 'de'"),
    row("another language of one direction", "translate run test.en --to fr", 2, "writes de, not fr"),
    row("another source of one direction", "translate run test.en --from fr", 2, "reads en, not fr"),
    row("a second model that is not there", "translate run test.en --then nowhere", 2, "nowhere"),
    row("a second model of other languages", "translate run test.en --then run", 2, "the first model writes de"),
    row("two models with an explanation", "translate run test.en --then run --explain", 2, "--explain"),
    row("through a language of nobody", "translate many test.en --through fr --to de", 2, "does not write 'fr'"),
    row("languages for a language model", "score lm --target train.en --to de", 2, "for models that translate"),
    row("languages to look at a classifier", "look classes dog --to de -o new.json", 2, "for models that translate"),
    row(
        "scores in several directions",
        "score many --source test.en --target test.de",
        2,
        "choose one (--to): de, en",
    ),
    row("an alignment in several directions", "align many test.en test.de", 2, "choose one (--to): de, en"),
    row(
        "an evaluation on files in several directions",
        "evaluate many --source test.en --reference test.de",
        2,
        "say which with --direction",
    ),
    row("an output of several directions", "evaluate many -o new.de", 2, "--output takes the translations of one"),
    row("an evaluation in an unknown direction", "evaluate many --direction en-fr", 2, "does not write 'fr'"),
    row("a comparison in several directions", "compare many outputs.txt", 2, ("outputs.txt",)),
    row(
        "a comparison with several directions",
        "compare many test.de --source test.en --reference test.de",
        2,
        "choose one with --direction",
    ),
    row("a model to start from of one direction", f"{TRAIN} training.start_from=run", 2, "leave data.directions out"),
    row(
        "an NLLB without a source language", "translate polyglot test.en --to fra_Latn", 2, "say which this is (--from)"
    ),
    row("an NLLB without a language", "translate polyglot test.en", 2, "choose one (--to): deu_Latn"),
    row("several directions for Argos", "export many --to argos -o a.argosmodel", 2, "a package is for one"),
    row("several directions for Hugging Face", "export many --to huggingface -o new", 2, "language_token is 'source'"),
    *(
        row(f"{kind}'s {file}: {harm}", f"import {kind} -o new", 2, file, damage(f"{kind}/{file}"))
        for kind, files in (("m2m100", M2M100), ("nllb", NLLB))
        for file in files
        for harm, damage in HARMS.items()
    ),
    *(
        row(f"an M2M100 without {file}", "import m2m100 -o new", 2, "with its tokenizer", remove(f"m2m100/{file}"))
        for file in ("vocab.json", "sentencepiece.bpe.model")
    ),
    row("an NLLB without a tokenizer", "import nllb -o new", 2, "with its tokenizer", remove("nllb/tokenizer.json")),
    row(
        "an M2M100 with a pickle",
        "import m2m100 -o new",
        2,
        "a pickle",
        move("m2m100/model.safetensors", "m2m100/x.bin"),
    ),
    _config("m2m100", "untied", "tie_word_embeddings is false", tie_word_embeddings=False),
    _config("m2m100", "with other heads in its decoder", "decoder_attention_heads is 2", decoder_attention_heads=2),
    _config("m2m100", "that begins otherwise", "decoder_start_token_id is 5", decoder_start_token_id=5),
    _config("m2m100", "that pads otherwise", "pad_token_id is 0", pad_token_id=0),
    _config("m2m100", "that bans words", "bad_words_ids", bad_words_ids=[[5]]),
    _config("m2m100", "quantized", "quantization_config", quantization_config={"bits": 4}),
    _config("m2m100", "of an odd width", "an even dim", d_model=15),
    _config("m2m100", "of another activation", "activation_function is 'tanh'", activation_function="tanh"),
    _config("m2m100", "with fewer rows than tokens", "but vocab_size is 20", vocab_size=20),
    _config("m2m100", "with rows without end", "at most 10,000 rows may stand for none", vocab_size=10**9),
    _config("nllb", "with rows without end", "at most 10,000 rows may stand for none", vocab_size=10**9),
    _config("m2m100", "of no experts that there are", "model_type is 'nllb-moe'", model_type="nllb-moe"),
    _named("m2m100", "of other languages", "language_codes is 'mine'", language_codes="mine"),
    _named("m2m100", "of languages that are a list", "language_codes is '[]'", language_codes=[]),
    _named("nllb", "of the old form", "legacy_behaviour is true", legacy_behaviour=True),
    row(
        "an M2M100 whose vocabulary has a language",
        "import m2m100 -o new",
        2,
        "'__de__', which M2M100 numbers after it",
        edit_json("m2m100/vocab.json", lambda tree: tree | {"__de__": len(tree)}),
    ),
]
