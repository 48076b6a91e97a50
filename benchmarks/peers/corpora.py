"""Corpora of many languages, in a training and a test part each, read from the folder of data for experiments."""

import gzip
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

Pairs = list[tuple[str, str]]
EPISODES, SENTENCES = 10, 1_000  # that are held out


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs of two languages."""

    source: str
    target: str
    train: Pairs
    test: Pairs


def read_lines(path: Path) -> list[str]:
    """Reads the lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n").strip() for line in file]


def files(folder: str, source: str, target: str, train: str, test: str, data: Path) -> Corpus:
    """Reads a corpus of aligned files whose names hold the language in place of {}."""

    def pairs(name: str) -> Pairs:
        sides = (read_lines(data / folder / f"{name.format(language)}.gz") for language in (source, target))
        return [pair for pair in zip(*sides, strict=True) if all(pair)]

    return Corpus(source, target, pairs(train), pairs(test))


def held_out(source: str, target: str, rows: Iterable[tuple[str, str, str]], count: int | None) -> Corpus:
    """Holds out groups of pairs, such as documents: so many, or a tenth.

    Args:
        source: the language of the sources.
        target: that of the targets.
        rows: the group, the source and the target of each pair.
        count: how many groups to hold out, the last ones by chance; None for a tenth of them.
    """
    rows = [row for row in rows if all(row)]
    groups = sorted({group for group, *_ in rows})
    random.Random(3).shuffle(groups)
    held = set(groups[: count or len(groups) // 10])
    test = [row[1:] for row in rows if row[0] in held]
    random.Random(1).shuffle(test)
    return Corpus(source, target, [row[1:] for row in rows if row[0] not in held], test)


def sami(source: str, target: str, data: Path) -> Corpus:
    """Norwegian or Finnish and a Sámi language; whole documents are held out."""
    rows = (line.split("\t") for line in read_lines(data / "sami" / f"{source}-{target}.tsv.gz"))
    return held_out(source, target, ((row[-3], row[-2], row[-1]) for row in rows), None)


def tatoeba(data: Path) -> Corpus:
    """French and English; no English sentence is in both parts."""
    rows = (line.split("\t")[:2] for line in read_lines(data / "tatoeba-eng-fra" / "eng-fra.txt.gz"))
    return held_out("fr", "en", ((english, french, english) for english, french in rows), SENTENCES)


def subtitles(data: Path) -> Corpus:
    """Chinese and English, a quarter of TVsub; whole episodes are held out."""
    rows = (line.split("\t")[:3] for line in read_lines(data / "tvsub" / "train.0.tsv.gz"))
    return held_out("zh", "en", ((episode, chinese, english) for episode, english, chinese in rows), EPISODES)


def americas(folder: str, target: str) -> Callable[[Path], Corpus]:
    """Spanish and a language of the Americas."""
    return partial(files, f"americasnlp2023/{folder}-spanish", "es", target, "train.{}", "dev.{}")


def mafand(source: str, target: str, folder: str) -> Callable[[Path], Corpus]:
    """News in an African language."""
    return partial(files, f"mafand/{folder}", source, target, "train.{}", "dev.{}")


SETS: dict[str, Callable[[Path], Corpus]] = {
    "captions": partial(files, "multi30k", "de", "en", "train.{}", "test_2016_flickr.{}"),
    "vietnamese": partial(files, "iwslt15-en-vi", "en", "vi", "train-30k.{}", "tst2012.{}"),
    "japanese": partial(files, "tanaka-en-ja", "en", "ja", "train.{}", "test.{}"),
    "french": tatoeba,
    "chinese": subtitles,
    "north-sami": partial(sami, "nob", "sme"),
    "south-sami": partial(sami, "nob", "sma"),
    "lule-sami": partial(sami, "nob", "smj"),
    "inari-sami": partial(sami, "fin", "smn"),
    "skolt-sami": partial(sami, "fin", "sms"),
    "swahili": mafand("swa", "en", "en-swa"),
    "yoruba": mafand("en", "yor", "en-yor"),
    "zulu": mafand("en", "zul", "en-zul"),
    "wolof": mafand("fr", "wol", "fr-wol"),
    "ashaninka": americas("ashaninka", "cni"),
    "aymara": americas("aymara", "aym"),
    "bribri": americas("bribri", "bzd"),
    "guarani": americas("guarani", "gn"),
    "nahuatl": americas("nahuatl", "nah"),
    "otomi": americas("hñähñu", "oto"),
    "raramuri": americas("raramuri", "tar"),
    "shipibo": americas("shipibo_konibo", "shp"),
    "wixarika": americas("wixarika", "hch"),
}
"""Corpora by name."""


def write_set(name: str, pairs: int | None, tested: int | None, data: Path, out: Path) -> tuple[list[str], list[str]]:
    """Writes so many training pairs of a corpus, drawn by chance, and the first test pairs, None for all; returns the
    paths of two training and two test files."""
    corpus = SETS[name](data)
    train = list(corpus.train)
    random.Random(1).shuffle(train)
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for part, chosen in (("train", train[:pairs]), ("test", corpus.test[:tested])):
        for side, language in enumerate((corpus.source, corpus.target)):
            path = out / f"{name}-{pairs or 'all'}.{part}.{language}"
            path.write_text("".join(f"{pair[side]}\n" for pair in chosen), encoding="utf-8")
            written.append(str(path))
    return written[:2], written[2:]
