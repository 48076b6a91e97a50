"""`transduce export`: a model as a folder or a package that another engine or library runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from transduce.cli.messages import print_json
from transduce.cli.options import OUTPUT, Json, Model, Threads, given_options
from transduce.errors import InputError

Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]


def export(
    context: typer.Context,
    model: Model,
    output: Annotated[
        Path,
        typer.Option(
            *OUTPUT, help="The folder to write, or for Argos Translate the package (.argosmodel).", show_default=False
        ),
    ],
    to: Annotated[
        Literal["ctranslate2", "argos", "huggingface"], typer.Option(help="Target engine or library.")
    ] = "ctranslate2",
    quantization: Annotated[
        Quantization,
        typer.Option(
            help="CTranslate2 and Argos Translate: how weights are stored: int8 is a quarter as large; how fast it is "
            "depends on the processor."
        ),
    ] = "float32",
    sentences: Annotated[
        str | None,
        typer.Option(
            help="CTranslate2 and Argos Translate: text to compare both models on, one sentence per line; default: the "
            "model's own samples."
        ),
    ] = None,
    splitter: Annotated[
        Path | None,
        typer.Option(help="Argos Translate: sentence splitter to pack, of MiniSBD (.onnx) or Stanza (a folder)."),
    ] = None,
    license: Annotated[
        str | None,
        typer.Option(help="Hugging Face: licence named by the model's card, such as apache-2.0 (default: the run's)."),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Export a model to another engine or library, and compare what both make of samples.

    Example: `transduce export runs/multi30k --to ctranslate2 -o multi30k-fast`
    """
    from transduce.cli.model import set_threads
    from transduce.config import Settings

    set_threads(threads)
    exported: Settings
    if license is not None and to != "huggingface":
        raise InputError("--license is for Hugging Face; leave it out, or export to that")
    if splitter is not None and to != "argos":
        raise InputError("--splitter is for Argos Translate; leave it out, or export to that")
    if to == "huggingface":
        if refused := given_options(context, ("to", "output", "license", "threads", "json")):
            raise InputError(
                f"{', '.join(refused)}: for CTranslate2 and Argos Translate; leave out, or export to these"
            )
        from transduce.exchange.huggingface.exporting import export_huggingface

        exported = certificate = export_huggingface(Path(model), output, license)
        told = f"read again: weights, token ids and logits are equal bit for bit\n{certificate.describe()}"
    else:
        from transduce.corpora.formats import read_lines

        texts = None if sentences is None else list(read_lines(sentences))
        if to == "argos":
            from transduce.exchange.argos import export_argos

            exported = package = export_argos(Path(model), output, quantization, texts, splitter)
            told = package.describe()
        else:
            from transduce.exchange.ctranslate2 import export_ctranslate2

            exported = folder = export_ctranslate2(Path(model), output, quantization, texts)
            told = (
                f"{folder.parity.identical} of {folder.parity.sentences} greedy outputs are the same as the model's, "
                f"log-probabilities at most {folder.parity.largest_difference:.2g} nats apart"
            )
    if json:
        print_json({"model": str(output), "export": exported})
        return
    print(told)
    print(f"the {'package' if to == 'argos' else 'model'} is in {output}")
