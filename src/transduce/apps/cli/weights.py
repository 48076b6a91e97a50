"""The verbs that make a model of others' weights: average, merge and extend."""

from pathlib import Path

from transduce.apps.cli.options import Json, Quiet
from transduce.apps.cli.printing import print_json, teller
from transduce.base.ranges import NonNegativeInt, PositiveInt


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

    result = experiment.average(run, last, best, out, teller(json))
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


def extend(
    model: Path,
    *,
    language: str,
    texts: list[str],
    out: Path,
    pieces: NonNegativeInt = 2000,
    like: str | None = None,
    keep: list[str] | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Give a translation model a language that it has not: a token for it, and subwords, which it then learns.

    Rows of embeddings begin as means of those that they are made of. Training goes on from there: training.start_from.

    Example: `transduce extend models/nllb --language wol_Latn --texts wolof.txt -o models/nllb-wolof`

    Args:
        model: The folder of a model or a run.
        language: The language's code, as the model spells others.
        texts: A file of text in the language, one sentence per line; repeatable.
        out: The new model's folder.
        pieces: Subwords to add, at most.
        like: A related language of the model, whose token the new one begins as (default: the mean of all).
        keep: Text of languages that the model knows, whose words stay divided as they are; repeatable.
    """
    from transduce import experiment
    from transduce.corpora.lines import read_lines

    lines, known = ((line for file in files for line in read_lines(file)) for files in (texts, keep or []))
    extended = experiment.add_language(model, out, language, lines, pieces, like, known, teller(quiet))
    if json:
        print_json({"model": str(out), "tokens": extended.history["new_languages"][language]})
        return
    print(f"the model is in {out}")
