"""`transduce translate`: lines in, lines out; or a document in, and the same document in another language out."""

import copy
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transduce.cli.machine import Machine
from transduce.cli.messages import teller
from transduce.cli.options import (
    OUTPUT,
    Engine,
    From,
    Model,
    Quiet,
    ShortlistFile,
    To,
    UseShortlist,
)
from transduce.cli.search_options import TranslationOptions

if TYPE_CHECKING:
    from transduce.cli.progress import Tell
    from transduce.inference.translator import Translation

Format = Literal[
    "lines", "text", "markdown", "html", "tmx", "xliff", "po", "srt", "vtt", "json", "yaml", "properties", "strings",
    "xcstrings", "android", "arb", "csv", "docx", "pptx", "xlsx", "odt",
]  # fmt: skip


def translate(
    context: typer.Context,
    model: Model,
    search: TranslationOptions,
    machine: Machine,
    input: Annotated[
        str, typer.Argument(help="A text file, .gz, .xz and .zst too, or a document; - is standard input.")
    ] = "-",
    output: Annotated[
        str, typer.Option(*OUTPUT, help="A new file, .gz, .xz and .zst compressed; - is standard output.")
    ] = "-",
    to: To = None,
    from_: From = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the same command after an interruption.")] = False,
    prefix: Annotated[str | None, typer.Option(help="Words that each translation begins with.")] = None,
    prefix_file: Annotated[
        str | None, typer.Option(help="A file with one prefix per input line; blank for none.")
    ] = None,
    glossary: Annotated[
        str | None,
        typer.Option(
            help="A file of lines: source term, tab, required target phrase; a third column 'ban' forbids the phrase. "
            "Or a .csv, or a term base (.tbx)."
        ),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", help="Another model for an ensemble (mean of probabilities); repeatable."),
    ] = None,
    engine: Engine = None,
    shortlist: UseShortlist = False,
    shortlist_file: ShortlistFile = None,
    compile: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile the model (1 to 2 minutes); single sentences then take about a third of the time. "
            "Standard input only.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each line.")] = False,
    details: Annotated[
        bool,
        typer.Option("--details", help="With --json: also the probability of each token, and an alignment of words."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Colour each word by how sure the model was of it, for a terminal.")
    ] = False,
    format: Annotated[
        Format | None,
        typer.Option(help="What the input is (default: by its ending, else lines); text is plain text in paragraphs."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Translations that exist: .tmx, .tsv, .xlf or .po. A segment that is there is taken from it; one that "
            "is like it is offered in the log."
        ),
    ] = None,
    retranslate: Annotated[
        bool,
        typer.Option(
            "--retranslate",
            help="Replace the translations that a PO, XLIFF or TMX file has. Without it they stay, but for drafts.",
        ),
    ] = False,
    fill_only: Annotated[
        bool, typer.Option("--fill-only", hidden=True, help="Keep the translations that a file has: the default.")
    ] = False,
    encoding: Annotated[
        str | None,
        typer.Option(help="The encoding of a document, such as gbk (default: as the document says, else UTF-8)."),
    ] = None,
    source_column: Annotated[
        str | None,
        typer.Option(
            help="The column of a CSV file to translate: its name in the first row, or its number from 1 in a file "
            "without names (default: the one called by the source language, source or text)."
        ),
    ] = None,
    target_column: Annotated[
        str | None,
        typer.Option(
            help="The column to write translations into (default: the one called by the target language, target or "
            "translation; else that of the source)."
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(help="A new file of JSON lines: where each segment's translation is from, and what to look at."),
    ] = None,
    source_language: Annotated[
        str | None, typer.Option(help="The language to translate from (default: the model's).")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(help="The language to translate to (default: the model's).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line, or a document: Markdown, HTML, TMX, XLIFF, PO, SRT, WebVTT, JSON, YAML,
    .properties, .strings, .xcstrings, Android's strings.xml, ARB, CSV, DOCX, PPTX, XLSX, ODT.

    Every line gives one output line, and blank lines stay blank. In a document, only the text changes.

    Example: `transduce translate runs/multi30k input.de -o output.en`
    """
    from transduce.cli.documents import check_lines, kind_of, translate_document
    from transduce.cli.explaining import explained
    from transduce.cli.model import languages_of, open_translator, which_shortlist
    from transduce.cli.progress import show_progress
    from transduce.cli.requests import check_prefixes, read_glossary, requests_of
    from transduce.cli.resuming import growing_output
    from transduce.cli.streams import check_read_once, count_lines, lines_of
    from transduce.errors import InputError

    kind = kind_of(context, input, format)
    if compile and input != "-":
        raise InputError("--compile is for lines that come one by one, on standard input; leave it out for a file")
    if compile and context.params["coverage_penalty"]:
        raise InputError("--compile does nothing with --coverage-penalty; leave one of them out")
    if details and not json:
        raise InputError("--details are part of the JSON output; add --json")
    if explain and (json or search.n_best > 1 or output != "-"):
        raise InputError("--explain is for a terminal: leave out --json, --n-best and --output")
    check_read_once(**{"the text": input, "--prefix-file": prefix_file, "--glossary": glossary, "--memory": memory})
    if kind is not None:
        chosen = which_shortlist(shortlist, shortlist_file)
        translator = open_translator(model, machine.device, machine.precision, with_ or [], engine, chosen).directed(
            to, from_
        )
        translate_document(context, translator, kind, search)
        return
    check_lines(input, format == "lines")
    entries = None if glossary is None else read_glossary(glossary, search, *languages_of(model, to, from_))
    with growing_output(output, context.params, resume) as out:
        total = count_lines(input)
        check_prefixes(prefix, prefix_file, total)
        report = copy.deepcopy(out.report)
        requests = requests_of(lines_of(input), prefix, prefix_file, entries, report.lines)
        translator = open_translator(
            model,
            machine.device,
            machine.precision,
            with_ or [],
            engine,
            which_shortlist(shortlist, shortlist_file),
            compile,
        ).directed(to, from_)
        if compile:
            teller(quiet)("compiling, which takes a minute or two")
            translator.warm_up(search)
        with show_progress(total, report.lines, is_shown=not quiet and not _is_at_terminal(input, output)) as tell:
            for chunk in requests:
                heard = partial(_tell_share, tell, report.lines, len(chunk))
                text = []
                for translation in translator.translate_chunk(chunk, search, heard, details or explain):
                    report.add(translation, translator.why_unsatisfied)
                    text.append(
                        explained(translation) if explain else _render(report.lines, translation, search.n_best, json)
                    )
                out.add("".join(text), report)
                tell(report.lines)
    for line in report.describe(translator.longest_source):
        teller(quiet)(line)


def _tell_share(tell: "Tell", begun: int, lines: int, share: float) -> None:
    """Reports how many lines are done of a chunk of them, after those before it."""
    tell(begun + share * lines)


def _is_at_terminal(input: str, output: str) -> bool:
    """Returns True if the lines themselves show the progress."""
    return (input == "-" and sys.stdin.isatty()) or (output == "-" and sys.stdout.isatty())


def _render(number: int, translation: "Translation", n_best: int, json: bool) -> str:
    if json:
        import msgspec

        facts = msgspec.to_builtins(translation)
        if translation.details is None:
            del facts["details"]
        return msgspec.json.encode(facts).decode() + "\n"
    if n_best == 1:
        return translation.text + "\n"
    return "".join(f"{number}\t{c.score:.4f}\t{c.text}\n" for c in translation.n_best) or f"{number}\t\t\n"
