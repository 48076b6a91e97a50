"""Models' folders: each file damaged in each way, and folders whose files are whole but say what cannot be."""

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

MODEL = "run/model"
READ = ("config.toml", "weights.safetensors", "source.json", "target.json", "history.json", "probe.json")
HARMS = {
    "not there": remove,
    "empty": empty,
    "cut off": cut,
    "garbage": garbage,
    "a folder": folder,
    "one bit changed": lambda path: flip(path, 0.9),
    "longer": lambda path: append(path, " \n{}"),
    "a link to itself": lambda path: link(path, path.rsplit("/", 1)[-1]),
}


ZIPPED = [
    row("a zipped model that is none", "info model.zip", 2, "is no ZIP file of a model", write("model.zip", "PK")),
    row("an empty zipped model", "translate model.zip test.en", 2, "is no ZIP file of a model", write("model.zip", "")),
]


def _probe(name: str, edit: Any, words: str | tuple[str, ...] = "probe", **options: Any) -> Row:
    """A bundle whose probe says something else."""
    return row(f"a probe: {name}", "info run", 2, words, edit_json(f"{MODEL}/probe.json", edit), **options)


def _config(name: str, old: str, new: str, words: str | tuple[str, ...], **options: Any) -> Row:
    """A bundle whose settings say something else, with checksums that are right."""
    damages = replace(f"{MODEL}/config.toml", old, new), reseal(MODEL)
    return row(f"a model's config: {name}", "info run", 2, words, *damages, **options)


def _weights(name: str, edit: Any, words: str | tuple[str, ...] = "weights.safetensors", **options: Any) -> Row:
    """A bundle with other weights, with checksums that are right."""
    return row(
        f"weights: {name}",
        "info run",
        2,
        words,
        edit_tensors(f"{MODEL}/weights.safetensors", edit),
        reseal(MODEL),
        **options,
    )


def _set(**values: Any) -> Any:
    return lambda tree: tree | values


def _first(tensors: dict[str, Any]) -> str:
    return next(name for name in sorted(tensors) if tensors[name].ndim == 2)


def _fill(value: float) -> Any:
    return lambda tensors: tensors[_first(tensors)].fill_(value)


def _header(length: int, text: bytes, body: bytes = b"") -> bytes:
    return length.to_bytes(8, "little") + text + body


ROWS = [
    *ZIPPED,
    *(
        row(
            f"a model's {file}: {harm}",
            "info run",
            (1, 2) if harm in ("a folder", "a link to itself") else 2,
            MODEL if (file, harm) == ("probe.json", "one bit changed") else file,
            damage(f"{MODEL}/{file}"),
        )
        for file in READ
        for harm, damage in HARMS.items()
    ),
    *(
        row(
            f"a shared tokenizer: {harm}",
            "info rnn",
            (1, 2) if harm in ("a folder", "a link to itself") else 2,
            "tokenizer.json",
            damage("rnn/model/tokenizer.json"),
        )
        for harm, damage in HARMS.items()
    ),
    *(
        row(
            f"damaged weights: {verb}",
            f"{verb.replace('MODEL', 'run')}",
            2,
            "weights.safetensors has changed since it was saved",
            flip(f"{MODEL}/weights.safetensors"),
        )
        for verb in (
            "translate MODEL test.en",
            "score MODEL --pairs test.tsv",
            "evaluate MODEL --source test.en --reference test.de",
            "compare mean MODEL --source test.en --reference test.de",
            "shortlist MODEL --out out",
            "export MODEL -o out",
            "translate mean test.en --with MODEL",
            "train tiny.toml --out new -q training.start_from=MODEL",
        )
    ),
    row("a damaged model card", "info run", 0, "", garbage(f"{MODEL}/README.md"), harmless=True),
    row("a model whose folder is empty", "info run", 2, f"{MODEL}", remove(MODEL), folder(MODEL)),
    row("a model that is a file", "info run", 2, "run", remove(MODEL), write(MODEL, "")),
    row("a model that is a link to itself", "info run", 2, "run", remove(MODEL), link(MODEL, "model")),
    row("a run without a model", "info run", 0, "", remove(MODEL), harmless=True),
    row("a run without a model and best.json", "info run", 2, "best.json", remove(MODEL), remove("run/best.json")),
    row(
        "a model's weights alone",
        "info new",
        2,
        "new/config.toml: no such file",
        folder("new"),
        copy(f"{MODEL}/weights.safetensors", "new/weights.safetensors"),
    ),
    row(
        "a model's config alone",
        "info new",
        2,
        "new/probe.json is missing",
        folder("new"),
        copy(f"{MODEL}/config.toml", "new/config.toml"),
    ),
    row(
        "files of two models",
        "info run",
        2,
        "has changed since it was saved",
        copy("rnn/model/config.toml", f"{MODEL}/config.toml"),
    ),
    row(
        "weights of another model",
        "info run",
        2,
        "weights.safetensors has changed since it was saved",
        copy("mean/weights.safetensors", f"{MODEL}/weights.safetensors"),
    ),
    row(
        "weights of another model, sealed",
        "info run",
        2,
        "scores its probe",
        copy("mean/weights.safetensors", f"{MODEL}/weights.safetensors"),
        edit_tensors(f"{MODEL}/weights.safetensors", _fill(2.0)),
        reseal(MODEL),
    ),
    # Probes
    _probe("empty", lambda tree: {}, "probe.json is damaged"),
    _probe("a list", lambda tree: [], "probe.json is damaged"),
    _probe("a number", lambda tree: 7, "probe.json is damaged"),
    _probe("no checksums", lambda tree: tree.pop("sha256") and None, "probe.json is damaged"),
    _probe("empty checksums", _set(sha256={})),
    _probe("no checksum of the weights", lambda tree: tree["sha256"].pop("weights.safetensors") and None),
    _probe("checksums that are numbers", _set(sha256={"config.toml": 3}), "probe.json is damaged"),
    _probe(
        "checksums in capitals",
        lambda tree: {**tree, "sha256": {k: v.upper() for k, v in tree["sha256"].items()}},
        "has changed since it was saved",
    ),
    _probe("a checksum of a file elsewhere", _set(sha256={"../../train.en": "0" * 64})),
    _probe("a checksum of an endless file", _set(sha256={"../../../../../../../../../dev/zero": "0" * 64}), seconds=15),
    _probe("a checksum of a folder", _set(sha256={".": "0" * 64}), "probe"),
    _probe("a checksum of a name with a NUL", _set(sha256={"a\0b": "0" * 64}), "probe"),
    _probe("a checksum of a file that is not there", _set(sha256={"model.bin": "0" * 64})),
    _probe("an unknown key", _set(more=1), "probe.json is damaged"),
    _probe("nothing in it", _set(source=[], target=[], text=[], scores=[])),
    _probe("no scores", _set(scores=[])),
    _probe("no targets", _set(target=[])),
    _probe("fewer texts", lambda tree: tree["text"].pop() and None),
    _probe("other texts", lambda tree: {**tree, "text": tree["text"][::-1]}, "tokenizer"),
    _probe(
        "scores that are far off", lambda tree: {**tree, "scores": [x - 1 for x in tree["scores"]]}, "scores its probe"
    ),
    _probe("scores of null", _set(scores=[None] * 4), "probe.json is damaged"),
    _probe("scores in words", _set(scores=["a"] * 4), "probe.json is damaged"),
    _probe("scores without end", _set(scores=[1e400] * 4), "probe"),
    _probe("scores of NaN", _set(scores=[float("nan")] * 4), "probe.json is damaged"),
    _probe("a token beyond the vocabulary", lambda tree: {**tree, "target": [[10**6]] * 4}),
    _probe("a token below 0", lambda tree: {**tree, "target": [[-1]] * 4}),
    _probe("a token beyond 64 bits", lambda tree: {**tree, "target": [[2**70]] * 4}),
    _probe("a source beyond the vocabulary", lambda tree: {**tree, "source": [[10**6]] * 4}),
    _probe(
        "a target of a million tokens", lambda tree: {**tree, "target": [[5] * 10**6, *tree["target"][1:]]}, seconds=20
    ),
    row("a probe: nested", "info run", 2, "probe.json", write(f"{MODEL}/probe.json", '{"source":' + "[" * 100_000)),
    row("a probe: Latin-1", "info run", 2, "probe.json is damaged", write(f"{MODEL}/probe.json", b'{"source":"\xe4"}')),
    # Settings
    _config("a later format", "format = 2", "format = 99", ("run/model has format 99", "install a newer Transduce")),
    _config("an earlier format", "format = 2", "format = 1", "before settings were renamed"),
    _config("a format in words", "format = 2", 'format = "one"', ("config.toml", "format: expected int")),
    _config("a format that is true", "format = 2", "format = true", ("config.toml", "format: expected int")),
    _config("no format", "format = 2\n", "", ("config.toml", "'format' is missing")),
    _config("an unknown key", "format = 2", "format = 2\nmore = 1", ("config.toml", "unknown key 'more'")),
    _config("another task", 'task = "translation"', 'task = "speech"', ("config.toml", "its task is 'speech'")),
    _config("not TOML", "format = 2", "format = ", ("config.toml", "not valid TOML")),
    _config("another width", "dim = 12", "dim = 24", ("weights.safetensors", "config.toml")),
    _config("another family", 'kind = "transformer"', 'kind = "recurrent"', "config.toml"),
    _config(
        "another feed-forward width",
        "feed_forward_dim = 20",
        "feed_forward_dim = 21",
        ("weights.safetensors", "config.toml"),
    ),
    _config("one layer more", "encoder_layers = 1", "encoder_layers = 2", ("weights.safetensors", "missing")),
    _config("no layers", "encoder_layers = 1", "encoder_layers = 0", "encoder_layers"),
    _config("a billion layers", "encoder_layers = 1", "encoder_layers = 1000000000", "config.toml", seconds=20),
    _config("a width of a billion", "dim = 12", "dim = 1200000000", "config.toml"),
    _config("other heads", "heads = 3", "heads = 2", "scores its probe"),
    _config("other positions", 'positions = "sinusoidal"', 'positions = "none"', "scores its probe"),
    _config("normalised elsewhere", 'norm = "pre"', 'norm = "post"', "config.toml"),
    _config("sources of no length", "longest_source = ", "longest_source = 0 #", "longest_source"),
    _config("sources of negative length", "longest_source = ", "longest_source = -5 #", "longest_source"),
    _config("sources without end", "longest_source = ", f"longest_source = {10**30} #", "longest_source"),
    row(
        "a model's config: sources of no length, translated",
        "translate run test.en",
        2,
        "longest_source",
        replace(f"{MODEL}/config.toml", "longest_source = ", "longest_source = 0 #"),
        reseal(MODEL),
        seconds=15,
    ),
    _config(
        "a tokenizer of another kind", 'kind = "words"', 'kind = "wrods"', ("config.toml", "'wrods' is not one of")
    ),
    _config("one tokenizer for both sides", "shared = false", "shared = true", "tokenizer.json"),
    row(
        "a tokenizer of another model",
        "info run",
        2,
        "source.spm is not of this model",
        write(f"{MODEL}/source.spm", ""),
    ),
    # Weights
    _weights("one is lacking", lambda tensors: tensors.pop(_first(tensors)), ("weights.safetensors", "missing")),
    _weights(
        "one is too many",
        lambda tensors: tensors.update(more=tensors[_first(tensors)].clone()),
        ("weights.safetensors", "unexpected"),
    ),
    _weights("none", lambda tensors: tensors.clear(), ("weights.safetensors", "missing")),
    _weights(
        "one under another name", lambda tensors: tensors.update(x=tensors.pop(_first(tensors))), "weights.safetensors"
    ),
    _weights(
        "one is turned", lambda tensors: tensors.update({_first(tensors): tensors[_first(tensors)].T.contiguous()})
    ),
    _weights(
        "one is of no size", lambda tensors: tensors.update({_first(tensors): tensors[_first(tensors)][:0].clone()})
    ),
    _weights("all are NaN", lambda tensors: [tensor.fill_(float("nan")) for tensor in tensors.values()], "run/model"),
    _weights("one is NaN", _fill(float("nan")), "run/model"),
    _weights("one is infinite", _fill(float("inf")), "run/model"),
    _weights("one is 0", _fill(0.0), "scores its probe"),
    _weights(
        "all are integers", lambda tensors: tensors.update({n: t.int() for n, t in tensors.items()}), "scores its probe"
    ),
    _weights(
        "all are true or false",
        lambda tensors: tensors.update({n: t > 0 for n, t in tensors.items()}),
        "scores its probe",
    ),
    *(
        row(
            f"weights: {name}",
            "info run",
            2,
            "weights.safetensors",
            write(f"{MODEL}/weights.safetensors", content),
            reseal(MODEL),
        )
        for name, content in (
            ("a header longer than the file", _header(10**6, b"{}")),
            ("a header without end", _header(2**63, b"{}")),
            ("a header that is no JSON", _header(4, b"abcd")),
            ("a header that is a list", _header(2, b"[]")),
            ("a header nested 100,000 times", _header(100_000, b"[" * 100_000)),
            ("a tensor beyond the file", _header(57, b'{"a":{"dtype":"F32","shape":[99],"data_offsets":[0,396]}}')),
            ("a tensor of negative size", _header(57, b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,  0]}}')),
            ("a tensor of no type", _header(57, b'{"a":{"dtype":"F99","shape":[ 0],"data_offsets":[0,  0]}}')),
            (
                "a tensor of 2^62",
                _header(75, b'{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,  0]}}'),
            ),
            ("a pickle", b"\x80\x04\x95\x10\0\0\0\0\0\0\0\x8c\x02os\x94."),
            ("an archive", b"PK\x03\x04" + bytes(60)),
        )
    ),
    # Tokenizers and history
    row(
        "a model's tokenizers, one for the other",
        "info run",
        2,
        "run/model",
        copy(f"{MODEL}/target.json", f"{MODEL}/source.json"),
        reseal(MODEL),
    ),
    row(
        "a model's tokenizer: without an unknown token",
        "info run",
        2,
        "source.json",
        edit_json(f"{MODEL}/source.json", lambda tree: tree["model"].update(unk_token="[none]")),
        reseal(MODEL),
    ),
    row(
        "a model's tokenizer: with more words",
        "info run",
        2,
        "run/model",
        edit_json(f"{MODEL}/target.json", lambda tree: tree["model"]["vocab"].update(x=10**6)),
        reseal(MODEL),
    ),
    row(
        "a model's history: a list", "info run", 2, "history.json", write(f"{MODEL}/history.json", "[]"), reseal(MODEL)
    ),
    row(
        "a model's history: a number", "info run", 2, "history.json", write(f"{MODEL}/history.json", "7"), reseal(MODEL)
    ),
    row(
        "a model's history: not JSON", "info run", 2, "history.json", write(f"{MODEL}/history.json", "{"), reseal(MODEL)
    ),
    row(
        "a model's history: nested 100,000 times",
        "info run",
        2,
        "history.json",
        write(f"{MODEL}/history.json", '{"a":' + "[" * 100_000),
        reseal(MODEL),
    ),
    row(
        "a model's history: Latin-1",
        "info run",
        2,
        "history.json",
        write(f"{MODEL}/history.json", b'{"a":"\xe4"}'),
        reseal(MODEL),
    ),
    row(
        "a model's history: markup",
        "info run",
        0,
        "",
        edit_json(f"{MODEL}/history.json", lambda tree: tree | {"note": "[/red]"}),
        reseal(MODEL),
        harmless=True,
    ),
    row(
        "a model's history: a line feed in a key",
        "info run",
        0,
        "",
        edit_json(f"{MODEL}/history.json", lambda tree: tree | {"a\nb": {"": None}}),
        reseal(MODEL),
        harmless=True,
    ),
]
