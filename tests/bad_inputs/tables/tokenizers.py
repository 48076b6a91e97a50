"""Tokenizer files of users and those of bundles: damaged, of another library, or of what no model can use."""

from typing import Any

from bad_inputs.damages import change, copy, cut, edit_json, empty, folder, garbage, link, remove, write
from bad_inputs.row import Damage, Row, row

OWN = "own.json"
OWN_TRAIN = ("train", "own.toml", "--out", "new", "-q")


def _bring(name: str, words: str | tuple[str, ...], *damages: Damage, **options: Any) -> Row:
    """A tokenizer of the user's own to train with."""
    return row(f"own tokenizer: {name}", "train own.toml --out new -q", 2, words, *damages, **options)


def _edit(change_tree: Any) -> Damage:
    return edit_json(OWN, change_tree)


def _model(**parts: Any) -> Damage:
    """The file with parts of its model changed; None takes one away."""

    def edit(tree: dict[str, Any]) -> None:
        for key, value in parts.items():
            if value is None:
                tree["model"].pop(key, None)
            else:
                tree["model"][key] = value

    return _edit(edit)


def _vocabulary(change_words: Any) -> Damage:
    """The file with its table of words changed."""

    def edit(tree: dict[str, Any]) -> None:
        tree["model"]["vocab"] = change_words(tree["model"]["vocab"])

    return _edit(edit)


def _without(*names: str) -> Damage:
    """The vocabulary without some tokens, numbered anew."""
    return _vocabulary(lambda words: {w: i for i, w in enumerate(w for w in words if w not in names)})


UNIGRAM = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False}

ROWS = [
    _bring("not there", "own.json: no such file", remove(OWN)),
    _bring("a folder", OWN, folder(OWN)),
    _bring("a link to itself", OWN, link(OWN, OWN)),
    _bring("empty", (OWN, "not a tokenizer"), empty(OWN)),
    _bring("cut off", (OWN, "not a tokenizer"), cut(OWN)),
    _bring("garbage", (OWN, "UTF-8"), garbage(OWN)),
    _bring("Latin-1", (OWN, "UTF-8"), write(OWN, '{"a": "ä"}'.encode("latin-1"))),
    _bring("UTF-16", (OWN, "UTF-8"), change(OWN, lambda text: text.decode().encode("utf-16"))),
    _bring("a mark at its beginning", (OWN, "not a tokenizer"), change(OWN, lambda text: b"\xef\xbb\xbf" + text)),
    _bring("a list", (OWN, "not a tokenizer"), write(OWN, "[]")),
    _bring("a number", (OWN, "not a tokenizer"), write(OWN, "7")),
    _bring("null", (OWN, "not a tokenizer"), write(OWN, "null")),
    _bring("an empty object", (OWN, "not a tokenizer"), write(OWN, "{}")),
    _bring("nested 100,000 times", (OWN, "not a tokenizer"), write(OWN, "[" * 100_000)),
    _bring("a vocabulary alone", (OWN, "not a tokenizer"), write(OWN, '{"<unk>": 0, "a": 1}')),
    _bring("a SentencePiece model", (OWN, "not a tokenizer"), write(OWN, b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n")),
    _bring("a tokenizer's settings", (OWN, "not a tokenizer"), write(OWN, '{"tokenizer_class": "BertTokenizer"}')),
    _bring("a list of merges", (OWN, "not a tokenizer"), write(OWN, "#version: 0.2\na b\n")),
    _bring("no model", (OWN, "not a tokenizer"), _edit(lambda tree: tree.pop("model") and None)),
    _bring("a model of null", (OWN, "not a tokenizer"), _edit(lambda tree: tree | {"model": None})),
    _bring("a model of an unknown type", (OWN, "not a tokenizer"), _model(type="Words")),
    _bring("an unknown version", (OWN, "not a tokenizer"), _edit(lambda tree: tree | {"version": "9.0"})),
    _bring("an unknown normaliser", (OWN, "not a tokenizer"), _edit(lambda tree: tree | {"normalizer": {"type": "X"}})),
    _bring("a decoder of another type", (OWN, "not a tokenizer"), _edit(lambda tree: tree | {"decoder": 3})),
    _bring(
        "a damaged pattern",
        (OWN, "not a tokenizer"),
        _edit(lambda tree: tree | {"normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}}),
    ),
    _bring("no vocabulary", OWN, _model(vocab=None)),
    _bring("an empty vocabulary", OWN, _model(vocab={})),
    _bring("a vocabulary of special tokens", ("train", "unknown"), _vocabulary(lambda words: {"<unk>": 0})),
    _bring("a vocabulary of a list", (OWN, "not a tokenizer"), _model(vocab=["a", "b"])),
    _bring(
        "ids that are texts", (OWN, "not a tokenizer"), _vocabulary(lambda words: {w: str(i) for w, i in words.items()})
    ),
    _bring("ids below 0", (OWN, "not a tokenizer"), _vocabulary(lambda words: {w: i - 9 for w, i in words.items()})),
    _bring(
        "ids beyond 32 bits",
        (OWN, "not a tokenizer"),
        _vocabulary(lambda words: {w: i + 2**33 for w, i in words.items()}),
    ),
    _bring("ids beyond the count", OWN, _vocabulary(lambda words: {w: i + 5000 * (i > 9) for w, i in words.items()})),
    _bring(
        "ids near the end of 32 bits",
        OWN,
        _vocabulary(lambda words: {w: i + (2**31) * (i > 9) for w, i in words.items()}),
    ),
    _bring("one id for two words", OWN, _vocabulary(lambda words: {w: max(i - 1, 0) for w, i in words.items()})),
    _bring("no unknown token", OWN, _without("<unk>")),
    _bring("no unknown token named", OWN, _model(unk_token=None)),
    _bring("an unknown token that is not there", OWN, _model(unk_token="[UNK]")),
    _bring(
        "another language's words",
        ("train", "unknown"),
        _vocabulary(lambda words: {w if w.startswith("<") else f"x{w}": i for w, i in words.items()}),
    ),
    _bring("Unigram without an unknown token", OWN, _edit(lambda tree: tree | {"model": UNIGRAM | {"unk_id": None}})),
    _bring(
        "Unigram with its unknown token beyond the end",
        OWN,
        _edit(lambda tree: tree | {"model": UNIGRAM | {"unk_id": 9}}),
    ),
    _bring("Unigram with an empty vocabulary", OWN, _edit(lambda tree: tree | {"model": UNIGRAM | {"vocab": []}})),
    _bring(
        "Unigram with an empty piece",
        ("train", "unknown"),
        _edit(lambda tree: tree | {"model": UNIGRAM | {"vocab": [["<unk>", 0.0], ["", -1.0], ["a", -1.0]]}}),
    ),
    _bring(
        "Unigram with NaN",
        (OWN, "not a tokenizer"),
        _edit(lambda tree: tree | {"model": UNIGRAM | {"vocab": [["<unk>", float("nan")], ["a", 0.0]]}}),
    ),
    _bring(
        "BPE without an unknown token",
        (OWN, "unk_token"),
        _edit(lambda tree: tree | {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}),
    ),
    _bring(
        "BPE with merges of nothing",
        (OWN, "not a tokenizer"),
        _edit(lambda tree: tree | {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["x y"]}}),
    ),
    _bring(
        "BPE with merges of one part",
        (OWN, "not a tokenizer"),
        _edit(lambda tree: tree | {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a"]}}),
    ),
    _bring(
        "WordPiece of words of no length",
        ("train", "unknown"),
        _edit(
            lambda tree: (
                tree
                | {
                    "model": {
                        "type": "WordPiece",
                        "vocab": {"[UNK]": 0, "a": 1},
                        "unk_token": "[UNK]",
                        "continuing_subword_prefix": "##",
                        "max_input_chars_per_word": 0,
                    }
                }
            )
        ),
    ),
    _bring(
        "a normaliser that leaves nothing",
        OWN,
        _edit(lambda tree: tree | {"normalizer": {"type": "Replace", "pattern": {"Regex": ".*"}, "content": ""}}),
    ),
    _bring("the model's weights", (OWN, "UTF-8"), copy("run/model/weights.safetensors", OWN)),
    _bring("a probe", (OWN, "not a tokenizer"), copy("run/model/probe.json", OWN)),
    _bring("a recipe", (OWN, "not a tokenizer"), copy("tiny.toml", OWN)),
    row("own tokenizer: a name without a file", "train own.toml --out new -q tokenizer.file=", 2, "tokenizer.file"),
    row("own tokenizer: a model's folder", "train own.toml --out new -q tokenizer.file=run/model", 2, "run/model"),
    row(
        "own tokenizer: a name with a NUL",
        ["train", "own.toml", "-q", "--out", "new", r'tokenizer.file="a\u0000b"'],
        2,
        "tokenizer.file",
    ),
    row(
        "own tokenizer: one side is not there",
        [
            "train",
            "own.toml",
            "-q",
            "--out",
            "new",
            'tokenizer={shared=false, source={kind="file", file="own.json"}, target={kind="file", file="no.json"}}',
        ],
        2,
        "no.json",
    ),
    row(
        "own tokenizer: special tokens that it does not have",
        [*OWN_TRAIN, "tokenizer.special={pad='<pad>',unknown='<unk>',bos='<s>',eos='<eos>'}"],
        2,
        "no token '<s>' to serve as bos",
    ),
    row(
        "own tokenizer: special tokens not all named",
        [*OWN_TRAIN, "tokenizer.special={pad='<pad>'}"],
        2,
        "tokenizer.special",
    ),
    row(
        "own tokenizer: special tokens without a file",
        [
            *("train", "tiny.toml", "--out", "new", "-q"),
            "tokenizer.special={pad='<pad>',unknown='<unk>',bos='<bos>',eos='<eos>'}",
        ],
        2,
        "special is for kind",
    ),
    row("own tokenizer: a size for what is there", "train own.toml --out new -q tokenizer.size=9", 2, "size"),
    row(
        "own tokenizer: every second id",
        "train own.toml --out new -q",
        0,
        "",
        _vocabulary(lambda words: {w: 2 * i for w, i in words.items()}),
        harmless=True,
        leaves=("new*",),
    ),
    row(
        "own tokenizer: special tokens in no text",
        "train own.toml --out new -q",
        0,
        "",
        harmless=True,
        leaves=("new*",),
    ),
]
