"""The doctor of pairs on planted faults: what it finds by kind, what it costs in good pairs, which shifts it repairs.

    TRANSDUCE_DATA=data python benchmarks/doctor.py --sets captions north-sami swahili japanese chinese

Of 20,000 pairs of each set 3 % are made faulty in each of seventeen ways, and a block of 400 is shifted; limits know no
labels. Beside it: the same pairs with no fault planted, and files that lost a line. AUC is that of the test for the
kind, where it has one. One thread.
"""

import argparse
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from peers.corpora import SETS, read_lines
from peers.report import describe_machine, table
from planted import KINDS, Pair, Planter, plant
from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import Doctor, Finding
from transduce.corpora.doctor.evidence import learn_table
from transduce.corpora.doctor.examination import repeat_key
from transduce.corpora.doctor.numbers import Vocabulary
from transduce.corpora.doctor.shifts import find_shifts, pairs_in_step

PAIRS, SHARE, JOINED_OF = 20_000, 0.03, 5_000
TEST_OF = {
    **dict.fromkeys(("misaligned", "shifted", "foreign_source", "foreign_target"), "misaligned"),
    **{"cut_source": "source partial", "cut_target": "target partial", "swapped": "swapped"},
    **{"reordered_source": "source reordered", "reordered_target": "target reordered"},
}
REPAIRED = ("mojibake", "markup", "swapped")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["captions", "north-sami", "swahili", "japanese", "chinese"])
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="faults that are planted")
    parser.add_argument("--share", type=float, default=SHARE, help="of the pairs, of each kind")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ["TRANSDUCE_DATA"])
    foreign = read_lines(data / "multi30k" / "train.fr.gz")
    print(describe_machine(1), flush=True)
    for name in options.sets:
        pairs = list(dict.fromkeys(SETS[name](data).train))
        shifted = pairs[: options.pairs]
        random.Random(options.seed).shuffle(pairs)
        some, others = pairs[: options.pairs], pairs[options.pairs :][:10_000]
        planter = Planter(some, foreign, glosser(others or some[:3_000]), random.Random(options.seed + 1))
        shares = dict.fromkeys(options.kinds, options.share)
        print(f"\n## {name}, {len(some):,} pairs\n")
        measure(some, [""] * len(some))
        measure(*plant(planter, shares, shifted=True))
        measure_shifts(shifted)
        measure_joined(shifted[:JOINED_OF], random.Random(options.seed))


def measure(pairs: list[Pair], kinds: list[str]) -> None:
    """Prints what is found of each kind, and what of good pairs is lost."""
    made = [SentencePair(*pair) for pair in pairs]
    began = time.process_time()
    doctor = Doctor(made)
    learned = time.process_time() - began
    found = list(doctor.judge(made))
    _, group, counts = np.unique([repeat_key(pair) for pair in made], return_inverse=True, return_counts=True)
    repeated = counts[group] > 1  # of which all but one are left out
    seconds = time.process_time() - began
    left_out = np.array([finding.fault is not None for finding in found])
    kind = np.array(kinds)
    good = (kind == "") & ~repeated
    treated = left_out | repeated | (np.isin(kind, REPAIRED) & np.array([bool(finding.repairs) for finding in found]))
    lost = f"{np.mean(left_out[good]):.2%} of the good pairs are left out"
    if good.all() or set(kinds) == {""}:
        print(f"Nothing planted: {lost}: {reasons(found, good & left_out)}. {seconds:.0f} s.\n", flush=True)
        return
    rows = [["fault", "planted", "found", "AUC"]]
    for name in dict.fromkeys(filter(None, kinds)):
        is_kind = kind == name
        area = ""
        if name in TEST_OF:
            scores = np.array([finding.scores[TEST_OF[name]] for finding in found])
            area = f"{auc(scores[is_kind], scores[good]):.3f}"
        rows.append([name.replace("_", " "), f"{is_kind.sum():,}", f"{np.mean(treated[is_kind]):.1%}", area])
    rows.append(["all", f"{(kind != '').sum():,}", f"{np.mean(treated[kind != '']):.1%}", ""])
    print(table(rows))
    estimates = ", ".join(f"{name} {limit.share:.1%}" for name, limit in doctor.limits.items())
    print(f"\n{lost}: {reasons(found, good & left_out)}. Estimated: {estimates}. {learned:.0f} s of processor time to")
    print(f"learn, {seconds - learned:.0f} s to judge.\n", flush=True)


def measure_shifts(pairs: list[Pair]) -> None:
    """Prints how many lines get their partners back after one line, or several, was lost."""
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    told = [f"{len(find_shifts(sources, targets))} parts of the whole file are moved"]
    for name, gone in (("one line lost", [0.3]), ("five lost on each side", [0.1, 0.25, 0.4, 0.7, 0.9])):
        places = {round(share * len(pairs)) for share in gone}
        sides = [[*enumerate(sources)], [pair for pair in enumerate(targets) if pair[0] not in places]]
        if len(gone) > 1:
            sides[0] = [pair for pair in enumerate(sources) if pair[0] - 500 not in places]
        texts = [[text for _, text in side] for side in sides]
        numbers = [[f"{number}" for number, _ in side] for side in sides]
        found = pairs_in_step(numbers[0], numbers[1], find_shifts(texts[0], texts[1]))
        right = sum(pair.source == pair.target for pair in found)
        told.append(f"{name}: {right / len(pairs):.2%} of the lines are beside their own")
    print(f"Shifts: {'; '.join(told)}.", flush=True)


def measure_joined(pairs: list[Pair], chance: random.Random) -> None:
    """Prints how many lines that stand beside two are joined with both, and how many others."""
    places = set(chance.sample(range(60, len(pairs) - 60, 4), 40))
    sides: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    number = 0
    while number < len(pairs):
        if number in places:
            one, two = chance.randrange(2), (number, number + 1)
            sides[one].append((f"{number} {number + 1}", " ".join(pairs[each][one] for each in two)))
            sides[1 - one].extend((f"{each}", pairs[each][1 - one]) for each in two)
            number += 2
        else:
            for side in (0, 1):
                sides[side].append((f"{number}", pairs[number][side]))
            number += 1
    numbers, texts = ([[line[part] for line in side] for side in sides] for part in (0, 1))
    found = list(pairs_in_step(numbers[0], numbers[1], find_shifts(texts[0], texts[1])))
    joined = [pair for pair in found if " " in pair.source and " " in pair.target]
    right = sum(pair.source == pair.target for pair in joined)
    print(f"Joined: {right} of {len(places)} lines for two, {len(joined) - right} others.", flush=True)


def reasons(found: list[Finding], chosen: np.ndarray) -> str:
    """Describes for what some pairs are left out."""
    names = [found[place].fault or "" for place in np.flatnonzero(chosen)]
    return ", ".join(f"{names.count(name):,} {name}" for name in sorted(set(names))) or "none"


def auc(bad: np.ndarray, good: np.ndarray) -> float:
    """Returns the probability that a bad score is below a good one, ties counting half."""
    ordered = np.sort(good)
    above = len(good) - np.searchsorted(ordered, bad, "right")
    equal = np.searchsorted(ordered, bad, "right") - np.searchsorted(ordered, bad, "left")
    return float(np.mean((above + equal / 2) / len(good)))


def glosser(pairs: list[Pair]) -> Callable[[str], str]:
    """Returns a poor translator, word by word, learned from pairs."""
    vocabularies = Vocabulary(), Vocabulary()
    given, words = (vocabulary.learn([pair[side] for pair in pairs]) for side, vocabulary in enumerate(vocabularies))
    table = learn_table(given, words, len(vocabularies[0]), len(vocabularies[1]))
    learned = table.likeliest(1, 0)[:, 0]
    names = {number: word for word, number in vocabularies[1]._numbers.items()}

    def gloss(text: str) -> str:
        return " ".join(names.get(int(learned[number]), "") for number in vocabularies[0].of([text]).values).strip()

    return gloss


if __name__ == "__main__":
    main()
