"""`transduce translate` for a document instead of lines."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docsegments.document import Languages
from docsegments.document_formats import FORMATS, format_of, refusal_of
from docsegments.endings import HEAD, is_packed, refused_as_lines
from docsegments.messages.tables import Columns
from transduce.apps.cli.fields import flag
from transduce.apps.cli.input import read_input
from transduce.apps.cli.line_requests import read_glossary
from transduce.apps.cli.options import DocumentOptions, LineOptions, given_options
from transduce.apps.cli.output import text_output, write_bytes
from transduce.apps.cli.printing import teller
from transduce.apps.cli.progress import show_progress
from transduce.base.errors import InputError
from transduce.corpora.languages import is_language

if TYPE_CHECKING:
    from docsegments.translating.document_translator import SegmentReport
    from transduce.apps.projects.edits import Edited
    from transduce.apps.projects.knowledge import Knowledge
    from transduce.apps.projects.quality import QualityEstimator
    from transduce.inference.translator import Translator
    from transduce.search.choices import DecisionRule

OF_LINES = {"n_best", *(field.name for field in fields(LineOptions))}
OF_DOCUMENTS = {field.name for field in fields(DocumentOptions)}
OF_TABLES = ("source_column", "target_column")
NAMED = 3  # segments to look at that are named


def kind_of(context: click.Context, path: str, asked: str | None) -> str | None:
    """Returns the format of a document, by `asked` or by its name's ending; None for lines of text.

    Raises InputError for an option of documents with lines of text, and the reverse.
    """
    kind = asked or format_of(path)
    if kind is None and (refused := refusal_of(path)) is not None:
        anyway = "; --format lines translates it line by line as it is" if refused.has_lines else ""
        raise InputError(f"{path}: {refused.what} cannot be translated; {refused.advice}{anyway}")
    kind = None if kind == "lines" else kind
    names = OF_DOCUMENTS if kind is None else OF_LINES
    if given := given_options(context, but=[name for name in context.params if name not in names]):
        subject = "lines of text" if kind is None else "a document"
        how = "name its format with --format" if kind is None else "--format lines takes the file for lines"
        raise InputError(f"{given[0]} is not for {subject}, such as {path}; leave it out, or {how}")
    return kind


def check_lines(path: str, is_asked: bool) -> None:
    """Raises InputError for a file that cannot be translated line by line, by its first bytes.

    Markup can be only if `is_asked`.
    """
    if path == "-" or not Path(path).is_file() or is_packed(path):
        return
    with Path(path).open("rb") as file:
        refused = refused_as_lines(file.read(HEAD), path)
    if refused is not None and not (refused.has_lines and is_asked):
        raise InputError(f"{path}: {refused.what} cannot be translated line by line; {refused.advice}")


def translate_document(
    context: click.Context,
    translator: "Translator",
    kind: str,
    search: "DecisionRule",
    edits: "Sequence[Edited] | None" = None,
    knowledge: "Knowledge | None" = None,
) -> None:
    """Translates the document that a command names, and writes its log; past edits give its estimates of quality, and a
    project's knowledge the memory and the terms that the command does not name."""
    from docsegments.memory import Memory
    from transduce.apps.projects.quality import learned_quality
    from transduce.inference.model_documents import DocumentTranslator

    options = context.params
    if options["retranslate"] and options["fill_only"]:
        raise InputError("--fill-only keeps the translations that --retranslate replaces; leave one of them out")
    languages = _languages(translator, options["source_language"], options["target_language"])
    sides = (languages.source, languages.target)
    entries = () if knowledge is None else knowledge.entries
    glossary = read_glossary(options["glossary"], search, sides, options["glossary_use"], entries)
    memory = None if knowledge is None else knowledge.memory
    if options["memory"] is not None:
        memory = Memory.read(options["memory"], languages)
    if options["output"] == "-" and FORMATS[kind].is_archive and sys.stdout.isatty():
        raise InputError(f"{FORMATS[kind].title} cannot be shown on a terminal; name a file with -o")
    columns = None
    if given := [name for name in OF_TABLES if options[name] is not None]:
        if kind != "csv":
            raise InputError(
                f"{flag(given[0])} is for CSV, and {options['input']} is {FORMATS[kind].title}; leave it out"
            )
        columns = Columns(options["source_column"] or "", options["target_column"] or "")
    data, quiet = read_input(options["input"]), options["quiet"]
    estimator = None
    if edits is not None or (options["log"] is not None and translator.quality is not None):
        estimator = learned_quality(translator, edits or (), teller(quiet))
    documents = DocumentTranslator(translator, search, glossary, memory, languages)
    with show_progress(100, is_shown=not quiet, what="percent") as tell:
        translated = documents.translate(
            data,
            options["input"],
            kind,
            options["retranslate"],
            lambda share: tell(100 * share),
            options["encoding"],
            columns,
        )
    if options["log"] is not None:
        also = None if estimator is None else _qualities(estimator, translated.segments, teller(quiet))
        with text_output(options["log"]) as stream:
            stream.writelines(f"{line}\n" for line in translated.log(also))
    write_bytes(options["output"], translated.data)
    teller(quiet)(translated.describe())
    if unsure := [report.where for report in translated.segments if report.review]:
        where = ", ".join(dict.fromkeys(unsure[:NAMED])) + (" ..." if len(unsure) > NAMED else "")
        teller(quiet)(f"{len(unsure):,} should be looked at ({where}); {options['log'] or '--log FILE'} says why")


def _qualities(
    estimator: "QualityEstimator", segments: "Sequence[SegmentReport]", tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Returns the estimate for each segment that the model translated, and None for the others; tells of all."""
    from transduce.inference.quality.quality_estimate import WorkInFile

    pairs = [(segment.source, segment.target if segment.origin == "model" else "") for segment in segments]
    estimates, work = estimator.estimate(pairs), WorkInFile()
    for estimate in estimates:
        work.add(estimate)
    if work.segments or work.unknown:
        tell(work.describe(estimator.learned_from))
    return [{"quality": estimate} for estimate in estimates]


def _languages(translator: "Translator", source: str | None, target: str | None) -> Languages:
    """Returns the languages asked for, which must be codes, and those of the model if it has any."""
    from docsegments.translating.document_translator import chosen_languages
    from transduce.inference.sentence_model import model_languages

    for option, code in (("--source-language", source), ("--target-language", target)):
        if code is not None and not is_language(code):
            raise InputError(f"{option}: {code!r} is no code of a language, such as de or pt-BR")
    return chosen_languages(model_languages(translator), Languages(source or "", target or ""))
