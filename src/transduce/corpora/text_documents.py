"""Reads documents of sentences: lines of text, with a blank line between one document and the next."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transduce.base.errors import ConfigError
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.corpora.splits import open_splits, open_text


@dataclass(frozen=True)
class TextDocument:
    """Sentences that follow one another."""

    sentences: tuple[str, ...]
    place: str
    """The file, and the number of its first line."""


def documents_of(text: TextCorpus, longest: int) -> ExampleCorpus[TextDocument]:
    """Returns the documents of a text: each ends at a blank line, or after this many sentences."""

    def read() -> Iterator[TextDocument]:
        sentences: list[str] = []
        begun = 1
        for number, line in enumerate(text, 1):
            if line.strip():
                sentences.append(line)
            if sentences and (not line.strip() or len(sentences) == longest):
                yield TextDocument(tuple(sentences), f"{text.name}: line {begun}")
                sentences = []
            if not sentences:
                begun = number + 1
        if sentences:
            yield TextDocument(tuple(sentences), f"{text.name}: line {begun}")

    return ExampleCorpus(text.name, read, lambda: f"{text.content()} {longest}")


def open_dataset_text(name: str, language: str, progress: Progress | None = None) -> TextCorpus:
    """Returns the training text of a built-in data set: of one of sentence pairs, its side of a language."""
    dataset = find_dataset(name)
    if dataset.kind == "text":
        return open_text(name, "train", progress)
    if dataset.kind != "pairs":
        raise ConfigError(f"{name} is no running text; choose a text, or pairs of sentences")
    if language not in dataset.languages:
        raise ConfigError(f"{name} has no language '{language}'; it has {', '.join(dataset.languages)}")
    other = next(code for code in dataset.languages if code != language)
    config = DataConfig(dataset=name, source=language, target=other)
    (corpus,) = (each.corpus for each in open_splits(config, Path()).train)
    return TextCorpus(
        f"{corpus.name} ({language})",
        lambda: (pair.source for pair in corpus),
        lambda: f"{corpus.content()} {language}",
    )
