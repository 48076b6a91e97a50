"""`transduce translate` for a document instead of lines."""

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from transduce.cli.messages import teller
from transduce.cli.options import given_options
from transduce.cli.output import is_new_file, new_output, text_output
from transduce.cli.progress import show_progress
from transduce.cli.requests import read_glossary
from transduce.cli.streams import read_input
from transduce.corpora.languages import is_language
from transduce.documents.document import Languages
from transduce.documents.endings import HEAD, is_packed, refused_as_lines
from transduce.documents.formats import FORMATS, format_of, refusal_of
from transduce.documents.memory import Memory
from transduce.documents.messages.tables import Columns
from transduce.errors import InputError
from transduce.inference.documents.translate import DocumentTranslator, TranslatedDocument, languages_of
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule

OF_LINES = ("resume", "n_best", "prefix", "prefix_file", "compile", "json", "details", "explain")
OF_TABLES = ("source_column", "target_column")
OF_DOCUMENTS = (
    "memory",
    "retranslate",
    "fill_only",
    "encoding",
    "log",
    "source_language",
    "target_language",
    *OF_TABLES,
)
NAMED = 3  # segments to look at that are named


def kind_of(context: typer.Context, path: str, asked: str | None) -> str | None:
    """Returns the format of a document, as asked for or by its name's ending; None for lines of text.

    Raises InputError for an option that goes with the other of both.
    """
    kind = asked or format_of(path)
    if kind is None and (refused := refusal_of(path)) is not None:
        anyway = "; --format lines translates it line by line as it is" if refused.has_lines else ""
        raise InputError(f"{path}: {refused.what} cannot be translated; {refused.advice}{anyway}")
    kind = None if kind == "lines" else kind
    names = OF_DOCUMENTS if kind is None else OF_LINES
    if given := given_options(context, but=[name for name in context.params if name not in names]):
        what = "lines of text" if kind is None else "a document"
        how = "name its format with --format" if kind is None else "--format lines takes the file for lines"
        raise InputError(f"{given[0]} is not for {what}, such as {path}; leave it out, or {how}")
    return kind


def check_lines(path: str, is_asked: bool) -> None:
    """Raises InputError for a file that is no text to translate line by line, by its first bytes.

    Markup is so unless it is asked for that its lines are translated.
    """
    if path == "-" or not Path(path).is_file() or is_packed(path):
        return
    with Path(path).open("rb") as file:
        refused = refused_as_lines(file.read(HEAD))
    if refused is not None and not (refused.has_lines and is_asked):
        raise InputError(f"{path}: {refused.what} cannot be translated line by line; {refused.advice}")


def translate_document(context: typer.Context, translator: Translator, kind: str, search: DecisionRule) -> None:
    """Translates the document that a command names, and writes its log."""
    options = context.params
    if options["retranslate"] and options["fill_only"]:
        raise InputError("--fill-only keeps the translations that --retranslate replaces; leave one of them out")
    languages = _languages(translator, options["source_language"], options["target_language"])
    glossary = read_glossary(options["glossary"], search, languages.source, languages.target)
    memory = None if options["memory"] is None else Memory.read(options["memory"], languages)
    if options["output"] == "-" and FORMATS[kind].is_archive and sys.stdout.isatty():
        raise InputError(f"{FORMATS[kind].title} cannot be shown on a terminal; name a file with -o")
    columns = None
    if given := [name for name in OF_TABLES if options[name] is not None]:
        if kind != "csv":
            option = f"--{given[0].replace('_', '-')}"
            raise InputError(f"{option} is for CSV, and {options['input']} is {FORMATS[kind].title}; leave it out")
        columns = Columns(options["source_column"] or "", options["target_column"] or "")
    data, quiet = read_input(options["input"]), options["quiet"]
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
        with text_output(options["log"]) as stream:
            stream.writelines(f"{line}\n" for line in translated.log())
    _write(options["output"], translated.data)
    for line in _describe(translated, options["log"]):
        teller(quiet)(line)


def _languages(translator: Translator, source: str | None, target: str | None) -> Languages:
    """Returns the languages asked for, which must be codes, and those of the model if it has any."""
    for option, code in (("--source-language", source), ("--target-language", target)):
        if code is not None and not is_language(code):
            raise InputError(f"{option}: {code!r} is no code of a language, such as de or pt-BR")
    return languages_of(translator, Languages(source or "", target or ""))


def _write(path: str, data: bytes) -> None:
    if not is_new_file(path):
        if path == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            Path(path).write_bytes(data)
        return
    with new_output(Path(path)) as file:
        file.write(data)


def _describe(translated: TranslatedDocument, log: str | None) -> Sequence[str]:
    """Returns the facts that a person should know, a line each."""
    counts = [
        (translated.count("model"), "translated"),
        (translated.count("memory"), "from the memory"),
        (translated.count("document"), "translated before and left"),
        (translated.count("source"), "without words"),
        (translated.count("untranslated"), "not translated"),
    ]
    told = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    number = len(translated.segments)
    lines = [f"{number:,} segment{'s' if number > 1 else ''}: {told}" if told else "no text to translate"]
    to_see = [one for one in translated.segments if one.review]
    if to_see:
        where = ", ".join(dict.fromkeys(one.where for one in to_see[:NAMED])) + (" ..." if len(to_see) > NAMED else "")
        why = f"{log} tells why" if log else "--log FILE tells why"
        lines.append(f"{len(to_see):,} should be looked at ({where}); {why}")
    return lines
