"""`transduce align`: which words of a translation go with which words of its source."""

from typing import Annotated

import typer

from transduce.cli.machine import Processor
from transduce.cli.messages import teller
from transduce.cli.options import OUTPUT, From, Model, Quiet, To


def align(
    model: Model,
    processor: Processor,
    source: Annotated[str | None, typer.Argument(help="Text, one sentence per line.", show_default=False)] = None,
    target: Annotated[str | None, typer.Argument(help="Its translations, line by line.", show_default=False)] = None,
    pairs: Annotated[str | None, typer.Option(help="Both in one .tsv, .csv or .jsonl file instead.")] = None,
    reverse: Annotated[
        str | None, typer.Option(help="A model of the other direction, whose alignments are combined with the first's.")
    ] = None,
    symmetrize: Annotated[
        str, typer.Option(help="How two alignments become one: intersection, union or grow-diag.")
    ] = "grow-diag",
    to: To = None,
    from_: From = None,
    output: Annotated[str, typer.Option(*OUTPUT, help="Where to write; - is standard output.")] = "-",
    quiet: Quiet = False,
) -> None:
    """Align the words of translations with those of their sources, in Pharaoh format: 0-0 1-2 ..., counted from 0.

    Words are what white space separates. One attention head aligns: it is chosen on the validation data of the model's
    run, or else on the pairs themselves, and kept with the model.

    Example: `transduce align runs/multi30k input.de output.en -o aligned.txt`
    """
    from transduce.cli.output import text_output
    from transduce.corpora.formats import parallel_files
    from transduce.errors import InputError
    from transduce.experiment.alignment import check_symmetrization, open_aligner

    if (pairs is None) == (source is None) or (source is not None and target is None):
        raise InputError("give either a source and a target file, or --pairs")
    method = check_symmetrization(symmetrize)
    corpus = parallel_files([pairs] if pairs is not None else [str(source), str(target)])

    aligner = open_aligner(model, reverse, method, corpus, processor.device, teller(quiet), to, from_)
    with text_output(output) as stream:
        for line in aligner.stream(corpus):
            stream.write(line + "\n")
