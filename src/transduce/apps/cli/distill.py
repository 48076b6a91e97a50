"""The verbs that train a model on another's translations: distill and backtranslate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from transduce.apps.cli.fields import From, Options
from transduce.apps.cli.file_options import HeldOut
from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import Json, LanguageOptions, Quiet
from transduce.apps.cli.printing import as_typed, print_json, teller
from transduce.apps.cli.search_options import OF_BEAM, OF_SAMPLING, SAMPLE, make_rule
from transduce.base import ranges

if TYPE_CHECKING:
    from transduce.experiment.synthetic_stages import SyntheticRun


def _selection(context: click.Context) -> Any:
    from transduce.corpora.cleaning import read_steps
    from transduce.experiment import Selection

    steps = context.params["step"]
    cleaning = tuple(read_steps(steps)) if steps else None
    return Selection(**SELECTION.values(context.params), cleaning=cleaning)


SELECTION = From("experiment.synthetic_pairs.Selection", "metric drop_worst")
AllOfSelection = Annotated[Any, Options(SELECTION, make=_selection)]
Worst = Annotated[Any, Options(replace(SELECTION, names="drop_worst"), make=_selection)]
OF_SAMPLES = replace(OF_SAMPLING, when="With --sample")
Search = Annotated[Any, Options(OF_BEAM, SAMPLE, OF_SAMPLES, make=make_rule)]
WideSearch = Annotated[Any, Options(replace(OF_BEAM, defaults={"beam_size": 5}), SAMPLE, OF_SAMPLES, make=make_rule)]


@dataclass(frozen=True)
class Common(HeldOut, LanguageOptions, MachineOptions):
    """Options of both verbs."""

    with_: list[str] | None = None
    """Another model that translates, for an ensemble; repeatable."""
    step: list[str] | None = None
    """Leave out by this step of data.cleaning, such as 'ratio most=3', in place of the steps chosen automatically;
    repeatable."""
    minutes: ranges.Minutes | None = None
    """Minutes that translating and training may take together, instead of the recipe's updates."""
    json: Json = False
    quiet: Quiet = False


def distill(
    context: click.Context,
    teacher: str,
    sources: Annotated[list[str] | None, "[RUN|PAIRS|TEXT]... [KEY=VALUE]..."] = None,
    *,
    recipe: str = "student-tiny",
    out: Path | None = None,
    common: Common,
    selection: AllOfSelection,
    pairs_weight: ranges.CorpusWeight = 0.0,
    search: WideSearch,
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
        pairs_weight: Times per epoch that the student sees each true pair, too.
    """
    from transduce.experiment import distill as run

    texts, options = _arguments(context, sources or (), common)
    models = [teacher, *(common.with_ or ())]
    options |= {"recipe": recipe, "selection": selection}
    _print(common.json, lambda: run(models, texts, out, search=search, pairs_weight=pairs_weight, **options))


def backtranslate(
    context: click.Context,
    model: str,
    text: Annotated[list[str], "TEXT... [KEY=VALUE]..."],
    *,
    pairs: list[str] | None = None,
    recipe: str | None = None,
    out: Path | None = None,
    common: Common,
    selection: Worst,
    pairs_weight: ranges.CorpusWeight = 1.0,
    tag: str = "⮌",
    search: Search,
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
        pairs_weight: Times per epoch that each true pair is seen; one that is made is seen once.
        tag: The word before each source that is made; '' for none.
    """
    from transduce.experiment import backtranslate as run

    texts, options = _arguments(context, text, common)
    models = [model, *(common.with_ or ())]
    options |= {"pairs": pairs or (), "recipe": recipe, "selection": selection, "tag": tag}
    _print(common.json, lambda: run(models, texts, out, search=search, pairs_weight=pairs_weight, **options))


def _arguments(context: click.Context, words: Sequence[str], common: Common) -> tuple[list[str], dict[str, Any]]:
    """Returns the texts that a command line names, and the arguments that both functions share."""
    from transduce.experiment import HeldOutFiles
    from transduce.experiment.automatic import is_setting
    from transduce.training.display import console_observer

    return [word for word in words if not is_setting(word)], {
        "overrides": [word for word in words if is_setting(word)],
        "held_out": HeldOutFiles(**common.held_out(context)),
        "to": common.to,
        "from_": common.from_,
        "observers": [] if common.quiet else [console_observer()],
        "tell": teller(common.quiet, prefix=""),
        "device": common.device,
        "precision": common.precision,
        "minutes": common.minutes,
    }


def _print(json: bool, run: "Callable[[], SyntheticRun]") -> None:
    """Runs all stages, and prints the result."""
    from transduce.base.errors import Interrupted

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
