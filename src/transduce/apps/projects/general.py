"""Pairs of the text that a model knows already, which learning should not make it forget."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.bundle.probe import read_probe
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import is_file_of_pairs, parallel_files
from transduce.corpora.lines import read_lines
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

MOST_PAIRS = 2000
"""Pairs of a file that are read."""


@dataclass(frozen=True)
class General:
    """General pairs, in a fixed order."""

    pairs: Sequence[SentencePair]
    is_replayed: bool = True
    """True if some of them are replayed, and the others are a check; else all are a check."""

    @property
    def content(self) -> str:
        """Hash of the pairs."""
        texts = [[pair.source, pair.target] for pair in self.pairs]
        return hashlib.sha256(msgspec.json.encode([self.is_replayed, texts])).hexdigest()

    @staticmethod
    def of_probe(bundle: ModelBundle) -> "General":
        """Returns the few pairs that every model brings, which are only a check."""
        assert bundle.folder is not None
        probe = read_probe(find_bundle(bundle.folder))
        targets = [bundle.tokenizers.target.decode(ids) for ids in probe.target]
        return General([SentencePair(*pair) for pair in zip(probe.text, targets, strict=True)], is_replayed=False)

    @staticmethod
    def read(files: Sequence[str], folder: Path, bundle: ModelBundle) -> "General":
        """Reads the files of `learning.general`; without any, returns the pairs of the probe.

        The targets of a file of sources alone are the model's own translations (self-distillation).

        Raises DataError for files that cannot be read or are not aligned, ConfigError for too many or empty ones.
        """
        paths = [folder / file for file in files]
        if not paths:
            return General.of_probe(bundle)
        if len(paths) > 2:
            raise ConfigError(f"learning.general: {len(paths)} files; give one of each language, or one of sources")
        if len(paths) == 2 or is_file_of_pairs(paths[0]):
            pairs = list(islice(parallel_files(paths), MOST_PAIRS))
        else:
            sources = list(islice(read_lines(paths[0]), MOST_PAIRS))
            targets = Translator(bundle).translate(sources, Beam(size=1))
            pairs = [SentencePair(source, target.text) for source, target in zip(sources, targets, strict=True)]
        pairs = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
        if not pairs:
            raise ConfigError(f"learning.general: {paths[0]} has no text; give files with sentences, or none")
        return General(pairs)
