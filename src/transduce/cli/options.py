"""Options that several verbs share."""

from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal

import typer

from transduce import ranges
from transduce.cli.failures import UsageError
from transduce.ranges import Number, number_of


def ranged(range_: Any, help: str) -> Any:
    """Returns an option for a number of a range (see ranges.py), which its help shows and its value must keep to."""
    number = number_of(range_)
    assert number is not None
    return typer.Option(help=f"{help}; {number.describe()}.", callback=_checked(number))


def _checked(number: Number) -> Callable[..., Any]:
    def check(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
        if value is not None and (problem := number.problem(value)):
            raise UsageError(f"{option.opts[0]} {problem}, but is {value}", context)
        return value

    return check


def given_options(context: typer.Context, but: Collection[str]) -> list[str]:
    """Returns the options that the command line gives, but for those of these parameters."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.param_type_name == "option" and parameter.name not in but and is_given(context, parameter.name)
    ]


def is_given(context: typer.Context, name: str | None) -> bool:
    """Returns True if the command line gives a parameter, rather than its default."""
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


OUTPUT = ("--output", "-o", "--out")
"""The names of the option that says where a verb writes, be it a file or a folder."""
Device = Annotated[
    str, typer.Option(help="Where to compute: auto (a GPU where there is one), cpu, cuda, cuda:1 ..., or mps.")
]
Threads = Annotated[int | None, ranged(ranges.Threads, "CPU threads (default: the number of cores)")]
InferencePrecision = Annotated[
    Literal["float32", "bfloat16", "int8"],
    typer.Option(
        help="Precision of inference; bfloat16 and int8 (CPU only) are faster on many machines, with small "
        "differences in output."
    ),
]
UseShortlist = Annotated[
    bool,
    typer.Option(
        "--shortlist", help="Use the vocabulary shortlist that `transduce shortlist` wrote to the model's folder."
    ),
]
ShortlistFile = Annotated[str | None, typer.Option(help="Use the vocabulary shortlist in this file.")]
Engine = Annotated[
    Literal["pytorch", "ctranslate2"] | None,
    typer.Option(help="Inference engine (default: detected from the folder)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on standard error.")]
Model = Annotated[str, typer.Argument(help="A model's or a run's folder.", show_default=False)]
System = Annotated[
    str,
    typer.Argument(
        help="A model's or a run's folder, or a text file of finished outputs; - is standard input.", show_default=False
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="With a model of several directions: the language to translate to.", show_default=False),
]
From = Annotated[
    str | None,
    typer.Option("--from", help="With a model of several directions: the language of the text.", show_default=False),
]
TableFormat = Annotated[
    Literal["text", "markdown", "latex", "csv"],
    typer.Option(
        "--format", help="text for a terminal, or tables for a paper: scores, and every two systems compared."
    ),
]
