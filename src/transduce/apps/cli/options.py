"""Options that several verbs share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import click
from click.core import ParameterSource

from transduce.apps.cli.fields import Help
from transduce.base import ranges
from transduce.base.errors import InputError


def given_options(context: click.Context, but: Collection[str]) -> list[str]:
    """Returns the options on the command line, except those of the parameters in `but`."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and parameter.name not in but and is_given(context, parameter.name)
    ]


def is_given(context: click.Context, name: str | None) -> bool:
    """Returns True if the command line gives a parameter, rather than its default."""
    return context.get_parameter_source(name or "") is ParameterSource.COMMANDLINE


Device = Annotated[str, Help("Where to compute: auto (a GPU where there is one), cpu, cuda, cuda:1 ..., or mps")]
Threads = Annotated[ranges.Threads | None, Help("CPU threads (default: the number of cores)")]
Engine = Annotated[
    Literal["auto", "pytorch", "ctranslate2", "fxtranslate"],
    Help(
        "What runs the model: auto, the fastest with equal outputs; pytorch; ctranslate2 or fxtranslate, for a model "
        "exported for it"
    ),
]
BatchTokens = Annotated[
    ranges.PositiveInt | None,
    Help("Padded source tokens times hypotheses that are translated at once (default: 6,144; on a GPU by free memory)"),
]
UseShortlist = Annotated[
    bool, Help("Use the vocabulary shortlist that `transduce shortlist` wrote to the model's folder")
]
Json = Annotated[bool, Help("Print the result as JSON")]
Quiet = Annotated[bool, Help("Print no progress on standard error", flags=("--quiet", "-q"))]
Model = Annotated[str, Help("A model's or a run's folder")]
TableFormat = Annotated[
    Literal["text", "markdown", "latex", "csv"],
    Help("text for a terminal, or tables for a paper: scores, and every two systems compared"),
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
    reference: list[str] | None = None
    """Reference translation, line by line, or several in WMT's SGML (.sgm); repeatable, all references count."""
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
    context: bool = False
    """Read each line with the lines before it, for a model that was trained so; a blank line ends a text."""
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
    fill_only: Annotated[bool, Help("Keep the translations that a file has: the default", hidden=True)] = False
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
