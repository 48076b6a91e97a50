"""One model of six directions of Multi30k beside six models of one, and one that never saw one of the directions.

    python benchmarks/many_languages.py --out runs/bench/many-languages

Each single model is trained by the recipe multi30k for as many updates as are asked for; the models of several
directions by multi30k-many for as many as all single ones together, with batches of the same size, so that both compute
for about as long; minutes are told. BLEU is on test_2016_flickr, beam 4. This takes many hours; what is finished is not
done again.
"""

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

import transduce
from transduce.bundle.model_bundle import read_history
from transduce.corpora.directions import Direction
from transduce.corpora.splits import open_split
from transduce.evaluation.metric import Score
from transduce.evaluation.translations import score_bleu
from transduce.inference.translator import Translator

DIRECTIONS = ["de-en", "en-de", "de-fr", "fr-de", "en-fr", "fr-en"]
TEST = "test_2016_flickr"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/many-languages"))
    parser.add_argument("--updates", type=int, default=1100, help="of each single model")
    parser.add_argument("--leave-out", choices=DIRECTIONS, default="de-fr", help="the direction that is not trained")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--token", choices=["source", "decoder"], default="source", help="where the language is told")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    singles = {name: _single(options.out, Direction.parse(name), options.updates) for name in DIRECTIONS}
    seen = [name for name in DIRECTIONS if name != options.leave_out]
    settings = {"data.temperature": options.temperature, "data.language_token": options.token}
    many, without = (
        _many(options.out / f"{name}-{options.token}-{options.temperature:g}", directions, options.updates, settings)
        for name, directions in (("all", DIRECTIONS), (f"without-{options.leave_out}", seen))
    )
    print(f"| direction | six models | one model | one without {options.leave_out} |")
    print("| --- | --- | --- | --- |")
    columns: list[list[float]] = [[], [], []]
    for name in DIRECTIONS:
        scores = [_bleu(run, Direction.parse(name)) for run in (singles[name], many, without)]
        for column, score in zip(columns, scores, strict=True):
            column.append(score.score)
        print(f"| {name} | {' | '.join(map(_shown, scores))} |", flush=True)
    print(f"| mean | {' | '.join(f'{fmean(column):.1f}' for column in columns)} |")
    minutes = [sum(map(_minutes, singles.values())), _minutes(many), _minutes(without)]
    print(f"| minutes | {' | '.join(f'{value:.0f}' for value in minutes)} |")


def _single(out: Path, direction: Direction, updates: int) -> Path:
    overrides = {"data.source": direction.source, "data.target": direction.target, **_length(updates, 0.32)}
    return _trained("multi30k", out / f"single-{direction}", overrides)


def _many(run: Path, directions: list[str], updates: int, settings: dict[str, Any]) -> Path:
    length = _length(updates * len(directions), 0.15)
    return _trained("multi30k-many", run, {"data.directions": directions, **settings, **length})


def _length(updates: int, warmup: float) -> dict[str, Any]:
    """So many updates, of which a share is for warming up, and four validations."""
    between = max(updates // 4, 1)
    return {
        "training.updates": updates,
        "optimizer.schedule.warmup": max(int(updates * warmup), 1),
        "checkpoint.every_updates": between,
        "validation.every_updates": between,
    }


def _trained(recipe: str, run: Path, overrides: dict[str, Any]) -> Path:
    if not (run / "model").exists():
        print(f"training {run}", flush=True)
        transduce.train(recipe, out=run, resume=run.exists(), overrides=overrides)
    return run


def _bleu(run: Path, direction: Direction) -> Score:
    """Of a model in a direction, be it one that it was not trained in."""
    pairs = list(open_split("multi30k", TEST, direction.source, direction.target))
    translator = Translator.load(run).directed(direction.target, direction.source)
    outputs = [found.text for found in translator.translate([pair.source for pair in pairs])]
    return score_bleu(outputs, [pair.target for pair in pairs])


def _shown(score: Score) -> str:
    low, high = score.interval
    return f"{score.score:.1f} ({low:.1f} to {high:.1f})"


def _minutes(run: Path) -> float:
    return float(read_history(run / "model")["seconds"]) / 60


if __name__ == "__main__":
    main()
