"""How much the automatic choice of settings loses against a search around it, at equal time, for several languages.

    TRANSDUCE_DATA=data python benchmarks/regret.py --minutes 2 --sets captions-10000 --out runs/bench/regret

For each set the settings are those that `transduce train A B --minutes N` would choose for one thread of an idle
machine. Beside it twelve others are trained, each with one choice changed (width, layers, batch, rate, dropout), and
one that is the same for all sets, for as many updates as take as long by the time of the processor, so that other work
on the machine changes nothing. The best of them is chosen on the validation data, and both are compared on the test
data: the regret is the chrF that is lost; below 0, the search found nothing. What is finished is not done again.
`--search 0` trains the choice alone.
"""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

import transduce
from peers.corpora import write_set
from peers.report import describe_machine, table
from transduce.evaluation.translations import score_chrf
from transduce.experiment.automatic import Files, recipe_for
from transduce.experiment.machine import Machine, measure_machine
from transduce.models.transformer import TransformerConfig

TESTED = 300
FIXED = {
    **{"model.dim": 256, "model.heads": 8, "model.feed_forward_dim": 512, "model.encoder_layers": 4},
    **{"model.decoder_layers": 4, "model.dropout": 0.1, "model.attention_dropout": 0.0},
    **{"model.activation_dropout": 0.0, "batching.target_tokens": 1024, "optimizer.learning_rate": 1.5e-3},
}
"""The automatic choice for 10,000 pairs and more until November 2026, for any time of training."""
SEARCHED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "half as wide": lambda chosen: width(chosen, 0.5),
    "0.7 as wide": lambda chosen: width(chosen, 0.71),
    "1.4 as wide": lambda chosen: width(chosen, 1.41),
    "twice as wide": lambda chosen: width(chosen, 2.0),
    "no dropout": lambda chosen: dropout(0.0),
    "dropout and 0.1": lambda chosen: dropout(chosen["model.dropout"] + 0.1),
    "half the batch": lambda chosen: batch(chosen, 0.5),
    "twice the batch": lambda chosen: batch(chosen, 2.0),
    "half the rate": lambda chosen: {"optimizer.learning_rate": 0.5 * chosen["optimizer.learning_rate"]},
    "twice the rate": lambda chosen: {"optimizer.learning_rate": 2.0 * chosen["optimizer.learning_rate"]},
    "2 layers": lambda chosen: {"model.encoder_layers": 2, "model.decoder_layers": 2},
    "4 layers": lambda chosen: {"model.encoder_layers": 4, "model.decoder_layers": 4},
    "4 layers, 256 wide": lambda chosen: FIXED,
}
"""Choices that are tried beside the automatic one, by name."""


def width(chosen: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Changes the width, and the rate as the automatic choice does."""
    dim = 8 * max(round(factor * chosen["model.dim"] / 8), 4)
    rate = chosen["optimizer.learning_rate"] * chosen["model.dim"] / dim
    return {
        "model.dim": dim,
        "model.feed_forward_dim": min(max(512, 2 * dim), 4 * dim),
        "optimizer.learning_rate": rate,
    }


def dropout(rate: float) -> dict[str, Any]:
    """Changes all rates of dropout."""
    return {"model.dropout": rate, "model.attention_dropout": rate / 2, "model.activation_dropout": rate / 2}


def batch(chosen: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Changes the size of a batch, and the rate with its root."""
    rate = chosen["optimizer.learning_rate"] * factor**0.5
    return {"batching.target_tokens": round(factor * chosen["batching.target_tokens"]), "optimizer.learning_rate": rate}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/regret"))
    parser.add_argument("--sets", nargs="+", default=["captions-10000", "north-sami-10000"], help="NAME-PAIRS")
    parser.add_argument("--minutes", type=float, default=2.0, help="of one thread, for each training")
    parser.add_argument("--search", type=int, default=len(SEARCHED), help="configurations beside the automatic one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    machine = measure_machine(torch.device("cpu"))
    rows = [["set", "width, layers, dropout, batch", "chrF chosen", "chrF of the search", "its best", "regret"]]
    for name in options.sets:
        rows.append(measure(name, options.out, options.minutes, options.search, machine))
    print(describe_machine(1), f"{options.minutes:g} minutes", table(rows), sep="\n\n")


def measure(name: str, out: Path, minutes: float, count: int, machine: Machine) -> list[str]:
    """Trains the automatic choice for a set, and others; returns the set's row."""
    corpus, _, pairs = name.rpartition("-")
    files, test = write_set(corpus, int(pairs), TESTED, Path(os.environ["TRANSDUCE_DATA"]), out)
    overrides = {"data.test_share": 0.0, "phrases": False, "training.minutes": minutes}
    recipe = recipe_for(Files(tuple(files), overrides), machine=lambda: machine)
    model, config = recipe.config.model, recipe.config
    chosen = {f"model.{part}": getattr(model, part) for part in ("dim", "encoder_layers", "dropout")}
    chosen["batching.target_tokens"] = config.batching.target_tokens
    chosen["optimizer.learning_rate"] = config.optimizer.learning_rate

    def score(tried: str, changes: dict[str, Any]) -> tuple[float, float]:
        result = out / f"{name}-{minutes:g}" / f"{tried.replace(' ', '-')}.json"
        if not result.exists():
            settings = overrides | changes | {"training.minutes": None}
            sized = recipe_for(Files(tuple(files), overrides | changes), machine=lambda: machine).config
            updates = max(round(60 * minutes / seconds_of(sized, machine)), 20)
            settings |= {"training.updates": updates, "validation.every_updates": max(updates // 3, 10)}
            run = transduce.train(recipe, result.with_suffix(""), overwrite=True, overrides=settings)
            result.write_text(json.dumps({"validation": run.validation["chrf"], "test": test_chrf(run.model, test)}))
        scores = json.loads(result.read_text())
        print(name, tried, scores, flush=True)
        return scores["validation"], scores["test"]

    alone = score("chosen", {})
    others = {tried: score(tried, change(chosen)) for tried, change in list(SEARCHED.items())[:count]}
    best = max(others, key=lambda tried: others[tried]) if others else "chosen"
    found = others.get(best, alone)[1]
    facts = f"{model.dim}, {model.encoder_layers}, {model.dropout}, {config.batching.target_tokens:,}"
    return [name, facts, f"{alone[1]:.1f}", f"{found:.1f}", best, f"{found - alone[1]:+.1f}"]


def seconds_of(config: Any, machine: Machine) -> float:
    """Returns the seconds of an update by the counted operations."""
    assert isinstance(config.model, TransformerConfig)
    return machine.seconds(config.model, config.tokenizer.max_size or 4000, config.batching.target_tokens)


def test_chrf(model: Path, files: list[str]) -> float:
    """Returns the chrF of a model on two files."""
    sources, references = (Path(file).read_text("utf-8").splitlines() for file in files)
    outputs = [each.text for each in transduce.Translator.load(model).translate(sources)]
    return score_chrf(outputs, references).score


if __name__ == "__main__":
    main()
