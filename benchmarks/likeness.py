"""Measures how well pairs of a kind are chosen from a mixture, given 300 lines of that kind.

    TRANSDUCE_DATA=data python benchmarks/likeness.py

Seven kinds of English beside German are mixed: captions, sentences of Tatoeba, medicine, software, law, the Bible and
news. For each kind, as many pairs are chosen as it has: the share of them that is of the kind, by n-grams, by the
classifier, and by both.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from peers.report import describe_machine, table
from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.likeness import Likeness
from transduce.corpora.lines import read_lines

GIVEN = 300
KINDS = {
    "captions": (2_000, "multi30k/train"),
    "Tatoeba": (15_000, "tatoeba-eng-deu/eng-deu.txt.gz"),
    "medicine": (2_000, "wmt18-filtering/EMEA"),
    "software": (2_000, "wmt18-filtering/KDE4"),
    "law": (2_000, "wmt18-filtering/Acquis"),
    "Bible": (5_000, "bible-en-de/bible-uedin-v1"),
    "news": (5_000, "newstest/newstest2010 newstest/newstest2011 newstest/newstest2012"),
}
"""The pairs of each kind in the mixture, and its files."""


def pairs_of(files: str) -> Iterator[SentencePair]:
    for name in files.split():
        path = Path(os.environ["TRANSDUCE_DATA"]) / name
        if path.suffix == ".gz":
            yield from (SentencePair(*line.split("\t")[1::-1]) for line in read_lines(path))
        else:
            sides = (read_lines(path.with_name(f"{path.name}.{language}.gz")) for language in ("de", "en"))
            yield from (SentencePair(*pair) for pair in zip(*sides, strict=True))


def main() -> None:
    order = random.Random(1)
    given, mixed = {}, []
    for kind, (count, files) in KINDS.items():
        pairs = [pair for pair in pairs_of(files) if pair.source.strip() and pair.target.strip()]
        order.shuffle(pairs)
        given[kind] = [pair.target for pair in pairs[:GIVEN]]
        mixed += [(kind, pair) for pair in pairs[GIVEN : GIVEN + count]]
    order.shuffle(mixed)
    pairs = [pair for _, pair in mixed]
    rows = [["kind", "n-grams", "classifier", "both"]]
    for kind, (count, _) in KINDS.items():
        is_of_kind = np.array([each == kind for each, _ in mixed])
        likeness = Likeness(given[kind], pairs)
        scores = [*likeness.measures(pairs), likeness.scores(pairs)]
        rows.append([kind, *(f"{100 * is_of_kind[np.argsort(-each)[:count]].mean():.1f} %" for each in scores)])
    print(describe_machine(threads=1))
    print(table(rows))


if __name__ == "__main__":
    main()
