"""`transduce export`: a model as a folder that another engine runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from transduce.cli.options import OUTPUT, Json, Model, Threads


def export(
    model: Model,
    output: Annotated[Path, typer.Option(*OUTPUT, help="The folder to write.", show_default=False)],
    to: Annotated[Literal["ctranslate2"], typer.Option(help="Target engine.")] = "ctranslate2",
    quantization: Annotated[
        Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"],
        typer.Option(
            help="How weights are stored: int8 is a quarter as large; how fast it is depends on the processor."
        ),
    ] = "float32",
    sentences: Annotated[
        str | None,
        typer.Option(help="Text to compare both models on, one sentence per line; default: the model's own samples."),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Export a model to another engine, and compare the outputs of both on sample sentences.

    Example: `transduce export runs/multi30k --to ctranslate2 -o multi30k-fast`
    """
    import msgspec

    from transduce.cli.model import set_threads
    from transduce.corpora.formats import read_lines
    from transduce.exchange.ctranslate2 import export_ctranslate2

    set_threads(threads)
    texts = None if sentences is None else list(read_lines(sentences))
    exported = export_ctranslate2(Path(model), output, quantization, texts)
    if json:
        print(msgspec.json.encode({"model": str(output), "export": exported}).decode())
        return
    parity = exported.parity
    print(
        f"{parity.identical} of {parity.sentences} greedy outputs are the same as the model's, "
        f"log-probabilities at most {parity.largest_difference:.2g} nats apart"
    )
    print(f"the model is in {output}")
