"""Translation speed of Transduce and its peers, all with the same weights and the same beam, on one machine.

    python benchmarks/translate_speed.py --report

A small model is trained first, of the one form that all toolkits know (ten minutes; give a finished one with
--model). Each system translates test_2016_flickr in a process of its own, round after round; what a round measured is
kept and not done again. `--report` writes table and chart into results/speed.md, with `--repeats 0` from what is
kept alone.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import torch

import transduce
from peers.lines import write_tokens
from peers.measurements import Measurements, OtherSettingsError, Spread, System, measure, paired
from peers.report import PAGE, PICTURES, describe_machine, draw_bars, table, write_between
from peers.weights import check, joeynmt_weights, marian_weights
from transduce.base.config import to_tree
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.splits import open_split
from transduce.evaluation.translations import score_bleu
from transduce.experiment import load_recipe
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.text.detokenization import detokenize
from transduce.training.observers import Lines

OURS = "Transduce float32"
FASTEST = "Transduce int8"
SYSTEMS = [
    System(OURS, "transduce", "translate_transduce", {"precision": "float32"}),
    System("Transduce bfloat16", "transduce", "translate_transduce", {"precision": "bfloat16"}),
    System(FASTEST, "transduce", "translate_transduce", {"precision": "int8"}),
    System("Transduce int8 compiled", "transduce", "translate_transduce", {"precision": "int8", "compile": True}),
    System("CTranslate2 float32", "ctranslate2", "translate_ctranslate2", {"precision": "float32"}),
    System("CTranslate2 int8", "ctranslate2", "translate_ctranslate2", {"precision": "int8"}),
    System("Marian", "transformers", "translate_marian"),
    System("JoeyNMT", "joeynmt", "translate_joeynmt"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="a run or model with the sizes of your choice; words, see below")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/translating"))
    parser.add_argument("--epochs", type=int, default=7, help="of the model that is trained without --model")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help="only those whose name begins so, and Transduce")
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--sentences", type=int, default=1000, help="of the test set")
    parser.add_argument("--alone", type=int, default=60, help="sentences that are also translated one by one")
    parser.add_argument("--batch", type=int, default=64, help="sentences of the peers' batches, sorted by length")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--report", action="store_true", help=f"write what is kept into {PAGE.name}")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.out.absolute()
    bundle = ModelBundle.load(options.model or train(folder / "run", options.epochs))
    shared = {
        **write_models(bundle, options.model or folder / "run", folder / "models"),
        **write_sentences(bundle, folder / "lines", options.sentences),
        "model": to_tree(bundle.config.model),
        "alone": options.alone,
        "batch": options.batch,
        "beam_size": options.beam_size,
        "length_penalty": 1.0,
        "longest_output": 100,
        "threads": options.threads,
    }
    chosen = [system for system in SYSTEMS if system.is_chosen(options.peers)]
    try:
        found = measure(chosen, options.repeats, folder / "found", shared)
    except OtherSettingsError as error:
        parser.error(str(error))
    text = make_table(found, bundle, options.sentences)
    print(text, end="")
    if options.report:
        write_report(text, found, shared)


def train(run: Path, epochs: int) -> Path:
    """A model of the sizes of multi30k-words, with the positions and the shared matrix that all toolkits know."""
    form = ["model.positions=sinusoidal", "model.tie=target", "model.initialization=scaled"]
    length = [f"training.epochs={epochs}", "optimizer.schedule={kind='linear', warmup=200}"]
    transduce.train(
        load_recipe("multi30k-words", [*form, *length]), run, resume=run.exists(), observers=[Lines(sys.stderr)]
    )
    return run


def write_models(bundle: ModelBundle, model: Path, folder: Path) -> dict[str, str]:
    """The model as each toolkit reads it; where `transduce export` fails, CTranslate2's rows will tell."""
    check(cast(TransformerConfig, bundle.config.model))
    folder.mkdir(parents=True, exist_ok=True)
    ours = cast(Transformer, bundle.model)
    places = {name: folder / f"{name}.pt" for name in ("marian", "joeynmt")}
    torch.save(marian_weights(ours), places["marian"])
    torch.save({"model_state": joeynmt_weights(ours)}, places["joeynmt"])
    exported = folder / "ctranslate2"
    if not exported.exists():
        command = [sys.executable, "-m", "transduce", "export", str(model), "--to", "ctranslate2", "-o", str(exported)]
        done = subprocess.run(command, capture_output=True, text=True)
        said = [line.strip("│ ") for line in done.stderr.splitlines() if any(map(str.isalpha, line))]
        refusal = said[-1] if done.returncode else ""
        exported.with_suffix(".refusal").write_text(refusal, encoding="utf-8")
    return {
        "transduce_model": str(model.absolute()),
        "ctranslate2_model": str(exported),
        "marian_weights": str(places["marian"]),
        "weights": str(places["joeynmt"]),
    }


def write_sentences(bundle: ModelBundle, folder: Path, count: int) -> dict[str, str]:
    """The test set's sources as text and as tokens, and the vocabularies, a token a line."""
    folder.mkdir(parents=True, exist_ok=True)
    config = bundle.config
    texts = [pair.source for pair in open_split("multi30k", "test_2016_flickr", config.source, config.target)][:count]
    (folder / "test.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    write_tokens(folder / "test.tokens", bundle.tokenizers.source, texts)
    vocabularies = {config.source: bundle.tokenizers.source, config.target: bundle.tokenizers.target}
    for language, tokenizer in vocabularies.items():
        pieces = tokenizer.pieces(range(len(tokenizer)))
        (folder / f"vocab.{language}").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return {
        "data": str(folder),
        "source": config.source,
        "target": config.target,
        "text": str(folder / "test.txt"),
        "tokens": str(folder / "test.tokens"),
        "source_vocabulary": str(folder / f"vocab.{config.source}"),
        "target_vocabulary": str(folder / f"vocab.{config.target}"),
    }


def speeds(measurements: Measurements) -> dict[int, float]:
    """Sentences a second of each round."""
    return {number: found["sentences"] / found["seconds"] for number, found in measurements.rounds.items()}


def outputs(name: str, measurements: Measurements) -> list[str]:
    """A system's translations as text; peers give tokens."""
    found: list[str] = next(iter(measurements.rounds.values()))["outputs"]
    return found if name.startswith("Transduce") else [detokenize(line.split()) for line in found]


def make_table(found: dict[str, Measurements], bundle: ModelBundle, sentences: int) -> str:
    """A row a system: speed, also against Transduce in the same rounds, one sentence alone, and what it wrote."""
    config = bundle.config
    pairs = list(open_split("multi30k", "test_2016_flickr", config.source, config.target))[:sentences]
    fastest = speeds(found[FASTEST]) if FASTEST in found else {}
    baseline = outputs(OURS, found[OURS]) if OURS in found and found[OURS].rounds else []
    head = ["", "precision", "sentences a second", f"{FASTEST}'s speed divided by it"]
    rows = [[*head, "one sentence alone, ms", "BLEU", f"same output as {OURS}"]]
    for name, measurements in found.items():
        if not measurements.rounds:
            rows.append([name, "", measurements.reason or "", "", "", "", ""])
            continue
        any_round = next(iter(measurements.rounds.values()))
        ratio = paired(fastest, speeds(measurements)) if name != FASTEST else None
        alone = Spread.of([1000 * found["seconds_alone"] for found in measurements.rounds.values()])
        texts = outputs(name, measurements)
        same = sum(one == other for one, other in zip(texts, baseline, strict=True)) / len(texts) if baseline else 0
        rows.append(
            [
                f"{name.split()[0]} {any_round['version']}",
                any_round["precision"],
                Spread.of(list(speeds(measurements).values())).show(",.1f"),
                ratio.show(".2f") if ratio else "",
                alone.show(",.1f"),
                f"{score_bleu(texts, [pair.target for pair in pairs], lowercase=True).score:.2f}",
                f"{same:.1%}" if baseline else "",
            ]
        )
    return table(rows)


def write_report(text: str, found: dict[str, Measurements], shared: dict[str, Any]) -> None:
    """Table and chart."""
    bars = {name: Spread.of(list(speeds(m).values())) for name, m in found.items() if m.rounds}
    picture = PICTURES / "translating.svg"
    draw_bars(bars, "sentences a second", picture)
    told = (
        f"`python benchmarks/translate_speed.py`: {describe_machine(shared['threads'])} PyTorch {torch.__version__}; "
        f"{max(len(m.rounds) for m in found.values())} rounds, beam {shared['beam_size']}.\n"
    )
    write_between(PAGE, "translating", f"{told}\n{text}\n![Sentences a second](../docs/{picture.name})\n")


if __name__ == "__main__":
    main()
