"""The texts of a language model: files, or a built-in text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.formats import text_file
from transduce.corpora.splits import open_text
from transduce.errors import DataError
from transduce.tasks.language.settings import DEFAULT_SHARE, TextConfig


@dataclass(frozen=True)
class LanguageTexts:
    """The training, validation and test text of a run."""

    train: TextCorpus
    validation: TextCorpus
    test: TextCorpus | None
    general_validation: TextCorpus | None = None
    """Validation text of the kind that the initial model was trained on."""
    general_test: TextCorpus | None = None


def open_texts(config: TextConfig, folder: Path, progress: Progress | None = None) -> LanguageTexts:
    """Opens the texts that the settings name; relative paths start from the folder."""
    general = [
        _joined(_files(files, folder)) if files else None for files in (config.general_validation, config.general_test)
    ]
    return replace(_open_own(config, folder, progress), general_validation=general[0], general_test=general[1])


def _open_own(config: TextConfig, folder: Path, progress: Progress | None) -> LanguageTexts:
    if config.dataset is not None:
        dataset = find_dataset(config.dataset)
        train, validation = (open_text(dataset.name, part, progress) for part in ("train", dataset.validation))
        has_test = dataset.test is not None and dataset.test in dataset.splits
        return LanguageTexts(
            train, validation, open_text(dataset.name, str(dataset.test), progress) if has_test else None
        )
    train_files = _files(config.train, folder)
    test = _joined(_files(config.test, folder)) if config.test is not None else None
    if config.validation is not None:
        return LanguageTexts(_joined(train_files), _joined(_files(config.validation, folder)), test)
    share = DEFAULT_SHARE if config.validation_share is None else config.validation_share
    cuts = [_cut(file, share) for file in train_files]
    train = TextCorpus.joined(_names(train_files), [text_file(f, 0, c) for f, c in zip(train_files, cuts, strict=True)])
    last = [text_file(file, cut) for file, cut in zip(train_files, cuts, strict=True)]
    return LanguageTexts(train, TextCorpus.joined(f"the last lines of {_names(train_files)}", last), test)


def _files(named: str | list[str] | None, folder: Path) -> list[Path]:
    return [folder / file for file in ([named] if isinstance(named, str) else named or [])]


def _joined(files: Sequence[Path]) -> TextCorpus:
    return TextCorpus.joined(_names(files), [text_file(file) for file in files])


def _names(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files))


def _cut(file: Path, share: float) -> int:
    """Returns the index of a file's first validation line."""
    lines = sum(1 for _ in text_file(file))
    held_out = max(round(share * lines), 1)
    if lines <= held_out:
        raise DataError(f"{file}: {lines} lines are too few to train and validate on; name validation files")
    return lines - held_out
