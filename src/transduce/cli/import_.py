"""`transduce import`: a model of another library as one of ours."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.messages import print_json
from transduce.cli.options import OUTPUT, Json, Threads


def import_(
    folder: Annotated[Path, typer.Argument(help="A folder of Hugging Face transformers.", show_default=False)],
    output: Annotated[Path, typer.Option(*OUTPUT, help="The model's folder to write.", show_default=False)],
    no_answer: Annotated[
        bool | None,
        typer.Option("--no-answer/--always-answer", help="Whether a passage may hold no answer, as in SQuAD 2."),
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Import GPT-2, BERT, XLNet, MarianMT, M2M100 or NLLB of Hugging Face transformers, and compare both.

    Example: `transduce import gpt2 -o models/gpt2`
    """
    from transduce.cli.model import set_threads
    from transduce.exchange.huggingface.importing import import_huggingface

    set_threads(threads)
    certificate = import_huggingface(folder, output, no_answer)
    if json:
        print_json({"model": str(output), "import": certificate})
        return
    print(certificate.describe())
    print(f"the model is in {output}")
