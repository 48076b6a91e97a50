"""Reads questions whose answers are in passages: files in the form of SQuAD (Rajpurkar et al. 2016)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import DataError
from transduce.corpora.labelled_text import ExampleCorpus, file_corpus
from transduce.corpora.lines import open_bytes


@dataclass(frozen=True)
class Answer:
    """A part of a passage."""

    text: str
    start: int
    """The start of the answer, in characters of the passage, from 0."""

    @property
    def end(self) -> int:
        """The end of the answer, after its last character."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Question:
    """A question, the passage that may answer it, and the answers that people gave."""

    name: str
    """The name by which the question can be found."""
    question: str
    passage: str
    answers: tuple[Answer, ...]
    """The answers; none if the passage does not answer it."""
    place: str
    """The file and the question's name."""


def question_corpus(path: str | Path) -> ExampleCorpus[Question]:
    """Reads the questions of a SQuAD file, version 1.1 or 2.0.

    Raises DataError, with the question, for another form, and for an answer that is not at its position in the passage.
    """
    return file_corpus(path, lambda: _questions(path))


def _questions(path: str | Path) -> Iterator[Question]:
    try:
        with open_bytes(path) as stream:
            tree = msgspec.json.decode(stream.read())
    except (msgspec.DecodeError, RecursionError, EOFError) as error:
        raise DataError(f"{path} is not JSON ({error})") from None
    if not isinstance(tree, dict) or not isinstance(tree.get("data"), list):
        raise DataError(f'{path} is not in the form of SQuAD: expected an object with "data", a list of articles')
    for number, article in enumerate(tree["data"], 1):
        where = f"{path}: article {number}"
        for index, paragraph in enumerate(_field(article, "paragraphs", list, where), 1):
            within = f"{where}, paragraph {index}"
            passage = _field(paragraph, "context", str, within)
            for asked in _field(paragraph, "qas", list, within):
                yield _question(asked, passage, path, within)


def _question(asked: Any, passage: str, path: str | Path, within: str) -> Question:
    name = str(asked.get("id", "")) if isinstance(asked, dict) else ""
    where = f"{path}: question {name}" if name else within
    question = _field(asked, "question", str, where)
    is_impossible = asked.get("is_impossible", False)
    if not isinstance(is_impossible, bool):
        raise DataError(f"{where} has no true or false under 'is_impossible'")
    answers = []
    for answer in [] if is_impossible else _field(asked, "answers", list, where):
        text, start = _field(answer, "text", str, where), _field(answer, "answer_start", int, where)
        if not text or passage[start : start + len(text)] != text:
            raise DataError(
                f"{where}: its answer {text!r} is not in its passage at character {start}, where "
                f"{passage[start : start + max(len(text), 1)]!r} stands"
            )
        answers.append(Answer(text, start))
    if not question.strip() or not passage.strip():
        raise DataError(f"{where}: its {'question' if passage.strip() else 'passage'} is blank")
    return Question(name or question, question, passage, tuple(answers), where)


def _field(row: Any, key: str, kind: type, where: str) -> Any:
    value = row.get(key) if isinstance(row, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        words = {str: "text", list: "list", int: "number"}
        raise DataError(f"{where} has no {words[kind]} under '{key}'")
    return value
