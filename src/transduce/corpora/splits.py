"""Opens the texts that a run learns from: files of the user's own, or a built-in data set by its name."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, cast

from msgspec import Meta

from transduce.base.errors import ConfigError
from transduce.corpora.catalogue.dataset_files import cache_folder, find_split
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import DATASETS, PARTS, WHOLE, Dataset, find_dataset, in_language
from transduce.corpora.cleaning import Overlap, Step, cleaning_filters, selecting_filters
from transduce.corpora.corpus import ParallelCorpus, SentencePair, TextCorpus
from transduce.corpora.data_settings import CorpusConfig, DataConfig, FilesConfig, corpora_of
from transduce.corpora.directions import Direction
from transduce.corpora.doctor.doctored import Doctored, parts_of
from transduce.corpora.formats import parallel_files, table_file, text_file
from transduce.corpora.generated.grammar import derive_pairs, split_pairs
from transduce.corpora.generated.sequences import SequencesConfig, Task, sequence_pairs
from transduce.corpora.held_out import HeldOutPairs
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.shards import open_corpus
from transduce.corpora.splitting import HELD_OUT, Part, Side, Split, SplitRule

GRAMMAR_SIZES = {"train": 60_000, "validation": 500, "test": 1_000}
BOTH: frozenset[Side] = frozenset({"source", "target"})
TEXTS = [name for name, dataset in DATASETS.items() if dataset.kind == "text"]


@dataclass(frozen=True)
class WeightedCorpus:
    """A training corpus and the number of times its pairs are seen in an epoch."""

    corpus: ParallelCorpus
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    direction: Direction | None = None
    """The direction of the pairs, if one model learns several."""
    repeated: frozenset[Side] = frozenset()
    """The sides whose text an earlier corpus has too, on either side."""


@dataclass(frozen=True)
class Splits:
    """The corpora that a run trains on, validates on, and is tested on at its end."""

    train: list[WeightedCorpus]
    validation: ParallelCorpus
    test: ParallelCorpus | None
    general_validation: ParallelCorpus | None = None
    """The validation data of the text that a model to start from knows already."""
    general_test: ParallelCorpus | None = None
    directions: dict[Direction, "Splits"] = field(default_factory=dict)
    """The splits of each direction, if one model learns several; the others are these, one after another."""

    @property
    def held_out(self) -> list[ParallelCorpus]:
        """The corpora that are not trained on."""
        named = (self.validation, self.test, self.general_validation, self.general_test)
        return [corpus for corpus in named if corpus]


def open_splits(config: DataConfig, folder: Path, progress: Progress | None = None) -> Splits:
    """Opens the corpora that the settings name, training data cleaned and with the copies that data.noise adds.

    Relative paths start from the folder.
    """
    splits = _open_cleaned(config, folder, progress)
    if not config.noise.shares:
        return splits
    train = [replace(each, corpus=replace(each.corpus, noise=config.noise)) for each in splits.train]
    return replace(splits, train=train)


def _open_cleaned(config: DataConfig, folder: Path, progress: Progress | None) -> Splits:
    dataset = find_dataset(config.dataset) if config.dataset is not None else None
    if config.directions is not None:
        return _open_directions(config, folder, progress)
    splits = _open_files(config, folder) if dataset is None else _open_dataset(dataset, config, progress)
    splits = replace(
        splits,
        general_validation=_open_named(config.general_validation, config, folder),
        general_test=_open_named(config.general_test, config, folder),
    )
    # data without a split of its own are cleaned before they are split, except for the overlap
    is_cleaned = config.validation is None if dataset is None else not dataset.has_own_split
    steps = [step for step in config.cleaning if isinstance(step, Overlap) or not is_cleaned]
    return _cleaned(splits, steps, splits.held_out)


def _cleaned(splits: Splits, steps: Sequence[Step], held_out: Sequence[ParallelCorpus]) -> Splits:
    filters = cleaning_filters(steps, held_out)
    return replace(splits, train=[replace(each, corpus=each.corpus.filtered(filters)) for each in splits.train])


def open_held_out(config: DataConfig, folder: Path) -> list[ParallelCorpus]:
    """Opens the files that the settings name for validation and test; DataError for those that cannot be opened."""
    named = (config.validation, config.test, config.general_validation, config.general_test)
    return [_open_corpus(corpora_of(files)[0], config, folder) for files in named if files]


def open_split(
    name: str, split: str, source: str, target: str, config: DataConfig | None = None, progress: Progress | None = None
) -> ParallelCorpus:
    """Opens one split of a built-in data set in one direction, not cleaned; one without splits of its own is split as
    the settings say, or by default."""
    dataset = find_dataset(name)
    if split not in dataset.split_names:
        raise ConfigError(f"{name} has no split '{split}'; it has {', '.join(dataset.split_names)}")
    if dataset.kind not in ("pairs", "generated"):
        raise ConfigError(f"{name} is text of one language, without translations; choose a data set of pairs")
    for language in (source, target):
        if language not in dataset.languages:
            raise ConfigError(f"{name} has no language '{language}'; it has {', '.join(dataset.languages)}")
    if source == target:
        raise ConfigError(f"{name}: source and target are both '{source}'")
    if dataset.kind == "generated":
        return _generate(dataset.name, split, source, config)
    if dataset.has_own_split:
        return _open_pairs(dataset, split, source, target, progress)
    whole = _open_pairs(dataset, WHOLE, source, target, progress)
    selected = whole.filtered(selecting_filters(config.cleaning) if config else [])
    rule = SplitRule(config.chosen_split if config else Split())
    grouped_by: Side = "source" if source == "en" else "target"
    part = HeldOutPairs([selected], rule, [grouped_by], cache_folder()).part(0, cast(Part, split))
    return replace(part, name=f"{name} {split}")


def open_text(name: str, split: str, progress: Progress | None = None) -> TextCorpus:
    """Opens one split of a built-in data set of one language."""
    dataset = find_dataset(name)
    if dataset.kind != "text":
        content = "sentence pairs" if dataset.kind in ("pairs", "generated") else "labelled text"
        raise ConfigError(f"{name} holds {content}; for text of one language choose one of {', '.join(TEXTS)}")
    if split not in dataset.splits:
        raise ConfigError(f"{name} has no split '{split}'; it has {', '.join(dataset.splits)}")
    (file,) = find_split(dataset, split, progress).files
    return text_file(file, *dataset.lines.get(split, ()))


def _open_files(config: DataConfig, folder: Path) -> Splits:
    assert config.train is not None
    train = [WeightedCorpus(_open_training(entry, config, folder), entry.weight) for entry in corpora_of(config.train)]
    test = _open_named(config.test, config, folder)
    if config.validation is None:
        return _draw_parts(train, test, config)
    return Splits(train, _open_corpus(corpora_of(config.validation)[0], config, folder), test)


def _open_named(
    files: str | Sequence[str | FilesConfig] | None, config: DataConfig, folder: Path
) -> ParallelCorpus | None:
    return None if files is None else _open_corpus(corpora_of(files)[0], config, folder)


def _open_training(
    corpus: CorpusConfig, config: DataConfig, folder: Path, direction: Direction | None = None
) -> ParallelCorpus:
    """Opens a training corpus, as a doctor leaves it if there is one."""
    opened = _open_corpus(corpus, config, folder, direction)
    if not config.doctor:
        return opened
    paths = _paths(corpus, folder)
    parts = parts_of(paths, config.columns_for(paths, direction), _languages(config, direction))
    return Doctored(opened, parts, config.doctor, cache_folder()).corpus


def _languages(config: DataConfig, direction: Direction | None) -> tuple[str, str]:
    return (config.source, config.target) if direction is None else (direction.source, direction.target)


def _open_corpus(
    corpus: CorpusConfig, config: DataConfig, folder: Path, direction: Direction | None = None
) -> ParallelCorpus:
    paths = _paths(corpus, folder)
    return open_corpus(paths, config.columns_for(paths, direction), _languages(config, direction))


def _paths(corpus: CorpusConfig, folder: Path) -> list[Path]:
    return [folder / file for file in ([corpus.files] if isinstance(corpus.files, str) else corpus.files)]


def _open_directions(config: DataConfig, folder: Path, progress: Progress | None) -> Splits:
    """Opens the splits of each direction, cleaned, and all of them together; pairs held out in one are so in all."""
    each = (
        _open_directed_files(config, folder)
        if config.dataset is None
        else _open_directed_dataset(find_dataset(config.dataset), config, progress)
    )
    is_drawn = config.validation is None if config.dataset is None else not find_dataset(config.dataset).has_own_split
    steps = [step for step in config.cleaning if isinstance(step, Overlap) or not is_drawn]
    held_out = [corpus for splits in each.values() for corpus in splits.held_out]
    cleaned = {direction: _cleaned(splits, steps, held_out) for direction, splits in each.items()}
    tests = [splits.test for splits in cleaned.values() if splits.test is not None]
    return Splits(
        [corpus for splits in cleaned.values() for corpus in splits.train],
        ParallelCorpus.joined("validation data of all directions", [splits.validation for splits in cleaned.values()]),
        ParallelCorpus.joined("test data of all directions", tests) if tests else None,
        directions=cleaned,
    )


@dataclass(frozen=True)
class _Named:
    """A corpus of files and its languages."""

    corpus: ParallelCorpus
    direction: Direction
    weight: float

    def towards(self, direction: Direction) -> ParallelCorpus | None:
        """Returns the corpus in a direction; None if it has other languages."""
        if direction == self.direction:
            return self.corpus
        return self.corpus.reversed if direction == self.direction.reversed else None


def _open_directed_files(config: DataConfig, folder: Path) -> dict[Direction, Splits]:
    train, validation, test = (
        [_open_directed(entry, config, folder, name) for entry in (corpora_of(entries) if entries else [])]
        for name, entries in (("train", config.train), ("validation", config.validation), ("test", config.test))
    )
    if config.validation is None:
        whole = train
        sides: list[Side] = ["source" if each.direction.source == "en" else "target" for each in whole]
        drawn = _drawn_parts([each.corpus for each in whole], config, sides)

        def part(name: Part) -> list[_Named]:
            return [replace(each, corpus=drawn.part(number, name)) for number, each in enumerate(whole)]

        train, validation = part("train"), part("validation")
        test = test or (part("test") if drawn.split.test > 0 else [])
    of_each: dict[Direction, Splits] = {}
    for direction in config.all_directions:
        learned = [
            WeightedCorpus(corpus, named.weight, direction, BOTH if direction.reversed in of_each else frozenset())
            for named in train
            if (corpus := named.towards(direction)) is not None
        ]
        if not learned:
            raise ConfigError(f"data.directions: {direction}: no corpus of data.train has these two languages")
        held_out = _joined_towards(direction, validation, "validation")
        if held_out is None:
            raise ConfigError(f"data.directions: {direction}: no corpus of data.validation has these two languages")
        of_each[direction] = Splits(learned, held_out, _joined_towards(direction, test, "test"))
    return of_each


def _open_directed(entry: CorpusConfig, config: DataConfig, folder: Path, setting: str) -> _Named:
    if entry.direction == Direction(*UNKNOWN):
        raise ConfigError(
            f"data.{setting}: the names of {entry.files} do not tell their languages; add source and target to "
            f"[[data.{setting}]]"
        )
    opened = (_open_training if setting == "train" else _open_corpus)(entry, config, folder, entry.direction)
    return _Named(opened, entry.direction, entry.weight)


def _joined_towards(direction: Direction, corpora: Sequence[_Named], part: str) -> ParallelCorpus | None:
    towards = [corpus for named in corpora if (corpus := named.towards(direction)) is not None]
    return ParallelCorpus.joined(f"{part} data {direction}", towards) if towards else None


def _open_directed_dataset(dataset: Dataset, config: DataConfig, progress: Progress | None) -> dict[Direction, Splits]:
    of_each: dict[Direction, Splits] = {}
    languages: set[str] = set()
    for direction in config.all_directions:
        splits = _open_dataset(dataset, config.directed(direction), progress)
        sides: dict[Side, str] = {"source": direction.source, "target": direction.target}
        repeated = frozenset(side for side, language in sides.items() if language in languages)
        languages |= set(sides.values())
        train = [replace(corpus, direction=direction, repeated=repeated) for corpus in splits.train]
        of_each[direction] = replace(splits, train=train)
    return of_each


def _draw_parts(whole: list[WeightedCorpus], test: ParallelCorpus | None, config: DataConfig) -> Splits:
    """Returns validation and test data from the training files, cleaned: a pair's part does not depend on its file."""
    drawn = _drawn_parts([each.corpus for each in whole], config, [config.grouped_by] * len(whole))
    names = ", ".join(each.corpus.name for each in whole)

    def held_out(name: Part) -> ParallelCorpus:
        return ParallelCorpus.joined(
            f"the {name} part of {names}", [drawn.part(number, name) for number in range(len(whole))]
        )

    train = [WeightedCorpus(drawn.part(number, "train"), each.weight) for number, each in enumerate(whole)]
    if test is None and drawn.split.test > 0:
        test = held_out("test")
    return Splits(train, held_out("validation"), test)


def _drawn_parts(corpora: Sequence[ParallelCorpus], config: DataConfig, sides: Sequence[Side]) -> HeldOutPairs:
    """Returns the parts of files, cleaned, with shares as the settings say; by default they follow the number of
    pairs."""
    is_tested = config.test is None
    split = config.chosen_split if is_tested else replace(config.chosen_split, test=0.0)
    asked = {"validation": config.validation_share, "test": config.test_share if is_tested else 0.0}
    rule = SplitRule(split, tuple(name for name in HELD_OUT if asked[name] is None))
    cleaned = [corpus.filtered(selecting_filters(config.cleaning)) for corpus in corpora]
    return HeldOutPairs(cleaned, rule, sides, cache_folder())


def _open_dataset(dataset: Dataset, config: DataConfig, progress: Progress | None) -> Splits:
    if dataset.has_own_split and config.split_settings:
        raise ConfigError(
            f"data.{next(iter(config.split_settings))}: {dataset.name} has a split of its own; leave it out"
        )
    has_test = dataset.test is not None and (dataset.has_own_split or config.chosen_split.test > 0)

    def open_one(split: str) -> ParallelCorpus:
        return open_split(dataset.name, split, config.source, config.target, config, progress)

    return Splits(
        [WeightedCorpus(open_one("train"))],
        open_one(dataset.validation),
        open_one(dataset.test) if has_test and dataset.test else None,
    )


def _open_pairs(dataset: Dataset, split: str, source: str, target: str, progress: Progress | None) -> ParallelCorpus:
    shelf = find_split(dataset, split, progress, (source, target))
    usual = {language: number for number, language in enumerate(dataset.languages, 1)}
    named = ("document",) if "document" in dataset.columns else ()
    columns = [(dataset.columns or usual)[name] for name in (source, target, *named)]
    corpora = [
        parallel_files([in_language(file, source), in_language(file, target)])
        if in_language(file, source) != file
        else table_file(file, columns)
        for file in shelf.files
    ]
    name = f"{dataset.name} {split}{shelf.partial and f' ({shelf.partial})'}"
    return ParallelCorpus.of_shards(name, corpora) if len(corpora) > 1 else ParallelCorpus.joined(name, corpora)


def _generate(name: str, split: str, source: str, config: DataConfig | None) -> ParallelCorpus:
    if name == "grammar":
        if source == "de":
            raise ConfigError("grammar translates from en to de only: several English sentences share a German one")
        return ParallelCorpus.of_pairs(f"grammar {split}", _grammar_parts()[split])
    sizes = (config.sequences if config else None) or SequencesConfig()
    return ParallelCorpus.of_pairs(f"{name} {split}", _sequence_parts(cast(Task, name), sizes)[split])


@lru_cache(maxsize=1)
def _grammar_parts() -> dict[str, list[SentencePair]]:
    pairs = derive_pairs(sum(GRAMMAR_SIZES.values()), seed=1)
    return dict(zip(PARTS, split_pairs(pairs, GRAMMAR_SIZES["validation"], GRAMMAR_SIZES["test"]), strict=True))


_sequence_parts = lru_cache(maxsize=1)(sequence_pairs)
