"""Translations of long texts in shards, files of two thousand sentences: those that are there are not made again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, cast

import msgspec

from transduce.base.errors import CheckpointError, DataError
from transduce.base.files import new_file
from transduce.corpora.compression import PACKERS
from transduce.corpora.corpus import ParallelCorpus, TextCorpus
from transduce.corpora.lines import read_lines
from transduce.evaluation.translations import SentenceMetric, sentence_score
from transduce.inference.translation import Candidate, Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.search.sampling import Sampling

SHARD = 2000  # sentences
ENDING = ".jsonl.zst"

Sentence = tuple[str, str | None]
"""A sentence to translate, and its reference if there is one."""


class Translated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sentence with the translation that was chosen of its hypotheses."""

    source: str
    translation: str
    score: float
    """Log-probability per token in nats, the end token counted."""
    truncated: bool = False
    """True if the output reached the longest length allowed."""
    reference: str | None = None
    similarity: float | None = None
    """Score of the translation by the reference, 0 to 100; None without one."""
    similarity_of_best: float | None = None
    """Score of the hypothesis that the model prefers."""


@dataclass(frozen=True)
class TextPart:
    """A part of the texts to translate, whose shards are called by its name."""

    name: str
    texts: Sequence[ParallelCorpus | TextCorpus]
    search: Beam | Sampling
    """The search for each sentence; of several outputs, the one nearest the reference is kept."""

    def read(self) -> Iterator[Sentence]:
        """Yields its sentences, those of pairs with a reference."""
        for text in self.texts:
            for each in text:
                yield (each, None) if isinstance(each, str) else (each.source, each.target)

    @cached_property
    def sentences(self) -> int:
        """The number of its sentences."""
        return sum(1 for _ in self.read())

    def shards(self, folder: Path) -> list[Path]:
        """Returns the files of its translations."""
        return [folder / f"{self.name}-{number:05}{ENDING}" for number in range(-(-self.sentences // SHARD))]


def translate_part(
    part: TextPart, folder: Path, translator: Translator, metric: SentenceMetric, tell: Callable[[str], None]
) -> None:
    """Writes the translations of the shards that are missing; reports each."""
    sentences = part.read()
    for number, file in enumerate(part.shards(folder), 1):
        chunk = list(islice(sentences, SHARD))
        if file.exists():
            continue
        _write(file, _translate(translator, chunk, part.search, metric))
        tell(f"translated {min(number * SHARD, part.sentences):,} of {part.sentences:,} sentences of {part.name}")


def read_translations(files: Iterable[Path]) -> Iterator[Translated]:
    """Yields the translations in some shards; raises CheckpointError for a missing or damaged one."""
    decoder = msgspec.json.Decoder(Translated)
    for file in files:
        try:
            for line in read_lines(file):
                yield decoder.decode(line)
        except (DataError, msgspec.DecodeError) as error:
            reason = str(error).removeprefix(f"{file}: ")
            raise CheckpointError(f"{file}: {reason}; remove it, and its sentences are translated again") from None


def _translate(
    translator: Translator, sentences: Sequence[Sentence], search: Beam | Sampling, metric: SentenceMetric
) -> Iterator[Translated]:
    similarity = sentence_score(metric, [reference for _, reference in sentences if reference is not None])
    translations = list(translator.stream((source for source, _ in sentences), search))
    chosen = [_choose(*each, similarity) for each in zip(translations, sentences, strict=True)]
    tokens = translator.bundle.tokenizers.target.encode_batch([candidate.text for candidate, _ in chosen])
    for translation, (source, reference), (candidate, scores), ids in zip(
        translations, sentences, chosen, tokens, strict=True
    ):
        yield Translated(
            source=source,
            translation=candidate.text,
            score=candidate.log_probability / (len(ids) + 1),
            truncated=translation.truncated,
            reference=reference,
            similarity=max(scores, default=None),
            similarity_of_best=next(iter(scores), None),
        )


def _choose(
    translation: Translation, sentence: Sentence, similarity: Callable[[str, str], float]
) -> tuple[Candidate, list[float]]:
    """Returns the hypothesis nearest the reference, or the best without one, and the similarity of each to it."""
    candidates = translation.n_best or [Candidate(translation.text, 0.0, 0.0)]
    _, reference = sentence
    if reference is None or not translation.n_best:
        return candidates[0], []
    scores = [similarity(candidate.text, reference) for candidate in candidates]
    return candidates[scores.index(max(scores))], scores


def _write(path: Path, translations: Iterable[Translated]) -> None:
    with new_file(path) as new, new.open("wb") as raw, PACKERS[path.suffix](raw) as packed:
        file = cast(IO[bytes], packed)
        for translation in translations:
            file.write(msgspec.json.encode(translation) + b"\n")
