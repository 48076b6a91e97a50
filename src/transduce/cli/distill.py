"""The verbs that train a model on another's translations: distill and backtranslate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from transduce import ranges
from transduce.cli.fields import From, Options
from transduce.cli.file_options import HeldOut
from transduce.cli.machine import Machine
from transduce.cli.messages import as_typed, print_json, teller
from transduce.cli.options import Json, LanguageOptions, Quiet
from transduce.cli.search_options import OF_BEAM, OF_SAMPLING, SAMPLE, make_rule

if TYPE_CHECKING:
    from transduce.corpora.cleaning import Step
    from transduce.experiment.synthetic_stages import SyntheticRun

SELECTION = From("experiment.synthetic_pairs.Selection", "metric drop_worst")
WORST = replace(SELECTION, names="drop_worst")
Search = Annotated[Any, Options(OF_BEAM, SAMPLE, replace(OF_SAMPLING, when="With --sample"), make=make_rule)]
WideSearch = Annotated[
    Any,
    Options(
        replace(OF_BEAM, defaults={"beam_size": 5}),
        SAMPLE,
        replace(OF_SAMPLING, when="With --sample"),
        make=make_rule,
    ),
]


def distill(
    context: click.Context,
    teacher: str,
    sources: Annotated[list[str] | None, "[RUN|PAIRS|TEXT]... [KEY=VALUE]..."] = None,
    *,
    recipe: str = "student-tiny",
    out: Path | None = None,
    with_: list[str] | None = None,
    selection: Annotated[Any, Options(SELECTION, make=lambda context: SELECTION.values(context.params))],
    step: list[str] | None = None,
    pairs_weight: ranges.CorpusWeight = 0.0,
    held_out: HeldOut,
    search: WideSearch,
    languages: LanguageOptions,
    machine: Machine,
    minutes: ranges.Minutes | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a small student on a teacher's translations (sequence-level distillation).

    Of a sentence with a reference the n-best hypothesis nearest it is learned, of another the best one; translations
    that are wrong are left out and counted. After an interruption, repeat the command: what is finished stays.

    Examples: `transduce distill runs/multi30k --recipe student-tiny`,
    `transduce distill runs/teacher train.de,train.en more.de --test test.de test.en`

    Args:
        teacher: A model's or a run's folder, also of an exported model.
        sources: Texts to translate: a run or a recipe, whose training data are meant; pairs, as SOURCE,TARGET or one
            .tsv, .csv or .jsonl file; or text in the source language, a sentence a line (default: the teacher's own
            training data). Then settings of the recipe to change, as KEY=VALUE.
        recipe: The student's recipe: a name, a .toml file, or a run's folder.
        out: The folder of translations, data and run (default: runs/TEACHER-student).
        with_: Another teacher, for an ensemble; repeatable.
        step: Leave out by this step of data.cleaning, such as 'ratio most=3', in place of the steps chosen
            automatically; repeatable.
        pairs_weight: Times per epoch that the student sees each true pair, too.
        minutes: Minutes that translating and training may take together, instead of the recipe's updates.
    """
    from transduce.experiment import distill as run

    texts, changes = _divided(sources or ())
    options = _common(
        context, recipe, changes, search, _selection(selection, step), held_out, languages, machine, minutes, quiet
    )
    _print(json, lambda: run([teacher, *(with_ or ())], texts, out, pairs_weight=pairs_weight, **options))


def backtranslate(
    context: click.Context,
    model: str,
    text: Annotated[list[str], "TEXT... [KEY=VALUE]..."],
    *,
    pairs: list[str] | None = None,
    recipe: str | None = None,
    out: Path | None = None,
    with_: list[str] | None = None,
    selection: Annotated[Any, Options(WORST, make=lambda context: WORST.values(context.params))],
    step: list[str] | None = None,
    pairs_weight: ranges.CorpusWeight = 1.0,
    tag: str = "⮌",
    held_out: HeldOut,
    search: Search,
    languages: LanguageOptions,
    machine: Machine,
    minutes: ranges.Minutes | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on true pairs and on more text of its target language, which a reverse model translates back.

    The sources that are made are tagged, and those that are wrong left out and counted. After an interruption, repeat
    the command: what is finished stays.

    Example: `transduce backtranslate runs/en-de more.en --pairs train.de,train.en` trains a better model from German
    to English

    Args:
        model: A model of the reverse direction: a model's or a run's folder, also of an exported model.
        text: Text in the language that this model reads, and the new one writes; a sentence a line. Then settings to
            change, as KEY=VALUE.
        pairs: True pairs in the direction of the new model: SOURCE,TARGET, one .tsv, .csv or .jsonl file, a run or a
            recipe (default: the training data of the reverse model's run); repeatable.
        recipe: The new model's recipe: a name, a .toml file, or a run's folder (default: the settings of the reverse
            model's run).
        out: The folder of translations, data and run (default: runs/MODEL-backtranslated).
        with_: Another reverse model, for an ensemble; repeatable.
        step: Leave out by this step of data.cleaning, such as 'ratio most=3', in place of the steps chosen
            automatically; repeatable.
        pairs_weight: Times per epoch that each true pair is seen; one that is made is seen once.
        tag: The word before each source that is made; '' for none.
        minutes: Minutes that translating and training may take together, instead of the recipe's updates.
    """
    from transduce.experiment import backtranslate as run

    texts, changes = _divided(text)
    options = _common(
        context, recipe, changes, search, _selection(selection, step), held_out, languages, machine, minutes, quiet
    )
    models = [model, *(with_ or ())]
    _print(json, lambda: run(models, texts, out, pairs=pairs or (), pairs_weight=pairs_weight, tag=tag, **options))


def _divided(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the texts that a command line names, and its changes of settings."""
    from transduce.experiment.automatic import is_setting

    return [word for word in words if not is_setting(word)], [word for word in words if is_setting(word)]


def _selection(given: Mapping[str, Any], steps: Sequence[str] | None) -> Any:
    from transduce.corpora.cleaning import read_steps
    from transduce.experiment import Selection

    cleaning: tuple[Step, ...] | None = None if steps is None else tuple(read_steps(steps))
    return Selection(**given, cleaning=cleaning)


def _common(
    context: click.Context,
    recipe: str | None,
    changes: Sequence[str],
    search: Any,
    selection: Any,
    held_out: HeldOut,
    languages: LanguageOptions,
    machine: Machine,
    minutes: float | None,
    quiet: bool,
) -> dict[str, Any]:
    """Returns the arguments that both functions share."""
    from transduce.experiment import HeldOutFiles
    from transduce.training.display import console_observer

    return {
        "recipe": recipe,
        "overrides": changes,
        "search": search,
        "selection": selection,
        "held_out": HeldOutFiles(**held_out.held_out(context)),
        "to": languages.to,
        "from_": languages.from_,
        "observers": [] if quiet else [console_observer()],
        "tell": teller(quiet, prefix=""),
        "device": machine.device,
        "precision": machine.precision,
        "minutes": minutes,
    }


def _print(json: bool, run: "Callable[[], SyntheticRun]") -> None:
    """Runs all stages, and prints the result."""
    from transduce.errors import Interrupted

    try:
        result = run()
    except Interrupted:
        teller()("interrupted; everything is saved; repeat the command to continue")
        raise click.exceptions.Exit(130) from None
    except KeyboardInterrupt as error:  # before training
        error.add_note("what is finished is saved; repeat the command to continue")
        raise
    if json:
        print_json(result.to_dict())
        return
    print(result.describe())
    command = f"transduce translate {result.run.run} input.txt"
    print(f"the model is in {result.run.model}; try it:\n  {as_typed(command)}")
