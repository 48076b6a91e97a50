"""The verbs that make one model of several sets of weights: average and merge."""

from pathlib import Path

from transduce.cli.messages import print_json
from transduce.cli.options import Json
from transduce.ranges import PositiveInt


def average(
    run: Path,
    *,
    last: PositiveInt | None = None,
    best: PositiveInt | None = None,
    out: Path | None = None,
    json: Json = False,
) -> None:
    """Average the weights of a run's checkpoints; the average is often better than each of them.

    Example: `transduce average runs/multi30k --last 5`

    Args:
        run: A run's folder.
        last: Average the N newest checkpoints; default: all.
        best: Average the N checkpoints with the best validation score.
        out: The model's folder; RUN/average by default.
    """
    from transduce import experiment

    result = experiment.average(run, last, best, out)
    if json:
        print_json(result.to_dict())
        return
    scores = ", ".join(f"{name} {score:.4g}" for name, score in result.validation.items())
    print(f"the mean of {', '.join(result.checkpoints)}: validation {scores}")
    print(f"the model is in {result.model}")


def merge(model: Path, *, out: Path, base: Path | None = None) -> None:
    """Merge adapters that were kept apart into the model that they adapt.

    Example: `transduce merge runs/law -o models/law`

    Args:
        model: The folder of a model of adapters, or of the run that trained it.
        out: The merged model's folder.
        base: Where the adapted model is (default: where it was when the adapters were saved).
    """
    from transduce import experiment

    experiment.merge(model, out, base)
    print(f"the model is in {out}")
