"""Options that several verbs share."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from transduce import ranges
from transduce.cli.failures import UsageError
from transduce.ranges import Number, number_of


def ranged(range_: Any, help: str) -> Any:
    """An option for a number of a range (see ranges.py), which its help tells and its value must keep to."""
    number = number_of(range_)
    assert number is not None
    return typer.Option(help=f"{help}; {number.describe()}.", callback=_checked(number))


def _checked(number: Number) -> Callable[..., Any]:
    def check(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
        if value is not None and (problem := number.problem(value)):
            raise UsageError(f"{option.opts[0]} {problem}, but is {value}", context)
        return value

    return check


OUTPUT = ("--output", "-o", "--out")
"""Names of the option that says where a verb writes, be it a file or a folder."""
Device = Annotated[
    str, typer.Option(help="Where to compute: auto (a GPU where there is one), cpu, cuda, cuda:1 ..., or mps.")
]
Threads = Annotated[int | None, ranged(ranges.Threads, "Processor threads (default: as many as there are cores)")]
InferencePrecision = Annotated[
    Literal["float32", "bfloat16", "int8"],
    typer.Option(help="bfloat16 and int8 (on a CPU) are faster on many machines, and less exact."),
]
UseShortlist = Annotated[
    bool, typer.Option("--shortlist", help="Look only at likely tokens, by what `transduce shortlist` has learned.")
]
ShortlistFile = Annotated[
    str | None, typer.Option(help="The same by this file, instead of the one in the model's folder.")
]
Engine = Annotated[
    Literal["pytorch", "ctranslate2"] | None,
    typer.Option(help="Inference engine (default: detected from the folder)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print figures as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
BeamSize = Annotated[int, ranged(ranges.BeamSize, "Hypotheses followed at once; 1 is greedy search")]
LengthPenalty = Annotated[float, ranged(ranges.LengthPenalty, "Exponent of length normalisation; 0 for none")]
Normalization = Annotated[Literal["wu", "power"], typer.Option(help="((5 + n) / 6)^alpha, or n^alpha.")]
Model = Annotated[str, typer.Argument(help="A model's or a run's folder.", show_default=False)]
System = Annotated[
    str,
    typer.Argument(
        help="A model's or a run's folder, or a text file of finished outputs; - is standard input.", show_default=False
    ),
]
Source = Annotated[str | None, typer.Option(help="Text to translate, one sentence a line.")]
Reference = Annotated[str | None, typer.Option(help="Its right translation, line by line.")]
DatasetName = Annotated[str | None, typer.Option("--dataset", help="A built-in data set instead of files.")]
Split = Annotated[str | None, typer.Option(help="The data set's part; the test set unless given.")]
Direction = Annotated[
    str | None, typer.Option(help="The data set's direction, as de-en; the model's own unless given.")
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Score case-insensitively.")]
Tokenize = Annotated[
    Literal["13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char"], typer.Option(help="How BLEU splits words.")
]
MetricNames = Annotated[
    list[str] | None,
    typer.Option(help="A metric beside BLEU, chrF and TER, such as comet or one of an installed package; repeatable."),
]
