"""Opens the systems that `evaluate` and `compare` score, models or finished outputs, and their test set."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import DataOptions, ScoringOptions
from transduce.apps.cli.output import text_output
from transduce.apps.cli.printing import teller
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle, is_model
from transduce.corpora.catalogue.download import announce
from transduce.corpora.catalogue.registry import DATASETS, find_dataset
from transduce.corpora.corpus import ParallelCorpus, running_texts
from transduce.corpora.directions import MANY, Direction
from transduce.corpora.formats import references_in, segments
from transduce.corpora.lines import read_lines
from transduce.corpora.shards import open_corpus
from transduce.corpora.splits import open_split, open_splits
from transduce.evaluation.context_gain import context_gain
from transduce.evaluation.evaluate import evaluate, evaluate_outputs
from transduce.evaluation.metric import check_aligned
from transduce.evaluation.metrics import metrics_by_key
from transduce.evaluation.references import References
from transduce.evaluation.robustness import AS_WRITTEN, evaluate_typed
from transduce.evaluation.score_table import Scores, ScoreTable
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.choice import EngineName
from transduce.inference.request import sources_in_context
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule
from transduce.tasks.translation.translation_task import held_out

FOR_DATASETS = "--split and --direction are for a --dataset; give one, or leave them out"

System = Translator | list[str]
"""A model, or finished outputs."""

tell = teller()


def check_options(data: DataOptions, scoring: ScoringOptions) -> None:
    """Raises InputError for options that do not go together, or unknown metrics, before anything is waited for."""
    metrics_by_key(scoring.metrics)
    if data.source is not None and data.reference is None:
        raise InputError("--source goes with --reference: give both, or --dataset")
    if data.dataset is None and data.split:
        raise InputError(FOR_DATASETS)


def open_system(
    path: str,
    machine: MachineOptions,
    engine: EngineName = "auto",
    shortlist: bool | str = False,
    batch_tokens: int | None = None,
) -> System:
    """Opens a model's or run's folder, or a ZIP file of one, as a translator, another file (or -) as its outputs."""
    if path == "-" or (Path(path).is_file() and not is_model(path)):
        return list(read_lines(path))
    if not is_model(path):
        raise InputError(f"{path}: no such model; expected the folder of a model or of a run, or a file of outputs")
    return machine.open_translator(path, engine=engine, shortlist=shortlist, batch_tokens=batch_tokens)


def evaluate_system(
    name: str,
    system: System,
    data: DataOptions,
    scoring: ScoringOptions,
    all_bleu: bool,
    robust: bool,
    output: str | None,
    search: DecisionRule,
) -> Scores | ScoreTable:
    """Returns the scores of finished outputs, or of a translator in each direction with a test set; for `robust` of a
    test set that is typed in several ways.

    Translations, or a page about them, are written to `output`; InputError for this or `robust` with several
    directions."""
    how = (scoring.lowercase, scoring.tokenize)
    if isinstance(system, list):
        sources, references, _ = open_test_set(data, {name: system}, needs_sources=False)
        check_aligned(name, system, references)
        with _opened(output) as stream:
            scores = evaluate_outputs(system, references, *how, all_bleu, scoring.metrics, sources or None)
            _write(stream, output, name, scores)
        return scores
    directions: Sequence[Direction | None] = _directions_of(data, name, system) if _is_many(system) else [None]
    if len(directions) > 1 and robust:
        raise InputError("--robust is for one direction; choose it with --direction")
    if len(directions) > 1 and output is not None:
        raise InputError("--output takes the translations of one direction; choose it with --direction")
    warn_of_case(name, system, scoring)
    evaluated: dict[str, Scores] = {}
    for direction in directions:
        translator = system
        if direction is not None:
            translator = system.directed(direction.target, direction.source)
            data = replace(data, direction=str(direction))
        sources, references, documents = open_test_set(data, {name: translator})
        with _opened(output) as stream:
            if robust:
                typed = evaluate_typed(translator, sources, references, search, *how, scoring.metrics, documents)
                _write(stream, output, name, typed.ways[AS_WRITTEN], typed, translator)
                return typed
            scores = evaluate(translator, sources, references, search, *how, all_bleu, scoring.metrics, documents)
            _write(stream, output, name, scores, None, translator)
        bundle = translator.bundle
        if bundle.config.context is not None and isinstance(bundle, ModelBundle):
            requests = sources_in_context(sources, bundle.config.context, documents)
            scores = replace(scores, context=context_gain(bundle, requests, references))
        evaluated[str(direction)] = scores
    return scores if directions == [None] else ScoreTable("directions", evaluated)


def is_page(output: str | None) -> bool:
    """Returns True for the name of a page's file."""
    return output is not None and output.lower().endswith((".html", ".htm"))


def training_text(translators: Sequence[Translator]) -> Iterable[str] | None:
    """Returns the target side of the built-in data set that all models were trained on, or None."""
    trained_on = {
        (bundle.history.get("data"), bundle.config.source, bundle.config.target)
        for bundle in (translator.bundle for translator in translators)
    }
    if len(trained_on) != 1:
        return None
    ((data, source, target),) = trained_on
    if data not in DATASETS:
        return None
    return (pair.target for pair in open_split(data, "train", source, target))


def directed(data: DataOptions, systems: Mapping[str, System]) -> dict[str, System]:
    """Returns the same systems, models of several directions in the named one, or that of the other models."""
    if not any(_is_many(system) for system in systems.values()):
        return dict(systems)
    source, target = _languages(data, systems.values())
    return {
        name: system.directed(target, source) if isinstance(system, Translator) else system
        for name, system in systems.items()
    }


def warn_of_case(name: str, system: System, scoring: ScoringOptions) -> None:
    """Warns on standard error if a model that writes lower case only is to be scored with case."""
    if scoring.lowercase or not isinstance(system, Translator):
        return
    if system.bundle.config.tokenizer.of_target.lowercase:
        tell(f"{name} writes lower case only; --lowercase would score it fairly")


def open_test_set(
    data: DataOptions, systems: Mapping[str, System], needs_sources: bool = True
) -> tuple[list[str], References, list[str]]:
    """Reads sources, references and the documents of sources of the test set, by default those of the models' runs; a
    data set's direction is that of the models.

    Raises InputError for models that do not agree, and for references without sources, unless only outputs are scored.
    """
    models = {name: system.bundle.config for name, system in systems.items() if isinstance(system, Translator)}
    if data.direction is not None and data.dataset is None and not any(m.languages for m in models.values()):
        raise InputError(FOR_DATASETS)
    if data.dataset is not None:
        split = data.split or find_dataset(data.dataset).test
        if split is None:
            raise InputError(f"{data.dataset} has no test set; choose another part with --split")
        corpus = open_split(data.dataset, split, *_languages(data, systems.values()))
    elif data.reference is None:
        corpus = _own_test_set(models)
    elif data.source is None:
        if needs_sources:
            raise InputError("--source is missing: the text that --reference translates")
        return [], _all_references(list(segments(data.reference[0])), data.reference), []
    else:
        languages = {(model.source, model.target) for model in models.values()}
        corpus = open_corpus([data.source, data.reference[0]], None, *(languages if len(languages) == 1 else ()))
    pairs = list(corpus)
    references = _all_references([pair.target for pair in pairs], data.reference or [""])
    return [pair.source for pair in pairs], references, running_texts(pairs)


def _opened(output: str | None) -> AbstractContextManager[TextIO | None]:
    return nullcontext() if output is None else text_output(output)


def _write(
    stream: TextIO | None,
    output: str | None,
    name: str,
    scores: Scores,
    typed: ScoreTable | None = None,
    translator: Translator | None = None,
) -> None:
    if stream is None:
        return
    if not is_page(output):
        stream.writelines(f"{text}\n" for text in scores.outcome.outputs)
        return
    from transduce.evaluation.evaluation_page import render_evaluation

    training = None if translator is None else training_text([translator])
    stream.write(render_evaluation(name, scores, typed, training))


def _all_references(first: list[str], files: Sequence[str]) -> References:
    """Returns the first reference of the first file, then the others in the files."""
    firsts = [first, *(list(segments(file)) for file in files[1:])]
    named = [(file, one) for file, own in zip(files, firsts, strict=True) for one in (own, *references_in(file)[1:])]
    return References.aligned(*(lines for _, lines in named), names=[file for file, _ in named])


def _directions_of(data: DataOptions, model: str, system: Translator) -> list[Direction]:
    """Returns the directions in which a model of several is tested: the named one, else all that it was trained in
    that have a test set.

    Raises InputError for files without a named direction, or if no direction has a test set.
    """
    languages = system.bundle.config.languages
    assert languages is not None
    if data.direction is not None:
        source, target = _languages(data, [])
        return [languages.find(target, source)]
    if data.reference is not None:
        raise InputError(f"{model} translates in several directions; say which with --direction, such as de-en")
    if data.dataset is not None:
        known = find_dataset(data.dataset).languages
        directions = [each for each in languages.trained if {each.source, each.target} <= set(known)]
    else:
        directions = []
        if (recipe := recipe_of(Path(model))) is not None:
            splits = open_splits(recipe.config.data, recipe.folder, announce(tell))
            directions = list(held_out(splits, recipe.config.data, "test"))
    if not directions:
        raise InputError(f"{model}: there is no test set in any of its directions; give --dataset, or files")
    return directions


def _languages(data: DataOptions, systems: Iterable[System]) -> tuple[str, str]:
    if data.direction is not None:
        source, _, target = data.direction.partition("-")
        if not source or not target:
            raise InputError(f"--direction {data.direction}: expected two languages, as de-en")
        return source, target
    configs = [system.bundle.config for system in systems if isinstance(system, Translator)]
    directions = sorted({(config.source, config.target) for config in configs if config.target != MANY})
    if not directions and configs:
        raise InputError("the models translate in several directions; choose one with --direction, such as de-en")
    if not directions:
        raise InputError("give the languages of the outputs with --direction, such as de-en")
    if len(directions) > 1:
        names = " and ".join("-".join(direction) for direction in directions)
        raise InputError(f"the models translate in different directions ({names}); choose one with --direction")
    return directions[0]


def _is_many(system: System) -> bool:
    """Returns True if a system is a model of several directions without a chosen one."""
    return isinstance(system, Translator) and system.bundle.config.target == MANY


def _own_test_set(models: Mapping[str, BundleConfig]) -> ParallelCorpus:
    """Opens the test set of the models' runs, and says so on standard error; InputError unless there is one."""
    ask = "give --dataset, or --source and --reference"
    if not models:
        raise InputError(f"no test set given; {ask}")
    test_sets: list[ParallelCorpus] = []
    for model, config in models.items():
        recipe = recipe_of(Path(model))
        if recipe is None:
            raise InputError(f"{model} is not in a run's folder, so it has no test set of its own; {ask}")
        splits = open_splits(recipe.config.data, recipe.folder, announce(tell))
        test = splits.directions.get(Direction(config.source, config.target), splits).test
        if test is None:
            raise InputError(f"the run of {model} has no test set; {ask}")
        test_sets.append(test)
    if len({test.content() for test in test_sets}) > 1:
        raise InputError(f"the runs have different test sets; {ask}")
    tell(f"the test set is the run's own: {test_sets[0].name}")
    return test_sets[0]
