"""A model of two source languages learns a third from few pairs, beside training from nothing on the same pairs.

    python benchmarks/new_language.py --out runs/bench/new-language

A small Transformer learns German (captions of Multi30k) and Japanese (sentences of Tanaka) to English. Then it gets
French by `transduce extend`, and learns it from 5,000 pairs of captions: with a token for the language alone, with
subwords, too, and with as many pairs of each old language mixed in. Beside them stands a model of the same size that
begins with nothing, after as many updates and after three times as many, and the one with subwords after three times as
many. chrF of each direction is that of test_2016_flickr, for
Japanese of Tanaka's test set, beam 4. It takes about thirty minutes of one core; what is finished is not done again.
To try it: --base-updates 4 --updates 4 --tested 20.
"""

import argparse
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
import torch

import transduce
from peers.report import describe_machine, table
from transduce.evaluation.translations import score_chrf
from transduce.experiment import add_language
from transduce.inference.translator import Translator

OLD, NEW = ("de", "ja"), "fr"
MODEL = {
    "kind": "transformer",
    "encoder_layers": 2,
    "decoder_layers": 2,
    "dim": 128,
    "heads": 4,
    "feed_forward_dim": 256,
    "norm": "pre",
    "positions": "rotary",
    "tie": "all",
}
OLD_PAIRS, NEW_PAIRS = 29_000, 5_000
SETS = {
    "ja": ("tanaka-en-ja", {"train": "train", "validation": "dev", "test": "test"}),
    "others": ("multi30k", {"train": "train", "validation": "val", "test": "test_2016_flickr"}),
}
"""The folder of a language's pairs, and the name of each split there."""
WAYS: dict[str, dict[str, Any]] = {
    "its token alone": {"pieces": 0, "mixed": False},
    "token and subwords": {"pieces": 1500, "mixed": False},
    "token, subwords, old pairs mixed in": {"pieces": 1500, "mixed": True},
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/new-language"))
    parser.add_argument("--base-updates", type=int, default=2000)
    parser.add_argument("--updates", type=int, default=400, help="of each way to learn the new language")
    parser.add_argument("--tested", type=int, default=1000, help="sentences of each test set, at most")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    _write_texts(out)
    print(describe_machine(options.threads), flush=True)
    base = _trained(out, "base", OLD, {"updates": options.base_updates})
    rows = [["before", *_scores(out, base, OLD, options.tested)]]
    for way, settings in WAYS.items():
        start, mixed = _extended(out, base, settings["pieces"]), OLD if settings["mixed"] else ()
        name = "mixed" if mixed else f"learned-{settings['pieces']}"
        training = {"updates": options.updates, "start_from": str(start)}
        run = _trained(out, name, (*mixed, NEW), training, mixed)
        rows.append([way, *_scores(out, run, (*OLD, NEW), options.tested)])
    longer = {"updates": 3 * options.updates}
    start = _extended(out, base, WAYS["token and subwords"]["pieces"])
    run = _trained(out, "learned-longer", (NEW,), {"start_from": str(start), **longer})
    rows.append(["token and subwords, three times the updates", *_scores(out, run, (*OLD, NEW), options.tested)])
    for name, training in (("nothing-shorter", {"updates": options.updates}), ("nothing", longer)):
        times = "as many" if training["updates"] == options.updates else "three times the"
        run = _trained(out, name, (NEW,), training)
        rows.append([f"from nothing, {times} updates", *_scores(out, run, (NEW,), options.tested)])
    print(table([["chrF", *(f"{language}-en" for language in (*OLD, NEW))], *rows]))


def _write_texts(out: Path) -> None:
    """Writes the pairs of each language with English: `train-de.de` and `train-de.en`, and so on."""
    for language in (*OLD, NEW):
        folder, names = SETS["ja" if language == "ja" else "others"]
        for split, name in names.items():
            most = NEW_PAIRS if language == NEW else OLD_PAIRS
            for side in (language, "en"):
                with gzip.open(Path(os.environ["TRANSDUCE_DATA"]) / folder / f"{name}.{side}.gz", "rb") as stream:
                    lines = stream.read().split(b"\n")[:-1][:most]
                (out / f"{split}-{language}.{side}").write_bytes(b"\n".join(lines) + b"\n")


def _trained(out: Path, name: str, sources: Sequence[str], training: dict[str, Any], mixed: Sequence[str] = ()) -> Path:
    """Trains a model unless it is there; the one of least validation loss is kept.

    Of languages that are mixed in, each epoch has as many pairs as of the new one.
    """
    run = out / name
    if (run / "model").exists():
        return run
    print(f"training {name}", flush=True)
    corpora: list[list[dict[str, Any]]] = [
        [{"files": [f"{split}-{language}.{side}" for side in (language, "en")]} for language in sources]
        for split in ("train", "validation")
    ]
    for corpus, language in zip(corpora[0], sources, strict=True):
        corpus |= {"weight": NEW_PAIRS / OLD_PAIRS} if language in mixed else {}
    directions = [f"{language}-en" for language in sources]
    every = max(training["updates"] // 8, 1)
    is_new = "start_from" not in training
    settings: dict[str, Any] = {
        "data": {"directions": directions, "language_token": "decoder", "train": corpora[0], "validation": corpora[1]},
        "batching": {"target_tokens": 2048, "groups": 4},
        "training": {"accumulate": 2, **training},
        "optimizer": {"learning_rate": 4e-3 if is_new else 1e-3, "schedule": {"kind": "linear", "warmup": every}},
        "checkpoint": {"every_updates": every},
        "validation": {"every_updates": every},
    }
    if is_new:
        settings |= {"model": MODEL, "tokenizer": {"kind": "bpe", "max_size": 4000}}
    recipe = out / f"{name}.toml"
    recipe.write_text(tomli_w.dumps(settings), encoding="utf-8")
    transduce.train(recipe, out=run, resume=run.exists(), tell=_tell)
    return run


def _extended(out: Path, base: Path, pieces: int) -> Path:
    """Returns the model with the new language; the words of the old ones stay divided as they are."""
    folder = out / f"extended-{pieces}"
    if not folder.exists():
        kept = [line for language in OLD for side in (language, "en") for line in _lines(out, "train", language, side)]
        add_language(base, folder, NEW, _lines(out, "train", NEW, NEW), pieces, keep=kept, tell=_tell)
    return folder


def _scores(out: Path, run: Path, sources: Sequence[str], tested: int) -> list[str]:
    """Returns chrF of each language that the model reads; a dash for others."""
    translator, shown = Translator.load(run), []
    for language in (*OLD, NEW):
        if language not in sources:
            shown.append("-")
            continue
        lines, references = (_lines(out, "test", language, side)[:tested] for side in (language, "en"))
        outputs = [each.text for each in translator.translate(lines, to="en", from_=language)]
        score = score_chrf(outputs, references)
        low, high = score.interval
        shown.append(f"{score.score:.1f} ({low:.1f} to {high:.1f})")
    return shown


def _lines(out: Path, split: str, language: str, side: str) -> list[str]:
    return (out / f"{split}-{language}.{side}").read_text(encoding="utf-8").split("\n")[:-1]


def _tell(line: str) -> None:
    print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()
