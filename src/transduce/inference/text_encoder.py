"""A text encoder as a tool: vectors of texts, and guesses at words that are hidden in them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.analysis.look_at_reading import NOTHING, ReadingResult
from transduce.analysis.look_at_text import Look, confidence_in
from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import TASKS, check_reads_texts
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.data.batch import SpecialIds, pad
from transduce.data.text_batch import Ids, TextBatch, make_text_batch, row_length, shorten
from transduce.inference.batched_texts import Row, read_texts, softmax
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.inference.looking import look_at_texts, whole_row
from transduce.models.heads import WordHead
from transduce.models.interface import EncodedText, Layered, Pooling, Rearranges
from transduce.nn.recording import record_inputs
from transduce.text.tokenizer import MASKS

GUESSES = 5


@dataclass(frozen=True)
class Guess:
    """A token that the model guesses for a hidden token."""

    token: str
    probability: float
    """The probability of the token, 0 to 1."""
    text: str
    """The whole text with this token filled in, as the tokenizer spells it; other hidden tokens stay hidden."""


@dataclass(frozen=True)
class HiddenPlace:
    """A hidden token of a text."""

    start: int
    """The start of the mark, in characters of the text, from 0."""
    end: int
    """The end of the mark, after its last character."""
    guesses: list[Guess]
    """The guesses, the likeliest first."""


@dataclass(frozen=True)
class FilledText:
    """A text with a model's guesses at its hidden tokens."""

    text: str
    """The text as it was given."""
    places: list[HiddenPlace]


@dataclass(frozen=True)
class HiddenStates:
    """The output of each layer of an encoder for one text."""

    tokens: list[str]
    """The text's tokens as the encoder reads them, special ones included."""
    layers: list[NDArray[np.float32]]
    """Per layer [tokens, width]: the embeddings that the first layer reads, then each layer's output; the last is the
    encoder's output, after its final norm if it has one. Widths differ only in recurrent models."""


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Encoder:
    """Reads texts by the encoder of a bundle's model, on its device and at its precision.

    For a translation model, it is the source's encoder. Raises InputError for a model without an encoder.
    """

    def __init__(self, bundle: ModelBundle) -> None:
        self._reads_sources = TASKS[bundle.config.task].tool == "translator"
        if not self._reads_sources:
            check_reads_texts("the model", bundle.config.task)
        self.bundle = bundle
        self.model = bundle.model

    @staticmethod
    def load(path: str | Path, device: str = "auto", precision: InferencePrecision = "float32") -> "Encoder":
        """Loads an encoder from the folder of a model or a run: see `transduce.load`."""
        return Encoder(load_bundle(path, device, precision))

    def directed(self, to: str | None = None, from_: str | None = None) -> "Encoder":
        """Returns the encoder of a translation model for one of its directions: see `Translator.directed`."""
        config = self.bundle.config
        direction = config.find_direction(to, from_)
        return self if config.languages is None else Encoder(self.bundle.directed(direction))

    def embed(
        self,
        texts: str | Iterable[str],
        pooling: Pooling = "mean",
        normalize: bool = True,
        layer: int | None = None,
    ) -> NDArray[np.float32]:
        """Returns a vector of one text [dim], or of each of several [texts, dim]; a text that is too long is cut.

        Args:
            texts: one text, or several.
            pooling: the mean of all tokens' vectors, special tokens included; the first token's; or the pooler's
                output, which is the first token's vector if the model has no pooler.
            normalize: True to scale vectors to length 1, so that their dot products are cosines.
            layer: the layer whose states are pooled, from 0 for the embeddings (default: the encoder's output).

        Raises InputError for an unknown pooling or layer.
        """
        if pooling not in get_args(Pooling):
            raise InputError(f"pooling = {pooling!r}: expected one of {', '.join(get_args(Pooling))}")
        several = [texts] if isinstance(texts, str) else list(texts)
        layers = len(self._layers)
        if layer is not None and not 0 <= layer <= layers:
            raise InputError(f"layer = {layer}: expected 0 (the embeddings) to {layers} (the last)")
        if layer is not None and pooling == "pooler":
            raise InputError("the pooler reads what the encoder gives; leave layer out, or choose another pooling")

        def made_of(batch: TextBatch) -> torch.Tensor:
            if layer is None:
                return self._encode(batch).vectors(pooling)
            hidden = self._states(batch)[layer]
            return EncodedText(hidden, hidden[:, 0], batch.is_real).vectors(pooling)

        outputs = self._read(self._rows(several), made_of)
        vectors = np.stack(outputs) if outputs else np.zeros((0, self._width), dtype=np.float32)
        if normalize:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return cast(NDArray[np.float32], vectors[0] if isinstance(texts, str) else vectors)

    @overload
    def hidden_states(  # type: ignore[overload-overlap] # a string is an iterable of strings, too
        self, texts: str
    ) -> HiddenStates: ...

    @overload
    def hidden_states(self, texts: Iterable[str]) -> list[HiddenStates]: ...

    def hidden_states(self, texts: str | Iterable[str]) -> HiddenStates | list[HiddenStates]:
        """Returns each layer's output for one text, or for each of several; a text that is too long is cut."""
        rows = self._rows([texts] if isinstance(texts, str) else list(texts))
        widths: list[int] = []

        def made_of(batch: TextBatch) -> torch.Tensor:
            states = self._states(batch)
            widths[:] = [state.shape[-1] for state in states]
            return torch.cat(states, -1)

        results = [
            HiddenStates(self._tokens(row), np.split(states, np.cumsum(widths)[:-1], axis=1))
            for row, states in zip(rows, self._read(rows, made_of), strict=True)
        ]
        return results[0] if isinstance(texts, str) else results

    @overload
    def fill(  # type: ignore[overload-overlap] # the same
        self, texts: str, guesses: int = GUESSES
    ) -> FilledText: ...

    @overload
    def fill(self, texts: Iterable[str], guesses: int = GUESSES) -> list[FilledText]: ...

    def fill(self, texts: str | Iterable[str], guesses: int = GUESSES) -> FilledText | list[FilledText]:
        """Guesses the token at each [MASK] of one text, or of several.

        Raises InputError for a model that was not trained to, or a text without [MASK] or too long for it.
        """
        check_reads_texts("the model", self.bundle.config.task)
        if not isinstance(self.model.head, WordHead):
            raise InputError("the model does not guess hidden words: it has no head for masked words")
        if guesses < 1:
            raise InputError(f"guesses = {guesses}: at least one guess must be asked for")
        return self._fill([texts], guesses)[0] if isinstance(texts, str) else self._fill(list(texts), guesses)

    def look(self, text: str, second: str | None = None) -> Look:
        """Shows how the model reads a text, or two: attention; and its guess at each [MASK], if it was trained to.

        Raises InputError for a text that is blank, or more than the model reads, or a translation model.
        """
        check_reads_texts("the model", self.bundle.config.task)
        row = whole_row(self.bundle, text, second, self._limit)
        texts = [text] if second is None else [text, second]
        if not isinstance(self.model.head, WordHead) or not MARK.search(text):
            return look_at_texts(self.bundle, texts, row, NOTHING)
        ids = self._hidden(text)
        return look_at_texts(self.bundle, texts, (ids, row[1]), self._guessed((ids, row[1])))

    @property
    def _layers(self) -> Sequence[nn.Module]:
        encoder = self.model.encoder
        assert isinstance(encoder, Layered)
        return encoder.blocks[1:]

    @property
    def _width(self) -> int:
        if not self._reads_sources:
            return self.bundle.reader.encoder.dim
        return self._read([([], None)], lambda batch: self._encode(batch).hidden)[0].shape[1]

    def _rows(self, texts: Sequence[str]) -> list[Row]:
        """Returns the ids of texts, cut to what the model reads."""
        if not self._reads_sources:
            return [shorten(ids, None, self._limit) for ids in self.bundle.tokenizers.target.encode_batch(texts)]
        most = self.bundle.config.longest_source + len(self.bundle.marks.source) + 1
        most = min(most, self.bundle.writer.source_limit or most)
        return [(ids[: most - 1], None) for ids in self.bundle.read(texts)]

    def _read(self, rows: Sequence[Row], made_of: Callable[[TextBatch], torch.Tensor]) -> list[NDArray[np.float32]]:
        make = _make_source_batch if self._reads_sources else make_text_batch
        return read_texts(self.model, rows, self.bundle.special, made_of, make_batch=make)

    def _encode(self, batch: TextBatch) -> EncodedText:
        if not self._reads_sources:
            return self.bundle.reader.encoder(batch.tokens, batch.segments, batch.is_real)
        hidden = self.bundle.writer.encode(batch.tokens, batch.is_real).hidden
        return EncodedText(hidden, hidden[:, 0], batch.is_real)

    def _states(self, batch: TextBatch) -> list[torch.Tensor]:
        """Returns the embeddings and each layer's output, [rows, time, width] each."""
        encoder = self.model.encoder
        with record_inputs(self._layers) as read:
            last = self._encode(batch).hidden
        if isinstance(encoder, Rearranges):
            read = [encoder.arranged_back(hidden, batch.is_real) for hidden in read]
        return [*read, last]

    def _tokens(self, row: Row) -> list[str]:
        special, ids = self.bundle.special, list(row[0])
        if self._reads_sources:
            return self.bundle.tokenizers.source.pieces([*ids, special.source_eos])
        return self.bundle.tokenizers.target.pieces([special.target_bos, *ids, special.target_eos])

    def _guessed(self, row: Row) -> ReadingResult:
        tokenizer = self.bundle.tokenizers.target
        positions = [i + 1 for i, token in enumerate(row[0]) if token == tokenizer.mask]  # the first token is [CLS]
        (logits,) = self._logits([row])
        log_probabilities = torch.from_numpy(logits).double().log_softmax(-1)
        best = log_probabilities.argmax(1).tolist()
        words = tokenizer.pieces(best)
        confidence = confidence_in(log_probabilities, best, lambda token: tokenizer.pieces([token])[0])
        shown = " ".join(map(spelled, words))
        return ReadingResult(
            shown, words, confidence, lambda outputs: outputs.float().log_softmax(-1)[:, positions, best]
        )

    def _fill(self, texts: Sequence[str], guesses: int) -> list[FilledText]:
        rows = [self._hidden(text) for text in texts]
        logits = self._logits([(ids, None) for ids in rows])
        return [self._filled(*each, guesses) for each in zip(texts, logits, strict=True)]

    def _logits(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        """Returns logits at the hidden positions alone of the first text of each row, [positions, vocabulary]."""
        model, mask = self.bundle.reader, self.bundle.tokenizers.target.mask
        head = model.head
        assert isinstance(head, WordHead) and mask is not None

        def made_of(batch: TextBatch) -> torch.Tensor:
            hidden = model.encoder(batch.tokens, batch.segments, batch.is_real).hidden
            is_shown = batch.tokens != mask
            most = int((~is_shown).sum(1).max())
            positions = is_shown.int().argsort(dim=1, stable=True)[:, :most, None]  # hidden tokens first, in order
            return head.output(head.before_output(hidden.gather(1, positions.expand(-1, -1, hidden.shape[2]))))

        outputs = read_texts(self.model, rows, self.bundle.special, made_of)
        return [logits[: list(first).count(mask)] for logits, (first, _) in zip(outputs, rows, strict=True)]

    def _hidden(self, text: str) -> Ids:
        """Returns the ids of a text, with the mask token at its marks."""
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
        tokenizer, hidden = self.bundle.tokenizers.target, []
        for mark, probabilities in zip(MARK.finditer(text), softmax(logits), strict=True):
            best = np.argsort(-probabilities, kind="stable")[:guesses].tolist()
            candidates = [
                Guess(piece, float(probabilities[token]), text[: mark.start()] + spelled(piece) + text[mark.end() :])
                for token, piece in zip(best, tokenizer.pieces(best), strict=True)
            ]
            hidden.append(HiddenPlace(mark.start(), mark.end(), candidates))
        return FilledText(text, hidden)

    @property
    def _limit(self) -> int:
        longest = self.bundle.config.longest_source
        return min(longest, self.bundle.reader.encoder.limit or longest)


def _make_source_batch(rows: Sequence[Row], special: SpecialIds) -> TextBatch:
    """Makes a batch of a translation model's sources, which end with a token and begin without one."""
    tokens, is_real = pad([ids for ids, _ in rows], special.source_pad, special.source_eos)
    return TextBatch(tokens, torch.zeros_like(tokens), is_real)


MARK = re.compile("|".join(map(re.escape, MASKS)))


def spelled(piece: str) -> str:
    """Returns a token of the vocabulary as it reads in a text."""
    return piece.removeprefix("##").replace("▁", " ").strip()
