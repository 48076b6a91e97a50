"""True if a fine-tuned encoder tells as much here as in Hugging Face transformers: both trained, tested and compared.

Both start from the same weights and read the same texts in the same batches, with the epochs, rates, schedule, weight
decay, clipping and dropout of a recipe, and keep what was best on the validation data. Ours trains at the recipe's
precision (bfloat16 where that is native), transformers in float32.

    python benchmarks/encoder_quality.py FOLDER --recipes sst2 sick-entailment --seeds 1 2 3 --out runs/bench/encoders

FOLDER is that of a BERT of Hugging Face transformers, which must be installed. Settings at the end, such as
training.updates=100, change the recipes for both. Trainings that are finished in OUT are not done again.
"""

import argparse
import copy
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import transduce
from fine_tuning import RECIPES, FineTuning, TransformersClassifier
from peers.report import table
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.config import to_toml
from transduce.base.files import new_folder, write_text
from transduce.bundle.model_bundle import ModelBundle
from transduce.evaluation.compare import compare_scores
from transduce.evaluation.metric import SentenceCounts
from transduce.evaluation.score_table import Scores
from transduce.tasks.classification import CLASSIFICATION

HEAD = ("recipe", "seed", "metric", "transformers", "Transduce", "difference [95 %]", "p (randomisation)")


def main() -> None:
    """Print one table; of several seeds, the counts of each text are summed in the rows called "all"."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="*", default=[], help="such as training.updates=100")
    parser.add_argument("--recipes", nargs="+", default=["sst2"], choices=RECIPES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/encoders"))
    arguments = parser.parse_intermixed_args()
    model = arguments.out.resolve() / "model"
    if not model.exists():
        import_huggingface(arguments.folder, model)
    rows: list[tuple[str, ...]] = [HEAD]
    for recipe in arguments.recipes:
        pairs = []
        for seed in arguments.seeds:
            changes = [f"training.start_from={model}", f"seed={seed}", *arguments.settings]
            pairs.append(trained(recipe, changes, arguments.folder, arguments.out / f"{recipe}-{seed}"))
            rows += compared(recipe, str(seed), *pairs[-1])
        if len(pairs) > 1:
            rows += compared(recipe, "all", *(summed(measured) for measured in zip(*pairs, strict=True)))
    print(table(rows), end="")


def trained(recipe: str, changes: list[str], folder: Path, out: Path) -> tuple[Scores, Scores]:
    """What transformers and Transduce tell of the test data after the training of a recipe."""
    run, settings = FineTuning.open(recipe, changes), out / "settings.toml"
    if settings.exists() and settings.read_text(encoding="utf-8") != to_toml(run.config):
        raise SystemExit(f"{out} was trained with different settings; remove it, or choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    write_text(settings, to_toml(run.config))
    ours = transduce.train(recipe, out / "transduce", overrides=changes, resume=True, progress=True)
    scores = CLASSIFICATION.score(ModelBundle.load(ours.model), run.experiment.tested)
    return run.scores(predictions(folder, run, out / "transformers")), scores


def predictions(folder: Path, run: FineTuning, out: Path) -> NDArray[np.float64]:
    """The probabilities, or scores, of the test data by a model that transformers has trained."""
    if not out.exists():
        peer = TransformersClassifier(folder, run)
        found = fine_tuned(peer, run)
        with new_folder(out) as new:
            np.savez(new / "test.npz", predicted=found)
    with np.load(out / "test.npz", allow_pickle=False) as kept:
        return np.asarray(kept["predicted"])


def fine_tuned(peer: TransformersClassifier, run: FineTuning) -> NDArray[np.float64]:
    """Train to the end, and read the test data with the weights that were best on the validation data."""
    validation, texts = run.config.validation, run.experiment.examples_of
    assert texts.test is not None, "the recipes have test data"
    best, kept = -np.inf, copy.deepcopy(peer.model.state_dict())
    for update, epoch, ends_epoch, examples in batches(run):
        peer.update(examples)
        by_epochs = run.config.training.epochs is not None
        if update == run.updates or validation.is_due(update, epoch, ends_epoch, by_epochs):
            score = run.scores(peer.predict(texts.validation), texts.validation).counts[validation.best_by].score
            print(f"transformers, update {update:,}: {validation.best_by} {score:.4f}", file=sys.stderr, flush=True)
            if score > best:
                best, kept = score, copy.deepcopy(peer.model.state_dict())
    peer.model.load_state_dict(kept)
    return peer.predict(texts.test)


def batches(run: FineTuning) -> Iterator[tuple[int, int, bool, NDArray[np.int64]]]:
    """For each update its number, how many epochs are whole after it, whether one ends with it, and its examples."""
    update = 0
    for epoch in count():
        plan = run.prepared.data.epoch(epoch).batches
        for number, examples in enumerate(plan, 1):
            update += 1
            ends_epoch = number == len(plan)
            yield update, epoch + ends_epoch, ends_epoch, examples
            if update == run.updates:
                return


def summed(seeds: tuple[Scores, ...]) -> Scores:
    """Several models that have read the same texts as one, so that a test knows how many texts there were.

    Figures are of all outputs together: accuracy is the mean of the models', calibration error is not.
    """
    counts = {name: SentenceCounts.summed([one.counts[name] for one in seeds]) for name in seeds[0].counts}
    return replace(seeds[0], counts=counts)


def compared(recipe: str, seed: str, theirs: Scores, ours: Scores) -> list[tuple[str, ...]]:
    """A row for each metric."""
    peer, own = compare_scores({"transformers": theirs, "Transduce": ours}, recipe).systems
    assert own.against_baseline is not None, "the second is compared with the first"
    rows = []
    for name, difference in own.against_baseline.items():
        metric = ours.metrics[name]
        low, high = difference.interval
        figures = (f"{system.scores[name].score:.{metric.digits}f}" for system in (peer, own))
        told = f"{difference.difference:+.{metric.digits}f} [{low:+.{metric.digits}f}, {high:+.{metric.digits}f}]"
        rows.append((recipe, seed, metric.title, *figures, told, f"{difference.randomization_p:.4f}"))
    return rows


if __name__ == "__main__":
    main()
