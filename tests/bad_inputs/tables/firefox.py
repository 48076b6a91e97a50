"""Models for Firefox Translations: each file of a folder damaged in each way, and files that say what cannot be."""

import struct
from pathlib import Path

from bad_inputs.damages import append, copy, edit_json, empty, remove
from bad_inputs.row import Damage, Row, row

MODEL, VOCABULARY, SHORTLIST = "model.ende.intgemm.alphas.bin", "vocab.ende.spm", "lex.50.50.ende.s2t.bin"
IMPORT = "import firefox -o imported"
UNNAMED = remove("firefox/metadata.json")  # whose checksum would say it first


def _number(offset: int, value: int) -> Damage:
    """Writes a number of 64 bits into the model's file."""
    path = f"firefox/{MODEL}"

    def do() -> None:
        content = bytearray(Path(path).read_bytes())
        struct.pack_into("<Q", content, offset, value)
        Path(path).write_bytes(content)

    return Damage(path, do)


ROWS: list[Row] = [
    row("export run --to firefox -o x", ("model.norm is", "tokenizer.kind")),
    row("export run --to firefox -o x --quantization int8", "--quantization"),
    row(f"{IMPORT} --no-answer", "--no-answer is for models that answer"),
    row("import gpt2 -o imported --sentences test.en", "--sentences is for models of"),
    row("import firefox -o imported", "vocab.ende.spm", empty("firefox/vocab.ende.spm"), UNNAMED),
    row(IMPORT, "SHA-256 differs", append(f"firefox/{MODEL}", "x")),
    row(IMPORT, "vocab.ende.spm: no such file", remove(f"firefox/{VOCABULARY}")),
    row(
        IMPORT,
        ("0 files model.*.bin", "uncompressed"),
        copy(f"firefox/{MODEL}", f"firefox/{MODEL}.gz"),
        remove(f"firefox/{MODEL}"),
    ),
    row(IMPORT, "its version is 3; expected 1", _number(0, 3), UNNAMED),
    row(
        IMPORT,
        "'../x' is no language",
        edit_json("firefox/metadata.json", lambda tree: tree | {"sourceLanguage": "../x"}),
    ),
    row("translate firefox test.en --engine pytorch", "model_info.json", empty("firefox/model_info.json")),
    row("translate firefox test.en --engine pytorch", "config.yml", empty("firefox/config.yml")),
    row(
        "translate firefox test.en --engine pytorch",
        "config.intgemm8bitalpha.yml",
        empty("firefox/config.intgemm8bitalpha.yml"),
    ),
]
