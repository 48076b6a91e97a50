"""Trains a translator at the size of real work on a machine that nothing can be fetched to, and brings it back.

    TRANSDUCE_DATA=data python benchmarks/at_size.py pack carried --megabytes 40
    python benchmarks/at_size.py train carried --minutes 8 --out result          (there, with a GPU)
    python benchmarks/at_size.py join result runs/tvsub-base                       (here)

`pack` writes as many whole episodes of TVsub as fit, evenly spread, and its development and test sets. `train` makes
as many updates of the recipe as fit into the minutes, in bfloat16, scores the test with three references, with and
without the sentences before, and leaves the model in pieces of at most 15 MiB, weights in bfloat16; `--tiny` tries all
that with a small model in a minute of a CPU. `join` makes a model of the pieces.
"""

import argparse
import html
import json
import lzma
import os
import re
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import torch
from safetensors.torch import load, load_file, save

import transduce
from peers.corpora import read_lines
from transduce.base.tensor_files import save_tensors
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.bundle.probe import read_probe
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import references_in
from transduce.evaluation.references import References
from transduce.evaluation.translations import score_bleu
from transduce.experiment import load_recipe
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

PIECE = 15 << 20
HELD_OUT = ("dev.zh.gz", "dev.en.gz", "test.zh.gz", "test.en.gz", "test_trg.sgm.gz")
WEIGHTS = "weights.safetensors"
TINY = ["model.dim=64", "model.heads=2", "model.feed_forward_dim=128", "model.encoder_layers=1"]
TINY += ["model.decoder_layers=1", "tokenizer.size=2000", "tokenizer.sample=20000", "batching.target_tokens=1000"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["pack", "train", "join"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", nargs="?", type=Path, help="the folder that `join` makes")
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/at-size"))
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    if options.step == "pack":
        pack(options.folder, int(options.megabytes * 2**20))
    elif options.step == "train":
        train(options.folder, options.minutes, options.out, options.tiny)
    else:
        join(options.folder, options.model)


def pack(folder: Path, size: int) -> None:
    """Writes episodes until the archive has this size, every fifth first, then the next ones."""
    data = Path(os.environ["TRANSDUCE_DATA"]) / "tvsub"
    folder.mkdir(parents=True, exist_ok=True)
    for name in HELD_OUT:
        shutil.copyfile(data / name, folder / name)
    path, pairs = folder / "train.tsv.xz", 0
    with path.open("wb") as stream, lzma.open(stream, "wb", preset=6) as archive:
        for start in range(5):
            for number, lines in enumerate(episodes(data)):
                if number % 5 == start and stream.tell() < size:
                    archive.write("".join(lines).encode())
                    pairs += len(lines)
    print(f"{pairs:,} pairs in {path.stat().st_size / 2**20:.1f} MiB")


def episodes(data: Path) -> Iterator[list[str]]:
    """The lines of each episode, without the few that have further tabs."""
    for file in sorted(data.glob("train.*.tsv.gz")):
        lines = (f"{line}\n" for line in read_lines(file) if line.count("\t") == 2)
        yield from (list(of_one) for _, of_one in groupby(lines, lambda line: line.split("\t", 1)[0]))


def train(folder: Path, minutes: float, out: Path, tiny: bool) -> None:
    """Trains on the packed pairs, scores the test, and leaves figures and the model in pieces."""
    files = {name: json.dumps([str((folder / f"{name}.{side}.gz").resolve()) for side in ("zh", "en")]) for name in
             ("dev", "test")}  # fmt: skip
    train_file = json.dumps(str((folder / "train.tsv.xz").resolve()))
    changes = [f"data.train={train_file}", "data.columns=[3, 2, 1]", f"data.validation={files['dev']}"]
    changes += [f"training.minutes={minutes}", *(TINY if tiny else [])]
    run = out / "run"
    result = transduce.train(load_recipe("tvsub-base", changes), run, tell=print)
    translator = Translator.load(run, engine="pytorch", device="auto" if torch.cuda.is_available() else "cpu")
    pairs = [SentencePair(line, "") for line in read_lines(folder / "test.zh.gz")][: 20 if tiny else None]
    lists = references_in(folder / "test_trg.sgm.gz")
    references = References.aligned(*(list(map(str.lower, each))[: len(pairs)] for each in lists))
    figures = {"seconds": result.seconds}
    for name, context in (("BLEU", translator.bundle.config.context), ("BLEU without context", None)):
        found = translator.translate(in_context(pairs, context), Beam(size=4, length_penalty=0.6))
        outputs = [re.sub("['\u2019]", " '", html.unescape(one.text).lower()) for one in found]
        figures[name] = score_bleu(outputs, references, lowercase=True).score
        (out / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
        print(name, round(figures[name], 2), flush=True)
    write_pieces(run, out / "model")


def write_pieces(run: Path, out: Path) -> None:
    """Writes a run's model with weights rounded to bfloat16, which are in pieces."""
    bundle = ModelBundle.load(run)
    with torch.no_grad():
        for parameter in bundle.model.parameters():
            parameter.copy_(parameter.bfloat16())
    rounded = run / "rounded"
    probe = read_probe(find_bundle(run))
    targets = map(bundle.tokenizers.target.decode, probe.target)
    bundle.save(rounded, list(zip(probe.text, targets, strict=True)))
    shutil.copytree(rounded, out, ignore=shutil.ignore_patterns(WEIGHTS))
    data = save({name: tensor.bfloat16() for name, tensor in load_file(rounded / WEIGHTS).items()})
    for number, start in enumerate(range(0, len(data), PIECE)):
        (out / f"{WEIGHTS}.{number:03}").write_bytes(data[start : start + PIECE])


def join(folder: Path, model: Path) -> None:
    """Makes a model of its pieces, whose weights are the same as in the one that was written."""
    pieces = sorted((folder / "model").glob(f"{WEIGHTS}.*"))
    shutil.copytree(folder / "model", model, ignore=shutil.ignore_patterns(f"{WEIGHTS}.*"))
    tensors = load(b"".join(piece.read_bytes() for piece in pieces))
    save_tensors({name: tensor.float() for name, tensor in tensors.items()}, model / WEIGHTS)
    print(ModelBundle.load(model))


if __name__ == "__main__":
    main()
