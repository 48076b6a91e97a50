"""Choosing settings for a user's own files: two files are enough, or two files and a model to adapt."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import torch

from docsegments.orthography.words import count_words
from transduce.base.config import Changes, convert, override, read_changes, read_toml
from transduce.base.errors import CheckpointError, ConfigError, DataError
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import EXPORT, find_bundle, read_tokenizers, why_not_trainable
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.cleaning import Step, selecting_filters
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.doctor.doctored import Doctored, affordable, parts_of
from transduce.corpora.facts import CorpusFacts, are_swapped, describe_pairs, sample_pairs
from transduce.corpora.formats import (
    FORMATS,
    is_bilingual,
    is_file_of_pairs,
    languages_in_file,
    text_file,
)
from transduce.corpora.given import pairs_setting
from transduce.corpora.languages import UNKNOWN, languages_of, name_of
from transduce.corpora.shards import open_corpus
from transduce.corpora.splits import open_held_out
from transduce.experiment.automatic_cleaning import choose_cleaning
from transduce.experiment.automatic_settings import (
    MINUTES,
    choose,
    choose_adaptation,
    choose_language_model,
    choose_width,
)
from transduce.experiment.completion import complete
from transduce.experiment.machine import BUSY, Machine, measure_machine
from transduce.experiment.recipe import Recipe, change, find_recipe, load_recipe, recipes, with_files
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

MIN_PAIRS, MIN_WORDS = 20, 200
COMPARED = 500  # held-out pairs whose words are looked at
SHORT = 400_000  # running words up to which the subwords that a text yields are counted


@dataclass(frozen=True)
class Files:
    """Two line-aligned files, or one of pairs, to train on with settings that are still to be chosen."""

    paths: tuple[str, ...]
    overrides: Changes = ()
    """Settings that the user has set; see `transduce.base.config.Changes`."""

    def __post_init__(self) -> None:
        if self.is_text:
            return
        if len(self.paths) == 1 and not is_file_of_pairs(self.paths[0]):
            raise ConfigError(
                f"{self.paths[0]}: give the file of its translations too, line by line, or one file of pairs "
                f"({', '.join(FORMATS.names())}); for a language model of running text add task=language"
            )
        if len(self.paths) == 2 and (both := next(filter(is_file_of_pairs, self.paths), None)):
            raise ConfigError(f"{both}: holds both sides by its ending; give it alone, or two files of another ending")
        if len(self.paths) not in (1, 2):
            raise ConfigError(f"expected two line-aligned files or one file of pairs, found {len(self.paths)}")

    @property
    def is_text(self) -> bool:
        """True for files of running text, from which a language model learns."""
        return read_changes(self.overrides).get("task") == "language"

    @property
    def name(self) -> str:
        """The name of a run on these files."""
        if len(self.paths) == 1 and self.is_text:
            return Path(self.paths[0]).name.partition(".")[0] or "text"
        return name_of(self.paths)

    @property
    def default_run(self) -> Path:
        """The default folder of a run on these files."""
        return Path("runs") / self.name


def files_of(recipe: object, overrides: Changes = ()) -> Files | None:
    """Returns the files to train on, with changes; None if `recipe` is a recipe."""
    if isinstance(recipe, Files):
        return Files(recipe.paths, _joined(recipe.overrides, overrides))
    if isinstance(overrides, Mapping) and not isinstance(recipe, str | Path | Recipe | ExperimentConfig):
        overrides = read_changes(overrides, TranslationConfig)  # once: they may hold pairs that can be read only once
    recipe = pairs_setting(recipe)
    if isinstance(recipe, list | tuple):
        return Files(tuple(map(str, recipe)), overrides)
    if isinstance(recipe, str | Path) and str(recipe) not in recipes() and is_file_of_pairs(recipe):
        return Files((str(recipe),), overrides)
    return None


def meant_by(recipe: object, overrides: Changes = ()) -> Files | Recipe[Any]:
    """Returns the files to train on, or the recipe, that an argument of `train` names, with changes of settings."""
    return files_of(recipe, overrides) or find_recipe(recipe, overrides)  # type: ignore[arg-type]


def from_words(
    words: Sequence[str], held_out: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Recipe[Any] | Files:
    """Returns the recipe or the files that a command line names, with its `key=value` changes and the files to validate
    and to test on, whose paths start from the working folder."""
    first, *others = words
    count = next(filter(lambda number: is_setting(words[number]), range(len(words))), len(words))
    is_recipe = first.endswith(".toml") or (first in recipes() and not Path(first).is_file())
    if is_recipe or (count == 1 and not Path(first).is_file() and not is_file_of_pairs(first)):
        here = {name: [str(Path(file).absolute()) for file in files] for name, files in held_out.items()}
        return load_recipe(first, [*others, *_settings_of(here)])  # a run's folder too, or its error lists recipes
    return Files(tuple(words[:count]), (*words[count:], *_settings_of(held_out)))


def is_setting(word: str) -> bool:
    """Returns True if a word of a command line is `key=value` and not the name of a file."""
    try:
        return "=" in word and not Path(word).is_file()
    except OSError:  # too long for a name
        return True


def _settings_of(held_out: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns validation and test files as `key=value` changes; one file is a string, which all tasks accept."""
    return [
        f"data.{name}={msgspec.json.encode(files if len(files) > 1 else files[0]).decode()}"
        for name, files in held_out.items()
    ]


def recipe_for(
    files: Files,
    recorded: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
    machine: Callable[[], Machine] = lambda: measure_machine(torch.device("cpu")),
) -> Recipe[Any]:
    """Chooses settings for two line-aligned files, or one .tsv, .csv or .jsonl of pairs, that fit the data and the
    machine.

    Args:
        files: the files, with paths from the working folder.
        recorded: the file of settings chosen earlier for these files, which are then used unchanged.
        tell: receives a line for each choice.
        machine: measures what will train (default: this processor).

    Raises DataError for files that cannot be read or hold too little, ConfigError for settings that do not fit.
    """
    if recorded is not None and recorded.exists():
        return _recorded(recorded, files)
    if files.is_text:
        return _recipe_for_text(files, tell, machine)
    changes = read_changes(files.overrides, TranslationConfig)
    wanted = complete(override({}, changes, TranslationConfig), TranslationConfig, Path())
    languages = _languages(files.paths)
    named: dict[str, Any] = {"train": list(files.paths) if len(files.paths) > 1 else files.paths[0]}
    if languages != UNKNOWN:
        named |= {"source": languages[0], "target": languages[1]}
    start = _start_of(wanted)
    first = {"data": named, "training": {"updates": 1}} | ({} if start else {"model": _valid_model(wanted)})
    settings = change(first, "settings", changes).data
    if (settings.source, settings.target) == UNKNOWN:
        tell("languages: not recognised from the file names; set data.source and data.target")
    else:
        tell(f"languages: from {settings.source} to {settings.target}")
    corpus = open_corpus(files.paths, settings.columns_for(files.paths), (settings.source, settings.target))
    held_out = open_held_out(settings, Path())  # a mistake there is reported before the machine is measured
    corpus, doctor = _examined(corpus, files.paths, settings, wanted, tell)
    asked = settings.cleaning if "cleaning" in wanted.get("data", {}) else None
    cleaning, kept, most_subwords = _look_at(corpus, settings, asked, held_out, tell)
    measured = machine()
    if measured.busy > BUSY:
        tell(
            f"this machine is busy: training takes {measured.busy:.1f} times as long as without its other work; the "
            "settings are chosen as for an idle one"
        )
    if start is None:
        chosen = choose(kept, most_subwords, measured, wanted)
    else:
        chosen = choose_adaptation(kept, start, _vocabulary_of(start), measured, wanted)
    for reason in chosen.reasons:
        tell(reason)
    tables = {**chosen.tables, "data": {**named, **doctor, **cleaning, **chosen.tables["data"]}}
    return Recipe(files.name, change(tables, "settings", files.overrides), Path())


def _examined(
    corpus: ParallelCorpus,
    paths: Sequence[str],
    settings: DataConfig,
    wanted: dict[str, Any],
    tell: Callable[[str], None],
) -> tuple[ParallelCorpus, dict[str, Any]]:
    """Returns a corpus as a doctor leaves it, in at most a tenth of the run's minutes, and the setting for that."""
    parts = parts_of(paths, settings.columns_for(paths), (settings.source, settings.target))
    if "doctor" in wanted.get("data", {}) or settings.context is not None:
        learned = settings.doctor
    else:
        minutes = wanted.get("training", {}).get("minutes") or MINUTES
        learned = affordable(parts, 60 * minutes / 10, tell)
    if not learned:
        return corpus, {}
    examined = Doctored(corpus, parts, learned, cache_folder())
    for action in examined.actions:
        tell(f"doctor: {action}")
    return examined.corpus, {"doctor": learned}


def _recipe_for_text(files: Files, tell: Callable[[str], None], machine: Callable[[], Machine]) -> Recipe[Any]:
    """Chooses settings for a language model of running text."""
    words, lines = 0, 0
    for line in (line for path in files.paths for line in text_file(Path(path))):
        words, lines = words + count_words(line), lines + 1
    if words < MIN_WORDS:
        raise DataError(f"{files.paths[0]}: {words:,} words, too few to learn from; there must be {MIN_WORDS} or more")
    tell(f"data: {lines:,} lines, {words:,} running words")
    chosen = choose_language_model(words, machine())
    for reason in chosen.reasons:
        tell(reason)
    tables = {"task": "language", "data": {"train": list(files.paths)}, **chosen.tables}
    return Recipe(files.name, change(tables, "settings", files.overrides), Path())


def _start_of(wanted: dict[str, Any]) -> str | None:
    """Returns the model to adapt, if the settings name one."""
    training = wanted.get("training", {})
    start = training.get("start_from") if isinstance(training, dict) else None
    return start if isinstance(start, str) else None


def _vocabulary_of(start: str) -> int:
    """Returns the number of tokens in the target vocabulary of a model that can be adapted."""
    folder = find_bundle(Path(start))
    if (folder / EXPORT).exists():
        raise CheckpointError(f"training.start_from: {why_not_trainable(folder)}")
    return len(read_tokenizers(folder, read_config(folder)).target)


def _valid_model(wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns a valid model with the user's settings, for checking the other settings before a model is chosen."""
    asked = wanted.get("model", {})
    is_transformer = isinstance(asked, dict) and asked.get("kind", "transformer") == "transformer"
    return {"kind": "transformer", **(choose_width(asked) if is_transformer else {})}


def _languages(paths: Sequence[str]) -> tuple[str, str]:
    """Returns source and target language, from the names of the files or from a document."""
    languages = languages_of(paths)
    if languages == UNKNOWN and len(paths) == 1 and is_bilingual(paths[0]):
        return languages_in_file(paths[0]) or UNKNOWN
    return languages


def _look_at(
    corpus: ParallelCorpus,
    settings: DataConfig,
    asked: Sequence[Step] | None,
    held_out: Sequence[ParallelCorpus],
    tell: Callable[[str], None],
) -> tuple[dict[str, Any], CorpusFacts, int | None]:
    """Returns settings that clean a corpus, unless `asked` has others, facts about the rest, and the subwords of a
    short one; DataError if the sides of a held-out corpus are in the other order."""
    pairs, sample = sample_pairs(corpus)
    languages = settings.source, settings.target
    if not sample:
        raise DataError(f"{corpus.name}: no sentence pairs; the files are empty")
    for other in held_out:
        if are_swapped(list(islice(other, COMPARED)), sample):
            raise DataError(
                f"{other.name}: its sources look like the targets of {corpus.name}; name source and target in the order"
                " of the training data"
            )
    facts = describe_pairs(sample, pairs, languages)
    tell(f"data: {pairs:,} pairs, {facts.source.words:,} and {facts.target.words:,} running words")
    tables: dict[str, Any] = {}
    if asked is None:
        cleaning = choose_cleaning(sample, facts, settings.context is not None)
        tables = cleaning.tables["data"]
        asked = convert({"train": "", **tables}, DataConfig, "data").cleaning
        for reason in cleaning.reasons:
            tell(reason)
    left = list(ParallelCorpus.of_pairs(corpus.name, sample).filtered(selecting_filters(asked)))
    if len(left) < MIN_PAIRS:
        raise DataError(
            f"{corpus.name}: {len(left):,} of {pairs:,} sentence pairs are left after cleaning, too few to learn from; "
            f"there must be {MIN_PAIRS} or more (data.cleaning=[] keeps all)"
        )
    kept = describe_pairs(left, round(pairs * len(left) / len(sample)), languages)
    most_subwords = None
    if kept.words <= SHORT:
        most_subwords = len(
            train_tokenizer(SideConfig(), (text for pair in left for text in (pair.source, pair.target)))
        )
    return tables, kept, most_subwords


def _joined(first: Changes, second: Changes) -> Changes:
    if not first or not second:
        return first or second
    return read_changes(first, TranslationConfig) | read_changes(second, TranslationConfig)


def _recorded(path: Path, files: Files) -> Recipe[Any]:
    """Returns the settings chosen earlier for these files; paths in changes start from the working folder."""
    run = path.parent

    def from_run(name: str, value: Any) -> Any:
        return with_files(
            name, value, lambda file: str(file) if Path(file).is_absolute() else os.path.relpath(file, run)
        )

    config = change(read_toml(path), str(run), files.overrides, run, from_run)
    trained = [config.data.train] if isinstance(config.data.train, str) else config.data.train or []
    before = [(run / file).resolve() for file in trained if isinstance(file, str)]
    if before != [Path(file).resolve() for file in files.paths]:
        raise ConfigError(f"{run} was started with other files: {', '.join(map(str, before)) or config.data.dataset}")
    return Recipe(run.name, config, run)
