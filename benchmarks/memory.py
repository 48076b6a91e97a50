"""Peak memory of building a large token store and of translating a long file: `python benchmarks/memory.py MODEL`."""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from transduce.data.store import open_store
from transduce.text.corpus import ParallelCorpus, SentencePair
from transduce.text.grammar import derive_pairs
from transduce.text.tokenizer import TokenizerConfig, train_tokenizers

PAIRS = 1_000_000


def main() -> None:
    if sys.argv[1] == "--store":
        build_store()
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"store of {PAIRS:,} pairs: peak {peak([sys.executable, __file__, '--store']):,.0f} MiB")
        sentences = [pair.source for pair in derive_pairs(1000, seed=5)]
        for lines in (1_000, 100_000):
            path = Path(folder) / f"{lines}.txt"
            path.write_text("".join(f"{sentences[i % 1000]}\n" for i in range(lines)), encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "transduce",
                "translate",
                sys.argv[1],
                str(path),
                "--beam-size",
                "1",
                "--device",
                "cpu",
            ]
            print(f"translating {lines:,} lines: peak {peak([*command, '-o', f'{path}.out']):,.0f} MiB")


def build_store() -> None:
    words = [pair.source for pair in derive_pairs(5000, seed=6)]

    def read() -> Iterator[SentencePair]:
        choice = random.Random(7)
        for i in range(PAIRS):
            yield SentencePair(f"{choice.choice(words)} {i}", f"{i} {choice.choice(words)}")

    tokenizers = train_tokenizers(TokenizerConfig(size=1000, min_frequency=1), words, words)
    with tempfile.TemporaryDirectory() as cache:
        store = open_store(ParallelCorpus("generated", read, lambda: "generated"), tokenizers, None, Path(cache))
        assert len(store) == PAIRS


def peak(command: list[str]) -> float:
    """Most resident memory of a command, in MiB, the interpreter and torch included."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1024


if __name__ == "__main__":
    main()
