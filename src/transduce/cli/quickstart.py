"""`transduce quickstart`: a translator trained in front of the reader, without any data."""

from pathlib import Path

from transduce.cli.machine import set_threads
from transduce.cli.messages import as_typed, print_json, teller
from transduce.cli.options import Json, Quiet, Threads

SHOWN = 5


def quickstart(
    *, out: Path = Path("runs/quickstart"), threads: Threads = None, json: Json = False, quiet: Quiet = False
) -> None:
    """Train, evaluate and try a small English-German model, without data or network.

    Example: `transduce quickstart`

    Args:
        out: The run's folder.
    """
    from transduce import experiment
    from transduce.bundle import ModelBundle
    from transduce.corpora.splits import open_split
    from transduce.evaluation.evaluate import evaluate
    from transduce.inference.translator import Translator

    set_threads(threads)

    tell = teller(quiet, prefix="")
    tell("A grammar that ships with Transduce writes English sentences and their German translations.")
    recipe = experiment.load_recipe("quickstart")
    run = experiment.train(recipe, out, progress=not quiet)
    test = list(open_split("grammar", "test", "en", "de"))
    translator = Translator(ModelBundle.load(run.model))
    tell("Translating sentences it has not seen ...")
    result = evaluate(translator, [pair.source for pair in test], [pair.target for pair in test])
    if json:
        print_json({"training": run.to_dict(), "evaluation": result.to_dict()})
        return
    print()
    for pair, translation in list(zip(test, result.translations, strict=True))[:SHOWN]:
        mark = "" if translation.text == pair.target else f"   (expected: {pair.target})"
        print(f"  {pair.source}\n    -> {translation.text}{mark}")
    print(f"\n{result.describe()}\n")
    print(f"The model is in {run.model}. Try next:")
    for command, about in (
        (f"echo '{test[-1].source}' | transduce translate {out}", ""),
        (f"transduce info {out}", ""),
        ("transduce train multi30k", "        (real captions, German to English)"),
        ("transduce train mine.de mine.en", " (your own two files)"),
    ):
        print(f"  {as_typed(command)}{about}")
