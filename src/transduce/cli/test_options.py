"""The options of `evaluate` and `compare` that name test data, and say how outputs are scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from transduce.cli.fields import options_of
from transduce.errors import InputError


@dataclass(frozen=True)
class DataOptions:
    """Options that name test data; raises InputError for options that do not go together."""

    source: Annotated[str | None, typer.Option(help="Text to translate, one sentence a line.")] = None
    reference: Annotated[str | None, typer.Option(help="Reference translation, line by line.")] = None
    dataset: Annotated[str | None, typer.Option("--dataset", help="A built-in data set instead of files.")] = None
    split: Annotated[str | None, typer.Option(help="Split of the data set; default: its test set.")] = None
    direction: Annotated[
        str | None, typer.Option(help="Translation direction, such as de-en; default: the model's.")
    ] = None

    def __post_init__(self) -> None:
        if self.reference is not None and self.dataset is not None:
            raise InputError("--dataset and --reference exclude each other; leave one of them out")


@dataclass(frozen=True)
class ScoringOptions:
    """How translations are scored."""

    lowercase: Annotated[bool, typer.Option("--lowercase", help="Score case-insensitively.")] = False
    tokenize: Annotated[
        Literal["auto", "13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char", "flores200"],
        typer.Option(help="BLEU's tokenizer; auto: by the script of the references."),
    ] = "auto"
    metric: Annotated[
        list[str] | None,
        typer.Option(help="An additional metric, such as comet or one from an installed package; repeatable."),
    ] = None

    @property
    def metrics(self) -> Sequence[str]:
        """The additional metrics."""
        return self.metric or ()


OfData = Annotated[DataOptions, options_of(DataOptions)]
"""The test data of a verb."""
OfScoring = Annotated[ScoringOptions, options_of(ScoringOptions)]
"""How a verb scores translations."""
