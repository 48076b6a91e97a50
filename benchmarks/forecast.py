"""Fits the constants of `transduce data forecast`, and measures how often its intervals hold.

    python benchmarks/forecast.py --data DATA

DATA is a folder with multi30k, tatoeba-eng-fra, tatoeba-eng-deu, sami, mafand, americasnlp2023, nllb-seed
and wmt18-filtering. For each of fifteen corpora phrase-based models are learned from 50, 100, 200 ... pairs, up to
12,800, and scored on others. A trial is a forecast from four sizes in a row, the last of them 400 or more, of one that
is 2, 4, 8 or 16 times the last. The constants are fitted on all corpora, and for each corpus on the others: then its
own trials say how often an 80 % interval holds on a corpus that was not fitted on. Of wmt18-filtering the BLEU of 257
neural models after 20,000, 40,000, 80,000 ... updates is forecast likewise, the last of four sizes 160,000 or more; of
ten equal parts of the models nine are fitted on. What is finished is not done again; the curves take seven minutes of
one core.
"""

import argparse
import gzip
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean

import msgspec
import numpy as np
import torch

from peers.report import describe_machine, table
from transduce.evaluation.forecast import Law, MeasuredScores, ScoreEstimate, divide, measure

SMALLEST = 50
SIZES = 4  # that a forecast is made from
AHEAD = (1, 2, 3, 4)  # doublings
EXPONENTS = {"chrf": 1.0, "bleu": 0.5, "updates, BLEU": 1.0}
HOLDS = 0.85  # more than 80 %, since trials of one corpus are alike and other corpora are stranger
PEAKS = [512.0, 1024.0, 2048.0, 4096.0, 8192.0]
SPREADS = [2.5, 3.5, 5.0, 7.0]
TRUST = [0.1, 0.3, 1.0, 3.0]
GROWTHS = [0.5, 0.75, 1.0, 1.25, 1.5]
PARTS = 10

Pairs = Sequence[tuple[str, str]]
Curve = Sequence[tuple[int, float]]
"""Sizes and scores."""


@dataclass(frozen=True)
class Trial:
    """Scores at sizes in a row, and a later one to be forecast."""

    group: str
    """The corpus of the trial; the law that is tried on it is fitted on other corpora."""
    known: Curve
    size: int
    score: float

    @property
    def ahead(self) -> int:
        """Doublings from the last known size."""
        return round(math.log2(self.size / self.known[-1][0]))

    def estimate(self, law: Law) -> ScoreEstimate:
        """Returns the score that a law forecasts for the later size."""
        return law.estimate([size for size, _ in self.known], [score for _, score in self.known], self.size)

    def error(self, law: Law) -> float:
        """The score minus what is expected, on the law's scale."""
        sizes, scores = [size for size, _ in self.known], [score for _, score in self.known]
        return self.score**law.exponent - law.expected(sizes, scores, self.size)


def corpora(data: Path) -> dict[str, tuple[Callable[[], Iterable[tuple[str, str]]], int]]:
    """The pairs of each corpus, and the most to learn from: longer sentences take longer."""

    def lines(name: str) -> list[str]:
        return gzip.decompress((data / f"{name}.gz").read_bytes()).decode().split("\n")[:-1]

    def two(source: str, target: str) -> Callable[[], Iterable[tuple[str, str]]]:
        return lambda: zip(lines(source), lines(target), strict=True)

    def columns(name: str, *wanted: int) -> Callable[[], Iterable[tuple[str, str]]]:
        rows = (line.split("\t") for line in lines(name))
        return lambda: ((row[wanted[0]], row[wanted[1]]) for row in rows if len(row) > max(wanted))

    def train(folder: str, source: str, target: str) -> Callable[[], Iterable[tuple[str, str]]]:
        return two(f"{folder}/train.{source}", f"{folder}/train.{target}")

    return {
        "captions de-en": (train("multi30k", "de", "en"), 12_800),
        "tatoeba fr-en": (columns("tatoeba-eng-fra/eng-fra.txt", 1, 0), 12_800),
        "tatoeba en-de": (columns("tatoeba-eng-deu/eng-deu.txt", 0, 1), 12_800),
        "sami nob-sme": (columns("sami/nob-sme.tsv", 2, 3), 12_800),
        "sami sma-nob": (columns("sami/nob-sma.tsv", 3, 2), 6_400),
        "sami fin-smn": (columns("sami/fin-smn.tsv", 1, 2), 6_400),
        "mafand swa-en": (train("mafand/en-swa", "swa", "en"), 6_400),
        "mafand en-yor": (train("mafand/en-yor", "en", "yor"), 6_400),
        "mafand en-zul": (train("mafand/en-zul", "en", "zul"), 3_200),
        "mafand fr-wol": (train("mafand/fr-wol", "fr", "wol"), 3_200),
        "americas es-gn": (train("americasnlp2023/guarani-spanish", "es", "gn"), 6_400),
        "americas es-shp": (train("americasnlp2023/shipibo_konibo-spanish", "es", "shp"), 12_800),
        "americas aym-es": (train("americasnlp2023/aymara-spanish", "aym", "es"), 3_200),
        "nllb-seed en-vec": (two("nllb-seed/eng_Latn", "nllb-seed/vec_Latn"), 3_200),
        "nllb-seed en-fuv": (two("nllb-seed/eng_Latn", "nllb-seed/fuv_Latn"), 3_200),
    }


def curves(data: Path, kept: Path) -> dict[str, list[MeasuredScores]]:
    """The scores of each corpus at all sizes, kept in a file."""
    found = msgspec.json.decode(kept.read_bytes(), type=dict[str, list[MeasuredScores]]) if kept.exists() else {}
    for name, (read, most) in corpora(data).items():
        if name not in found:
            learned, held_out = divide(read())
            sizes = [SMALLEST << number for number in range(9) if SMALLEST << number <= min(most, len(learned))]
            found[name] = measure(learned, sizes, held_out, partial(tell, name))
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(msgspec.json.encode(found))
    return {name: found[name] for name in corpora(data)}


def tell(name: str, line: str) -> None:
    """Prints a line on a corpus."""
    print(name, line, flush=True)


def trials(curves_of: Mapping[str, Curve], first: int = 0) -> list[Trial]:
    """All trials of curves whose sizes double, in groups of the curves' names."""
    return [
        Trial(group, curve[last - SIZES + 1 : last + 1], *curve[last + ahead])
        for group, curve in curves_of.items()
        for last in range(SIZES - 1 + first, len(curve))
        for ahead in AHEAD
        if last + ahead < len(curve)
    ]


def fitted(of: Sequence[Trial], exponent: float) -> Law:
    """The law whose forecasts err least, each distance counting as much, and the width of its intervals."""
    usual = mean(gain(trial.known, exponent) for trial in of)
    laws = [
        Law(exponent, peak, spread, usual, trust, 1.0, 1.0)
        for peak, spread, trust in itertools.product(PEAKS, SPREADS, TRUST)
    ]
    best = min(laws, key=lambda law: squares(of, law))
    errors = np.array([abs(trial.error(best)) for trial in of])
    ahead = np.array([trial.ahead for trial in of], float)

    def width(growth: float) -> float:
        return float(np.quantile(errors / ahead**growth, HOLDS))

    def uneven(growth: float) -> float:
        holds = errors <= width(growth) * ahead**growth
        return sum((ahead == each).sum() * (holds[ahead == each].mean() - HOLDS) ** 2 for each in set(ahead))

    growth = min(GROWTHS, key=uneven)
    return replace(best, usual=round(usual, 2), width=round(width(growth), 2), growth=growth)


def gain(curve: Curve, exponent: float) -> float:
    """The gain of a doubling, by a line through the scores."""
    return float(np.polyfit([math.log2(size) for size, _ in curve], [score**exponent for _, score in curve], 1)[0])


def squares(of: Sequence[Trial], law: Law) -> float:
    """The mean squared error, as a share of the distance, so that far trials do not count for more."""
    return mean((trial.error(law) / trial.ahead) ** 2 for trial in of)


def tried(
    of: Sequence[Trial], exponent: float, left_out: Callable[[str], str]
) -> dict[int, list[tuple[float, bool, float]]]:
    """The error of each trial, whether its interval holds and half the interval's width, by the distance, with laws
    that were fitted on other groups."""
    results: dict[int, list[tuple[float, bool, float]]] = {ahead: [] for ahead in AHEAD}
    for part in sorted({left_out(trial.group) for trial in of}):
        law = fitted([trial for trial in of if left_out(trial.group) != part], exponent)
        for trial in of:
            if left_out(trial.group) == part:
                made = trial.estimate(law)
                holds = made.low <= trial.score <= made.high
                results[trial.ahead].append((trial.score - made.score, holds, (made.high - made.low) / 2))
    return results


def show(name: str, of: Sequence[Trial], left_out: Callable[[str], str]) -> list[list[str]]:
    """A row for each distance and one for all, and the law that all trials give."""
    print(f"{name}: {fitted(of, EXPONENTS[name])}", flush=True)
    results = tried(of, EXPONENTS[name], left_out)
    rows = []
    labelled = {f"{2**ahead} times": one for ahead, one in results.items()}
    for label, one in (labelled | {"all": list(itertools.chain(*results.values()))}).items():
        if one:
            errors, holds, halves = zip(*one, strict=True)
            row = [name, label, str(len(one)), f"{np.abs(errors).mean():.2f}", f"{mean(errors):+.2f}"]
            rows.append([*row, f"{mean(halves):.1f}", f"{100 * mean(holds):.0f} %"])
    return rows


def updates(data: Path) -> dict[str, Curve]:
    """The BLEU of neural models after 20,000, 40,000, 80,000 ... updates."""
    rows = gzip.decompress((data / "wmt18-filtering" / "experiments.tsv.gz").read_bytes()).decode().splitlines()[1:]
    found: dict[str, Curve] = {}
    for row in rows:
        name, *_, curve = row.split("\t")
        scores = dict(json.loads(curve))
        sizes = [size for size in (20_000 << number for number in range(8)) if size in scores]
        found[name] = [(size, scores[size]) for size in sizes]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/forecast"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    measured = curves(options.data, options.out / "curves.json")
    rows = [["", "of the last size", "trials", "mean error", "bias", "half of the interval", "holds"]]
    for name in ("chrf", "bleu"):
        of = {group: [(each.pairs, getattr(each, name)) for each in curve] for group, curve in measured.items()}
        rows += show(name, trials(of), lambda group: group)
    of_updates = updates(options.data)
    part = {name: str(number % PARTS) for number, name in enumerate(sorted(of_updates))}
    rows += show("updates, BLEU", trials(of_updates), part.__getitem__)
    print(describe_machine(1), "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
