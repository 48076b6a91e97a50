"""Settings of the texts that a run learns from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.ranges import NonNegativeInt, PositiveInt, Seed, ShareBelowOne, ShareWithin
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.cleaning import Step
from transduce.corpora.context_settings import ContextConfig
from transduce.corpora.directions import Direction, LanguageTokenPlace
from transduce.corpora.formats import Columns, is_bilingual, is_file_of_pairs
from transduce.corpora.generated.sequences import SequencesConfig
from transduce.corpora.given import pairs_setting
from transduce.corpora.languages import UNKNOWN, language_of, languages_of
from transduce.corpora.noise import Noise
from transduce.corpora.splitting import Side, Split, SplitKind

SEQUENCES = ("copy", "reverse")
SPLIT_FIELDS = {"split": "kind", "validation_share": "validation", "test_share": "test", "split_seed": "seed"}


class FilesConfig(Settings, frozen=True):
    """Files of sentence pairs, and their languages."""

    objects: ClassVar = {"files": pairs_setting}

    files: str | list[str]
    """Two line-aligned files, files of pairs (.tsv, .csv, .jsonl, .parquet, .tmx, .xlf, .po), or two files of subtitles
    (.srt, .vtt), aligned by time; .gz, .xz and .zst are read too. A pattern such as part-*.tsv.gz names all files that
    match it."""
    source: str | None = None
    """With data.directions: language of the first file or column (default: by the files' names)."""
    target: str | None = None
    """With data.directions: language of the second file or column."""

    def _check_together(self) -> None:
        if (self.source is None) != (self.target is None) or (self.source and self.source == self.target):
            raise ValueError("source and target go together, and differ")

    @property
    def direction(self) -> Direction:
        """The languages, by the settings or by the files' names."""
        if self.source is not None and self.target is not None:
            return Direction(self.source, self.target)
        return Direction(*languages_of([self.files] if isinstance(self.files, str) else self.files))


class CorpusConfig(FilesConfig, frozen=True):
    """One of several training corpora."""

    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """Number of times each of its pairs is seen in an epoch; 0.5 shows a new random half in each epoch."""


class DataConfig(Settings, frozen=True):
    """A built-in data set, or files; paths are relative to the file that names them.

    From Python, files may also be an iterable of pairs (source, target), which is written into the cache once.
    """

    objects: ClassVar = dict.fromkeys(
        ("train", "validation", "test", "general_validation", "general_test"), pairs_setting
    )
    retired: ClassVar = {"terms": None}

    dataset: str | None = None
    """Name of a built-in data set; `transduce data list` shows them."""
    source: str = "source"
    """Language to translate from; chooses the side of a built-in data set."""
    target: str = "target"
    """Language to translate to."""
    train: str | list[str | CorpusConfig] | None = None
    """Training files: two line-aligned ones, files of pairs (.tsv, .csv, .jsonl, .parquet, .tmx, .xlf, .po), two of
    subtitles (.srt, .vtt), or several corpora with weights. A pattern such as part-*.parquet names many files."""
    validation: str | list[str | FilesConfig] | None = None
    """Validation files, or with data.directions several corpora (default: a part of the training files)."""
    test: str | list[str | FilesConfig] | None = None
    """Test files, scored when training ends (default: a part of the training files if validation is one too)."""
    general_validation: str | list[str] | None = None
    """Validation files of the text that a model to start from knows already, to measure what it forgets."""
    general_test: str | list[str] | None = None
    """Test files of that text, scored when training ends."""
    monolingual: str | list[str] | None = None
    """Files of sentences in the target language, one a line, for the language model of a phrase-based model; the first
    100,000 lines count. A neural model learns from such text by `transduce backtranslate`."""
    directions: list[str] | None = None
    """Directions that one model learns, such as ["de-en", "en-de"]: each from all corpora of its two languages, in
    either order; in place of source and target."""
    temperature: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """Temperature T of sampling (Arivazhagan et al. 2019): of n pairs of a direction, or else of a corpus, an
    epoch sees n^(1/T), times a number that leaves its length; 1 sees each pair once, 100 all equally often."""
    language_token: LanguageTokenPlace = "source"
    """With directions: the position of the token that gives the direction. source: the target language before each
    source (Johnson et al. 2017); decoder: the source language there, and the target language as the decoder's first
    token (Fan et al. 2021)."""
    columns: list[PositiveInt | str] | None = None
    """Source and target column of a .tsv, .csv or .parquet (numbers from 1, or names; default: those called by the
    languages, or source and target, or else the only two), keys of a .jsonl, or languages of a .tmx; for these the
    default is source and target. A third column or key names the document of each pair, for data.context."""
    context: ContextConfig | None = None
    """Read each source with the sentences before it in its document (default: alone). Documents are told by a third
    column, or in two files by blank lines; else each file is one."""
    max_tokens: PositiveInt | None = None
    """Training pairs with more tokens on either side are removed; no limit by default."""
    cleaning: tuple[Step, ...] = ()
    """Cleaning steps, applied in this order to the training pairs; counts and examples are printed. Data without a
    predefined split are cleaned before they are split."""
    doctor: NonNegativeInt = 0
    """Number of training pairs from which a doctor learns what a good pair is, before it repairs all of them and leaves
    out faulty ones, as `transduce data doctor` shows; 0 for no doctor. Only for files."""
    noise: Noise = Noise()
    """Copies of the training pairs that are left, written as people type."""
    split: SplitKind | None = None
    """The split of files without validation files, or of a built-in data set without its own: all pairs with the
    same English (else target) sentence in one part (grouped, default), each by itself (random), which leaks
    other translations, or 10 in a row together (blocks, default with context)."""
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
        if self.columns is not None and not any(map(_are_files_of_pairs, self._files)):
            raise ValueError("columns: only for files of pairs, .tsv, .csv, .jsonl or .parquet; leave them out")
        if self.columns is not None and not len(self.columns) == len(set(self.columns)) in (2, 3):
            raise ValueError(
                "columns: expected two columns that differ, the source's and the target's, or a third, the document's"
            )
        if self.context is not None and (self.doctor or self.noise.shares or self.is_generated):
            raise ValueError("context: sentences would lose those before them; leave out doctor, noise or dataset")
        if self.context is not None and self.split not in (None, "blocks"):
            raise ValueError('context: sentences would lose those before them; leave out split, or set it to "blocks"')
        if self.doctor and self.train is None:
            raise ValueError("doctor: only for training files; leave it out")
        if self.sequences is not None and self.dataset not in SEQUENCES:
            raise ValueError("sequences: only for the data sets copy and reverse")
        for file in self.monolingual_files:
            if self.target != UNKNOWN[1] and language_of(file) not in (None, self.target):
                raise ValueError(
                    f"monolingual: {file} is in {language_of(file)} by its name; give text of the target language, "
                    f"{self.target}"
                )
        self.chosen_split  # noqa: B018 - raises where the shares do not fit
        self._check_directions()

    @property
    def monolingual_files(self) -> list[str]:
        """The files of text in the target language."""
        return [self.monolingual] if isinstance(self.monolingual, str) else list(self.monolingual or ())

    def _check_directions(self) -> None:
        named = [entry for entry in self._entries if isinstance(entry, FilesConfig)]
        if self.directions is None:
            if self.language_token != "source":
                raise ValueError("language_token: only with directions")
            if any(entry.source or not isinstance(entry, CorpusConfig) for entry in named):
                raise ValueError("corpora name their languages, so name the directions: directions = [...]")
            return
        if not self.directions:
            raise ValueError("directions: expected one at least")
        for text in self.directions:
            try:
                Direction.parse(text)
            except ValueError as error:
                raise ValueError(f"directions: {error}") from None
        if len(set(self.directions)) < len(self.directions):
            raise ValueError("directions: one is named twice")
        if (self.source, self.target) != UNKNOWN:
            raise ValueError("directions: they say source and target, too; leave these out")
        if self.general_validation or self.general_test:
            raise ValueError("directions: general_validation and general_test have one direction; leave them out")
        if self.is_generated:
            raise ValueError(f"directions: {self.dataset} has one direction; leave them out")

    @property
    def all_directions(self) -> list[Direction]:
        """The directions that one model learns; none if it learns only one, without a token for it."""
        return [Direction.parse(text) for text in self.directions or ()]

    @property
    def learned(self) -> list[Direction]:
        """The directions that a run learns: several, or the one between its two languages."""
        return self.all_directions or [Direction(self.source, self.target)]

    def directed(self, direction: Direction) -> "DataConfig":
        """Returns the settings of one of the directions of a data set."""
        return msgspec.structs.replace(
            self,
            source=direction.source,
            target=direction.target,
            directions=None,
            temperature=1.0,
            language_token="source",
        )

    @property
    def _entries(self) -> list[str | FilesConfig]:
        """Files and corpora for training, validation and test."""
        entries: list[str | FilesConfig] = []
        for named in (self.train, self.validation, self.test):
            entries += [named] if isinstance(named, str) else named or []
        return entries

    @property
    def _files(self) -> list[str | list[str]]:
        """The files of each corpus that is named."""
        named = (self.train, self.validation, self.test, self.general_validation, self.general_test)
        return [corpus.files for entries in named if entries for corpus in corpora_of(entries)]

    def columns_for(self, paths: Sequence[str | Path], direction: Direction | None = None) -> Columns | None:
        """Returns the columns of some files: of a document its languages, as far as they are known."""
        if not _are_files_of_pairs(paths):
            return None
        languages = (self.source, self.target) if direction is None else (direction.source, direction.target)
        return languages if self.columns is None and is_bilingual(paths[0]) and languages != UNKNOWN else self.columns

    @property
    def is_generated(self) -> bool:
        """True if the pairs are made by a rule, so that each source has one right target."""
        return self.dataset is not None and find_dataset(self.dataset).kind == "generated"

    @property
    def chosen_split(self) -> Split:
        """The split of pairs that have none of their own."""
        usual = {} if self.context is None else {"kind": "blocks"}
        return Split(**usual | {SPLIT_FIELDS[name]: value for name, value in self.split_settings.items()})

    @property
    def grouped_by(self) -> Side:
        """The side whose sentences stay in one part: the English one, else the target."""
        return "source" if self.source == "en" else "target"

    @property
    def split_settings(self) -> dict[str, Any]:
        """The settings of the split that are given."""
        return {name: value for name in SPLIT_FIELDS if (value := getattr(self, name)) is not None}


def _are_files_of_pairs(files: str | Sequence[str | Path]) -> bool:
    """Returns True if both sides are in each file; a single file of another kind is refused when it is read."""
    files = [files] if isinstance(files, str) else files
    return len(files) == 1 or (len(files) > 0 and all(map(is_file_of_pairs, files)))


def corpora_of(entries: str | Sequence[str | FilesConfig]) -> list[CorpusConfig]:
    """Returns corpora as settings name them: one by its files, or tables; ConfigError for both."""
    entries = [entries] if isinstance(entries, str) else entries
    plain = [entry for entry in entries if isinstance(entry, str)]
    tables = [entry for entry in entries if isinstance(entry, FilesConfig)]
    if plain and tables:
        raise ConfigError("data.train: file names and tables cannot be mixed; write each corpus as [[data.train]]")
    if not tables:
        return [CorpusConfig(files=plain)]
    return [
        each
        if isinstance(each, CorpusConfig)
        else CorpusConfig(files=each.files, source=each.source, target=each.target)
        for each in tables
    ]
