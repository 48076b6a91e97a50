"""The columns: what is done with a tiny recipe and its model, and what counts as right."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["train", "resume", "parts", "processes", "use", "export", "other"]


@dataclass(frozen=True)
class Cell:
    """One thing that is tried with each row."""

    title: str
    kind: Kind
    arguments: tuple[str, ...] = ()
    """Of the command, but for the model; {verb} and its texts are the task's."""


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    line: str = ""
    """Why it is refused, or what is wrong; empty where it works."""
    is_broken: bool = False
    """Whether it neither works nor is refused in one line."""

    @property
    def is_supported(self) -> bool:
        """Whether it works."""
        return not self.line


CELLS = {
    "train": Cell("train", "train"),
    "train bf16": Cell("train, bfloat16", "train", ("training.precision=bfloat16",)),
    "resume": Cell("resume", "resume"),
    "parts": Cell("in parts", "parts", ("training.accumulate=3",)),
    "processes": Cell("two processes", "processes"),
    "evaluate": Cell("evaluate", "other", ("evaluate", "MODEL")),
    "evaluate int8": Cell("evaluate, int8", "other", ("evaluate", "MODEL", "--precision", "int8")),
    "use": Cell("use", "use"),
    "use bf16": Cell("use, bfloat16", "use", ("--precision", "bfloat16")),
    "use int8": Cell("use, int8", "use", ("--precision", "int8")),
    "score": Cell("score", "other", ("score", "MODEL")),
    "look": Cell("look", "other", ("look", "MODEL")),
    "average": Cell("average", "other", ("average", "RUN", "-o", "mean")),
    "ctranslate2": Cell("CTranslate2", "export"),
    "argos": Cell("Argos", "export"),
    "huggingface": Cell("Hugging Face", "export"),
}
"""What is tried, in this order, by the name of its column."""

USE = {
    "translation": ("translate", ["MODEL", "test.en", "--beam-size", "2", "--device", "cpu"]),
    "language": ("generate", ["MODEL", "the", "--max-tokens", "5", "--device", "cpu"]),
    "encoder": ("fill", ["MODEL", "masked.txt"]),
    "tagging": ("tag", ["MODEL", "test.en"]),
    "answering": ("answer", ["MODEL", "questions.txt", "--passage", "passage.txt"]),
    "classification": ("classify", ["MODEL", "texts.tsv"]),
}
"""The verb that uses the models of each task, and its arguments."""

SCORED = {"translation": ["--source", "test.en", "--target", "test.de"]}
"""What `score` reads; the text of the others is one file."""
LOOKED_AT = {
    "language": ["a", "--max-tokens", "3"],
    "answering": ["where ?", "--second", "Ada in Rome 1"],
    "encoder": ["the [MASK] sees ."],
}
