"""Models for Firefox Translations: each file of a folder damaged in each way, and files that say what cannot be."""

import struct
from pathlib import Path

from bad_inputs.damages import append, copy, cut, edit_json, empty, folder, garbage, remove, replace, write
from bad_inputs.row import Damage, Row, row

MODEL, VOCABULARY, SHORTLIST = "model.ende.intgemm.alphas.bin", "vocab.ende.spm", "lex.50.50.ende.s2t.bin"
DESCRIPTIONS = ("metadata.json", "model_info.json", "config.yml", "config.intgemm8bitalpha.yml")
IMPORT = "import firefox -o imported"
TRANSLATE = "translate firefox test.en --engine pytorch"
HARMS = {"empty": empty, "cut off": cut, "garbage": garbage, "longer": lambda path: append(path, "x" * 8)}
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
    row("a model of words for Firefox", "export run --to firefox -o x", 2, ("model.norm is", "tokenizer.kind")),
    row("a recurrent model for Firefox", "export rnn --to firefox -o x", 2, "model.kind is"),
    row("a language model for Firefox", "export lm --to firefox -o x", 2, "transduce generate"),
    row("a number type for Firefox", "export run --to firefox -o x --quantization int8", 2, "--quantization"),
    row("Firefox's form of nothing", "export nowhere --to firefox -o x", 2, "nowhere"),
    row("an import where a folder is", "import firefox -o run", 2, "run exists"),
    row("an import by sentences that are not there", f"{IMPORT} --sentences no", 2, "no: cannot be opened"),
    row("an import by blank sentences", f"{IMPORT} --sentences s", 2, "blank", write("s", " \n")),
    row("an import that may find no answer", f"{IMPORT} --no-answer", 2, "--no-answer is for models that answer"),
    row(
        "sentences for another import", "import gpt2 -o imported --sentences test.en", 2, "--sentences is for models of"
    ),
    *(
        row(f"Firefox's {name}: {harm}", IMPORT, 2, name, damage(f"firefox/{name}"), UNNAMED)
        for name in (MODEL, VOCABULARY, SHORTLIST)
        for harm, damage in HARMS.items()
        if (name, harm) != (VOCABULARY, "longer")
    ),
    row("Firefox's model: of another folder", IMPORT, 2, "SHA-256 differs", append(f"firefox/{MODEL}", "x")),
    row("Firefox's vocabulary: not there", IMPORT, 2, "vocab.ende.spm: no such file", remove(f"firefox/{VOCABULARY}")),
    row(
        "Firefox's model: compressed",
        IMPORT,
        2,
        ("0 files model.*.bin", "uncompressed"),
        copy(f"firefox/{MODEL}", f"firefox/{MODEL}.gz"),
        remove(f"firefox/{MODEL}"),
    ),
    row("Firefox's model: a folder", IMPORT, 2, MODEL, folder(f"firefox/{MODEL}"), UNNAMED),
    row("Firefox's model: twice", IMPORT, 2, "2 files model.*.bin", copy(f"firefox/{MODEL}", "firefox/model.de.bin")),
    row("Firefox's model: another version", IMPORT, 2, "its version is 3; expected 1", _number(0, 3), UNNAMED),
    *(
        row(
            f"Firefox's model: a {'huge' if value > 2**32 else 'lying'} {what}",
            IMPORT,
            2,
            "damaged",
            _number(offset, value),
            UNNAMED,
        )
        for what, offset in (("number of tensors", 8), ("length of a name", 16), ("number of axes", 32), ("size", 40))
        for how, value in (("lying", 2**31), ("huge", 2**64 - 1))
    ),
    row(
        "Firefox's shortlist of another model",
        IMPORT,
        2,
        SHORTLIST,
        write(f"firefox/{SHORTLIST}", struct.pack("<7Q", 0xF11A48D5013417F5, 0, 0, 0, 1, 0, 0)),
    ),
    row("Firefox's metadata: garbage", IMPORT, 2, "metadata.json", garbage("firefox/metadata.json")),
    row("Firefox's metadata: a list", IMPORT, 2, "metadata.json", write("firefox/metadata.json", "[]")),
    row(
        "Firefox's metadata: a language that is a path",
        IMPORT,
        2,
        "'../x' is no language",
        edit_json("firefox/metadata.json", lambda tree: tree | {"sourceLanguage": "../x"}),
    ),
    *(
        row(f"an export for Firefox: {name} {harm}", TRANSLATE, 2, name, damage(f"firefox/{name}"))
        for name in (MODEL, VOCABULARY, SHORTLIST, "config.toml", "export.json", *DESCRIPTIONS)
        for harm, damage in HARMS.items()
    ),
    row("an export for Firefox by another engine", "translate firefox test.en --engine ctranslate2", 2, "fxtranslate"),
    row("a model by Firefox's engine", "translate run test.en --engine fxtranslate", 2, "transduce export run"),
    row(
        "an export for Firefox with a shortlist",
        f"{TRANSLATE} --shortlist-file short.safetensors",
        2,
        "other tokenizers",
    ),
    row("an export for Firefox in an ensemble", f"{TRANSLATE} --with run", 2, "ensemble"),
    row("an export for Firefox at a precision", f"{TRANSLATE} --precision bfloat16", 2, "precision"),
    row(
        "an export for Firefox without its model",
        TRANSLATE,
        2,
        MODEL,
        remove(f"firefox/{MODEL}"),
    ),
    row(
        "an export for Firefox with another length",
        TRANSLATE,
        2,
        "config.toml has changed",
        replace("firefox/config.toml", "longest_source = ", "longest_source = 1"),
    ),
]
