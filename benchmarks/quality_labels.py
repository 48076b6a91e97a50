"""Tries estimates of quality on translations that people have judged, by other translators than ours.

    python benchmarks/quality_labels.py DATA/mlqe-pe/direct-assessments DATA/hallucinations-de-en

On MLQE-PE (Fomicheva et al. 2022) the features and the regression of `transduce.inference.quality` learn from 7,000
judged translations of a language pair and the log-probabilities of their tokens, and are tried on its 1,000 of the
development set: Pearson's correlation with the judgements, and the share within the 90 % intervals: of what was
learned from, each by the others; of the development set; and of the rest of it, refined by 300 of it. "Six others": a
regression of six language pairs is tried on the seventh. On the German-English hallucinations of Guerreiro et al.
(2023), which have no probabilities: the area under the curve for texts that are detached from their sources or repeat
themselves, by five-fold cross-validation; word translations are learned from the references of the other folds.
"""

import argparse
import csv
import gzip
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from peers.report import table
from transduce.evaluation.labels import Numbers, ranks
from transduce.inference.quality.confidence import FEATURES, Training, features_of
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.regression import EditRegression
from transduce.inference.quality.word_translations import word_translations

PAIRS = {"en-de": 0.26, "en-zh": 0.32, "ro-en": 0.69, "et-en": 0.64, "ne-en": 0.56, "si-en": 0.46, "ru-en": None}
"""Language pairs, and the correlation of D-TP (30 passes with dropout) on the test set, after Fomicheva et al. 2020."""
JUDGED = 300
"""Translations of the development set that refine a regression, which is then tried on the rest."""
FOLDS = 5
FAULTS = {
    "detached": ("strong-unsupport", "full-unsupport"),
    "repeated": ("repetitions",),
    "either": ("strong-unsupport", "full-unsupport", "repetitions"),
}
SIGNALS = (
    "length of the source",
    "length ratio",
    "unusual length ratio",
    "words of the source in it",
    "repeated words",
    "repeated word pairs",
    "times seen in training",
    "unexplained words",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mlqe", type=Path)
    parser.add_argument("hallucinations", type=Path)
    options = parser.parse_args()
    train = {pair: judged(options.mlqe, pair, "train") for pair in PAIRS}
    dev = {pair: judged(options.mlqe, pair, "dev") for pair in PAIRS}
    names = ["pair", "mean log-probability", "D-TP (test)", "Pearson", "within, held out", "dev", "dev, refined"]
    rows = [[*names, "six others", "seconds"]]
    for pair, anchor in PAIRS.items():
        features, scores = dev[pair]
        began = time.process_time()
        fit = EditRegression.fit(*train[pair])
        spent = time.process_time() - began
        refined = EditRegression.fit(features[:JUDGED], scores[:JUDGED], fit)
        covered = [within(*each) for each in ((fit, features, scores), (refined, features[JUDGED:], scores[JUDGED:]))]
        held_out = np.mean([low <= raw + error <= high for raw, error, (low, high) in held_out_intervals(fit)])
        rows_of_others, scores_of_others = zip(*(train[other] for other in PAIRS if other != pair), strict=True)
        others = EditRegression.fit(np.concatenate(rows_of_others), np.concatenate(scores_of_others))
        alone = pearson(features[:, 0], scores)
        of_others = pearson(others.predict(features), scores)
        shown = [alone, anchor, pearson(fit.predict(features), scores), held_out, *covered, of_others]
        rows.append([pair, *("" if figure is None else f"{figure:.3f}" for figure in shown), f"{spent:.1f}"])
    print(table(rows))
    print(table([["texts", "how many", "AUC"], *hallucinations(options.hallucinations)]))


def within(fit: EditRegression, features: Numbers, scores: Numbers) -> float:
    """The share of translations whose score is in its interval."""
    intervals = map(fit.interval, fit.predict(features))
    return float(np.mean([low <= score <= high for score, (low, high) in zip(scores, intervals, strict=True)]))


def held_out_intervals(fit: EditRegression) -> Iterator[tuple[float, float, tuple[float, float]]]:
    """Estimate, error and interval of each row that was learned from, by the others."""
    for row, (raw, error) in enumerate(zip(fit.held_out.tolist(), fit.errors.tolist(), strict=True)):
        yield raw, error, fit.interval(raw, row)


def judged(folder: Path, pair: str, part: str) -> tuple[Numbers, Numbers]:
    """Features of translations, [rows, features], and how good people found them, as z-scores."""
    name = pair.replace("-", "")
    with tarfile.open(folder / part / f"{pair}-{part}.tar.gz") as archive:
        table_lines = list(lines_of(archive, f"{pair}-{part}/{part}.{name}.df.short.tsv"))
        logs = list(lines_of(archive, f"{pair}-{part}/word-probas/word_probas.{part}.{name}"))
    head, *cells = (line.split("\t") for line in table_lines)
    places = [head.index(column) for column in ("original", "translation", "z_mean")]
    chosen = [[row[place] for place in places] for row in cells]
    features = [
        features_of(source, target, sum(map(float, line.split())), len(line.split()))
        for (source, target, _), line in zip(chosen, logs, strict=True)
    ]
    return np.array(features), np.array([float(score) for *_, score in chosen])


def lines_of(archive: tarfile.TarFile, member: str) -> Iterator[str]:
    file = archive.extractfile(member)
    assert file is not None
    return (line.decode().rstrip("\n") for line in file)


def hallucinations(folder: Path) -> list[list[str]]:
    with gzip.open(folder / "annotated_corpus.csv.gz", "rt", encoding="utf-8", newline="") as file:
        marked = [row for row in csv.DictReader(file) if row["repetitions"] in ("0", "1")]
    targets = KnownTexts.of((row["mt"] for row in marked), least=2)  # no training text is given; outputs stand in
    chosen = [FEATURES.index(name) for name in SIGNALS]
    folds, rows, of_fold = np.random.default_rng(1).integers(0, FOLDS, len(marked)), [], []
    for fold in range(FOLDS):
        known = word_translations(
            [(row["src"], row["ref"]) for row, its in zip(marked, folds, strict=True) if its != fold]
        )
        training = Training(KnownTexts.of([]), targets, known)
        of_fold.append(np.array([features_of(row["src"], row["mt"], 0.0, 1, training)[chosen] for row in marked]))
    for name, columns in FAULTS.items():
        faulty = np.array([any(row[column] == "1" for column in columns) for row in marked])
        scores = np.zeros(len(marked))
        for fold, features in enumerate(of_fold):
            fit = EditRegression.fit(features[folds != fold], faulty[folds != fold].astype(float))
            scores[folds == fold] = fit.predict(features[folds == fold])
        rows.append([name, f"{faulty.sum()} of {len(marked):,}", f"{area_under_curve(scores, faulty):.3f}"])
    return rows


def area_under_curve(scores: Numbers, faulty: np.ndarray) -> float:
    """The chance that a faulty text has a higher score than another one."""
    faults, others = faulty.sum(), (~faulty).sum()
    return float((ranks(scores)[faulty].sum() - faults * (faults + 1) / 2) / (faults * others))


def pearson(one: Sequence[float] | Numbers, other: Numbers) -> float:
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()
