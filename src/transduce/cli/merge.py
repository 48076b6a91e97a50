"""`transduce merge`: one model of adapters that were kept apart and the model that they adapt."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.options import OUTPUT


def merge(
    model: Annotated[
        Path,
        typer.Argument(help="The folder of a model of adapters, or of the run that trained it.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(*OUTPUT, help="The merged model's folder.", show_default=False)],
    base: Annotated[
        Path | None,
        typer.Option("--base", help="Where the adapted model is (default: where it was when the adapters were saved)."),
    ] = None,
) -> None:
    """Merge adapters that were kept apart into the model that they adapt.

    Example: `transduce merge runs/law -o models/law`
    """
    from transduce import experiment

    experiment.merge(model, out, base)
    print(f"the model is in {out}")
