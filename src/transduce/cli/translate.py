"""`transduce translate`: lines in, lines out."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.options import (
    BeamSize,
    Device,
    InferencePrecision,
    Json,
    LengthPenalty,
    Model,
    Normalization,
    Quiet,
    Threads,
)

if TYPE_CHECKING:
    from transduce.inference.translator import Translation


def translate(
    model: Model,
    input: Annotated[str, typer.Argument(help="A text file, .gz, .xz and .zst too; - is standard input.")] = "-",
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write; - is standard output.")] = "-",
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = 0.6,
    normalization: Normalization = "wu",
    n_best: Annotated[
        int, typer.Option(min=1, help="Print so many translations a line: number, score and text, tabs between.")
    ] = 1,
    max_ratio: Annotated[float, typer.Option(help="Longest output: this times the source's tokens, and ...")] = 2.0,
    max_extra: Annotated[int, typer.Option(min=0, help="... so many tokens more.")] = 50,
    min_ratio: Annotated[float, typer.Option(help="Shortest output: this times the source's tokens.")] = 0.0,
    keep_unknown: Annotated[
        bool, typer.Option("--keep-unknown", help="Let the model write <unk> where it has no word.")
    ] = False,
    device: Device = "cpu",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line: as many lines out as in, blank ones stay blank.

    Example: `transduce translate runs/multi30k input.de -o output.en`
    """
    from transduce.cli.model import make_beam, open_translator, set_threads
    from transduce.cli.streams import lines_of, text_output

    set_threads(threads)
    search = make_beam(
        size=beam_size,
        length_penalty=length_penalty,
        normalization=normalization,
        n_best=n_best,
        max_ratio=max_ratio,
        max_extra=max_extra,
        min_ratio=min_ratio,
        allow_unknown=keep_unknown,
    )
    translator = open_translator(model, device, precision)
    split = truncated = 0
    with text_output(output) as stream:
        number = 0
        for chunk in lines_of(input):
            for translation in translator.translate_chunk(chunk, search):
                number += 1
                split += translation.was_split
                truncated += translation.truncated
                stream.write(_render(number, translation, n_best, json))
            stream.flush()
    if quiet:
        return
    if split:
        longest = translator.longest_source
        print(f"transduce: {split:,} lines of over {longest} tokens were translated in pieces", file=sys.stderr)
    if truncated:
        print(f"transduce: {truncated:,} translations were ended at the longest length allowed", file=sys.stderr)


def _render(number: int, translation: "Translation", n_best: int, json: bool) -> str:
    if json:
        import msgspec

        return msgspec.json.encode(translation).decode() + "\n"
    if n_best == 1:
        return translation.text + "\n"
    return "".join(f"{number}\t{c.score:.4f}\t{c.text}\n" for c in translation.n_best) or f"{number}\t\t\n"
