"""Languages that are detected on FLORES-200: F1, confusions, short texts, speed; and the profiles that are shipped.

    TRANSDUCE_DATA=data python benchmarks/detection.py            # compares with py3langid if that is installed
    TRANSDUCE_DATA=data python benchmarks/detection.py --learn    # writes the profiles anew, from FLORES-200's dev

The profiles are counts of letters derived from FLORES-200 (NLLB Team, 2022), CC BY-SA 4.0, and under that licence.
"""

import argparse
import gzip
import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peers.report import describe_machine, table
from transduce.corpora import language_detector
from transduce.corpora.language_detector import FILE, LanguageDetector, Profiles, canonical, shipped

SERVED = ["eng", "deu", "fra", "spa", "ita", "nld", "por", "pol", "ces", "ron"]
Numbers = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learn", action="store_true", help="write the profiles")
    options = parser.parse_args()
    folder = Path(os.environ["TRANSDUCE_DATA"]) / "flores200"
    names = sorted(file.name.removesuffix(".dev.gz") for file in folder.glob("*.dev.gz"))
    if options.learn:
        profiles = Profiles.learn([(canonical(name), lines(folder, name, "dev")) for name in names])
        Path(language_detector.__file__).with_name(FILE).write_bytes(profiles.pack())
        return
    texts = [lines(folder, name, "devtest") for name in names]
    gold = np.repeat(np.arange(len(names)), [len(some) for some in texts])
    flat = [text for some in texts for text in some]
    detector = LanguageDetector([shipped()])
    began = time.process_time()
    shares = np.concatenate([detector.probabilities(flat[n : n + 256]) for n in range(0, len(flat), 256)])
    seconds = time.process_time() - began
    found = shares.argmax(1)
    scores = f1(gold, found, len(names))
    size = Path(language_detector.__file__).with_name(FILE).stat().st_size
    print(f"{describe_machine(1)}; {len(names)} languages, {len(flat):,} lines, profiles of {size:,} bytes\n")
    rows = [["macro F1", f"{scores.mean():.3f}"], ["lines a second", f"{len(flat) / seconds:,.0f}"]]
    rows += [["in none of the languages, by mistake", f"{(found == len(names)).mean():.2%}"]]
    kept = shares.max(1)
    rows += [["mean probability of the best, and its accuracy", f"{kept.mean():.3f}, {(found == gold).mean():.3f}"]]
    short = [few_words(text, 2, random.Random(place)) for place, text in enumerate(flat)]
    served = np.array([names.index(f"{name}_Latn") for name in SERVED])
    chosen = np.isin(gold, served)
    of_short = detector.probabilities([text for text, is_one in zip(short, chosen, strict=True) if is_one])
    right = served[of_short[:, served].argmax(1)] == gold[chosen]
    rows += [[f"two words, among {', '.join(SERVED)}: accuracy", f"{right.mean():.3f}"]]
    right = of_short.argmax(1) == gold[chosen]
    rows += [[f"two words of these, among all {len(names)}: accuracy", f"{right.mean():.3f}"]]
    print(table([["", ""], *rows]))
    scripts = sorted({name[-4:] for name in names})
    of_script = {
        one: [score for name, score in zip(names, scores, strict=True) if name.endswith(one)] for one in scripts
    }
    several = {one: some for one, some in of_script.items() if len(some) > 1}
    rest = [some[0] for some in of_script.values() if len(some) == 1]
    told = [f"{one} ({len(some)}) {np.mean(some):.3f}" for one, some in several.items()]
    print(f"\nF1 by script (languages): {', '.join(told)}, {len(rest)} scripts of one {np.mean(rest):.3f}")
    confused = Counter(
        tuple(sorted((a, b))) for a, b in zip(gold.tolist(), found.tolist(), strict=True) if a != b < len(names)
    )
    told = [f"{names[a]} {names[b]} {count}" for (a, b), count in confused.most_common(20)]
    print(f"\nMost confused, of {len(texts[0]):,} lines each: {', '.join(told)}")
    compare(names, texts, detector)


def compare(names: Sequence[str], texts: Sequence[Sequence[str]], detector: LanguageDetector) -> None:
    """Prints a comparison with py3langid on one text in ten of the languages that both know, choosing among these."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    theirs = {code: code for code, _ in identifier.rank("")} | {"nb": "no"}
    of_code = {canonical(name): place for place, name in enumerate(names) if canonical(name) in theirs}
    codes = list(of_code)
    rows = []
    sentences = [(place, text) for place, code in enumerate(codes) for text in texts[of_code[code]][::10]]
    words = [(place, few_words(text, 2, random.Random(text))) for place, text in sentences]
    identifier.set_languages([theirs[code] for code in codes])
    place_of = {theirs[code]: place for place, code in enumerate(codes)}
    rows_of_codes = np.array(list(of_code.values()))
    for what, some in (("sentences", sentences), ("two words", words)):
        gold = np.array([place for place, _ in some])
        read = [text for _, text in some]
        began = time.process_time()
        ours = detector.probabilities(read)[:, rows_of_codes].argmax(1)
        between = time.process_time()
        other = np.array([place_of[identifier.classify(text)[0]] for text in read])
        ended = time.process_time()
        rows.append([what, *(f"{f1(gold, found, len(codes)).mean():.3f}" for found in (ours, other))])
        rows[-1] += [f"{len(read) / (between - began):,.0f}", f"{len(read) / (ended - between):,.0f}"]
    heads = [f"{len(codes)} languages", "F1", "F1 of py3langid", "texts a second", "of py3langid"]
    print(f"\n{table([heads, *rows])}")


def lines(folder: Path, name: str, part: str) -> list[str]:
    """Returns the lines of a part of FLORES-200 in a language."""
    with gzip.open(folder / f"{name}.{part}.gz", "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def few_words(text: str, count: int, chance: random.Random) -> str:
    """Returns so many words of a text, or thrice as many letters of one that has none."""
    words = text.split()
    if len(words) <= 3:
        begin = chance.randrange(max(1, len(text) - 3 * count))
        return text[begin : begin + 3 * count]
    begin = chance.randrange(len(words) - count)
    return " ".join(words[begin : begin + count])


def f1(gold: Numbers, found: Numbers, languages: int) -> NDArray[np.float64]:
    """Returns the F1 of each language."""
    right = np.bincount(gold[gold == found], minlength=languages)[:languages]
    both = np.bincount(gold, minlength=languages) + np.bincount(found, minlength=languages + 1)[:languages]
    return np.asarray(2 * right / np.maximum(both, 1))


if __name__ == "__main__":
    main()
