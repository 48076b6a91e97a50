"""Tries what runs tell of their own translations: estimates on the run's test set, and alarms on texts that go wrong.

    python benchmarks/quality_of_runs.py runs/de-en runs/en-fr --other news=news.en --other Swahili=news.sw

The first table compares estimates with the edit rates (TER, at most 1) and the chrF of the test set's translations, and
counts how many rates are within the intervals of 90 %: of sentences, and of texts of three sentences, whose estimates
are combined; and how many references raise an alarm. The second counts, in a hundred lines of each kind, the alarms
after the first search, what the second search mends, and what is left without an estimate, as it has unseen words.
"""

import argparse
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from sacrebleu.metrics.chrf import CHRF

import transduce
from peers.report import describe_machine, table
from transduce.corpora.lines import read_lines
from transduce.corpora.noise import in_capitals, mistyped, unpunctuated
from transduce.corpora.splits import open_splits
from transduce.evaluation.edit_rate import edit_rate
from transduce.experiment.recipe import recipe_known_of
from transduce.inference.quality.quality_estimate import combined
from transduce.inference.translation import Translation

MOST = 1000
LINES = 100
TOGETHER = 3
"""Sentences of a text whose estimates are combined."""
FAULTS = {
    "repeats itself": "loop",
    "is much longer than expected": "long",
    "is much shorter than expected": "short",
    "hardly has the meaning of its source": "meaning",
}
BRACKETS = ["()", "[ ]", "( )( )", "[]()", "< >"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--other", action="append", default=[], help="NAME=FILE: other lines in the source language")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    others = dict(each.split("=", 1) for each in options.other)
    heads = [
        "run",
        "sentences",
        "edits",
        "r of edits",
        "r of chrF",
        "probability alone",
        "within",
        "within, 3 together",
    ]
    rows = [[*heads, "no estimate", "alarms at references"]]
    alarms = [["run and text", "lines", *FAULTS.values(), "any", "mended", "marked", "no estimate"]]
    for run in options.runs:
        translator = transduce.Translator.load(run, device="cpu", engine="pytorch")
        recipe = recipe_known_of(run, "test data", "give the folder of a run")
        test = list(open_splits(recipe.config.data, recipe.folder).test or [])
        random.Random(1).shuffle(test)
        test = test[:MOST]
        rows.append([run.name, *calibration(translator, test)])
        for name, lines in hard_texts(test[:LINES], others).items():
            alarms.append([f"{run.name}: {name}", str(len(lines)), *counted(translator, lines)])
    print(describe_machine(options.threads), end="\n\n")
    print(table(rows), table(alarms), sep="\n")


def calibration(translator: transduce.Translator, test: Sequence[transduce.SentencePair]) -> list[str]:
    assert translator.quality is not None, "the run has too few validation pairs"
    alarms, known = translator.quality.alarms, translator.quality.training.translations
    outputs = translator.translate([pair.source for pair in test])
    found = [(pair, output) for pair, output in zip(test, outputs, strict=True) if is_estimated(output)]
    rates = np.array([edit_rate(output.text, pair.target) for pair, output in found])
    chrf = [CHRF().sentence_score(output.text, [pair.target]).score for pair, output in found]
    estimates = np.array([output.quality.edit for _, output in found if output.quality is not None])
    sure = [each.n_best[0].log_probability / (1 + len(each.text.split())) for _, each in found]
    correlations = [abs(np.corrcoef(*both)[0, 1]) for both in ((estimates, rates), (estimates, chrf), (sure, chrf))]
    false = sum(bool(alarms.faults(pair.source, pair.target, known)) for pair in test)
    shares = (
        within([[each] for each in found]),
        within([found[i : i + TOGETHER] for i in range(len(found))[::TOGETHER]]),
    )
    return [
        f"{len(found):,}",
        f"{rates.mean():.2f}",
        *(f"{value:.3f}" for value in correlations),
        *(f"{share:.1%}" for share in shares),
        f"{len(test) - len(found)}",
        f"{false} of {len(test):,}",
    ]


def is_estimated(output: Translation) -> bool:
    return output.quality is not None and output.quality.edit is not None


def within(texts: Sequence[Sequence[tuple[transduce.SentencePair, Translation]]]) -> float:
    held = []
    for text in texts:
        estimate = combined((output.quality, output.text) for _, output in text)
        both = [" ".join(parts) for parts in zip(*((each.text, pair.target) for pair, each in text), strict=True)]
        assert estimate is not None
        held.append(estimate.low - 1e-9 <= edit_rate(*both) <= estimate.high + 1e-9)
    return float(np.mean(held))


def hard_texts(pairs: Sequence[transduce.SentencePair], others: dict[str, str]) -> dict[str, list[str]]:
    draw = random.Random(1)
    words = sorted({word.strip(".,") for pair in pairs for word in pair.source.split() if len(word) > 3})
    all_words = " ".join(pair.source for pair in pairs).split()
    return {
        "as trained on": [pair.source for pair in pairs],
        "single words": draw.sample(words, min(LINES, len(words))),
        "all capitals": [in_capitals(pair).source for pair in pairs],
        "no full stop": [unpunctuated(pair).source for pair in pairs],
        "typing errors": [mistyped(pair).source for pair in pairs],
        "empty brackets": BRACKETS
        + [f"{bracket} {pair.source}" for pair, bracket in zip(pairs, BRACKETS, strict=False)],
        "300 words": [" ".join(draw.choices(all_words, k=300)) for _ in range(10)],
        "one word 40 times": [" ".join([word] * 40) for word in words[::10][:10]],
        **{name: list(islice(read_lines(file), LINES)) for name, file in others.items()},
    }


def counted(translator: transduce.Translator, lines: Sequence[str]) -> list[str]:
    search, quality = translator._batched, translator.quality
    assert quality is not None
    search.quality_model = None  # the first search alone
    first = translator.translate(lines)
    search.quality_model = quality
    second = translator.translate(lines)
    alarms, known = quality.alarms, quality.training.translations
    faults = [set(alarms.faults(line, each.text, known)) for line, each in zip(lines, first, strict=True)]
    marked = [bool(each.faults) for each in second]
    mended = sum(bool(before) and not after for before, after in zip(faults, marked, strict=True))
    by_kind = [sum(fault in each for each in faults) for fault in FAULTS]
    return [
        str(n)
        for n in (*by_kind, sum(map(bool, faults)), mended, sum(marked), sum(not is_estimated(e) for e in second))
    ]


if __name__ == "__main__":
    main()
