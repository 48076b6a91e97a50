"""Opens the texts that a model translates to teach another: true pairs, text of one language, and held-out pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import DataError, InputError
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.corpus import ParallelCorpus, TextCorpus
from transduce.corpora.data_settings import CorpusConfig, DataConfig, FilesConfig
from transduce.corpora.directions import Direction
from transduce.corpora.formats import is_file_of_pairs, text_file
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.noise import Noise
from transduce.corpora.shards import files_of, open_corpus
from transduce.corpora.splits import Splits, open_splits
from transduce.experiment.recipe import SETTINGS_FILE, Recipe, load_recipe, recipes
from transduce.tasks.translation.translation_settings import TranslationConfig

TWO_FILES = ","
"""The sign between the names of two line-aligned files."""


@dataclass(frozen=True)
class GivenTexts:
    """Texts of two languages, in the direction of the model that learns from them."""

    pairs: list[ParallelCorpus]
    text: list[TextCorpus]
    validation: ParallelCorpus
    test: ParallelCorpus | None

    @property
    def tested(self) -> ParallelCorpus:
        """The test set, or the validation data if there is none."""
        return self.test or self.validation

    def contents(self) -> list[tuple[str, str]]:
        """Returns the name of each text and a hash of its content; of held-out data first, on which others depend."""
        held_out = [self.validation, *([] if self.test is None else [self.test])]
        of_pairs = [(corpus.name, corpus.content()) for corpus in (*held_out, *self.pairs)]
        return of_pairs + [(text.name, text.content()) for text in self.text]


@dataclass(frozen=True)
class Sources:
    """Texts as a command names them."""

    pairs: list[list[str]] = field(default_factory=list)
    """The files of each corpus of pairs."""
    text: list[str] = field(default_factory=list)
    recipes: list[Recipe[Any]] = field(default_factory=list)
    """Recipes and runs whose training data are meant."""

    @staticmethod
    def named(names: Sequence[str | Path]) -> "Sources":
        """Sorts names: of runs and recipes, of files of pairs (two line-aligned ones are joined by a comma), and of
        files of text. Raises DataError for another number of files joined."""
        sources = Sources()
        for name in map(str, names):
            path = Path(name)
            if path.suffix == ".toml" or (path / SETTINGS_FILE).is_file() or (name in recipes() and not path.exists()):
                sources.recipes.append(load_recipe(name))
            elif TWO_FILES in name and not path.exists():
                files = name.split(TWO_FILES)
                if len(files) != 2 or not all(files):
                    raise DataError(f"{name}: expected two line-aligned files, source{TWO_FILES}target")
                sources.pairs.append(files)
            elif is_file_of_pairs(name):
                sources.pairs.append([name])
            else:
                sources.text.append(name)
        return sources


@dataclass(frozen=True)
class HeldOutFiles:
    """Files to validate and to test on: two line-aligned ones, or one file of pairs; none for those of a run."""

    validation: Sequence[str | Path] = ()
    test: Sequence[str | Path] = ()


def open_texts(
    sources: Sources,
    direction: Direction,
    own: Recipe[Any] | None,
    held_out: HeldOutFiles,
    progress: Progress | None = None,
) -> GivenTexts:
    """Opens the texts, in a direction.

    Held-out data are those of the files named; else of the first recipe named, or of `own`, the run of the model that
    translates; else a part of the files of pairs.

    Raises InputError if there is no validation data, or a recipe is of other languages; DataError for files that cannot
    be read.
    """
    languages = languages_of_direction(direction)
    known = sources.recipes or ([own] if own is not None and not held_out.validation else [])
    splits = [_splits_towards(recipe, direction, progress) for recipe in known]
    text = [text_file(file) for name in sources.text for file in files_of(name)]
    if not splits and not held_out.validation:
        if not sources.pairs:
            raise InputError("there are no validation data: name files of pairs (validation), or a run that has some")
        drawn = open_splits(_data_of(sources.pairs, direction, held_out.test), Path(), progress)
        return GivenTexts([entry.corpus for entry in drawn.train], text, drawn.validation, _unless_empty(drawn.test))
    named = [open_corpus(files, None, languages) if files else None for files in (held_out.validation, held_out.test)]
    pairs = [entry.corpus for each in splits[: len(sources.recipes)] for entry in each.train]
    pairs += [open_corpus(files, None, languages) for files in sources.pairs]
    validation, test = (splits[0].validation, splits[0].test) if splits else (None, None)
    validation, test = named[0] or validation, named[1] or test
    assert validation is not None
    return GivenTexts(pairs, text, validation, _unless_empty(test))


def languages_of_direction(direction: Direction) -> tuple[str, str]:
    """Returns the languages of a direction; of the reverse of one without names, "source" and "target" again."""
    return UNKNOWN if direction == Direction(*UNKNOWN).reversed else (direction.source, direction.target)


def _unless_empty(test: ParallelCorpus | None) -> ParallelCorpus | None:
    """Returns a test set; None for a part of few pairs in which none is."""
    return None if test is None or next(iter(test), None) is None else test


def _data_of(pairs: Sequence[Sequence[str]], direction: Direction, test: Sequence[str | Path]) -> DataConfig:
    tested: list[str | FilesConfig] | None = [str(file) for file in test] or None
    languages = languages_of_direction(direction)
    return DataConfig(
        train=[CorpusConfig(files=list(files)) for files in pairs],
        test=tested,
        source=languages[0],
        target=languages[1],
    )


def _splits_towards(recipe: Recipe[Any], direction: Direction, progress: Progress | None) -> Splits:
    """Returns the data of a recipe in a direction; of one that learns the other direction, with sides swapped."""
    config = recipe.config
    if not isinstance(config, TranslationConfig):
        raise InputError(f"{recipe.name} does not learn to translate, so it has no pairs; name another")
    learned = config.data.learned
    if direction not in learned and direction.reversed not in learned:
        raise InputError(
            f"{recipe.name} has data of {', '.join(map(str, learned))}, but {direction} is learned; name others"
        )
    plain = msgspec.structs.replace(config.data, noise=Noise())  # copies are for training, not for translating
    splits = open_splits(plain, recipe.folder, progress)
    if direction in learned:
        return splits.directions.get(direction, splits)
    splits = splits.directions.get(direction.reversed, splits)
    return replace(
        splits,
        train=[replace(entry, corpus=entry.corpus.reversed) for entry in splits.train],
        validation=splits.validation.reversed,
        test=None if splits.test is None else splits.test.reversed,
    )
