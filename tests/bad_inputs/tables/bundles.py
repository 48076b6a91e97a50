"""Models' folders: each file damaged in each way, and folders whose files are whole but say what cannot be."""

from typing import Any

from bad_inputs.damages import (
    copy,
    edit_json,
    edit_tensors,
    folder,
    remove,
    replace,
    reseal,
    write,
)
from bad_inputs.row import Row, row

MODEL = "run/model"


def _probe(edit: Any, words: str | tuple[str, ...] = "probe", **options: Any) -> Row:
    """A bundle whose probe says something else."""
    return row("info run", words, edit_json(f"{MODEL}/probe.json", edit), **options)


def _config(old: str, new: str, words: str | tuple[str, ...], **options: Any) -> Row:
    """A bundle whose settings say something else, with checksums that are right."""
    damages = (replace(f"{MODEL}/config.toml", old, new), reseal(MODEL))
    return row("info run", words, *damages, **options)


def _set(**values: Any) -> Any:
    return lambda tree: tree | values


def _first(tensors: dict[str, Any]) -> str:
    return next(name for name in sorted(tensors) if tensors[name].ndim == 2)


def _fill(value: float) -> Any:
    return lambda tensors: tensors[_first(tensors)].fill_(value)


ROWS = [
    row("info model.zip", "is no ZIP file of a model", write("model.zip", "PK")),
    row("info run", "run", remove(MODEL), write(MODEL, "")),
    row("info run", "best.json", remove(MODEL), remove("run/best.json")),
    row(
        "info new",
        "new/config.toml: no such file",
        folder("new"),
        copy(f"{MODEL}/weights.safetensors", "new/weights.safetensors"),
    ),
    row("info run", "has changed since it was saved", copy("rnn/model/config.toml", f"{MODEL}/config.toml")),
    row(
        "info run",
        "scores its probe",
        copy("mean/weights.safetensors", f"{MODEL}/weights.safetensors"),
        edit_tensors(f"{MODEL}/weights.safetensors", _fill(2.0)),
        reseal(MODEL),
    ),
    # Probes
    _probe(_set(sha256={})),
    _probe(_set(source=[], target=[], text=[], scores=[])),
    _probe(lambda tree: {**tree, "text": tree["text"][::-1]}, "tokenizer"),
    _probe(lambda tree: {**tree, "target": [[10**6]] * 4}),
    _probe(lambda tree: {**tree, "target": [[5] * 10**6, *tree["target"][1:]]}, seconds=20),
    # Settings
    _config("format = 2", "format = 99", ("run/model has format 99", "install a newer Transduce")),
    _config("format = 2", "format = 1", "before settings were renamed"),
    _config('task = "translation"', 'task = "speech"', ("config.toml", "its task is 'speech'")),
    _config("dim = 12", "dim = 24", ("weights.safetensors", "config.toml")),
    _config("shared = false", "shared = true", "tokenizer.json"),
    row("info run", "source.spm is not of this model", write(f"{MODEL}/source.spm", "")),
    # Tokenizers and history
    row(
        "info run",
        "source.json",
        edit_json(f"{MODEL}/source.json", lambda tree: tree["model"].update(unk_token="[none]")),
        reseal(MODEL),
    ),
    row(
        "info run",
        "run/model",
        edit_json(f"{MODEL}/target.json", lambda tree: tree["model"]["vocab"].update(x=10**6)),
        reseal(MODEL),
    ),
    row("info run", "history.json", write(f"{MODEL}/history.json", "[]"), reseal(MODEL)),
    _config('kind = "words"', 'kind = "wrods"', ("config.toml", "'wrods' is not one of")),
]
