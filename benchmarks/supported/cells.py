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
    """The words of a command; MODEL and RUN stand for the folders of the row that is tried."""


@dataclass(frozen=True)
class Outcome:
    """The end of one trial of a row: it worked, it was refused in one line, or it was a fault."""

    line: str = ""
    """Why it is refused, or what is wrong; empty where it works."""
    is_broken: bool = False
    """True for a fault: the trial neither worked nor was refused in one line."""

    @property
    def is_supported(self) -> bool:
        """True for a trial that worked."""
        return not self.line


CELLS = {
    "train": Cell("train", "train"),
    "train bf16": Cell("train in bfloat16", "train", ("training.precision=bfloat16",)),
    "resume": Cell("resume", "resume"),
    "parts": Cell("in parts", "parts", ("training.accumulate=3",)),
    "processes": Cell("two processes", "processes"),
    "evaluate": Cell("evaluate", "other", ("evaluate", "MODEL")),
    "evaluate int8": Cell("evaluate in int8", "other", ("evaluate", "MODEL", "--precision", "int8")),
    "use": Cell("use", "use"),
    "use bf16": Cell("use in bfloat16", "use", ("--precision", "bfloat16")),
    "use int8": Cell("use in int8", "use", ("--precision", "int8")),
    "score": Cell("score", "other", ("score", "MODEL")),
    "look": Cell("look", "other", ("look", "MODEL")),
    "average": Cell("average", "other", ("average", "RUN", "-o", "mean")),
    "ctranslate2": Cell("CTranslate2", "export"),
    "argos": Cell("Argos", "export"),
    "huggingface": Cell("Hugging Face", "export"),
    "firefox": Cell("Firefox", "export"),
}
"""All trials of a row, in the order of the page's columns, by short names."""

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
"""The arguments that name the texts for `score`, by task; models of other tasks score one file of text."""
LOOKED_AT = {
    "language": ["a", "--max-tokens", "3"],
    "answering": ["where ?", "--second", "Ada in Rome 1"],
    "encoder": ["the [MASK] sees ."],
}
