"""What adapting a translation model gains on a new text and loses on the old one, by each way that there is, beside
Hugging Face's Trainer on the same weights.

    python benchmarks/adaptation.py --out runs/bench/adaptation

A model of Tatoeba's German-English sentences is trained, and adapted to captions of Multi30k with a thousand pairs:
BLEU on both test sets before and after, against plain fine-tuning, and against the Trainer, with a confidence interval
of the difference. Batches, rates, schedule, Adam's figures, smoothing, clipping, dropout and beam are the same for
both, and both keep the weights of least validation loss. Speeds are of updates alone, in alternating rounds. What is
finished is not done again. For a try in minutes: --general-updates 20 --updates 4 --tested 20 --rounds 1.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
import tomli_w
import torch

import transduce
from peers.environments import interpreter
from peers.report import describe_machine, table
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.base.files import write_text
from transduce.corpora.splits import open_split
from transduce.evaluation.compare import compare
from transduce.search.beam import Beam

SPECIAL = {"pad": "<pad>", "unknown": "<unk>", "bos": "<s>", "eos": "</s>"}
MODEL = {  # what MarianMT can be
    "kind": "transformer",
    "encoder_layers": 3,
    "decoder_layers": 3,
    "dim": 256,
    "heads": 4,
    "feed_forward_dim": 1024,
    "activation": "relu",
    "norm": "post",
    "positions": "concatenated",
    "tie": "all",
    "output_bias": True,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "embedding_dropout": 0.1,
}
WAYS: dict[str, dict[str, Any]] = {
    "fine-tuned": {},
    "embeddings frozen": {"optimizer.frozen": ["embeddings"]},
    "encoder frozen": {"optimizer.frozen": ["encoder"]},
    "rates per layer, 0.8": {"optimizer.layer_decay": 0.8},
    "adapters of rank 8": {"training.adapters.rank": 8, "optimizer.learning_rate": 2e-3},
    "general data mixed in": {"mixed": True},
    "adapters, general data mixed in": {"training.adapters.rank": 8, "optimizer.learning_rate": 2e-3, "mixed": True},
    "both texts weighed": {"weighed": True},
}
PLAIN = "fine-tuned"
TRAINER = "Hugging Face's Trainer"


@dataclass(frozen=True)
class Bench:
    """Where everything stands."""

    out: Path
    options: argparse.Namespace

    def files(self, name: str) -> list[str]:
        """A text's German and English file."""
        return [str((self.out / f"{name}.{language}").resolve()) for language in ("de", "en")]

    def lines(self, name: str) -> tuple[list[str], list[str]]:
        """What is in them."""
        german, english = (Path(file).read_text(encoding="utf-8").split("\n")[:-1] for file in self.files(name))
        return german, english


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/adaptation"))
    parser.add_argument("--general-updates", type=int, default=6000)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--tested", type=int, default=1000, help="sentences of each test set, at most")
    parser.add_argument("--rounds", type=int, default=3, help="of measuring speed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "bfloat16"), help="Transduce's")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--without-trainer", action="store_true", help="Transduce alone")
    options = parser.parse_args()
    bench = Bench(options.out, options)
    torch.set_num_threads(bench.options.threads)
    bench.out.mkdir(parents=True, exist_ok=True)
    write_texts(bench)
    general = train_general(bench)
    print(describe_machine(bench.options.threads))
    outputs = {"before": [translated(bench, general, bench.out / "before")] * len(bench.options.seeds)}
    for way in dict.fromkeys([PLAIN, *bench.options.ways]):
        runs = [adapt(bench, general, way, seed) for seed in bench.options.seeds]
        outputs[way] = [translated(bench, run, run) for run in runs]
    if not bench.options.without_trainer:
        folder = bench.out / "marian"
        if not folder.exists():
            export_huggingface(general, folder)
        outputs[TRAINER] = [by_trainer(bench, folder, seed) for seed in bench.options.seeds]
    print(table(quality(bench, outputs)))
    if not bench.options.without_trainer:
        print(table(speeds(bench, general, folder)))


def write_texts(bench: Bench) -> None:
    """The texts as files, and a SentencePiece model of the general one."""
    wanted = {
        "general-train": ("tatoeba-eng-deu", "train", None),
        "general-dev": ("tatoeba-eng-deu", "validation", 500),
        "general-test": ("tatoeba-eng-deu", "test", bench.options.tested),
        "new-train": ("multi30k", "train", bench.options.pairs),
        "new-dev": ("multi30k", "val", 500),
        "new-test": ("multi30k", "test_2016_flickr", bench.options.tested),
    }
    for name, (dataset, split, most) in wanted.items():
        pairs = list(open_split(dataset, split, "de", "en"))[:most]
        for file, side in zip(bench.files(name), ("source", "target"), strict=True):
            write_text(Path(file), "".join(f"{getattr(pair, side)}\n" for pair in pairs))
    if not (bench.out / "general.model").exists():
        german, english = bench.lines("general-train")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(german + english),
            model_prefix=str(bench.out / "general"),
            vocab_size=8000,
            pad_id=3,
            minloglevel=2,
        )


def train_general(bench: Bench) -> Path:
    """The model of the general text."""
    settings = {
        "data": texts("general", bench),
        "tokenizer": {"kind": "file", "file": str((bench.out / "general.model").resolve()), "special": SPECIAL},
        "model": MODEL,
        "batching": {"target_tokens": 2048, "groups": 4},
        "training": {"updates": bench.options.general_updates, "precision": bench.options.precision},
        "optimizer": {"learning_rate": 1e-3, "schedule": {"kind": "linear", "warmup": 400}},
        "validation": {"every_updates": 500},
    }
    return trained(bench, settings, "general")


def adapt(bench: Bench, general: Path, way: str, seed: int, **training: Any) -> Path:
    """The run that adapts the model in some way."""
    changes = dict(WAYS[way])
    data = texts("new", bench)
    if changes.pop("mixed", False):
        weight = bench.options.pairs / max(len(bench.lines("general-train")[0]), 1)  # as many pairs of both
        data["train"] = [{"files": data["train"]}, {"files": bench.files("general-train"), "weight": weight}]
    if changes.pop("weighed", False):
        data["general_validation"] = bench.files("general-dev")
    settings: dict[str, Any] = {
        "seed": seed,
        "data": data,
        "batching": {"sentences": 32, "groups": 4},
        "training": {
            "start_from": str(general.resolve()),
            "updates": bench.options.updates,
            "precision": bench.options.precision,
            "report_every": 1,
            **training,
        },
        "optimizer": {
            "learning_rate": 2e-4,
            "betas": [0.9, 0.98],
            "schedule": {"kind": "linear", "warmup": warmup(bench)},
        },
        "validation": {"every_updates": every(bench), "samples": 0},
    }
    for key, value in changes.items():
        table_, *inner = key.split(".")
        place = settings[table_]
        for part in inner[:-1]:
            place = place.setdefault(part, {})
        place[inner[-1]] = value
    return trained(bench, settings, f"{way.replace(' ', '-').replace(',', '')}-{seed}")


def trained(bench: Bench, settings: dict[str, Any], name: str) -> Path:
    """A run by these settings, gone on with where it was stopped."""
    recipe = bench.out / f"{name}.toml"
    write_text(recipe, tomli_w.dumps(settings))
    return transduce.train(recipe, bench.out / name, resume=True, progress=True).run


def texts(name: str, bench: Bench) -> dict[str, Any]:
    """The table `[data]` of a text."""
    named = {"train": f"{name}-train", "validation": f"{name}-dev"}
    return {"source": "de", "target": "en"} | {key: bench.files(file) for key, file in named.items()}


def translated(bench: Bench, model: Path, folder: Path) -> dict[str, list[str]]:
    """What a model makes of both test sets, kept in a folder."""
    found = {}
    beam = Beam(size=4, length_penalty=1.0, normalization="power", max_ratio=0.0, max_extra=100)
    for test in ("new-test", "general-test"):
        file = folder / f"{test}.out"
        if not file.exists():
            folder.mkdir(exist_ok=True)
            outputs = transduce.Translator.load(model, device="cpu").translate(bench.lines(test)[0], beam)
            write_text(file, "".join(f"{found.text}\n" for found in outputs))
        found[test] = file.read_text(encoding="utf-8").split("\n")[:-1]
    return found


def by_trainer(bench: Bench, folder: Path, seed: int) -> dict[str, list[str]]:
    """What the Trainer's model makes of both test sets."""
    out = bench.out / f"trainer-{seed}"
    tests = [bench.files(test)[0] for test in ("new-test", "general-test")]
    run_trainer(bench, folder, out, seed, tests, every(bench))
    files = [out / f"{Path(test).name}.out" for test in tests]
    lines = [file.read_text(encoding="utf-8").split("\n")[:-1] for file in files]
    return dict(zip(("new-test", "general-test"), lines, strict=True))


def run_trainer(bench: Bench, folder: Path, out: Path, seed: int, tests: Sequence[str], every: int) -> list[float]:
    """Seconds of each update of the Trainer, which is not run again where it is finished."""
    result = out / "result.json"
    job = {
        "folder": str(folder),
        "train": bench.files("new-train"),
        "validation": bench.files("new-dev"),
        "tests": tests,
        "out": str(out),
        "updates": bench.options.updates,
        "sentences": 32,
        "learning_rate": 2e-4,
        "warmup": warmup(bench),
        "betas": [0.9, 0.98],
        "epsilon": 1e-9,
        "label_smoothing": 0.1,
        "clip_norm": 1.0,
        "every": every,
        "seed": seed,
        "threads": bench.options.threads,
        "beam_size": 4,
        "longest": 128,
    }
    script = Path(__file__).parent / "peers" / "adapt_transformers.py"
    if not result.exists():
        subprocess.run([str(interpreter("trainer")), str(script), json.dumps(job)], check=True, stdout=sys.stderr)
    found: list[float] = json.loads(result.read_text(encoding="utf-8"))["seconds_per_update"]
    return found


def every(bench: Bench) -> int:
    """Updates between validations."""
    return max(bench.options.updates // 10, 1)


def warmup(bench: Bench) -> int:
    """Updates until the rate is highest."""
    return max(bench.options.updates // 10, 1)


def quality(bench: Bench, outputs: dict[str, list[dict[str, list[str]]]]) -> list[tuple[str, ...]]:
    """BLEU of each way on both test sets, and the difference from plain fine-tuning; of several seeds all together."""
    rows = {way: [way] for way in outputs}
    head = ["BLEU, German to English"]
    for test, title in (("new-test", "captions"), ("general-test", "Tatoeba")):
        sources, references = bench.lines(test)
        seeds = len(bench.options.seeds)
        pooled = {way: [line for one in each for line in one[test]] for way, each in outputs.items()}
        ordered = {PLAIN: pooled[PLAIN]} | pooled
        found = compare(ordered, sources * seeds, references * seeds)
        head += [title, f"against {PLAIN} [95 %]"]
        for system in found.systems:
            rows[system.name].append(f"{system.bleu.score:.1f}")
            difference = system.against_baseline
            if difference is None:
                rows[system.name].append("")
            else:
                low, high = difference["bleu"].interval
                rows[system.name].append(f"{difference['bleu'].difference:+.1f} [{low:+.1f}, {high:+.1f}]")
    return [tuple(head), *(tuple(row) for row in rows.values())]


def speeds(bench: Bench, general: Path, folder: Path) -> list[tuple[str, ...]]:
    """Seconds of an update, ours and the Trainer's in turn."""
    rows: list[tuple[str, ...]] = [("round", "Trainer, s", "Transduce, s", "times as fast", "with adapters")]
    for number in range(1, bench.options.rounds + 1):
        theirs = run_trainer(bench, folder, bench.out / f"speed-trainer-{number}", number, [], 0)
        mine = {}
        for way in (PLAIN, "adapters of rank 8"):
            run = adapt(bench, general, way, 1000 + number)
            lines = (json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
            mine[way] = statistics.mean(line["seconds_per_update"] for line in lines if "loss" in line)
        peer = statistics.mean(theirs)
        ratios = (f"{peer / seconds:.2f}" for seconds in mine.values())
        rows.append((str(number), f"{peer:.3f}", f"{mine[PLAIN]:.3f}", *ratios))
    return rows


if __name__ == "__main__":
    main()
