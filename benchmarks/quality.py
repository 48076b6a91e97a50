"""Compares estimates of the edits that translations need with the edits that references ask for.

    python benchmarks/quality.py runs/multi30k-best-1 --out runs/bench/quality

A model of English to German translates captions (Multi30k: the log is the validation data, held out is the test of
2016), which it was trained for, and sentences of Tatoeba, which it was not. The log is what a project would have; the
edit rate is TER to the reference, at most 1, an upper bound of what a person who edits would change. Printed are
correlations with the true rate, beside the model's confidence and the length alone, the mean error, and the share
within the intervals, for logs of growing size; and a picture of reliability. Translations are kept in the folder and
not made again.
"""

import argparse
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.figure import Figure

import transduce
from peers.report import describe_machine, table
from transduce.apps.projects.edits import PastEdit
from transduce.apps.projects.quality import QualityEstimator
from transduce.base.files import write_text
from transduce.corpora.splits import open_split
from transduce.evaluation.edit_rate import BINS, ReliabilityBin, edit_rate, reliability_of
from transduce.evaluation.labels import Numbers, ranks
from transduce.inference.quality.confidence import FEATURES, Features

DOMAINS = {
    "captions": ("multi30k", "val", "test_2016_flickr", 1000, 1000),
    "Tatoeba": ("tatoeba-eng-deu", "test", "test", 300, 500),
}
"""Data sets, the splits of log and held-out pairs, and their numbers of pairs."""
SIZES = (30, 100, 300, 1000)
"""Edits in a log."""
LEAST_WORDS = 4
"""Words of a source; Tatoeba has shorter ones, most of them many times."""
Translated = Sequence[PastEdit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/quality"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    translator = transduce.Translator.load(options.model, device="cpu")
    logs: dict[str, Translated] = {}
    edits_of_tests: dict[str, Translated] = {}
    for domain, (dataset, split_of_log, split_of_test, most, held_out) in DOMAINS.items():
        splits = [drawn(dataset, split) for split in (split_of_log, split_of_test)]
        log, test = splits[0][:most], splits[1][most if split_of_log == split_of_test else 0 :][:held_out]
        logs[domain] = translated(translator, log, options.out / f"{domain}-log.jsonl")
        edits_of_tests[domain] = translated(translator, test, options.out / f"{domain}-test.jsonl")
    logs["both, in turn"] = [edit for pair in zip(*logs.values(), strict=False) for edit in pair]
    mixed = [edit for pair in zip(*edits_of_tests.values(), strict=False) for edit in pair]
    edits_of_tests["both, in turn"] = mixed
    print(describe_machine(options.threads), end="\n\n")
    rows = [
        ["log and held out", "edits in the log", "mean rate", "Pearson", "Spearman", "mean error", "within", "width"]
    ]
    curves: dict[str, list[ReliabilityBin]] = {}
    seconds: list[float] = []
    features_of: dict[PastEdit, Features] = {}
    for domain, past in logs.items():
        estimator, edits = QualityEstimator(translator.single_model()), edits_of_tests[domain]
        all_rates = np.array([edit_rate(edit.machine, edit.target) for edit in edits])
        unread = [edit for edit in edits if edit not in features_of]
        rows_read = estimator.features_of([(edit.source, edit.machine) for edit in unread])
        features_of |= {edit: row for edit, row in zip(unread, rows_read, strict=True) if row is not None}
        features = [features_of[edit] for edit in edits]
        sizes = [size for size in SIZES if size <= len(past)]
        for size in reversed(sizes):  # the longest log first, so that the model reads each text once
            estimator.learn(past[:size])
            both = zip(edits, features, strict=True)
            estimates = [e for edit, row in both if (e := estimator.estimate_from(edit.source, row)) is not None]
            is_known = np.array([estimate.edit is not None for estimate in estimates])
            estimates, rates = [e for e in estimates if e.edit is not None], all_rates[is_known]
            shown = np.array([[e.edit, e.low, e.high] for e in estimates])
            within = np.mean((shown[:, 1] <= rates + 1e-9) & (rates <= shown[:, 2] + 1e-9))
            error, width = np.abs(shown[:, 0] - rates).mean(), np.mean(shown[:, 2] - shown[:, 1])
            figures = [*correlations(shown[:, 0], rates), f"{error:.3f}", f"{100 * within:.1f} %", f"{width:.2f}"]
            rows.append([domain, f"{size:,}", f"{rates.mean():.3f}", *figures])
            curves.setdefault(domain, reliability_of(estimates, rates.tolist()))
            began = time.perf_counter()
            estimator.learn(past[: size - 1])
            seconds.append(time.perf_counter() - began)
        columns = dict(zip(FEATURES, np.array(features).T, strict=True))
        for name, column in (("confidence alone", "mean log-probability"), ("length alone", "length")):
            rows.append([f"{domain}: {name}", "", "", *correlations(columns[column], all_rates), "", "", ""])
    print(f"fitted again after an edit was taken back: at most {1000 * max(seconds):.1f} ms")
    print("\n" + table(rows))
    print(table([["", *(f"fifth {number}" for number in range(1, BINS + 1))], *reliability_rows(curves)]))
    write_text(options.out / "results.json", json.dumps(rows))
    draw(curves, options.picture or options.out / "reliability.svg")


def drawn(dataset: str, split: str) -> list[transduce.SentencePair]:
    """Pairs in an order drawn by chance: files may be sorted by length, while a log is like what comes after it."""
    pairs = [pair for pair in open_split(dataset, split, "en", "de") if len(pair.source.split()) >= LEAST_WORDS]
    random.Random(1).shuffle(pairs)
    return pairs


def translated(translator: transduce.Translator, pairs: Sequence[transduce.SentencePair], kept: Path) -> Translated:
    if not kept.exists():
        outputs = translator.translate([pair.source for pair in pairs])
        edits = [
            {"source": pair.source, "machine": output.text, "target": pair.target}
            for pair, output in zip(pairs, outputs, strict=True)
        ]
        write_text(kept, "".join(json.dumps(edit, ensure_ascii=False) + "\n" for edit in edits))
    return [PastEdit(**json.loads(line)) for line in kept.read_text(encoding="utf-8").splitlines()]


def correlations(values: Numbers, rates: Numbers) -> list[str]:
    """Pearson's and Spearman's, without their sign."""
    both = (values, rates), (ranks(values), ranks(rates))
    return [f"{abs(float(np.corrcoef(*pair)[0, 1])):.3f}" for pair in both]


def reliability_rows(curves: Mapping[str, Sequence[ReliabilityBin]]) -> list[list[str]]:
    return [
        [f"{domain}: {name}", *(f"{getattr(each, name):.2f}" for each in bins)]
        for domain, bins in curves.items()
        for name in ("estimated", "actual", "covered")
    ]


def draw(curves: Mapping[str, Sequence[ReliabilityBin]], picture: Path) -> None:
    with rc_context({"svg.hashsalt": "transduce", "svg.fonttype": "none"}):
        figure = Figure(figsize=(5, 4.6), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="#8a9ba8", linewidth=0.8)
        for (domain, bins), colour in zip(curves.items(), ("#b3541e", "#2a6f97", "#5b7553"), strict=True):
            axes.plot([b.estimated for b in bins], [b.actual for b in bins], "o-", color=colour, label=domain)
        axes.set(xlabel="estimated share of words to edit", ylabel="true share", xlim=(0, 1), ylim=(0, 1))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
