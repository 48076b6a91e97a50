"""Options that several verbs share."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from transduce import ranges
from transduce.cli.failures import UsageError
from transduce.errors import InputError
from transduce.ranges import Number, number_of


def ranged(range_: Any, help: str) -> Any:
    """Returns an option for a number in a range (see ranges.py), which is shown in its help and checked."""
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
    """Returns the options on the command line, except those of the parameters in `but`."""
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
"""The names of the option for a verb's output, a file or a folder."""
Device = Annotated[
    str, typer.Option(help="Where to compute: auto (a GPU where there is one), cpu, cuda, cuda:1 ..., or mps.")
]
Threads = Annotated[int | None, ranged(ranges.Threads, "CPU threads (default: the number of cores)")]
Engine = Annotated[
    Literal["auto", "pytorch", "ctranslate2", "fxtranslate"],
    typer.Option(
        help="What runs the model: auto, the fastest with equal outputs; pytorch; ctranslate2 or fxtranslate, for a "
        "model exported for it."
    ),
]
BatchTokens = Annotated[
    int | None,
    ranged(
        ranges.PositiveInt,
        "Padded source tokens times hypotheses that are translated at once (default: 6,144; on a GPU by free memory)",
    ),
]
UseShortlist = Annotated[
    bool,
    typer.Option(
        "--shortlist", help="Use the vocabulary shortlist that `transduce shortlist` wrote to the model's folder."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on standard error.")]
Model = Annotated[str, typer.Argument(help="A model's or a run's folder.", show_default=False)]
TableFormat = Annotated[
    Literal["text", "markdown", "latex", "csv"],
    typer.Option(
        "--format", help="text for a terminal, or tables for a paper: scores, and every two systems compared."
    ),
]


@dataclass(frozen=True)
class LanguageOptions:
    """The languages of a model of several directions."""

    to: str | None = None
    """With a model of several directions: the language to translate to."""
    from_: str | None = None
    """With a model of several directions: the language of the text."""


@dataclass(frozen=True)
class ShortlistOptions:
    """The vocabulary shortlist that a translator uses."""

    shortlist: UseShortlist = False
    shortlist_file: str | None = None
    """Use the vocabulary shortlist in this file."""

    @property
    def chosen(self) -> bool | str:
        """The model's own shortlist or a file's, if any; raises InputError if both are given."""
        if self.shortlist and self.shortlist_file is not None:
            raise InputError("--shortlist and --shortlist-file exclude each other; leave one of them out")
        return self.shortlist if self.shortlist_file is None else self.shortlist_file


@dataclass(frozen=True)
class DataOptions:
    """Options that name test data; raises InputError for options that do not go together."""

    source: str | None = None
    """Text to translate, one sentence a line."""
    reference: str | None = None
    """Reference translation, line by line."""
    dataset: str | None = None
    """A built-in data set instead of files."""
    split: str | None = None
    """Split of the data set; default: its test set."""
    direction: str | None = None
    """Translation direction, such as de-en; default: the model's."""

    def __post_init__(self) -> None:
        if self.reference is not None and self.dataset is not None:
            raise InputError("--dataset and --reference exclude each other; leave one of them out")


@dataclass(frozen=True)
class ScoringOptions:
    """Options of scoring translations."""

    lowercase: bool = False
    """Score case-insensitively."""
    tokenize: Literal["auto", "13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char", "flores200"] = "auto"
    """BLEU's tokenizer; auto: by the script of the references."""
    metric: list[str] | None = None
    """An additional metric, such as comet or one from an installed package; repeatable."""

    @property
    def metrics(self) -> Sequence[str]:
        """The additional metrics."""
        return self.metric or ()


@dataclass(frozen=True)
class LineOptions:
    """The options for lines of text."""

    resume: bool = False
    """Continue the same command after an interruption."""
    prefix: str | None = None
    """Words that each translation begins with."""
    prefix_file: str | None = None
    """A file with one prefix per input line; blank for none."""
    compile: bool = False
    """Compile the model (1 to 2 minutes); single sentences then take about a third of the time. Standard input only. On
    a GPU, also for files: steps become CUDA graphs, without a wait."""
    json: bool = False
    """Print a JSON object for each line."""
    details: bool = False
    """With --json: also the probability of each token, and an alignment of words."""
    explain: bool = False
    """Colour each word by how sure the model was of it, for a terminal."""


@dataclass(frozen=True)
class DocumentOptions:
    """The options for documents."""

    memory: str | None = None
    """Translations that exist: .tmx, .tsv, .xlf or .po. A segment that is there is taken from it; one that is like it
    is offered in the log."""
    retranslate: bool = False
    """Replace the translations that a PO, XLIFF or TMX file has. Without it they stay, but for drafts."""
    fill_only: Annotated[
        bool, typer.Option("--fill-only", hidden=True, help="Keep the translations that a file has: the default.")
    ] = False
    encoding: str | None = None
    """The encoding of a document, such as gbk (default: as the document says, else UTF-8)."""
    source_column: str | None = None
    """The column of a CSV file to translate: its name in the first row, or its number from 1 in a file without names
    (default: the one called by the source language, source or text)."""
    target_column: str | None = None
    """The column to write translations into (default: the one called by the target language, target or translation;
    else that of the source)."""
    log: str | None = None
    """A new file of JSON lines: where each segment's translation is from, and what to look at."""
    source_language: str | None = None
    """The language to translate from (default: the model's)."""
    target_language: str | None = None
    """The language to translate to (default: the model's)."""
