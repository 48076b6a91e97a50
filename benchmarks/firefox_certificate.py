"""Translations of an exported folder by our 8-bit arithmetic, fxtranslate and Bergamot in node: how many are equal.

Also words a second of each on one core:

    python benchmarks/firefox_certificate.py FOLDER --source test.de [--bergamot PACKAGE] [--beside EXPORT]

PACKAGE is the folder of `@browsermt/bergamot-translator`, where npm has installed it, and EXPORT that of another model,
exported for CTranslate2, whose speed alone is shown. Our arithmetic and CTranslate2 are timed as they are used, in
batches, and one sentence at a time, as the engines for browsers translate.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import torch

from transduce.apps.exchange.firefox.alphas import GREEDY
from transduce.apps.exchange.firefox.fxtranslate_engine import Student
from transduce.apps.exchange.firefox.student_files import StudentPaths
from transduce.corpora.lines import read_lines
from transduce.inference.translator import Translator

NODE = Path(__file__).parent / "bergamot_lines.mjs"
SHOWN = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--bergamot", type=Path)
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [line for line in read_lines(options.source) if line.strip()][: options.lines]
    words = sum(len(line.split()) for line in lines)
    ours = Translator.load(options.folder, engine="pytorch")
    student = Student(StudentPaths.find(options.folder))
    outputs = {
        "ours": timed("ours", words, lambda: [each.text for each in ours.translate(lines, GREEDY)]),
        "ours, one by one": timed(
            "ours, one by one", words, lambda: [ours.translate(line, GREEDY).text for line in lines]
        ),
        "fxtranslate": timed("fxtranslate", words, lambda: [student.translate(line) for line in lines]),
    }
    if options.bergamot is not None:
        outputs["bergamot"] = by_bergamot(options.bergamot, options.folder, lines, words)
    if options.beside is not None:
        other = Translator.load(options.beside)
        name = f"{options.beside.name} by {other.engine.describe(GREEDY)}"
        timed(name, words, lambda: [each.text for each in other.translate(lines, GREEDY)])
        timed(f"{name}, one by one", words, lambda: [other.translate(line, GREEDY).text for line in lines])
    for first, second in combinations(outputs, 2):
        pairs = list(zip(lines, outputs[first], outputs[second], strict=True))
        different = [each for each in pairs if each[1].strip() != each[2].strip()]
        print(f"{first} and {second}: {len(pairs) - len(different)} of {len(pairs)} equal")
        for line, a, b in different[:SHOWN]:
            print(f"    {line}\n      {a}\n      {b}")


def timed(name: str, words: int, translate: Callable[[], list[str]]) -> list[str]:
    begun = time.perf_counter()
    translations = translate()
    print(f"{name}: {words / (time.perf_counter() - begun):,.0f} words a second", flush=True)
    return translations


def by_bergamot(package: Path, folder: Path, lines: Sequence[str], words: int) -> list[str]:
    answer = subprocess.run(
        ["node", NODE, package, folder], input=json.dumps(lines), stdout=subprocess.PIPE, text=True, check=True
    )
    facts = json.loads(answer.stdout)
    print(f"bergamot: {words / facts['seconds']:,.0f} words a second", flush=True)
    return list(facts["translations"])


if __name__ == "__main__":
    main()
