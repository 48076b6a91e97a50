"""Models exported for CTranslate2, and shortlists: each file damaged in each way, and files that say what cannot be."""

from typing import Any

from bad_inputs.damages import (
    append,
    copy,
    cut,
    edit_json,
    edit_tensors,
    empty,
    flip,
    folder,
    garbage,
    link,
    remove,
    replace,
    reseal,
    write,
)
from bad_inputs.row import Row, row

READ = (
    "export.json",
    "config.toml",
    "model.bin",
    "config.json",
    "source_vocabulary.json",
    "target_vocabulary.json",
    "source.json",
    "target.json",
    "history.json",
)
HARMS = {
    "not there": remove,
    "empty": empty,
    "cut off": cut,
    "garbage": garbage,
    "a folder": folder,
    "one bit changed": lambda path: flip(path, 0.9 if path.endswith("export.json") else 0.3),
    "longer": lambda path: append(path, "x"),
}
TRANSLATE = "translate exported test.en"
SHORT = "short.safetensors"
SHORTLIST = f"translate run test.en --shortlist-file {SHORT}"


def _export(name: str, edit: Any, words: str | tuple[str, ...] = "export.json", **options: Any) -> Row:
    return row(f"an export: {name}", TRANSLATE, 2, words, edit_json("exported/export.json", edit), **options)


def _set(**values: Any) -> Any:
    return lambda tree: tree | values


def _shortlist(name: str, edit: Any, **options: Any) -> Row:
    return row(f"a shortlist: {name}", SHORTLIST, 2, SHORT, edit_tensors(SHORT, edit), **options)


def _fill(name: str, value: int) -> Any:
    return lambda tensors: tensors[name].fill_(value)


PACKAGE = "export opus --to argos -o opus.argosmodel"

ROWS = [
    *(
        row(
            f"an output that is a link to nowhere: {command} {name}",
            f"{command} -o {name}",
            2,
            words,
            link(place, "nowhere"),
        )
        for command, name, place in (
            ("export run", "out", "out"),
            ("export run", "link/out", "link"),
            ("export opus --to argos", "out.argosmodel", "out.argosmodel"),
            ("export opus --to huggingface", "out", "out"),
            ("import gpt2", "out", "out"),
            ("average run", "out", "out"),
            ("train tiny.toml", "out", "out"),
            ("translate run test.en", "out", "out"),
            ("look run 'a dog'", "out.json", "out.json"),
            ("shortlist run", "out", "out"),
        )
        for words in [f"{place} is a link to nowhere, which does not exist"]
    ),
    *(
        row(f"scores of texts by {name}", f"score {name} --target test.en", 2, ("is a", "not supported here"))
        for name in ("tags", "classes", "answers", "words")
    ),
    row("a licence that is none", "train tiny.toml license='My own' -o out", 2, "license: expected an identifier"),
    *(
        row(f"a package that is {harm}: {command}", command, 2, "x.argosmodel", write("x.argosmodel", content))
        for command in ("import x.argosmodel -o new", "translate x.argosmodel test.en", "serve x.argosmodel")
        for harm, content in (("empty", b""), ("garbage", b"PK\x03\x04garbage"))
    ),
    row("a package of words", "export run --to argos -o x.argosmodel", 2, ("Argos Translate", "WordLevel", "bpe")),
    row("a package of a recurrent model", "export rnn --to argos -o x.argosmodel", 2, "Transformers only"),
    row("a package of a language model", "export lm --to argos -o x.argosmodel", 2, "transduce generate"),
    row("a splitter elsewhere", "export run -o x --splitter a.onnx", 2, "--splitter is for Argos Translate"),
    row("a splitter that is none", f"{PACKAGE} --splitter train.en", 2, "train.en is no sentence splitter"),
    row("a package of nothing", "export nowhere --to argos -o x.argosmodel", 2, "nowhere"),
    row("a package without its ending", "export run --to argos -o x", 2, ("x: Argos Translate", "x.argosmodel")),
    row("a package that is there", "export run --to argos -o x.argosmodel", 2, "exists", write("x.argosmodel", "")),
    row("a package's sentences that are not there", f"{PACKAGE} --sentences no", 2, "no: cannot be opened"),
    row("a package's blank sentences", f"{PACKAGE} --sentences s", 2, "blank", write("s", " \n")),
    row("a package of a damaged model", PACKAGE, 2, "weights", cut("opus/weights.safetensors")),
    row(
        "a package of a language that is a path",
        PACKAGE,
        2,
        "'../x' is not spelled as languages are",
        replace("opus/config.toml", 'source = "de"', 'source = "../x"'),
        reseal("opus"),
    ),
    row("a package of a damaged tokenizer", PACKAGE, 2, "source.spm", garbage("opus/source.spm")),
    *(
        row(
            f"an exported {file}: {harm}",
            TRANSLATE,
            (1, 2) if harm == "a folder" else 2,
            file,
            damage(f"exported/{file}"),
        )
        for file in READ
        for harm, damage in HARMS.items()
        if (file, harm) != ("export.json", "not there")
    ),
    row(
        "an exported export.json: not there",
        TRANSLATE,
        2,
        "exported/probe.json is missing",
        remove("exported/export.json"),
    ),
    row(
        "an exported export.json: a link to itself",
        TRANSLATE,
        2,
        "exported",
        link("exported/export.json", "export.json"),
    ),
    row(
        "an exported model's tokenizer of another model",
        TRANSLATE,
        2,
        "source.json has changed since it was saved",
        copy("rnn/model/tokenizer.json", "exported/source.json"),
    ),
    row(
        "an export in the place of the model",
        "info run",
        2,
        "run/model",
        copy("exported/export.json", "run/model/export.json"),
    ),
    row(
        "an export that a run seems to hold",
        "info rnn",
        2,
        "rnn/model",
        copy("exported/export.json", "rnn/model/export.json"),
    ),
    *(
        row(
            f"a damaged export: {verb}",
            verb,
            2,
            "model.bin has changed since it was saved",
            garbage("exported/model.bin"),
        )
        for verb in (
            "info exported",
            "evaluate exported --source test.en --reference test.de",
            "compare run exported --source test.en --reference test.de",
        )
    ),
    _export("empty", lambda tree: {}),
    _export("a list", lambda tree: []),
    _export("a number", lambda tree: 7),
    _export("a text", lambda tree: "a"),
    _export("no format", lambda tree: tree.pop("format") and None),
    _export("a later format", _set(format=99), ("export.json has format 99", "install the Transduce that wrote it")),
    _export("a format in words", _set(format="1")),
    _export("a format of null", _set(format=None)),
    _export("a format that is a list", _set(format=[1])),
    _export("a format below 1", _set(format=-3)),
    _export("an unknown key", _set(more=1)),
    _export("an unknown engine", _set(engine="onnx")),
    _export("an unknown quantisation", _set(quantization="int4")),
    _export("no checksums", lambda tree: tree.pop("sha256") and None),
    _export("empty checksums", _set(sha256={})),
    _export("checksums that are numbers", _set(sha256={"model.bin": 1})),
    _export("a checksum of a file elsewhere", _set(sha256={"../train.en": "0"})),
    _export("a checksum of an endless file", _set(sha256={"../../../../../../../../../dev/zero": "0"}), seconds=15),
    _export("a longest of 0", _set(longest=0)),
    _export("a longest below 0", _set(longest=-5)),
    _export("a longest in words", _set(longest="many")),
    _export("a parity that is a list", _set(parity=[])),
    _export("a parity of more than there were", lambda tree: tree | {"parity": tree["parity"] | {"sentences": "x"}}),
    row("an export: nested 100,000 times", TRANSLATE, 2, "export.json", write("exported/export.json", "[" * 100_000)),
    row("an export: Latin-1", TRANSLATE, 2, "export.json", write("exported/export.json", b'{"format":"\xe4"}')),
    *(
        row(
            f"an export without checksums: {name}",
            TRANSLATE,
            (1, 2),
            "exported",
            edit_json("exported/export.json", _set(sha256={})),
            *damages,
            seconds=20,
        )
        for name, damages in (
            ("garbage as weights", [garbage("exported/model.bin")]),
            ("weights cut off", [cut("exported/model.bin")]),
            ("no weights", [remove("exported/model.bin")]),
            ("empty weights", [empty("exported/model.bin")]),
            ("garbage as a vocabulary", [garbage("exported/source_vocabulary.json")]),
            ("an empty vocabulary", [write("exported/source_vocabulary.json", "[]")]),
            (
                "another model's tokenizer",
                [
                    copy("rnn/model/tokenizer.json", "exported/source.json"),
                    copy("rnn/model/tokenizer.json", "exported/target.json"),
                ],
            ),
            ("another length", [replace("exported/config.toml", "longest_source = ", "longest_source = 0 #")]),
        )
    ),
    # Shortlists
    row("no shortlist", "translate run test.en --shortlist", 2, ("no such shortlist", "transduce shortlist")),
    row("no such shortlist", "translate run test.en --shortlist-file no", 2, "no: no such shortlist"),
    row("a folder as a shortlist", "translate run test.en --shortlist-file run", 2, "run: no such shortlist"),
    row("a shortlist that is a link to itself", SHORTLIST, 2, f"{SHORT}: no such shortlist", link(SHORT, SHORT)),
    row(
        "a shortlist of another model",
        f"translate rnn test.de --shortlist-file {SHORT}",
        2,
        "learned for other tokenizers",
    ),
    row(
        "a shortlist of another model: evaluate",
        f"evaluate rnn --source test.de --reference test.en --shortlist-file {SHORT}",
        2,
        "learned for other tokenizers",
    ),
    row(
        "weights as a shortlist",
        "translate run test.en --shortlist-file run/model/weights.safetensors",
        2,
        "no shortlist",
    ),
    row(
        "an optimiser as a shortlist",
        "translate run test.en --shortlist-file run/checkpoints/000006/optimizer.safetensors",
        2,
        "no shortlist",
    ),
    row(
        "text as a shortlist",
        "translate run test.en --shortlist-file test.en",
        2,
        ("test.en", "is damaged, or no shortlist"),
    ),
    row(
        "a damaged shortlist in the model's folder",
        "translate run test.en --shortlist",
        2,
        "shortlist.safetensors is damaged",
        garbage("run/model/shortlist.safetensors"),
    ),
    row(
        "a shortlist that is there already",
        "shortlist run",
        2,
        "shortlist.safetensors exists",
        copy(SHORT, "run/model/shortlist.safetensors"),
    ),
    *(
        row(f"a shortlist: {harm}", SHORTLIST, 2, SHORT, damage(SHORT))
        for harm, damage in (HARMS | {"one bit changed": lambda path: flip(path, 0.8)}).items()
    ),
    _shortlist("no lists", lambda tensors: tensors.pop("lists")),
    _shortlist("no common tokens", lambda tensors: tensors.pop("always")),
    _shortlist("no tensors", lambda tensors: tensors.clear()),
    _shortlist("tokens beyond the vocabulary", _fill("lists", 10**6)),
    _shortlist("tokens below 0", _fill("lists", -1)),
    _shortlist("common tokens beyond the vocabulary", _fill("always", 10**6)),
    _shortlist(
        "no end token",
        lambda tensors: tensors.update(always=tensors["always"][-1:].clone(), lists=tensors["lists"].fill_(9)),
    ),
    _shortlist("empty lists", lambda tensors: tensors.update(lists=tensors["lists"][:, :0].clone())),
    _shortlist("lists of fewer words", lambda tensors: tensors.update(lists=tensors["lists"][:5].clone())),
    _shortlist("lists of one axis", lambda tensors: tensors.update(lists=tensors["lists"][:, 0].clone())),
    _shortlist(
        "lists of numbers with points", lambda tensors: tensors.update(lists=tensors["lists"].float().fill_(0.5))
    ),
    _shortlist("empty common tokens", lambda tensors: tensors.update(always=tensors["always"][:0].clone())),
]
