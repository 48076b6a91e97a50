"""Tokenizer files of users and those of bundles: damaged, of another library, or of what no model can use."""

from typing import Any

from bad_inputs.damages import edit_json, empty, folder, garbage, remove
from bad_inputs.row import Damage, Row, row

OWN = "own.json"
OWN_TRAIN = ("train", "own.toml", "--out", "new", "-q")


def _bring(words: str | tuple[str, ...], *damages: Damage, **options: Any) -> Row:
    """A tokenizer of the user's own to train with."""
    return row("train own.toml --out new -q", words, *damages, **options)


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


ROWS = [
    _bring("own.json: no such file", remove(OWN)),
    _bring(OWN, folder(OWN)),
    _bring((OWN, "not a tokenizer"), empty(OWN)),
    _bring((OWN, "UTF-8"), garbage(OWN)),
    _bring(OWN, _model(vocab={})),
    _bring(OWN, _vocabulary(lambda words: {w: i + 5000 * (i > 9) for w, i in words.items()})),
    _bring(OWN, _vocabulary(lambda words: {w: max(i - 1, 0) for w, i in words.items()})),
    _bring(OWN, _without("<unk>")),
    row(
        [*OWN_TRAIN, "tokenizer.special={pad='<pad>',unknown='<unk>',bos='<s>',eos='<eos>'}"],
        "no token '<s>' to serve as bos",
    ),
    row(
        [
            *("train", "tiny.toml", "--out", "new", "-q"),
            "tokenizer.special={pad='<pad>',unknown='<unk>',bos='<bos>',eos='<eos>'}",
        ],
        "special is for kind",
    ),
    row("train own.toml --out new -q tokenizer.size=9", "size"),
]
