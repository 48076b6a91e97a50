"""`transduce export`: a model as a folder that another engine or library runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from transduce.cli.options import OUTPUT, Json, Model, Threads, given_options
from transduce.errors import InputError


def export(
    context: typer.Context,
    model: Model,
    output: Annotated[Path, typer.Option(*OUTPUT, help="The folder to write.", show_default=False)],
    to: Annotated[
        Literal["ctranslate2", "huggingface"], typer.Option(help="Target engine or library.")
    ] = "ctranslate2",
    quantization: Annotated[
        Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"],
        typer.Option(
            help="CTranslate2: how weights are stored: int8 is a quarter as large; how fast it is depends on the "
            "processor."
        ),
    ] = "float32",
    sentences: Annotated[
        str | None,
        typer.Option(
            help="CTranslate2: text to compare both models on, one sentence per line; default: the model's own samples."
        ),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Export a model to another engine or library, and compare what both make of samples.

    Example: `transduce export runs/multi30k --to ctranslate2 -o multi30k-fast`
    """
    import msgspec

    from transduce.cli.model import set_threads

    set_threads(threads)
    if to == "huggingface":
        if refused := given_options(context, ("to", "output", "threads", "json")):
            raise InputError(f"{', '.join(refused)}: for CTranslate2 alone; leave out, or export to that")
        from transduce.exchange.huggingface.exporting import export_huggingface

        certificate = export_huggingface(Path(model), output)
        if json:
            print(msgspec.json.encode({"model": str(output), "export": certificate}).decode())
            return
        print("read again: weights, token ids and logits are equal bit for bit")
        print(certificate.describe())
    else:
        from transduce.corpora.formats import read_lines
        from transduce.exchange.ctranslate2 import export_ctranslate2

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
