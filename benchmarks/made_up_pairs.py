"""Sentence pairs of made-up words: as many as asked for, always the same."""

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORDS = 32_000 - 4  # beside the special tokens
SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvwz" for vowel in "aeiou"]
FORMS = 1_000_000  # words of text: that of rank r is about as frequent as 1 / r
LINES_AT_ONCE = 100_000


def write_pairs(folder: Path, name: str, lengths: Iterable[tuple[int, int]], seed: int) -> None:
    """Write `name.src` and `name.trg`, of so many words a side in each line; the first lines hold all words."""
    choice = random.Random(seed)
    unseen = [iter(range(WORDS)), iter(range(WORDS))]
    with (folder / f"{name}.src").open("w") as source, (folder / f"{name}.trg").open("w") as target:
        for pair in lengths:
            for file, length, rare in zip((source, target), pair, unseen, strict=True):
                words = (next(rare, choice.randrange(WORDS)) for _ in range(length))
                file.write(" ".join(f"w{word}" for word in words) + "\n")


def write_text_like_pairs(folder: Path, name: str, pairs: int, seed: int) -> None:
    """Write `name.src` and `name.trg`, with the lengths and frequencies of words that texts have."""
    words = np.array([_spell(rank) for rank in range(FORMS)], dtype=object)
    draw = np.random.default_rng(seed)
    with (folder / f"{name}.src").open("w") as source, (folder / f"{name}.trg").open("w") as target:
        for start in range(0, pairs, LINES_AT_ONCE):
            count = min(LINES_AT_ONCE, pairs - start)
            lengths = np.clip(np.exp(draw.normal(2.9, 0.6, count)), 1, 150)
            for file, ratio in ((source, 1.0), (target, draw.normal(1.05, 0.15, count))):
                _write_lines(file.write, words, np.clip(lengths * ratio, 1, 150).astype(int), draw)


def _write_lines(write, words: NDArray, lengths: NDArray[np.int64], draw: np.random.Generator) -> None:  # type: ignore
    ranks = np.exp(draw.uniform(0, np.log(FORMS), lengths.sum())).astype(int) - 1  # as by Zipf's law
    drawn, stops = words[ranks].tolist(), np.cumsum(lengths).tolist()
    for start, stop in zip([0, *stops[:-1]], stops, strict=True):
        write(" ".join(drawn[start:stop]) + "\n")


def _spell(rank: int) -> str:
    spelled = ""
    while True:
        rank, syllable = divmod(rank, len(SYLLABLES))
        spelled += SYLLABLES[syllable]
        if not rank:
            return spelled
