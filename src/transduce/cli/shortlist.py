"""`transduce shortlist`: which target tokens each source token may become, for faster translation."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.options import OUTPUT, Json, Model, Quiet, ranged
from transduce.ranges import Iterations, NonNegativeInt, PositiveInt

if TYPE_CHECKING:
    from transduce.experiment.learn_shortlist import LearnedShortlist, Measured


def shortlist(
    model: Model,
    source: Annotated[str | None, typer.Option(help="Text to learn from, one sentence a line.")] = None,
    target: Annotated[str | None, typer.Option(help="Its translations, line by line.")] = None,
    pairs: Annotated[str | None, typer.Option(help="Both in one .tsv, .csv or .jsonl file instead.")] = None,
    per_token: Annotated[int, ranged(PositiveInt, "Target tokens listed for each source token")] = 50,
    frequent: Annotated[int, ranged(NonNegativeInt, "Most frequent target tokens, allowed in every sentence")] = 100,
    iterations: Annotated[int, ranged(Iterations, "Iterations of EM (IBM Model 1)")] = 5,
    most_pairs: Annotated[int, ranged(PositiveInt, "Maximum number of sentence pairs, sampled evenly")] = 100_000,
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
    import msgspec

    from transduce.corpora.formats import parallel_files
    from transduce.errors import InputError
    from transduce.experiment.learn_shortlist import ShortlistSettings, learn_shortlist

    if (source is None) != (target is None) or (source is not None and pairs is not None):
        raise InputError("give --source and --target, or --pairs, or none of them for the training data of the run")
    files = [pairs] if pairs is not None else [source, target] if source is not None and target is not None else []
    settings = ShortlistSettings(per_token=per_token, frequent=frequent, iterations=iterations, most_pairs=most_pairs)
    learned = learn_shortlist(
        Path(model),
        parallel_files(files) if files else None,
        out,
        settings,
        lambda line: None if quiet else print(f"transduce: {line}", file=sys.stderr),
    )
    print(msgspec.json.encode(learned.to_dict()).decode() if json else _describe(learned))


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
