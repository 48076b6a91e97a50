"""A text encoder as a tool: vectors of texts, and guesses at words that are hidden in them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.analysis.look import Look, confidence_in
from transduce.analysis.look_at_reading import NOTHING, Told
from transduce.bundle import ModelBundle
from transduce.data.text_batch import Ids, TextBatch, row_length, shorten
from transduce.devices import find_device
from transduce.errors import InputError
from transduce.inference.engines.precision import InferencePrecision, at_precision, device_for
from transduce.inference.looking import look_at_texts, whole_row
from transduce.inference.texts import Row, read_texts, softmax
from transduce.models.heads import EncoderModel, WordHead
from transduce.models.interface import Pooling
from transduce.task_table import check_reads_texts
from transduce.text.tokenizer import MASKS

GUESSES = 5


@dataclass(frozen=True)
class Guess:
    """A token that may stand at a hidden place."""

    token: str
    probability: float
    """0 to 1."""
    text: str
    """The whole text with this token in its place, as the tokenizer spells it; other hidden places stay hidden."""


@dataclass(frozen=True)
class HiddenPlace:
    """A place that the text hides."""

    start: int
    """Of its mark, in characters of the text, from 0."""
    end: int
    """After it."""
    guesses: list[Guess]
    """The likeliest first."""


@dataclass(frozen=True)
class FilledText:
    """What a model guesses of a text."""

    text: str
    """As it was given."""
    places: list[HiddenPlace]


class Encoder:
    """Reads texts by the encoder of a bundle's model, whatever else stands on it, on its device and at its precision.

    Raises InputError for a model without a text encoder.
    """

    def __init__(self, bundle: ModelBundle) -> None:
        check_reads_texts("the model", bundle.config.task)
        self.bundle = bundle
        self.model = cast(EncoderModel, bundle.model)

    @staticmethod
    def load(path: str | Path, device: str = "auto", precision: InferencePrecision = "float32") -> "Encoder":
        """An encoder from the folder of a model or a run: see `transduce.load`."""
        place = find_device(device_for(precision, device))
        return Encoder(at_precision(ModelBundle.load(Path(path), place), precision))

    @overload
    def embed(self, texts: str, pooling: Pooling = "mean", normalize: bool = True) -> NDArray[np.float32]: ...

    @overload
    def embed(self, texts: Iterable[str], pooling: Pooling = "mean", normalize: bool = True) -> NDArray[np.float32]: ...

    def embed(
        self, texts: str | Iterable[str], pooling: Pooling = "mean", normalize: bool = True
    ) -> NDArray[np.float32]:
        """A vector of one text [dim], or of each of several [texts, dim]; a text that is too long is cut.

        Args:
            texts: one or several.
            pooling: the mean of all tokens' vectors, special tokens included; the first token's; or the pooler's,
                which is the first token's where the model has none.
            normalize: whether vectors are of length 1, so that their dot products are cosines.

        Raises InputError for another pooling.
        """
        if pooling not in get_args(Pooling):
            raise InputError(f"pooling = {pooling!r}: expected one of {', '.join(get_args(Pooling))}")
        several = [texts] if isinstance(texts, str) else list(texts)
        rows = [shorten(ids, None, self._limit) for ids in self.bundle.tokenizers.target.encode_batch(several)]

        def made_of(batch: TextBatch) -> torch.Tensor:
            return self.model.encoder(batch.tokens, batch.segments, batch.is_real).vectors(pooling)

        found = read_texts(self.model, rows, self.bundle.special, made_of)
        vectors = np.stack(found) if found else np.zeros((0, self.model.encoder.dim), dtype=np.float32)
        if normalize:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return cast(NDArray[np.float32], vectors[0] if isinstance(texts, str) else vectors)

    @overload
    def fill(  # type: ignore[overload-overlap] # the same
        self, texts: str, guesses: int = GUESSES
    ) -> FilledText: ...

    @overload
    def fill(self, texts: Iterable[str], guesses: int = GUESSES) -> list[FilledText]: ...

    def fill(self, texts: str | Iterable[str], guesses: int = GUESSES) -> FilledText | list[FilledText]:
        """Guess what stands at each [MASK] of one text, or of several.

        Raises InputError for a model that was not trained to, or a text without [MASK] or too long for it.
        """
        if not isinstance(self.model.head, WordHead):
            raise InputError("the model does not guess hidden words: it has no head for masked words")
        if guesses < 1:
            raise InputError(f"guesses = {guesses}: at least one guess must be asked for")
        if isinstance(texts, str):
            return self._fill([texts], guesses)[0]
        return self._fill(list(texts), guesses)

    def look(self, text: str, second: str | None = None) -> Look:
        """What the model does with a text, or two: attention; and its guess at each [MASK], where it was trained to.

        Raises InputError for a text that is blank, or more than the model reads.
        """
        row = whole_row(self.bundle, text, second, self._limit)
        texts = [text] if second is None else [text, second]
        if not isinstance(self.model.head, WordHead) or not MARK.search(text):
            return look_at_texts(self.bundle, texts, row, NOTHING)
        ids = self._hidden(text)
        return look_at_texts(self.bundle, texts, (ids, row[1]), self._guessed((ids, row[1])))

    def _guessed(self, row: Row) -> Told:
        tokenizer = self.bundle.tokenizers.target
        places = [place + 1 for place, token in enumerate(row[0]) if token == tokenizer.mask]  # the first is [CLS]
        (logits,) = self._logits([row])
        log_probabilities = torch.from_numpy(logits).double().log_softmax(-1)
        best = log_probabilities.argmax(1).tolist()
        words = tokenizer.pieces(best)
        confidence = confidence_in(log_probabilities, best, lambda token: tokenizer.pieces([token])[0])
        told = " ".join(map(spelled, words))
        return Told(told, words, confidence, lambda outputs: outputs.float().log_softmax(-1)[:, places, best])

    def _fill(self, texts: Sequence[str], guesses: int) -> list[FilledText]:
        rows = [self._hidden(text) for text in texts]
        found = self._logits([(ids, None) for ids in rows])
        return [self._filled(*each, guesses) for each in zip(texts, found, strict=True)]

    def _logits(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        """Those at the hidden places of the first text of each row, [places, vocabulary]; none are made elsewhere."""
        head, mask = cast(WordHead, self.model.head), cast(int, self.bundle.tokenizers.target.mask)

        def made_of(batch: TextBatch) -> torch.Tensor:
            hidden = self.model.encoder(batch.tokens, batch.segments, batch.is_real).hidden
            is_shown = batch.tokens != mask
            most = int((~is_shown).sum(1).max())
            places = is_shown.int().argsort(dim=1, stable=True)[:, :most, None]  # hidden ones first, from left to right
            return head.output(head.before_output(hidden.gather(1, places.expand(-1, -1, hidden.shape[2]))))

        found = read_texts(self.model, rows, self.bundle.special, made_of)
        return [logits[: list(first).count(mask)] for logits, (first, _) in zip(found, rows, strict=True)]

    def _hidden(self, text: str) -> Ids:
        """The ids of a text, with the token that hides at its marks."""
        tokenizer = self.bundle.tokenizers.target
        if tokenizer.mask is None:
            raise InputError("the model's tokenizer has no [MASK]")
        parts = MARK.split(text)
        if len(parts) == 1:
            raise InputError(f"nothing is hidden in {text[:60]!r}; write [MASK] where the model is to guess")
        first, *others = tokenizer.encode_batch(parts)
        ids = [*first, *(token for part in others for token in (tokenizer.mask, *part))]
        if row_length(ids, None) > self._limit:
            raise InputError(f"{text[:60]!r}... has {len(ids):,} tokens, but the model reads {self._limit:,} at most")
        return ids

    def _filled(self, text: str, logits: NDArray[np.float32], guesses: int) -> FilledText:
        tokenizer, places = self.bundle.tokenizers.target, []
        for mark, probabilities in zip(MARK.finditer(text), softmax(logits), strict=True):
            best = np.argsort(-probabilities, kind="stable")[:guesses].tolist()
            found = [
                Guess(piece, float(probabilities[token]), text[: mark.start()] + spelled(piece) + text[mark.end() :])
                for token, piece in zip(best, tokenizer.pieces(best), strict=True)
            ]
            places.append(HiddenPlace(mark.start(), mark.end(), found))
        return FilledText(text, places)

    @property
    def _limit(self) -> int:
        return min(self.bundle.config.longest_source, self.model.encoder.limit or self.bundle.config.longest_source)


MARK = re.compile("|".join(map(re.escape, MASKS)))


def spelled(piece: str) -> str:
    """A token of the vocabulary as it reads in a text."""
    return piece.removeprefix("##").replace("▁", " ").strip()
