"""Models of several directions: their settings, the languages that are asked for, and folders of M2M100 and NLLB."""

from typing import Any

from bad_inputs.damages import edit_json, empty, replace
from bad_inputs.row import Row, row

TRAIN = "train many.toml --out new -q"


def _settings(words: str | tuple[str, ...], more: str) -> Row:
    """A setting of the data in place of the directions."""
    named = 'directions = ["en-de", "de-en"]'
    return row(TRAIN, words, replace("many.toml", named, more))


def _files(words: str | tuple[str, ...], old: str, new: str) -> Row:
    return row(TRAIN, words, replace("many.toml", old, new))


def _import(folder: str, file: str, words: str | tuple[str, ...], **values: Any) -> Row:
    """A model of Hugging Face whose settings say something else."""
    return row(f"import {folder} -o new", words, edit_json(f"{folder}/{file}", lambda tree: tree | values))


ROWS = [
    _settings("one at least", "directions = []"),
    _settings("two different languages", 'directions = ["en"]'),
    _settings("directions", "directions = 3"),
    _settings("en-fr: no corpus of data.train", 'directions = ["en-fr"]'),
    _settings("leave these out", 'directions = ["en-de"]\nsource = "en"\ntarget = "de"'),
    _settings("only with directions", 'language_token = "decoder"'),
    _settings("language_token", 'directions = ["en-de"]\nlanguage_token = "end"'),
    _settings("temperature: must be", 'directions = ["en-de"]\ntemperature = 0.5'),
    _settings("temperature", 'directions = ["en-de"]\ntemperature = "hot"'),
    _files("go together", '"train.de"] }', '"train.de"], source = "en" }'),
    _files("do not tell their languages", '{ files = ["train.en", "train.de"] }', '{ files = "train.tsv" }'),
    _files(
        "no corpus of data.validation", '["dev.en", "dev.de"] }', '["dev.en", "dev.de"], source = "en", target = "fr" }'
    ),
    row("translate many test.en", "choose one (--to): de, en"),
    row("translate many test.en --to fr", "does not write 'fr'"),
    row("translate many test.en --to de --from fr", "does not read 'fr'"),
    row("translate many test.en --to de --from de", "both 'de'"),
    row("translate run test.en --then run", "the first model writes de"),
    row("translate run test.en --then run --explain", "--explain"),
    row("score lm --target train.en --to de", "for models that translate"),
    row("evaluate many --source test.en --reference test.de", "say which with --direction"),
    row("evaluate many -o new.de", "--output takes the translations of one"),
    row("compare many test.de --source test.en --reference test.de", "choose one with --direction"),
    row(f"{TRAIN} training.start_from=run", "leave data.directions out"),
    row("translate polyglot test.en --to fra_Latn", "say which this is (--from)"),
    row("import m2m100 -o new", "sentencepiece.bpe.model", empty("m2m100/sentencepiece.bpe.model")),
    _import("m2m100", "config.json", "at most 10,000 rows may stand for none", vocab_size=10**9),
    _import("m2m100", "tokenizer_config.json", "language_codes is 'mine'", language_codes="mine"),
    _import("nllb", "tokenizer_config.json", "legacy_behaviour is true", legacy_behaviour=True),
    row(
        "import m2m100 -o new",
        "'__de__', which M2M100 numbers after it",
        edit_json("m2m100/vocab.json", lambda tree: tree | {"__de__": len(tree)}),
    ),
    _import("m2m100", "config.json", "an even dim", d_model=15),
]
