"""Runs' folders: to go on with, to average, to list; each file of a checkpoint damaged in each way."""

import hashlib
import json
from pathlib import Path
from typing import Any

from bad_inputs.damages import (
    append,
    copy,
    cut,
    edit_json,
    edit_tensors,
    empty,
    fifo,
    flip,
    folder,
    garbage,
    link,
    move,
    remove,
    replace,
    write,
)
from bad_inputs.row import Damage, Row, row

LAST, BEFORE = "run/checkpoints/000006", "run/checkpoints/000004"
RESUME = "train tiny.toml training.updates=8 --out run --resume -q"
AVERAGE = "average run --out out"
WEIGHTS = "bundle/weights.safetensors"

HARMS = {
    "not there": remove,
    "empty": empty,
    "cut off": cut,
    "garbage": garbage,
    "a folder": folder,
    "one bit changed": flip,
}


def _resume(name: str, words: str | tuple[str, ...], *damages: Damage, **options: Any) -> Row:
    return row(f"going on: {name}", RESUME, 2, words, *damages, leaves=("run/experiment.toml",), **options)


def _average(name: str, words: str | tuple[str, ...], *damages: Damage, **options: Any) -> Row:
    return row(f"averaging: {name}", AVERAGE, 2, words, *damages, **options)


def _list(name: str, *damages: Damage, shows: str = "damaged", **options: Any) -> Row:
    """One damaged run among others: the others are listed, and this one is called so."""
    return row(f"a list of runs: {name}", "runs .", 0, "", *damages, harmless=True, shows=shows, **options)


def _progress(name: str, edit: Any, **options: Any) -> Row:
    """A checkpoint whose progress says something else, and has the checksum of that."""

    def do() -> None:
        path = Path(LAST, "progress.json")
        tree = json.loads(path.read_bytes())["progress"]
        result = edit(tree)
        content = json.dumps(tree if result is None else result).encode()
        path.write_bytes(b'{"progress":%b,"sha256":"%b"}' % (content, hashlib.sha256(content).hexdigest().encode()))

    return _resume(f"progress: {name}", "000006", Damage(f"{LAST}/progress.json", do), **options)


def _position(**values: Any) -> Any:
    return lambda tree: tree["position"].update(values)


ROWS = [
    # A checkpoint to go on from
    *(
        _resume(f"{file}: {harm}", "000006", damage(f"{LAST}/{file}"))
        for file in (
            WEIGHTS,
            "optimizer.safetensors",
            "progress.json",
            "bundle/config.toml",
            "bundle/source.json",
            "bundle/target.json",
            "bundle/probe.json",
            "bundle/history.json",
        )
        for harm, damage in HARMS.items()
        if (file, harm) != ("progress.json", "not there")
    ),
    row(
        "going on: without the newest checkpoint's last file",
        RESUME,
        0,
        "",
        remove(f"{LAST}/progress.json"),
        harmless=True,
        leaves=("run/*",),
    ),
    _resume("no bundle", "000006", remove(f"{LAST}/bundle")),
    _resume("a bundle that is a file", "000006", remove(f"{LAST}/bundle"), write(f"{LAST}/bundle", "")),
    _resume("weights of an earlier checkpoint", "000006", copy(f"{BEFORE}/{WEIGHTS}", f"{LAST}/{WEIGHTS}")),
    _resume("weights of another run", "000006", copy("rnn/model/weights.safetensors", f"{LAST}/{WEIGHTS}")),
    _resume(
        "an optimiser of an earlier checkpoint",
        "000006",
        copy(f"{BEFORE}/optimizer.safetensors", f"{LAST}/optimizer.safetensors"),
    ),
    _resume(
        "an optimiser of another run",
        "000006",
        copy("rnn/checkpoints/000002/optimizer.safetensors", f"{LAST}/optimizer.safetensors"),
    ),
    _resume("a position of an earlier checkpoint", "000006", copy(f"{BEFORE}/progress.json", f"{LAST}/progress.json")),
    _resume("a bundle of another run", "000006", copy("rnn/model", f"{LAST}/bundle")),
    _resume(
        "weights of NaN",
        "000006",
        edit_tensors(f"{LAST}/{WEIGHTS}", lambda t: [x.fill_(float("nan")) for x in t.values()]),
    ),
    _resume(
        "an optimiser of NaN",
        "000006",
        edit_tensors(
            f"{LAST}/optimizer.safetensors",
            lambda t: [x.fill_(float("nan")) for x in t.values() if x.is_floating_point()],
        ),
    ),
    _resume(
        "an optimiser without its last half",
        "000006",
        edit_tensors(f"{LAST}/optimizer.safetensors", lambda t: [t.pop(k) for k in sorted(t)[: len(t) // 2]]),
    ),
    _resume(
        "an optimiser without random numbers",
        "000006",
        edit_tensors(f"{LAST}/optimizer.safetensors", lambda t: t.pop("random.0")),
    ),
    _resume("an optimiser of no tensors", "000006", edit_tensors(f"{LAST}/optimizer.safetensors", lambda t: t.clear())),
    _resume(
        "random numbers of another length",
        "000006",
        edit_tensors(f"{LAST}/optimizer.safetensors", lambda t: t.update({"random.0": t["random.0"][:9].clone()})),
    ),
    _resume(
        "random numbers that are no bytes",
        "000006",
        edit_tensors(f"{LAST}/optimizer.safetensors", lambda t: t.update({"random.0": t["random.0"].float()})),
    ),
    _progress("a list", lambda tree: []),
    _progress("a number", lambda tree: 7),
    _progress("no position", lambda tree: tree.pop("position") and None),
    _progress("a position that is a list", lambda tree: tree | {"position": []}),
    _progress("an unknown key", _position(more=1)),
    _progress("an update in words", _position(update="six")),
    _progress("an update below 0", _position(update=-5)),
    _progress("another update than its folder's", _position(update=3)),
    _progress("a batch below 0", _position(batch=-1)),
    _progress("an epoch below 0", _position(epoch=-1)),
    _progress("scores that are a list", _position(scores=[1])),
    _progress("scores that are no numbers", _position(scores={"loss": "low"})),
    row("going on: progress: Latin-1", RESUME, 2, "000006", write(f"{LAST}/progress.json", b'{"a":"\xe4"}')),
    row("going on: progress: nested", RESUME, 2, "000006", write(f"{LAST}/progress.json", '{"a":' + "[" * 100_000)),
    # Odd neighbours disturb nothing
    *(
        row(f"going on: {name}", RESUME, 0, "", *damages, harmless=True, leaves=("run/*",))
        for name, damages in (
            ("a copy of a checkpoint beside it", [copy(LAST, "run/checkpoints/000006.bak")]),
            ("a copy with a number beside it", [copy(LAST, "run/checkpoints/6 (copy)")]),
            ("an empty folder beside it", [folder("run/checkpoints/000099")]),
            ("a file beside it", [write("run/checkpoints/000099", "")]),
            ("a file of another name beside it", [write("run/checkpoints/.DS_Store", "")]),
            ("an older checkpoint's progress is damaged", [garbage(f"{BEFORE}/progress.json")]),
            ("an older checkpoint's progress is empty", [empty(f"{BEFORE}/progress.json")]),
            ("an older checkpoint's weights are damaged", [garbage(f"{BEFORE}/{WEIGHTS}")]),
            ("a link that leads nowhere beside it", [link("run/checkpoints/000098", "nowhere")]),
            ("best.json is damaged", [garbage("run/best.json")]),
            ("the log is damaged", [garbage("run/log.jsonl")]),
            ("the log is not there", [remove("run/log.jsonl")]),
            ("the log was cut off", [cut("run/log.jsonl")]),
            ("the finished model is damaged", [garbage("run/model/weights.safetensors")]),
            ("the finished model's history is damaged", [garbage("run/model/history.json")]),
        )
    ),
    # The run's own files
    _resume("no settings", "run is not the folder of a run", remove("run/experiment.toml")),
    _resume("empty settings", "run/experiment.toml", empty("run/experiment.toml")),
    _resume("settings that were cut off", "run/experiment.toml", cut("run/experiment.toml")),
    _resume("garbage as settings", "run/experiment.toml", garbage("run/experiment.toml")),
    _resume("a folder as settings", "run/experiment.toml", folder("run/experiment.toml")),
    _resume("settings with an unknown key", "unknown key 'sed'", replace("run/experiment.toml", "seed = 1", "sed = 1")),
    _resume("other settings", "seed was 3, now it is 1", replace("run/experiment.toml", "seed = 1", "seed = 3")),
    row("going on: a log that is a folder", RESUME, (1, 2), "log.jsonl", folder("run/log.jsonl"), leaves=("run/*",)),
    row(
        "going on: checkpoints that are a file",
        RESUME,
        (1, 2),
        "run/checkpoints",
        remove("run/checkpoints"),
        write("run/checkpoints", ""),
        leaves=("run/*",),
    ),
    *(
        _resume(f"a record of its data: {name}", "run/inputs.json", damage)
        for name, damage in (
            ("empty", empty("run/inputs.json")),
            ("cut off", cut("run/inputs.json")),
            ("garbage", garbage("run/inputs.json")),
            ("a folder", folder("run/inputs.json")),
            ("an object", write("run/inputs.json", "{}")),
            ("a list of numbers", write("run/inputs.json", "[3]")),
        )
    ),
    # Data that changed since
    *(
        _resume(f"other data: {name}", file, *damages)
        for name, file, damages in (
            ("a word of the source", "train.en", [replace("train.en", "the", "teh")]),
            (
                "a pair more",
                "train",
                [append("train.en", "The dog sleeps.\n"), append("train.de", "Der Hund schläft.\n")],
            ),
            (
                "half as many pairs",
                "train",
                [write("train.en", "The dog sleeps.\n" * 9), write("train.de", "Der Hund.\n" * 9)],
            ),
            ("validation", "dev", [append("dev.en", "The dog sleeps.\n"), append("dev.de", "Der Hund schläft.\n")]),
        )
    ),
    _resume("data that have gone", "train.en: cannot be opened", remove("train.en")),
    _resume("data of unequal length", "contents have changed since run was started", append("train.en", "More.\n")),
    # Averaging
    *(
        _average(f"{file}: {harm}", ("run", file.rpartition("/")[2] if "/" in file else ""), damage(f"{BEFORE}/{file}"))
        for file in (WEIGHTS,)
        for harm, damage in HARMS.items()
    ),
    *(
        _average(f"the newest {file}: {harm}", file.rpartition("/")[2], damage(f"{LAST}/{file}"))
        for file in (WEIGHTS, "bundle/config.toml", "bundle/source.json", "bundle/probe.json", "bundle/history.json")
        for harm, damage in HARMS.items()
        if harm != "a folder" and not (file.endswith("probe.json") and harm == "one bit changed")
    ),
    _average("no checkpoints", "run has no checkpoints", remove("run/checkpoints")),
    _average(
        "an empty folder of checkpoints", "run has no checkpoints", remove("run/checkpoints"), folder("run/checkpoints")
    ),
    _average(
        "weights of another run", "run/checkpoints/000004", copy("rnn/model/weights.safetensors", f"{BEFORE}/{WEIGHTS}")
    ),
    _average(
        "weights of NaN",
        "000004",
        edit_tensors(f"{BEFORE}/{WEIGHTS}", lambda t: [x.fill_(float("nan")) for x in t.values()]),
    ),
    _average("no settings", "run/experiment.toml", remove("run/experiment.toml")),
    _average("damaged settings", "run/experiment.toml", garbage("run/experiment.toml")),
    _average("validation data that have gone", "dev.en: cannot be opened", remove("dev.en")),
    _average("validation data that changed", "contents have changed since run was started", garbage("dev.en")),
    row(
        "averaging: the best, of damaged costs",
        "average run --best 1 --out out",
        0,
        "",
        garbage(f"{BEFORE}/progress.json"),
        harmless=True,
        leaves=("out*",),
    ),
    row(
        "averaging: the best, of no costs",
        "average run --best 1 --out out",
        2,
        "run",
        *(edit_json(f"{each}/progress.json", lambda tree: tree | {"validation_cost": None}) for each in (LAST, BEFORE)),
    ),
    row(
        "averaging: the best, of costs in words",
        "average run --best 1 --out out",
        2,
        "run",
        *(
            edit_json(f"{each}/progress.json", lambda tree: tree | {"validation_cost": "low"})
            for each in (LAST, BEFORE)
        ),
    ),
    row(
        "averaging: a copy of a checkpoint",
        AVERAGE,
        0,
        "",
        copy(LAST, "run/checkpoints/000006.bak"),
        harmless=True,
        leaves=("out*",),
    ),
    # A run without its finished model
    *(
        row(f"the best checkpoint: {name}", "info run", 2, words, remove("run/model"), *damages)
        for name, words, damages in (
            ("no best.json", "best.json", [remove("run/best.json")]),
            ("an empty best.json", "run/best.json is damaged", [empty("run/best.json")]),
            ("a best.json that was cut off", "run/best.json is damaged", [cut("run/best.json")]),
            ("garbage as best.json", "run/best.json is damaged", [garbage("run/best.json")]),
            ("a folder as best.json", "run/best.json", [folder("run/best.json")]),
            ("a best.json that is a list", "run/best.json is damaged", [write("run/best.json", "[]")]),
            ("a best.json that is a number", "run/best.json is damaged", [write("run/best.json", "7")]),
            ("a best.json without a checkpoint", "run/best.json is damaged", [write("run/best.json", "{}")]),
            ("a best.json with a number", "run/best.json", [write("run/best.json", '{"checkpoint":6}')]),
            ("a best.json with null", "run/best.json", [write("run/best.json", '{"checkpoint":null}')]),
            ("a best.json with no such checkpoint", "000099", [write("run/best.json", '{"checkpoint":"000099"}')]),
            (
                "a best.json that leads elsewhere",
                "run/best.json",
                [copy("mean", "elsewhere/bundle"), write("run/best.json", '{"checkpoint":"../../elsewhere"}')],
            ),
            ("a best.json with a NUL", "run/best.json", [write("run/best.json", '{"checkpoint":"a\\u0000b"}')]),
            ("a best.json in Latin-1", "run/best.json", [write("run/best.json", b'{"checkpoint":"\xe4"}')]),
            ("a best.json nested 100,000 times", "run/best.json", [write("run/best.json", '{"a":' + "[" * 100_000)]),
        )
    ),
    # Lists of runs
    _list("no progress", remove(f"{LAST}/progress.json"), shows="run"),
    _list("empty progress", empty(f"{LAST}/progress.json")),
    _list("garbage as progress", garbage(f"{LAST}/progress.json")),
    _list("progress without a position", write(f"{LAST}/progress.json", "{}")),
    _list("progress that is a folder", folder(f"{LAST}/progress.json")),
    _list("a copy of a checkpoint", copy(LAST, "run/checkpoints/000006.bak"), shows="finished"),
    _list("empty settings", empty("run/experiment.toml")),
    _list("garbage as settings", garbage("run/experiment.toml")),
    _list("settings that are a folder", folder("run/experiment.toml")),
    _list("settings that are a pipe", fifo("run/experiment.toml"), seconds=15),
    _list("settings of other things", write("run/experiment.toml", "[tool]\na = 1\n")),
    _list("an empty history", empty("run/model/history.json")),
    _list("garbage as history", garbage("run/model/history.json")),
    _list("a history that is a list", write("run/model/history.json", "[]")),
    _list("a history with a score in words", write("run/model/history.json", '{"test":{"bleu":"high"}}')),
    _list("a loop of links", link("loop", "."), shows="run"),
    _list("a name with markup", move("run", "exp[red]x"), shows="exp[red]x"),
    _list("a name that closes markup", move("run", "exp[/red]x"), shows="exp[/red]x"),
    _list("a name that is not UTF-8", move("run", "exp\udcffx"), shows="rnn"),
    _list("a name with a line feed", move("run", "exp\nx"), shows="exp"),
    row(
        "a list of runs: as JSON, a name that is not UTF-8",
        "runs . --json",
        0,
        "",
        move("run", "exp\udcffx"),
        harmless=True,
    ),
    row("a list of runs: none", "runs cache", 0, "", harmless=True, shows="there are no runs in cache"),
]
