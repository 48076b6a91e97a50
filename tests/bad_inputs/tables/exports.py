"""Models exported for CTranslate2, and shortlists: each file damaged in each way, and files that say what cannot be."""

from typing import Any

from bad_inputs.damages import (
    copy,
    edit_json,
    garbage,
    link,
    remove,
    replace,
    reseal,
    write,
)
from bad_inputs.row import Row, row

TRANSLATE = "translate exported test.en"
SHORT = "short.safetensors"


def _export(edit: Any, words: str | tuple[str, ...] = "export.json", **options: Any) -> Row:
    return row(TRANSLATE, words, edit_json("exported/export.json", edit), **options)


def _set(**values: Any) -> Any:
    return lambda tree: tree | values


PACKAGE = "export opus --to argos -o opus.argosmodel"

ROWS = [
    row("export run -o out", "out is a link to nowhere, which does not exist", link("out", "nowhere")),
    row("score tags --target test.en", ("is a", "not supported here")),
    row("train tiny.toml license='My own' -o out", "license: expected an identifier"),
    row("import x.argosmodel -o new", "x.argosmodel", write("x.argosmodel", b"")),
    row("export run --to argos -o x.argosmodel", ("Argos Translate", "WordLevel", "bpe")),
    row("export run -o x --splitter a.onnx", "--splitter is for Argos Translate"),
    row(f"{PACKAGE} --splitter train.en", "train.en is no sentence splitter"),
    row("export run --to argos -o x", ("x: Argos Translate", "x.argosmodel")),
    row("translate exported test.en", "source_vocabulary.json", remove("exported/source_vocabulary.json")),
    row("translate exported test.en", "target_vocabulary.json", remove("exported/target_vocabulary.json")),
    row("info rnn", "rnn/model", copy("exported/export.json", "rnn/model/export.json")),
    row("info exported", "model.bin has changed since it was saved", garbage("exported/model.bin")),
    _export(_set(format=99), ("export.json has format 99", "install the Transduce that wrote it")),
    # Shortlists
    row("translate run test.en --shortlist", ("no such shortlist", "transduce shortlist")),
    row(f"translate rnn test.de --shortlist-file {SHORT}", "learned for other tokenizers"),
    row("translate run test.en --shortlist-file run/model/weights.safetensors", "no shortlist"),
    row(
        PACKAGE,
        "'../x' is not spelled as languages are",
        replace("opus/config.toml", 'source = "de"', 'source = "../x"'),
        reseal("opus"),
    ),
]
