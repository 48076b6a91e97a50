"""What attention was worth before the Transformer, and the Transformer: models of equal size, each trained for as long.

    python benchmarks/attention_compared.py --out runs/bench/attention --minutes 10
    python benchmarks/attention_compared.py --out runs/ssru-2 --seed 2 --systems transformer "transformer with an SSRU"

Each cell is one training on Multi30k, German to English, with the data and tokenizer of the recipe `multi30k`, the same
batches, dropout and Adam; recurrent models get the width at which they have as many parameters as the recipe's
Transformer. How many updates fit into the time is measured first, for one after the other, twice. What is finished is
not done again, what was stopped goes on. At the end: a table (table.md), all scores (comparison.json), and BLEU by
source length (by_length.png), on test_2016_flickr.
"""

import argparse
import sys
from pathlib import Path
from statistics import mean, median
from typing import Any

import msgspec
import torch
from matplotlib.figure import Figure

import transduce
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.compare import Comparison, compare
from transduce.evaluation.translations import score_bleu
from transduce.experiment import Recipe, load_recipe
from transduce.models.families import build_model
from transduce.search.beam import Beam
from transduce.training.observers import Lines

ATTENTIONS: dict[str, dict[str, str | int]] = {
    "none": {"kind": "none", "thought": "every_step"},
    "bahdanau": {"kind": "bahdanau"},
    "luong dot": {"kind": "luong", "score": "dot"},
    "luong general": {"kind": "luong", "score": "general"},
    "luong concat": {"kind": "luong", "score": "concat", "score_dim": 256},
    "local": {"kind": "local", "position": "predictive"},
    "hard, score function": {"kind": "hard", "gradient": "score_function"},
    "hard, straight-through": {"kind": "hard", "gradient": "straight_through"},
}
TRANSFORMERS: dict[str, list[str]] = {
    "transformer": [],
    "transformer with an SSRU": ["model.decoder_recurrence=ssru"],
}
SYSTEMS = [*ATTENTIONS, *TRANSFORMERS]
VOCABULARY = 8000
DROPOUT = 0.3
ROUNDS = 2  # of measuring
TRIED = 8  # updates from whose second half the speed is measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/attention"))
    parser.add_argument("--minutes", type=float, default=10.0, help="of training a cell")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs = list(open_split("multi30k", "test_2016_flickr", "de", "en"))
    runs = {system: options.out / system.replace(",", "").replace(" ", "-") for system in options.systems}
    for number in range(ROUNDS):
        for system, run in runs.items():
            time_updates(run, changes_for(system, options.seed), number)
    outputs, facts = {}, {}
    for system, run in runs.items():
        recipe = cell(changes_for(system, options.seed), int(60 * options.minutes / seconds_per_update(run)))
        train(recipe, run)
        outputs[system] = translate(run, pairs)
        facts[system] = {"parameters": parameters(recipe.config.model), **speed(run)}
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    ranked = sorted(outputs, key=lambda system: -score_bleu(outputs[system], references, lowercase=True).score)
    comparison = compare({system: outputs[system] for system in ranked}, sources, references, lowercase=True)
    report = {"comparison": comparison.to_dict(), "facts": facts}
    (options.out / "comparison.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    (options.out / "table.md").write_text(table(comparison, facts), encoding="utf-8")
    draw(comparison, list(outputs), options.out / "by_length.png")
    print(table(comparison, facts), end="")


def changes_for(system: str, seed: int) -> list[str]:
    """Changes of the recipe that make a system of it: a Transformer's own, or a recurrent model of its size."""
    if system in TRANSFORMERS:
        return [f"seed={seed}", f"model.dropout={DROPOUT}", *TRANSFORMERS[system]]
    wanted = parameters(load_recipe("multi30k").config.model)
    narrow, wide = 16, 4096
    while wide - narrow > 2:  # the count grows with the width
        middle = (narrow + wide) // 4 * 2
        found = parameters(cell(model_of(system, middle), 1).config.model)
        narrow, wide = (middle, wide) if found <= wanted else (narrow, middle)
    return [f"seed={seed}", *model_of(system, narrow)]


def model_of(system: str, width: int) -> list[str]:
    """A decoder of a width, and an encoder whose two directions are together as wide."""
    attention = ", ".join(f"{key} = {value!r}" for key, value in ATTENTIONS[system].items())
    sizes = f"dim = 256, encoder_dim = {width // 2}, decoder_dim = {width}"
    return [f"model={{kind = 'recurrent', {sizes}, tie = 'all', dropout = {DROPOUT}, attention = {{{attention}}}}}"]


def parameters(model: Any) -> int:
    """How many a model of these settings has, over the recipe's vocabulary."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build_model(model, VOCABULARY, VOCABULARY).parameters())


def cell(changes: list[str], updates: int) -> Recipe[Any]:
    """The recipe of a system, validated and kept a few times in its run."""
    every = max(updates // 5, TRIED)
    more = [f"training.updates={updates}", f"checkpoint.every_updates={every}", f"validation.every_updates={every}"]
    schedule = f"{{kind = 'linear', warmup = {max(updates // 5, 1)}}}"
    more += [f"optimizer={{kind = 'adam', learning_rate = 3e-3, schedule = {schedule}}}"]
    batches = ["batching={target_tokens=4096, groups=8}", "training.accumulate=4"]
    return load_recipe("multi30k", [*changes, *more, *batches, f"training.report_every={TRIED // 2}"])


def time_updates(run: Path, changes: list[str], number: int) -> None:
    """Measure how long an update takes, once a round; kept beside the run."""
    file = run.with_suffix(f".{number}.json")
    if file.exists():
        return
    trial = run.with_suffix(f".trial-{number}")
    train(cell(changes, TRIED), trial)
    last = [line["seconds_per_update"] for line in log(trial) if "seconds_per_update" in line][-1]
    file.write_bytes(msgspec.json.encode(last))


def seconds_per_update(run: Path) -> float:
    """The mean over all rounds."""
    return mean(msgspec.json.decode(run.with_suffix(f".{n}.json").read_bytes(), type=float) for n in range(ROUNDS))


def train(recipe: Recipe[Any], run: Path) -> None:
    """The run, finished."""
    transduce.train(recipe, run, resume=True, observers=[Lines(sys.stderr)])


def translate(run: Path, pairs: list[SentencePair]) -> list[str]:
    """Translations of the test set, kept in a file."""
    file = run / "translations.json"
    if not file.exists():
        translations = transduce.Translator.load(run).translate([pair.source for pair in pairs], Beam(size=4))
        file.write_bytes(msgspec.json.encode([translation.text for translation in translations]))
    return msgspec.json.decode(file.read_bytes(), type=list[str])


def speed(run: Path) -> dict[str, float]:
    """The median of target tokens a second over a run's reports, and its updates."""
    lines = log(run)
    rates = [line["target_tokens_per_second"] for line in lines if "target_tokens_per_second" in line]
    return {"updates": lines[-1]["update"], "target_tokens_per_second": median(rates)}


def log(run: Path) -> list[dict[str, Any]]:
    """The lines of a run's log."""
    return [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]


def table(comparison: Comparison[Any], facts: dict[str, dict[str, float]]) -> str:
    """Rows from the best to the worst, each against the best, and BLEU by source words."""
    parts = comparison.by_length
    spans = [f"{part.at_least}-{part.at_most}" if part.at_most else f"{part.at_least}+" for part in parts]
    head = ["attention", "parameters", "updates", "tokens/s", "BLEU", "against the best (p)"]
    head += [f"{span} words ({part.sentences:,})" for span, part in zip(spans, parts, strict=True)]
    lines = [head, ["---"] * len(head)]
    for system in comparison.systems:
        known, against = facts[system.name], system.against_baseline
        lines.append(
            [
                system.name,
                f"{known['parameters']:,}",
                f"{known['updates']:,}",
                f"{known['target_tokens_per_second']:,.0f}",
                f"{system.bleu.score:.1f}",
                f"{against['bleu'].difference:+.1f} ({against['bleu'].bootstrap_p:.3f})" if against else "",
                *(f"{part.bleu[system.name]:.1f}" for part in parts),
            ]
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(comparison: Comparison[Any], systems: list[str], picture: Path) -> None:
    """BLEU over the source's length, a line a system."""
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    parts = comparison.by_length
    for system in systems:
        axes.plot(range(len(parts)), [part.bleu[system] for part in parts], marker="o", markersize=3, label=system)
    axes.set_xticks(range(len(parts)))
    axes.set_xticklabels(
        [f"{part.at_least} to {part.at_most}" if part.at_most else f"{part.at_least} or more" for part in parts]
    )
    axes.set_xlabel("words of the source")
    axes.set_ylabel("BLEU (13a, lower-cased)")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main()
