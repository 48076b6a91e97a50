"""`transduce runs`: what was trained, and how well it went."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.options import Json


def runs(
    folder: Annotated[Path, typer.Argument(help="Where to look, subfolders too.")] = Path("runs"),
    json: Json = False,
) -> None:
    """List runs with their best scores.

    Example: `transduce runs`
    """
    import msgspec

    from transduce.training.runs import find_runs

    found = find_runs(folder)
    if json:
        print(msgspec.json.encode(found).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("run", "state", "data", "model", box=None)
    for name in ("updates", "time", "perplexity", "BLEU"):
        table.add_column(name, justify="right")
    for run in found:
        bleu = run.test["bleu"] if run.test else run.validation.get("bleu")
        perplexity = run.validation.get("perplexity")
        table.add_row(
            run.run,
            run.state,
            run.data,
            run.model,
            f"{run.updates:,}",
            str(timedelta(seconds=round(run.seconds))),
            "" if perplexity is None else f"{perplexity:.2f}",
            "" if bleu is None else f"{bleu:.1f}" + ("" if run.test else " (validation)"),
        )
    Console().print(table)
