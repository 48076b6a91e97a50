"""Reads sentences with tagged words: CoNLL files, a word and its tag on a line, a blank line between sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.base.errors import DataError
from transduce.corpora.labelled_text import ExampleCorpus, file_corpus
from transduce.corpora.lines import file_kind, read_lines, read_objects

DOCUMENT = "-DOCSTART-"
OUTSIDE = "O"


@dataclass(frozen=True)
class TaggedSentence:
    """The words of a sentence and the tag of each: O, B-kind for the first word of an entity, I-kind for its others."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    place: str
    """The file and line of the sentence."""


@dataclass(frozen=True)
class TagColumns:
    """The columns of words and tags in a CoNLL file, from 1; None for the first and the last."""

    word: int | None = None
    tag: int | None = None


def tagged_corpus(path: str | Path, columns: TagColumns) -> ExampleCorpus[TaggedSentence]:
    """Returns the sentences of a CoNLL file, or of a .jsonl file with "words" and "tags" in each object.

    Columns are parted by tabs, or by spaces where a file has no tabs. Raises DataError, with the line, for ragged
    columns and for tags that are not O, B-kind or I-kind.
    """
    is_jsonl = file_kind(path) == ".jsonl"
    return file_corpus(path, lambda: _of_objects(path) if is_jsonl else _of_lines(path, columns), repr(columns))


def entities_of(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Returns the first word, the one after the last, and the kind of each entity in tags.

    An I-kind that continues nothing begins an entity, as the scorer of CoNLL has it.
    """
    entities: list[tuple[int, int, str]] = []
    begun: int | None = None
    for index, tag in enumerate([*tags, OUTSIDE]):
        kind = kind_of(tags[begun]) if begun is not None else None
        if begun is not None and (tag == OUTSIDE or tag.startswith("B-") or kind_of(tag) != kind):
            entities.append((begun, index, str(kind)))
            begun = None
        if begun is None and tag != OUTSIDE:
            begun = index
    return entities


def kind_of(tag: str) -> str:
    """Returns the kind of entity that a tag names."""
    return tag[2:]


def _of_lines(path: str | Path, columns: TagColumns) -> Iterator[TaggedSentence]:
    words: list[str] = []
    tags: list[str] = []
    begun, width, separator = 1, 0, None
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            if words:
                yield TaggedSentence(tuple(words), tuple(tags), f"{path}: line {begun}")
            words, tags, begun = [], [], number + 1
            continue
        if not width:
            separator = "\t" if "\t" in line else None
        cells = [cell.strip() for cell in line.split(separator)]
        if cells[0] == DOCUMENT:
            continue
        width = width or len(cells)
        if len(cells) != width or width < 2:
            raise DataError(
                f"{path}: line {number} has {len(cells)} column{'s' * (len(cells) > 1)}, but "
                + (f"the first has {width}" if width > 1 else "a word and its tag are expected")
                + f" ({'tabs' if separator else 'spaces'} separate them)"
            )
        word, tag = columns.word or 1, columns.tag or width
        if max(word, tag) > width:
            raise DataError(f"{path}: line {number} has {width} columns, but column {max(word, tag)} is asked for")
        words.append(cells[word - 1])
        tags.append(_checked(cells[tag - 1], f"{path}: line {number}"))
        if not words[-1]:
            raise DataError(f"{path}: line {number}: its word is blank")
    if words:
        yield TaggedSentence(tuple(words), tuple(tags), f"{path}: line {begun}")


def _of_objects(path: str | Path) -> Iterator[TaggedSentence]:
    for number, row in read_objects(path):
        where = f"{path}: line {number}"
        words, tags = row.get("words"), row.get("tags")
        for name, texts in (("words", words), ("tags", tags)):
            if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
                raise DataError(f"{where} has no list of texts under '{name}'; it has {', '.join(row)}")
        assert isinstance(words, list) and isinstance(tags, list)
        if len(words) != len(tags):
            raise DataError(f"{where} has {len(words)} words, but {len(tags)} tags")
        yield TaggedSentence(tuple(words), tuple(_checked(tag, where) for tag in tags), where)


def _checked(tag: str, where: str) -> str:
    if tag != OUTSIDE and not (tag[:2] in ("B-", "I-") and tag[2:]):
        raise DataError(f"{where}: {tag!r} is no tag; expected O, B-kind or I-kind")
    return tag
