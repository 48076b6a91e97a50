"""Distillation and back-translation: a model translates, what is wrong is left out, and another learns."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.config import Changes, read_changes
from transduce.base.errors import ConfigError, InputError
from transduce.base.task_table import check_tool, find_task
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle
from transduce.corpora.catalogue.download import announce
from transduce.corpora.directions import Direction
from transduce.experiment.recipe import Recipe, find_recipe, recipe_known_of, recipe_of
from transduce.experiment.synthetic_pairs import Selection
from transduce.experiment.synthetic_stages import Stages, SyntheticRun, Tell
from transduce.experiment.synthetic_texts import HeldOutFiles, Sources, open_texts
from transduce.experiment.translated_shards import TextPart
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.search.beam import Beam
from transduce.search.sampling import Sampling
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.training.observers import Observer

STUDENT = "student-tiny"
"""The recipe of a student, unless another is named."""
TAG = "⮌"
"""The word that marks back-translated sources (Caswell et al. 2019): a sign that no other text has."""
DEFAULT_BEAM = 5

Models = str | Path | Sequence[str | Path]
"""A model's folder, or those of an ensemble."""


def distill(
    teacher: Models,
    sources: Sequence[str | Path] = (),
    out: str | Path | None = None,
    *,
    recipe: Recipe[Any] | str | Path = STUDENT,
    overrides: Changes = (),
    search: Beam | Sampling | None = None,
    selection: Selection | None = None,
    pairs_weight: float = 0.0,
    held_out: HeldOutFiles | None = None,
    to: str | None = None,
    from_: str | None = None,
    observers: Sequence[Observer] = (),
    tell: Tell = lambda line: None,
    device: str = "auto",
    precision: InferencePrecision = "float32",
    minutes: float | None = None,
) -> SyntheticRun:
    """Trains a student on translations by a teacher (sequence-level distillation; Kim and Rush 2016).

    Of a sentence with a reference, the n-best hypothesis nearest the reference is learned, of another the best one.
    Validation and test data stay as they are. Repeated, the same call goes on where an earlier one was stopped.

    Args:
        teacher: the folder of a model or a run, also an exported one; several make an ensemble.
        sources: texts to translate: runs and recipes, whose training data are meant, files of pairs ("a.en,a.de", or
            one .tsv, .csv or .jsonl), and files of text alone (default: the teacher's own training data).
        out: the folder of all stages (default: `runs/TEACHER-student`).
        recipe: the student's recipe; its data are replaced by those made here.
        overrides: settings of the recipe to change, as for `train`.
        search: the search for translations (default: a beam of 5); a beam gives as many hypotheses as its size where
            there is a reference.
        selection: how hypotheses are chosen, and which translations are left out.
        pairs_weight: the number of times per epoch that the student sees the true pairs, too.
        held_out: files to validate and to test on (default: those of the first run or recipe named, or the teacher's).
        to: the target language, for a teacher of several directions.
        from_: its source language, likewise.
        observers: receive the reports of the student's training.
        tell: receives lines on the progress.
        device: the device of both models.
        precision: the teacher's.
        minutes: the time that translating and training may take together, in place of the recipe's number of updates.

    Raises InputError, ConfigError, DataError or CheckpointError for invalid input, or texts, models or settings other
    than those that `out` was made from; Interrupted after Ctrl-C or SIGTERM, with everything saved.
    """
    student = _student(find_recipe(recipe, overrides), overrides)  # a wrong name is an error before anything is read
    models = _paths(teacher)
    direction = _direction(models, to, from_, tell)
    own, named = recipe_of(models[0]), Sources.named(sources)
    if not sources:
        named = Sources(recipes=[recipe_known_of(models[0], "training data", "name texts to translate")])
    texts = open_texts(named, direction, own, held_out or HeldOutFiles(), announce(tell))
    search = search or Beam(size=DEFAULT_BEAM)
    nearest = msgspec.structs.replace(search, n_best=search.size) if isinstance(search, Beam) else search
    best = msgspec.structs.replace(search, n_best=1)
    parts = [
        TextPart("pairs", texts.pairs, nearest),
        TextPart("text", texts.text, best),
        TextPart("test", [texts.tested], best),
    ]
    folder = Path(out or Path("runs") / f"{models[0].resolve().name}-student")
    stages = Stages(
        folder=folder,
        models=models,
        direction=direction,
        texts=texts,
        parts=parts,
        selection=selection or Selection(),
        pairs_weight=pairs_weight,
        recipe=student,
        name="student",
        device=device,
        precision=precision,
        minutes=minutes,
    )
    return stages.run(observers, tell)


def backtranslate(
    model: Models,
    text: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    pairs: Sequence[str | Path] = (),
    recipe: Recipe[Any] | str | Path | None = None,
    overrides: Changes = (),
    search: Beam | Sampling | None = None,
    selection: Selection | None = None,
    pairs_weight: float = 1.0,
    tag: str = TAG,
    held_out: HeldOutFiles | None = None,
    to: str | None = None,
    from_: str | None = None,
    observers: Sequence[Observer] = (),
    tell: Tell = lambda line: None,
    device: str = "auto",
    precision: InferencePrecision = "float32",
    minutes: float | None = None,
) -> SyntheticRun:
    """Trains a model on true pairs and on text of its target language with sources that a reverse model translates.

    Sennrich et al. (2016) introduced back-translation, Edunov et al. (2018) sampling, Caswell et al. (2019) the tag.
    Repeated, the same call goes on where an earlier one was stopped.

    Args:
        model: the model of the reverse direction, as for `distill`.
        text: files of text in the language that the reverse model reads and the new one writes.
        out: the folder of all stages (default: `runs/MODEL-backtranslated`).
        pairs: true pairs, in the new model's direction: runs, recipes or files, as for `distill` (default: the training
            data of the reverse model's run, with sides swapped).
        recipe: the new model's recipe (default: the settings of the reverse model's run).
        overrides: settings of the recipe to change, as for `train`.
        search: the search for sources: a beam (default), or sampling.
        selection: which translations are left out.
        pairs_weight: the number of times per epoch that each true pair is seen; each made pair is seen once.
        tag: the word before each source that is back-translated; empty for none.
        held_out: files to validate and to test on, as for `distill`.
        to: the language that the reverse model writes, where it has several directions.
        from_: the language that it reads, likewise.
        observers: receive the reports of the new model's training.
        tell: receives lines on the progress.
        device: the device of both models.
        precision: the reverse model's.
        minutes: the time for all, as for `distill`.

    Raises what `distill` raises, and InputError for text that is none, a tag of several words, or no recipe.
    """
    if len(tag.split()) > 1 or tag != tag.strip():
        raise InputError(f"the tag {tag!r} must be one word, without spaces")
    models = _paths(model)
    reverse = _direction(models, to, from_, tell)
    own, named = recipe_of(models[0]), Sources.named(pairs)
    monolingual = Sources.named(text)
    if others := [*monolingual.pairs, *monolingual.recipes, *named.text]:
        raise InputError(f"{_name(others[0])}: expected text of one language as text, and runs or pairs as pairs")
    if not monolingual.text:
        raise InputError("there is no text to translate back; name files of it (text)")
    sources = replace(named, text=monolingual.text)
    if not pairs and own is not None:
        sources = replace(sources, recipes=[own])
    texts = open_texts(sources, reverse.reversed, own, held_out or HeldOutFiles(), announce(tell))
    parts = [TextPart("text", texts.text, msgspec.structs.replace(search or Beam(), n_best=1))]
    if recipe is None:
        recipe = _turned(recipe_known_of(models[0], "settings", "name a recipe"))
    learner = _student(find_recipe(recipe, overrides), overrides)
    folder = Path(out or Path("runs") / f"{models[0].resolve().name}-backtranslated")
    stages = Stages(
        folder=folder,
        models=models,
        direction=reverse,
        texts=texts,
        parts=parts,
        selection=selection or Selection(),
        pairs_weight=pairs_weight,
        recipe=learner,
        name="model",
        device=device,
        precision=precision,
        minutes=minutes,
        is_back_translation=True,
        tag=tag,
    )
    return stages.run(observers, tell)


def _paths(models: Models) -> list[Path]:
    paths = [Path(model) for model in ([models] if isinstance(models, str | Path) else models)]
    if not paths:
        raise InputError("there is no model to translate with; name its folder")
    return paths


def _direction(models: Sequence[Path], to: str | None, from_: str | None, tell: Tell) -> Direction:
    """Returns the direction in which the models translate."""
    for model in models:
        config = read_config(find_bundle(model))
        check_tool(model, config.task, "translator")
        if config.context is not None:
            tell(f"{model} reads the sentences before, but translates each one alone here")
    return read_config(find_bundle(models[0])).find_direction(to, from_)


def _name(source: object) -> str:
    return source.name if isinstance(source, Recipe) else ",".join(source) if isinstance(source, list) else str(source)


def _student(recipe: Recipe[Any], overrides: Changes) -> Recipe[TranslationConfig]:
    """Returns the recipe; raises ConfigError for one of another task, or for changes of the data."""
    config = recipe.config
    if not isinstance(config, TranslationConfig):
        raise ConfigError(f"{recipe.name} does not learn to translate; name a recipe that does")
    for key in read_changes(overrides, TranslationConfig):
        if key.partition(".")[0] == "data" and key != "data.max_tokens":
            raise ConfigError(f"{key}: the data are those that are made here; leave it out")
    find_task(config.task).check(config)
    return recipe


def _turned(recipe: Recipe[Any]) -> Recipe[Any]:
    """Returns the settings of a run for the reverse direction; raises ConfigError if it began with another model."""
    config = recipe.config
    if config.training.start_from is not None:
        raise ConfigError(f"{recipe.name} was trained from another model of its direction; name a recipe")
    tokenizer = config.tokenizer
    turned = msgspec.structs.replace(tokenizer, source=tokenizer.target, target=tokenizer.source)
    return replace(recipe, config=msgspec.structs.replace(config, tokenizer=turned))
