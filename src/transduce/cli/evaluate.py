"""`transduce evaluate`: BLEU, chrF and TER of a model on a test set."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transduce.cli.options import (
    BeamSize,
    Device,
    InferencePrecision,
    Json,
    LengthPenalty,
    Model,
    Normalization,
    Threads,
)

if TYPE_CHECKING:
    from transduce.evaluation.evaluate import Evaluation


def evaluate(
    model: Model,
    source: Annotated[str | None, typer.Option(help="Text to translate, one sentence a line.")] = None,
    reference: Annotated[str | None, typer.Option(help="Its right translation, line by line.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A built-in data set instead of files.")] = None,
    split: Annotated[str | None, typer.Option(help="Its part; the test set unless given.")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="Also write the translations here.")] = None,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = 0.6,
    normalization: Normalization = "wu",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Score without regard to case.")] = False,
    tokenize: Annotated[Literal["13a", "intl", "none"], typer.Option(help="How BLEU splits words.")] = "13a",
    device: Device = "cpu",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    json: Json = False,
) -> None:
    """Translate a test set and score it, with signatures and 95 % confidence intervals.

    Example: `transduce evaluate runs/multi30k --dataset multi30k --split test_2016_flickr`
    """
    import msgspec

    from transduce.cli.model import make_beam, open_translator, set_threads
    from transduce.cli.streams import text_output
    from transduce.errors import DataError
    from transduce.evaluation.evaluate import evaluate as run_evaluation
    from transduce.text.datasets import find_dataset, open_split
    from transduce.text.formats import parallel_files

    set_threads(threads)
    search = make_beam(size=beam_size, length_penalty=length_penalty, normalization=normalization)
    if (dataset is None) == (source is None) or (source is None) != (reference is None):
        raise typer.BadParameter("give either --source and --reference, or --dataset")
    translator = open_translator(model, device, precision)
    if dataset is not None:
        config = translator.bundle.config
        corpus = open_split(dataset, split or find_dataset(dataset).test, config.source, config.target)
    else:
        assert source is not None and reference is not None
        corpus = parallel_files([source, reference])
    pairs = list(corpus)
    if not pairs:
        raise DataError(f"{corpus.name}: nothing to evaluate on, the files are empty")
    result = run_evaluation(
        translator, [pair.source for pair in pairs], [pair.target for pair in pairs], search, lowercase, tokenize
    )
    if output is not None:
        with text_output(output) as stream:
            stream.writelines(f"{translation.text}\n" for translation in result.translations)
    print(msgspec.json.encode(result.to_dict()).decode() if json else describe(result))


def describe(result: "Evaluation") -> str:
    """A line a metric, for people."""
    lines = []
    for name, score in (("BLEU", result.bleu), ("chrF", result.chrf), ("TER", result.ter)):
        low, high = score.interval
        lines.append(f"{name:<5}{score.score:6.2f}  [{low:.2f}, {high:.2f}]  {score.signature}")
    lines.append(f"exact match {result.exact_match:.1%}".replace("%", " %"))
    rate = result.sentences / max(result.seconds, 1e-9)
    lines.append(f"{result.sentences:,} sentences in {result.seconds:.1f} s, {rate:,.1f} a second")
    return "\n".join(lines)
