"""`transduce average`: one model from several checkpoints of a run."""

from pathlib import Path
from typing import Annotated

import typer

from transduce.cli.messages import print_json
from transduce.cli.options import OUTPUT, Json, ranged
from transduce.ranges import PositiveInt


def average(
    run: Annotated[Path, typer.Argument(help="A run's folder.", show_default=False)],
    last: Annotated[int | None, ranged(PositiveInt, "Average the N newest checkpoints; default: all")] = None,
    best: Annotated[int | None, ranged(PositiveInt, "Average the N checkpoints with the best validation score")] = None,
    out: Annotated[Path | None, typer.Option(*OUTPUT, help="The model's folder; RUN/average unless given.")] = None,
    json: Json = False,
) -> None:
    """Average the weights of a run's checkpoints; the average is often better than each of them.

    Example: `transduce average runs/multi30k --last 5`
    """
    from transduce import experiment

    result = experiment.average(run, last, best, out)
    if json:
        print_json(result.to_dict())
        return
    scores = ", ".join(f"{name} {score:.4g}" for name, score in result.validation.items())
    print(f"the mean of {', '.join(result.checkpoints)}: validation {scores}")
    print(f"the model is in {result.model}")
