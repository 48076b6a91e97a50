"""`transduce translate`: lines in, lines out; or a document in, and the same document in another language out."""

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from transduce.apps.cli.listing import explained
from transduce.apps.cli.machine_options import MachineOptions, tell_engine
from transduce.apps.cli.options import (
    BatchTokens,
    DocumentOptions,
    Engine,
    LanguageOptions,
    LineOptions,
    Model,
    Quiet,
    ShortlistOptions,
    is_given,
)
from transduce.apps.cli.printing import as_json, teller
from transduce.apps.cli.progress import Tell, show_progress
from transduce.apps.cli.search_options import TranslationOptions
from transduce.apps.cli.shard_options import Ray
from transduce.base.errors import InputError

if TYPE_CHECKING:
    from transduce.apps.projects.edits import Edited
    from transduce.apps.projects.quality import QualityEstimator
    from transduce.inference.request import Request
    from transduce.inference.translation import Translation
    from transduce.inference.translator import Translator
    from transduce.search.choices import DecisionRule
    from transduce.text.glossary import Glossary

Format = Literal[
    "lines", "text", "markdown", "html", "tmx", "xliff", "po", "srt", "vtt", "json", "yaml", "properties", "strings",
    "xcstrings", "android", "arb", "csv", "docx", "pptx", "xlsx", "odt",
]  # fmt: skip


def translate(
    context: click.Context,
    model: Model,
    input: str = "-",
    *,
    search: TranslationOptions,
    machine: MachineOptions,
    output: str = "-",
    languages: LanguageOptions,
    lines: LineOptions,
    glossary: str | None = None,
    glossary_use: Literal["inflected", "exact"] | None = None,
    project: str | None = None,
    quality: str | None = None,
    with_: list[str] | None = None,
    then: str | None = None,
    through: str | None = None,
    engine: Engine = "auto",
    batch_tokens: BatchTokens = None,
    shortlist: ShortlistOptions,
    format: Format | None = None,
    document: DocumentOptions,
    ray: Ray = None,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line, or a document: Markdown, HTML, TMX, XLIFF, PO, SRT, WebVTT, JSON, YAML,
    .properties, .strings, .xcstrings, Android's strings.xml, ARB, CSV, DOCX, PPTX, XLSX, ODT.

    Every line gives one output line, and blank lines stay blank. In a document, only the text changes.

    Example: `transduce translate runs/multi30k input.de -o output.en`

    Args:
        input: A text file, .gz, .xz and .zst too, or a document; - is standard input. A pattern names several.
        output: A new file, .gz, .xz and .zst compressed; - is standard output. For several files a folder.
        glossary: A file of lines: source term, tab, required target phrase; a third column 'ban' forbids the phrase. Or
            a .csv, or a term base (.tbx). Forms of a term are separated by |: hound|hounds, tab, Hund|Hunde.
        glossary_use: Which forms of a term are required: inflected, any of them (default); exact, the first one.
        project: A project's folder, whose terms are required, and whose model is used as it has been taught; its memory
            is for documents. --glossary and --memory take the place of its own.
        quality: Estimate how much of each translation will be edited, with an interval, from past edits: a project's
            folder, or a .tsv or .jsonl of source, machine translation and edited text. With --json, or --log.
        with_: Another model for an ensemble (mean of probabilities); repeatable.
        then: A model that translates what the first one has written, into a third language; two searches a line.
        through: The language between two models; alone, the model is used twice.
        ray: Translate each file on a cluster of Ray: its address, auto (default), or local to start one.
        format: What the input is (default: by its ending, else lines); text is plain text in paragraphs.
    """
    from transduce.apps.cli.input import check_read_once
    from transduce.apps.cli.line_requests import read_glossary
    from transduce.apps.cli.translate_document import check_lines, kind_of, translate_document
    from transduce.bundle.bundle_config import read_config
    from transduce.bundle.model_bundle import find_bundle, is_model

    if Path(model).is_file() and not is_model(model) and is_model(input):
        raise InputError(f"{input} is a model and {model} a text; the model comes first: translate {input} {model}")
    kind = kind_of(context, input, format)
    _check_options(context.params, machine, kind is not None)
    files = {"--prefix-file": lines.prefix_file, "--glossary": glossary, "--memory": document.memory}
    check_read_once(**{"the text": input} | files)
    edits = None
    if quality is not None:
        from transduce.apps.projects.edits import content_of, read_edits

        edits = read_edits(quality)

    knowledge = None
    if project is not None:
        from transduce.apps.projects.knowledge import Knowledge

        knowledge = Knowledge.read(project, model)
        own = LanguageOptions(knowledge.direction.target, knowledge.direction.source)
        if languages.to not in (None, own.to) or languages.from_ not in (None, own.from_):
            raise InputError(f"{project} is from {own.from_} to {own.to}; leave --from and --to out, or the project")
        languages = own
    if through is not None and then is None:
        then = model

    @cache
    def opened() -> "Translator":
        chosen = shortlist.chosen, lines.compile, batch_tokens
        translator = machine.open_translator(model, with_ or [], engine, *chosen, knowledge)
        tell_engine(translator, search, teller(quiet), is_given(context, "engine"))
        if knowledge is not None:
            teller(quiet)(knowledge.describe())
        if then is None:
            return translator.directed(languages.to, languages.from_)
        from transduce.inference.pivot import Pivot

        is_same = then == model
        second = (
            translator if is_same else machine.open_translator(then, (), engine, False, lines.compile, batch_tokens)
        )
        pivot = Pivot.of(translator, second, languages.to, languages.from_, through)
        teller(quiet)(f"through {pivot.middle}: two searches a line, and what is lost in {pivot.middle} stays lost")
        return pivot

    if kind is not None:
        translate_document(context, opened(), kind, search, edits, knowledge)
        return
    check_lines(input, format == "lines")
    entries = None
    terms = () if knowledge is None else knowledge.entries
    if glossary is not None or glossary_use is not None or terms:  # before the model is opened
        config = read_config(find_bundle(Path(model))) if then is None else opened().bundle.config
        direction = config.find_direction(languages.to, languages.from_)
        sides = (direction.source, direction.target)
        entries = read_glossary(glossary, search, sides, glossary_use, terms)
    parameters = context.params if edits is None else {**context.params, "quality": content_of(edits)}
    parameters = parameters if knowledge is None else {**parameters, "project": knowledge.content}
    is_compiled = lines.compile and not machine.is_gpu
    _translate_lines(parameters, lines, search, opened, entries, edits, is_compiled)


def _translate_lines(
    parameters: Mapping[str, Any],
    lines: LineOptions,
    search: "DecisionRule",
    opened: Callable[[], "Translator"],
    entries: "Glossary | None",
    edits: "Sequence[Edited] | None",
    is_compiled: bool,
) -> None:
    """Translates the lines of the command's input, and reports on phrases, splits and truncations."""
    from transduce.apps.cli.input import count_lines, lines_of
    from transduce.apps.cli.line_requests import check_prefixes, requests_of
    from transduce.apps.cli.resuming import growing_output

    input, output, quiet = parameters["input"], parameters["output"], parameters["quiet"]
    with growing_output(output, parameters, lines.resume) as out:
        total = count_lines(input)
        check_prefixes(lines.prefix, lines.prefix_file, total)
        report = copy.deepcopy(out.report)
        translator = opened()
        context = translator.bundle.config.context
        if lines.context and context is None:
            raise InputError("the model reads no context; train one with data.context, or leave --context out")
        with_context = context if lines.context else None
        requests = requests_of(lines_of(input), lines.prefix, lines.prefix_file, entries, report.lines, with_context)
        estimator = None
        if edits is not None:
            from transduce.apps.projects.quality import learned_quality

            estimator = learned_quality(translator, edits, teller(quiet))
        if is_compiled:
            teller(quiet)("compiling, which takes a minute or two")
            translator.warm_up(search)
        with show_progress(total, report.lines, is_shown=not quiet and not _is_at_terminal(input, output)) as tell:
            for chunk in requests:
                heard = partial(_tell_share, tell, report.lines, len(chunk))
                text = []
                translations = translator.translate_chunk(chunk, search, heard, lines.details or lines.explain)
                for translation in _refined(estimator, chunk, translations):
                    report.add(translation, translator.why_unsatisfied)
                    if lines.explain:
                        text.append(explained(translation))
                    else:
                        text.append(_render(report.lines, translation, search.n_best, lines.json))
                out.add("".join(text), report)
                tell(report.lines)
    for line in report.describe(translator.longest_source, entries):
        teller(quiet)(line)
    if report.work.segments or report.work.unknown:
        own = 0 if translator.quality is None else translator.quality.learned_from
        teller(quiet)(report.work.describe(own if estimator is None else estimator.learned_from))


def _check_options(options: Mapping[str, Any], machine: MachineOptions, is_document: bool) -> None:
    """Raises InputError for options that do not go together, before anything is read."""
    if options["compile"] and options["input"] != "-" and not machine.is_gpu:
        raise InputError(
            "without a GPU --compile is for lines that come one by one, on standard input; leave it out for a file"
        )
    if options["details"] and not options["json"]:
        raise InputError("--details are part of the JSON output; add --json")
    if options["explain"] and (options["json"] or options["n_best"] > 1 or options["output"] != "-"):
        raise InputError("--explain is for a terminal: leave out --json, --n-best and --output")
    if options["quality"] is not None and not options["log" if is_document else "json"]:
        where = "log of a document; add --log FILE" if is_document else "JSON output; add --json"
        raise InputError(f"estimates of --quality are part of the {where}")
    is_pivot = options["then"] is not None or options["through"] is not None
    if options["project"] is not None and (is_pivot or options["with_"]):
        raise InputError("a project teaches one model; leave --then, --through and --with out, or the project")
    if is_pivot and (options["details"] or options["explain"] or options["quality"] is not None):
        raise InputError("two models, one after the other, give no --details, --explain or --quality; leave them out")


def _tell_share(tell: Tell, begun: int, lines: int, share: float) -> None:
    """Reports the number of finished lines: `begun`, and a share of the lines of a chunk."""
    tell(begun + share * lines)


def _is_at_terminal(input: str, output: str) -> bool:
    """Returns True if the lines themselves show the progress."""
    return (input == "-" and sys.stdin.isatty()) or (output == "-" and sys.stdout.isatty())


def _refined(
    estimator: "QualityEstimator | None", requests: "Sequence[Request]", translations: "Sequence[Translation]"
) -> "Sequence[Translation]":
    """Returns the translations with the estimates of past edits, if there are any."""
    if estimator is None:
        return translations
    pairs = [(request.text, translation.text) for request, translation in zip(requests, translations, strict=True)]
    both = zip(translations, estimator.estimate(pairs), strict=True)
    return [replace(translation, quality=estimate) for translation, estimate in both]


def _render(number: int, translation: "Translation", n_best: int, json: bool) -> str:
    if json:
        facts = msgspec.to_builtins(translation)
        if translation.details is None:
            del facts["details"]
        return as_json(facts) + "\n"
    if n_best == 1:
        return translation.text + "\n"
    return "".join(f"{number}\t{c.score:.4f}\t{c.text}\n" for c in translation.n_best) or f"{number}\t\t\n"
