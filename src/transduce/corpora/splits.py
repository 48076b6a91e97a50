"""Which texts a run learns from: files of the user's own, or a built-in data set by its name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, cast

from msgspec import Meta

from transduce.config import Settings
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.files import find_split, in_language
from transduce.corpora.catalogue.registry import DATASETS, PARTS, WHOLE, Dataset, find_dataset
from transduce.corpora.cleaning import Overlap, Step, cleaning_filters, selecting_filters
from transduce.corpora.corpus import ParallelCorpus, SentencePair, TextCorpus
from transduce.corpora.formats import Columns, is_bilingual, parallel_files, table_file, text_file
from transduce.corpora.generated.grammar import derive_pairs, split_pairs
from transduce.corpora.generated.sequences import SequencesConfig, Task, sequence_pairs
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.splitting import Part, PartFilter, Side, Split, SplitKind
from transduce.errors import ConfigError
from transduce.ranges import PositiveInt, Seed, ShareBelowOne, ShareWithin

GRAMMAR_SIZES = {"train": 96_000, "validation": 500, "test": 1_000}
SEQUENCES = ("copy", "reverse")
TEXTS = [name for name, dataset in DATASETS.items() if dataset.kind == "text"]
HELD_OUT_OF_ROOT, LARGEST_SHARE, MAX_HELD_OUT = 3, 0.1, 2_000  # of files: times the root of their pairs, and limits
SPLIT_FIELDS = {"split": "kind", "validation_share": "validation", "test_share": "test", "split_seed": "seed"}


class CorpusConfig(Settings, frozen=True):
    """One of several training corpora."""

    files: str | list[str]
    """Two line-aligned files, one .tsv or .jsonl file of pairs, one .tmx, .xlf or .po, or two files of subtitles (.srt,
    .vtt), aligned by time; .gz, .xz and .zst are read too."""
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """How many times each of its pairs is seen in an epoch; 0.5 shows a new random half in each epoch."""


class DataConfig(Settings, frozen=True):
    """A built-in data set, or files; paths are relative to the file that names them."""

    dataset: str | None = None
    """Name of a built-in data set; `transduce data list` shows them."""
    source: str = "source"
    """Language to translate from; chooses the side of a built-in data set."""
    target: str = "target"
    """Language to translate to."""
    train: str | list[str | CorpusConfig] | None = None
    """Training files: two line-aligned ones, one .tsv, .jsonl, .tmx, .xlf or .po, two of subtitles (.srt, .vtt), or
    several corpora with weights."""
    validation: str | list[str] | None = None
    """Validation files; a part of the training files unless given."""
    test: str | list[str] | None = None
    """Test files, scored when training ends; unless given, a part of the training files where validation is one too."""
    general_validation: str | list[str] | None = None
    """Validation files of the text that a model to start from knows already, so that what it forgets is seen too."""
    general_test: str | list[str] | None = None
    """Test files of that text, scored when training ends."""
    columns: list[PositiveInt | str] | None = None
    """Source and target column of a .tsv (numbers from 1, or names in its header), keys of a .jsonl, or languages of a
    .tmx; for that the default is source and target."""
    max_tokens: PositiveInt | None = None
    """Training pairs with more tokens on either side are removed; no limit by default."""
    cleaning: tuple[Step, ...] = ()
    """Cleaning steps, applied in this order to the training pairs; counts and examples are printed. Data without a
    predefined split are cleaned before they are split."""
    split: SplitKind | None = None
    """How files without validation files, or a built-in data set without a split of its own, are split: all pairs with
    the same English (else target) sentence in one part (grouped, unless given), or each pair by itself (random), which
    leaks other translations."""
    validation_share: ShareWithin | None = None
    """Share of their pairs to validate on, 0 to 1; the default is 0.05 for a data set; for
    files, about 3·√n of n pairs: 150 of 3,000, 500 of 30,000, at most 2,000."""
    test_share: ShareBelowOne | None = None
    """Share of their pairs to test on, 0 to 1, 0 for no test set; the default is that of validation_share."""
    split_seed: Seed | None = None
    """Random seed of the split; default 1, independent of the run's seed."""
    sequences: SequencesConfig | None = None
    """Sizes of the generated data sets copy and reverse."""

    def _check_together(self) -> None:
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.validation is not None and self.split_settings:
            raise ValueError(f"{', '.join(self.split_settings)}: validation files are given; leave one of them out")
        if self.validation is None and self.test is not None and self.test_share:
            raise ValueError("test_share: test files are given; leave one of them out")
        if self.columns is not None and not any(isinstance(files, str) or len(files) == 1 for files in self._files):
            raise ValueError("columns: only for one file of pairs, .tsv or .jsonl; leave them out")
        if self.columns is not None and len(set(self.columns)) != 2:
            raise ValueError("columns: expected two columns that differ, the source's and the target's")
        if self.sequences is not None and self.dataset not in SEQUENCES:
            raise ValueError("sequences: only for the data sets copy and reverse")
        self.chosen_split  # noqa: B018 - raises where the shares do not fit

    @property
    def _files(self) -> list[str | list[str]]:
        """The files of each corpus that is named."""
        entries = [self.train] if isinstance(self.train, str) else self.train or []
        plain = [entry for entry in entries if isinstance(entry, str)]
        weighted = [entry.files for entry in entries if isinstance(entry, CorpusConfig)]
        held_out = (self.validation, self.test, self.general_validation, self.general_test)
        return [files for files in (plain, *weighted, *held_out) if files]

    def columns_for(self, paths: Sequence[str | Path]) -> Columns | None:
        """The columns of some files: of a document its languages, as they are known."""
        if len(paths) != 1:
            return None
        languages = (self.source, self.target)
        return languages if self.columns is None and is_bilingual(paths[0]) and languages != UNKNOWN else self.columns

    @property
    def is_generated(self) -> bool:
        """Whether the pairs are made by a rule, so that each source has one right target."""
        return self.dataset is not None and find_dataset(self.dataset).kind == "generated"

    @property
    def chosen_split(self) -> Split:
        """How pairs without a split of their own are split."""
        return Split(**{SPLIT_FIELDS[name]: value for name, value in self.split_settings.items()})

    @property
    def grouped_by(self) -> Side:
        """Whose sentences stay together: the English ones, else those of the target."""
        return "source" if self.source == "en" else "target"

    @property
    def split_settings(self) -> dict[str, Any]:
        """The settings of the split that are given."""
        return {name: value for name in SPLIT_FIELDS if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class WeightedCorpus:
    """A training corpus and how many times its pairs are seen in an epoch."""

    corpus: ParallelCorpus
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0


@dataclass(frozen=True)
class Splits:
    """What a run trains on, validates on, and is tested on at its end."""

    train: list[WeightedCorpus]
    validation: ParallelCorpus
    test: ParallelCorpus | None
    general_validation: ParallelCorpus | None = None
    """What a model to start from knows already."""
    general_test: ParallelCorpus | None = None

    @property
    def held_out(self) -> list[ParallelCorpus]:
        """What is not trained on."""
        named = (self.validation, self.test, self.general_validation, self.general_test)
        return [corpus for corpus in named if corpus]


def open_splits(config: DataConfig, folder: Path, progress: Progress | None = None) -> Splits:
    """The corpora that the settings name, training data cleaned; relative paths start from the folder."""
    dataset = find_dataset(config.dataset) if config.dataset is not None else None
    splits = _open_files(config, folder) if dataset is None else _open_dataset(dataset, config, progress)
    splits = replace(
        splits,
        general_validation=_open_named(config, config.general_validation, folder),
        general_test=_open_named(config, config.general_test, folder),
    )
    # What has no split of its own is cleaned before it is split, but for the overlap.
    is_cleaned = config.validation is None if dataset is None else not dataset.has_own_split
    steps = [step for step in config.cleaning if isinstance(step, Overlap) or not is_cleaned]
    filters = cleaning_filters(steps, splits.held_out)
    return replace(splits, train=[WeightedCorpus(each.corpus.filtered(filters), each.weight) for each in splits.train])


def open_split(
    name: str, split: str, source: str, target: str, config: DataConfig | None = None, progress: Progress | None = None
) -> ParallelCorpus:
    """One split of a built-in data set in one direction, not cleaned; one without splits of its own is split as the
    settings say, or by default."""
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
    drawn = config.chosen_split if config else Split()
    grouped_by: Side = "source" if source == "en" else "target"
    return selected.filtered([PartFilter(cast(Part, split), drawn, grouped_by)], f"{name} {split}")


def default_share(pairs: int) -> float:
    """Which share of some pairs is drawn to validate on, and to test on: enough to measure, and no more than that."""
    held_out = min(HELD_OUT_OF_ROOT * pairs**0.5, LARGEST_SHARE * pairs, MAX_HELD_OUT)
    return float(f"{held_out / max(pairs, 1) or LARGEST_SHARE:.3g}")


def open_text(name: str, split: str, progress: Progress | None = None) -> TextCorpus:
    """One split of a built-in data set of one language."""
    dataset = find_dataset(name)
    if dataset.kind != "text":
        what = "sentence pairs" if dataset.kind in ("pairs", "generated") else "labelled text"
        raise ConfigError(f"{name} holds {what}; for text of one language choose one of {', '.join(TEXTS)}")
    if split not in dataset.splits:
        raise ConfigError(f"{name} has no split '{split}'; it has {', '.join(dataset.splits)}")
    (file,) = find_split(dataset, split, progress).files
    return text_file(file, *dataset.lines.get(split, (0, None)))


def _open_files(config: DataConfig, folder: Path) -> Splits:
    assert config.train is not None
    train_files = [config.train] if isinstance(config.train, str) else config.train
    plain = [entry for entry in train_files if isinstance(entry, str)]
    if plain and len(plain) < len(train_files):
        raise ConfigError("data.train: file names and tables cannot be mixed; write each corpus as [[data.train]]")
    corpora = [entry for entry in train_files if isinstance(entry, CorpusConfig)] or [CorpusConfig(files=plain)]

    train = [WeightedCorpus(_open(config, entry.files, folder), entry.weight) for entry in corpora]
    test = _open_named(config, config.test, folder)
    if config.validation is None:
        return _draw_parts(train, test, config)
    return Splits(train, _open(config, config.validation, folder), test)


def _open(config: DataConfig, files: str | list[str], folder: Path) -> ParallelCorpus:
    paths = [folder / file for file in ([files] if isinstance(files, str) else files)]
    return parallel_files(paths, config.columns_for(paths))


def _open_named(config: DataConfig, files: str | list[str] | None, folder: Path) -> ParallelCorpus | None:
    return None if files is None else _open(config, files, folder)


def _draw_parts(whole: list[WeightedCorpus], test: ParallelCorpus | None, config: DataConfig) -> Splits:
    """Validation and test data from the training files, cleaned: a pair's part does not depend on its file."""
    drawn = _drawn_split([each.corpus for each in whole], config)
    cleaned = [each.corpus.filtered(selecting_filters(config.cleaning)) for each in whole]

    def part(corpus: ParallelCorpus, name: Part) -> ParallelCorpus:
        return corpus.filtered([PartFilter(name, drawn, config.grouped_by)])

    def held_out(name: Part) -> ParallelCorpus:
        return ParallelCorpus.joined(f"the {name} part of {_join(cleaned)}", [part(corpus, name) for corpus in cleaned])

    train = [WeightedCorpus(part(corpus, "train"), each.weight) for corpus, each in zip(cleaned, whole, strict=True)]
    if test is None and drawn.test > 0:
        test = held_out("test")
    return Splits(train, held_out("validation"), test)


def _drawn_split(corpora: Sequence[ParallelCorpus], config: DataConfig) -> Split:
    """The split of files as the settings say, with shares that suit the number of pairs where they are not given."""
    split = config.chosen_split
    if config.validation_share is None or (config.test_share is None and config.test is None):
        share = default_share(sum(1 for corpus in corpora for _ in corpus))
        validation = share if config.validation_share is None else split.validation
        split = replace(split, validation=validation, test=share if config.test_share is None else split.test)
    return replace(split, test=0.0) if config.test is not None else split


def _join(corpora: Sequence[ParallelCorpus]) -> str:
    return ", ".join(corpus.name for corpus in corpora)


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
    columns = [dataset.languages.index(language) + 1 for language in (source, target)]
    corpora = [
        parallel_files([in_language(file, source), in_language(file, target)])
        if in_language(file, source) != file
        else table_file(file, columns)
        for file in shelf.files
    ]
    return ParallelCorpus.joined(f"{dataset.name} {split}{shelf.partial and f' ({shelf.partial})'}", corpora)


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
