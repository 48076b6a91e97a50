"""`transduce shortlist`: which target tokens each source token may become, for faster translation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.fields import From, options_from
from transduce.cli.messages import print_json, teller
from transduce.cli.options import OUTPUT, Json, Model, Quiet

if TYPE_CHECKING:
    from transduce.experiment.learn_shortlist import LearnedShortlist, Measured, ShortlistSettings

SETTINGS = From("experiment.learn_shortlist.ShortlistSettings", "per_token frequent iterations most_pairs")


def shortlist(
    model: Model,
    settings: Annotated["ShortlistSettings", options_from(SETTINGS)],
    source: Annotated[str | None, typer.Option(help="Text to learn from, one sentence a line.")] = None,
    target: Annotated[str | None, typer.Option(help="Its translations, line by line.")] = None,
    pairs: Annotated[str | None, typer.Option(help="Both in one .tsv, .csv or .jsonl file instead.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(*OUTPUT, help="The file to write; shortlist.safetensors in the model's folder unless given."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a vocabulary shortlist: the likely target tokens of each source token.

    It is learned from the training data of the model's run, unless other text is given.

    Example: `transduce shortlist runs/multi30k`, then `transduce translate runs/multi30k input.de --shortlist`
    """
    from transduce.corpora.formats import parallel_files
    from transduce.errors import InputError
    from transduce.experiment.learn_shortlist import learn_shortlist

    if (source is None) != (target is None) or (source is not None and pairs is not None):
        raise InputError("give --source and --target, or --pairs, or none of them for the training data of the run")
    files = [pairs] if pairs is not None else [source, target] if source is not None and target is not None else []
    learned = learn_shortlist(
        Path(model),
        parallel_files(files) if files else None,
        out,
        settings,
        teller(quiet),
    )
    print_json(learned.to_dict()) if json else print(_describe(learned))


def _describe(learned: "LearnedShortlist") -> str:
    lines = [
        f"learned from {learned.pairs:,} of {learned.of_pairs:,} sentence pairs",
        _measured("text it was learned from", learned.training, learned.vocabulary),
    ]
    if learned.validation is not None:
        lines.append(_measured("validation data", learned.validation, learned.vocabulary))
    return "\n".join([*lines, f"the shortlist is {learned.shortlist}"])


def _measured(what: str, measured: "Measured", vocabulary: int) -> str:
    return (
        f"{what}, {measured.pairs:,} pairs: a sentence's list has {measured.list_size:,.0f} of {vocabulary:,} tokens, "
        f"and holds {100 * measured.covered:.2f} % of those of its translation"
    )
