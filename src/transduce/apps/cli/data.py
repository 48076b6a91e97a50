"""List and download the built-in data sets; clean and tokenize corpora.

Example: `transduce data list`
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from transduce.apps.cli.listing import print_facts, print_list
from transduce.apps.cli.options import Json, Quiet
from transduce.apps.cli.pair_doctor import doctor  # noqa: F401 - a verb of this group
from transduce.apps.cli.printing import print_json, teller
from transduce.apps.cli.shard_options import ShardOptions
from transduce.base import ranges
from transduce.base.errors import InputError
from transduce.base.files import check_absent

if TYPE_CHECKING:
    from rich.progress import TaskID

    from transduce.apps.cluster.jobs import JobReport
    from transduce.corpora.catalogue.download import Progress
    from transduce.corpora.catalogue.registry import Dataset

MEGABYTE = 2**20


def list_(*, json: Json = False) -> None:
    """List the built-in data sets and where their files are.

    Example: `transduce data list`
    """
    from transduce.corpora.catalogue.registry import DATASETS

    facts = [_facts(dataset) for dataset in DATASETS.values()]
    if json:
        print_json(facts)
        return
    sizes = [
        f" ({each['bytes'] / MEGABYTE:,.0f} MB)" if each["bytes"] and each["where"] == "to download" else ""
        for each in facts
    ]
    columns = {
        "name": [each["name"] for each in facts],
        "pairs or lines": [f"{each['size']:,}" for each in facts],
        "languages": [" ".join(each["languages"]) for each in facts],
        "location": [each["where"] + size for each, size in zip(facts, sizes, strict=True)],
        "licence": [each["licence"] for each in facts],
    }
    print_list(columns, wrapped=("location", "licence"))
    print_facts({f"{each['name']}:": ", ".join(each["missing"]) for each in facts if each["missing"]})


def get(name: str, *, output: Path | None = None, json: Json = False, quiet: Quiet = False) -> None:
    """Download a built-in data set, or a corpus of OPUS, into the cache, continuing an interrupted download.

    Example: `transduce data get opus:Tatoeba/de-en`

    Args:
        name: A built-in data set, which `transduce data list` shows, or opus:CORPUS/SOURCE-TARGET, with @VERSION if
            need be.
        output: OPUS: folder for the files (default: in the cache).
    """
    from transduce.corpora.catalogue.opus import PREFIX

    if name.startswith(PREFIX):
        _get_opus(name, output, json, quiet)
        return
    if output is not None:
        raise InputError("--output is for corpora of OPUS; the built-in data sets are kept in the cache")
    from transduce.corpora.catalogue.dataset_files import download
    from transduce.corpora.catalogue.registry import find_dataset

    dataset = find_dataset(name)
    if dataset.kind == "generated":
        raise InputError(f"{name} is generated when it is used; there is nothing to download")
    with _show_progress(quiet) as progress:
        folder = download(dataset, progress=progress)
    if json:
        print_json(_facts(dataset) | {"folder": str(folder)})
    else:
        print(f"{name} is in {folder}")
        print(f"licence: {dataset.licence}")


def clean(
    inputs: Annotated[list[str], "FILE..."],
    *,
    output: str,
    step: list[str] | None = None,
    recipe: str | None = None,
    shards: ShardOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Clean the files of a corpus, all cores at once, into a folder of files with the same names.

    Files that the folder has already are not made again. Duplicates are found in all files, which may be of pairs, or
    line-aligned: all sources, then all targets.

    Example: `transduce data clean 'part-*.tsv.gz' -o clean --step 'length max_words=150' --step duplicates`

    Args:
        inputs: Files, or patterns in quotation marks.
        output: The folder.
        step: A step of data.cleaning: its kind, and its settings as NAME=VALUE; repeatable.
        recipe: A recipe whose data.cleaning comes before these steps.
    """
    from transduce.apps.cluster.jobs import clean_shards
    from transduce.corpora.cleaning import read_steps

    steps = read_steps(step or ())
    if recipe is not None:
        from transduce.experiment.recipe import find_recipe

        steps = [*getattr(find_recipe(recipe).config.data, "cleaning", ()), *steps]
    with shards.workers() as workers:
        report = clean_shards(inputs, Path(output), steps, workers, **shards.reading)
    _tell_job(report, output, json, quiet)


def tokenize(
    inputs: Annotated[list[str], "FILE..."],
    *,
    model: str,
    output: str,
    ids: bool = False,
    shards: ShardOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the texts of a corpus as a model's tokens with spaces between them, all cores at once.

    Files that the folder has already are not made again.

    Example: `transduce data tokenize 'clean/*.tsv.gz' --model runs/base -o tokens`

    Args:
        inputs: Files of pairs, or line-aligned ones: all sources, then all targets; or patterns in quotation marks.
        model: A model's or a run's folder.
        output: The folder.
        ids: Write the tokens' numbers.
    """
    from transduce.apps.cluster.jobs import tokenize_shards

    with shards.workers() as workers:
        report = tokenize_shards(inputs, Path(output), Path(model), workers, ids=ids, **shards.reading)
    _tell_job(report, output, json, quiet)


def forms(
    glossary: str,
    pairs: Annotated[list[str], "FILE..."],
    *,
    output: str,
    source: str = "source",
    target: str = "target",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add inflected forms to the terms of a glossary, learned from sentence pairs: a corpus or a memory.

    `hound, tab, Hund` becomes `hound|hounds, tab, Hund|Hunde|Hunden`. Terms that have forms already keep them. The file
    is for people to read and correct.

    Example: `transduce data forms terms.tsv memory.tmx -o forms.tsv --source en --target de`

    Args:
        glossary: A glossary, as `transduce translate --glossary` takes it.
        pairs: Two line-aligned files, or one of pairs (.tsv, .csv, .jsonl, .tmx, .xlf, .po).
        output: The new glossary, a file of lines.
        source: Language of the terms, for a file of several.
        target: Language of their translations.
    """
    from transduce.corpora.formats import is_bilingual, parallel_files
    from transduce.corpora.languages import UNKNOWN
    from transduce.inference.inflections import Inflections
    from transduce.text.glossary import Glossary

    check_absent(Path(output))
    if not output.endswith(".tsv"):
        raise InputError(f"{output}: a glossary with forms is a file of lines; choose a name that ends in .tsv")
    languages = None if (source, target) == UNKNOWN or not is_bilingual(pairs[0]) else (source, target)
    entries = Glossary.read(glossary, source, target).entries
    inflected = Inflections.learn(parallel_files(pairs, languages)).inflected(entries)
    Glossary(inflected).write(Path(output))
    with_forms = sum(bool(entry.source_forms or entry.target_forms) for entry in inflected)
    count = sum(len(entry.target_forms) for entry in inflected)
    if json:
        print_json({"output": output, "terms": len(inflected), "inflected": with_forms, "forms": count})
        return
    print(f"{with_forms:,} of {len(inflected):,} terms have other forms, {count:,} of translations, in {output}")
    if with_forms < len(inflected):
        teller(quiet)("the others have words that the pairs do not have, or have in one form only")


def next_(
    known: Annotated[list[str] | None, "[FILE [FILE]]"] = None,
    *,
    pool: str,
    words: ranges.PositiveInt,
    output: str = "-",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose the sentences to have translated next: those of a pool whose words and pairs of words teach most.

    The most useful sentence for its length comes first, in a file for a translator or a project: one a line. What the
    known sentences have counts less, and what is rare in the pool too. Blank, repeated and known lines are left out.

    Example: `transduce data next mine.en mine.sw --pool more.en --words 5000 -o next.en`

    Args:
        known: Pairs or text that you have, if any: two aligned files or one of pairs, whose source is in the pool's
            language, or a text in that language.
        pool: Text to choose from, one sentence a line; - is standard input.
        words: Words to have translated, at most.
        output: Where to write the sentences; - is standard output.
    """
    from transduce.apps.cli.output import check_new_file, is_new_file, text_output
    from transduce.corpora.formats import is_file_of_pairs, parallel_files
    from transduce.corpora.lines import read_lines
    from transduce.corpora.next_sentences import next_sentences

    files = known or []
    if len(files) > 2:
        raise InputError(f"{len(files)} files of known sentences; give two aligned files, or one of pairs or of text")
    if is_new_file(output):
        check_new_file(Path(output))
    is_text = len(files) == 1 and not is_file_of_pairs(files[0])
    texts = read_lines(files[0]) if is_text else (pair.source for pair in parallel_files(files)) if files else ()
    chosen = next_sentences(texts, read_lines(pool), words)
    if json and output == "-":
        print_json(chosen)
    else:
        with text_output(output) as stream:
            stream.writelines(f"{sentence}\n" for sentence in chosen.sentences)
        if json:
            print_json({"output": output} | msgspec.to_builtins(chosen))
    teller(quiet)(chosen.describe())


def forecast(
    pairs: Annotated[list[str], "FILE..."],
    *,
    picture: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast what twice and ten times as many sentence pairs would bring, with 80 % intervals.

    Phrase-based models are learned from an eighth, a quarter, a half and all of the pairs, in about a minute. From some
    thousand pairs on a neural model is better than these, and gains more from further ones.

    Example: `transduce data forecast mine.en mine.sw --picture forecast.png`

    Args:
        pairs: Two line-aligned files, or one of pairs (.tsv, .csv, .jsonl, .tmx, .xlf, .po).
        picture: File for a picture of measured and forecast scores: .png, .svg or .pdf.
    """
    from transduce.corpora.formats import parallel_files
    from transduce.evaluation.forecast import forecast as make_forecast

    if picture is not None:
        from transduce.analysis.plots import check_picture

        check_picture(picture)
    corpus = ((pair.source, pair.target) for pair in parallel_files(pairs))
    made = make_forecast(corpus, teller(quiet))
    if picture is not None:
        made.draw(picture)
    print_json(made) if json else print(made.describe())


def _get_opus(name: str, output: Path | None, json: bool, quiet: bool) -> None:
    from transduce.corpora.catalogue.opus import OpusName, download_opus, pinned

    asked = OpusName.parse(name)
    folder = output or asked.folder
    corpus = pinned(asked, folder)
    facts = f"{corpus.name} of OPUS, {corpus.version}: {corpus.pairs:,} pairs, {corpus.size / MEGABYTE:,.1f} MB packed"
    teller(quiet)(facts)
    with _show_progress(quiet) as progress:
        downloaded = download_opus(asked, corpus, folder, progress)
    files = [str(file) for file in downloaded.files]
    if json:
        print_json(msgspec.to_builtins(corpus) | {"licence": downloaded.licence, "files": files})
        return
    print(f"{corpus.name} is in {folder}")
    print(f"licence: {downloaded.licence}")
    print(f"data.train = {msgspec.json.encode(files).decode()}")


def _tell_job(report: "JobReport", output: str, json: bool, quiet: bool) -> None:
    if json:
        print_json({"output": output} | msgspec.to_builtins(report))
        return
    print(f"{report.counts.kept:,} pairs in {report.shards:,} files are in {output}")
    tell = teller(quiet)
    if report.finished_before:
        tell(f"{report.finished_before:,} files were there before")
    for reason, count in report.counts.dropped.items():
        tell(f"left out: {count:,} {reason}")


def _facts(dataset: "Dataset") -> dict[str, Any]:
    from transduce.corpora.catalogue.dataset_files import place_of, what_is_missing

    location = place_of(dataset)
    return {
        "name": dataset.name,
        "description": dataset.description,
        "kind": dataset.kind,
        "size": dataset.size,
        "languages": list(dataset.languages),
        "licence": dataset.licence,
        "splits": dataset.split_names,
        "where": location,
        "missing": what_is_missing(dataset) if location.startswith("a part") else [],
        "bytes": dataset.download_size,
        "downloads": [{"address": r.address, "checksum": r.checksum, "bytes": r.size} for r in dataset.remotes],
    }


@contextmanager
def _show_progress(quiet: bool) -> "Iterator[Progress | None]":
    """Shows a bar for each file on a terminal, a line elsewhere, nothing if quiet."""
    from transduce.corpora.catalogue.download import announce

    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield announce(lambda line: print(line, file=sys.stderr, flush=True))
    else:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bars:
            tasks: dict[str, TaskID] = {}

            def show(address: str, done: int, total: int | None) -> None:
                if address not in tasks:
                    tasks[address] = bars.add_task(address.rsplit("/", 1)[-1])
                bars.update(tasks[address], completed=done, total=total)

            yield show
