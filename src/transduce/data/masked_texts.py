"""Documents cut into rows that fill an encoder: two parts, consecutive or not, or one part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.base.devices import OnDevice
from transduce.base.errors import DataError
from transduce.corpora.text_documents import TextDocument
from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData, TextBatchingConfig
from transduce.data.masking import Masking
from transduce.data.planned import Epoch, PlannedData, Rows, largest_part
from transduce.data.text_batch import Ids, TextBatch, make_text_batch, row_length
from transduce.text.tokenizer import Tokenizer

SENTENCES_AT_ONCE = 4096
SHORT = 0.1  # share of rows that are filled to a random length (Devlin et al. 2019, appendix A.2)


@dataclass(frozen=True)
class MaskedBatch(OnDevice):
    """Texts with hidden tokens, their original ids, and for two texts, if the second follows the first."""

    text: TextBatch
    places: torch.Tensor
    """Indices of the hidden tokens in the flattened rows * time: [hidden]."""
    words: torch.Tensor
    """Original ids of the hidden tokens: [hidden]."""
    follows: torch.Tensor | None
    """1 where the second text follows the first, else 0: [rows]; None with one text a row."""
    words_per_row: float = 0.0
    """Mean number of hidden tokens in a row over the data: the same in all batches, so that the losses of a batch's
    parts add up to the batch's."""


@dataclass(frozen=True)
class SentenceStore:
    """The ids of all sentences, document after document."""

    ids: NDArray[np.int32]
    sentences: NDArray[np.int64]
    """Index in `ids` of each sentence's first token, and the number of all tokens."""
    documents: NDArray[np.int64]
    """Index of each document's first sentence, and the number of all sentences."""

    def __len__(self) -> int:
        return len(self.ids)

    def tokens(self, first: int, stop: int) -> NDArray[np.int32]:
        """Returns the ids of consecutive sentences."""
        return self.ids[self.sentences[first] : self.sentences[stop]]


def store_sentences(documents: Iterable[TextDocument], tokenizer: Tokenizer, name: str) -> SentenceStore:
    """Encodes documents, in memory; raises DataError if there are none."""
    lengths: list[int] = []
    counts: list[int] = []
    parts: list[NDArray[np.int32]] = []
    waiting: list[str] = []

    def encode() -> None:
        encoded = tokenizer.encode_batch(waiting)
        lengths.extend(map(len, encoded))
        parts.append(np.array([token for ids in encoded for token in ids], dtype=np.int32))
        waiting.clear()

    for document in documents:
        counts.append(len(document.sentences))
        waiting.extend(document.sentences)
        if len(waiting) >= SENTENCES_AT_ONCE:
            encode()
    encode()
    if not sum(lengths):
        raise DataError(f"{name}: there is no text")
    return SentenceStore(np.concatenate(parts), np.cumsum([0, *lengths]), np.cumsum([0, *counts]))


@dataclass(frozen=True)
class MaskedRow:
    """A row before its tokens are hidden."""

    first: NDArray[np.int32]
    second: NDArray[np.int32] | None
    follows: bool


@dataclass(frozen=True)
class MaskedTexts:
    """Rows of documents with hidden tokens, both drawn anew in each epoch, or once if masking is not dynamic."""

    store: SentenceStore
    masking: Masking
    special: SpecialIds
    config: TextBatchingConfig
    next_sentence: bool
    """True if a row has two texts; half of the second ones then come from another document."""
    seed: int

    def planned(self) -> PlannedData[MaskedBatch]:
        """Returns the rows in batches. Epochs have rows of about the same length, since rows are filled."""
        return PlannedData(self._epoch)

    def draw(self, epoch: int) -> list[MaskedRow]:
        """Returns all rows of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        rows = []
        documents = self.store.documents
        for number in range(len(documents) - 1):
            rows += self._of_document(number, int(documents[number]), int(documents[number + 1]), random)
        return rows

    def _epoch(self, number: int) -> Epoch[MaskedBatch]:
        drawn = number if self.masking.config.dynamic else 0
        rows = self.draw(drawn)
        lengths = np.array([row_length(row.first, row.second) for row in rows], dtype=np.int64)
        examples = ExampleData(lengths, lambda numbers: self._make(rows, drawn, numbers), self.config, self.seed)
        return replace(examples.epoch(number), find_largest=largest_part)

    def _make(self, drawn: Sequence[MaskedRow], epoch: int, numbers: Rows) -> MaskedBatch:
        """Makes a batch of the rows with these indices, and hides some of their tokens."""
        rows: list[tuple[Ids, Ids | None]] = []
        hidden: list[NDArray[np.int64]] = []
        words: list[NDArray[np.int64]] = []
        chosen = [drawn[number] for number in numbers]
        for number, row in zip(numbers.tolist(), chosen, strict=True):
            random = np.random.default_rng([self.seed, number, epoch])
            tokens = row.first if row.second is None else np.concatenate([row.first, row.second])
            changed, indices = self.masking.hide(tokens, random)
            rows.append((changed[: len(row.first)], None if row.second is None else changed[len(row.first) :]))
            hidden.append(indices + 1 + (indices >= len(row.first)))  # after [CLS], and [SEP]
            words.append(tokens[indices].astype(np.int64))
        text = make_text_batch(rows, self.special)
        time = text.tokens.shape[1]
        return MaskedBatch(
            text,
            torch.from_numpy(np.concatenate([indices + row * time for row, indices in enumerate(hidden)])),
            torch.from_numpy(np.concatenate(words)),
            torch.tensor([int(row.follows) for row in chosen]) if self.next_sentence else None,
            self._words_per_row,
        )

    @cached_property
    def _words_per_row(self) -> float:
        rows = self.draw(0)
        tokens = sum(len(row.first) + (0 if row.second is None else len(row.second)) for row in rows)
        return self.masking.config.share * tokens / max(len(rows), 1)

    def _of_document(self, number: int, first: int, stop: int, random: np.random.Generator) -> list[MaskedRow]:
        room = self.config.max_tokens - (3 if self.next_sentence else 2)
        rows = []
        while first < stop:
            goal = int(random.integers(2, room + 1)) if random.random() < SHORT else room
            if not self.next_sentence:
                end = self._last_within(first, stop, goal)
                tokens = self.store.tokens(first, end)
                rows += [MaskedRow(tokens[i : i + room], None, False) for i in range(0, len(tokens), room)]
                first = end
                continue
            end = first + 1
            while end < stop and self.store.sentences[end] - self.store.sentences[first] < goal:
                end += 1
            middle = int(random.integers(first + 1, end)) if end - first > 1 else end
            text, is_next = self.store.tokens(first, middle), end - first > 1 and random.random() < 0.5
            second = (
                self.store.tokens(middle, end) if is_next else self._elsewhere(number, middle, goal - len(text), random)
            )
            text, second = _cut(text, second, room)
            if len(text) and len(second):
                rows.append(MaskedRow(text, second, is_next))
            first = end if is_next else middle  # the next row begins with what this one left
        return rows

    def _last_within(self, first: int, stop: int, goal: int) -> int:
        """Returns the end of the longest run of sentences from `first`, at least one, with at most `goal` tokens."""
        end = first + 1
        while end < stop and self.store.sentences[end + 1] - self.store.sentences[first] <= goal:
            end += 1
        return end

    def _elsewhere(self, number: int, after: int, goal: int, random: np.random.Generator) -> NDArray[np.int32]:
        """Returns sentences of another document, from a random one on; of a single document, those that do not come
        next."""
        documents = self.store.documents
        count = len(documents) - 1
        other = (number + int(random.integers(1, max(count, 2)))) % count
        first = int(random.integers(documents[other], documents[other + 1]))
        if count == 1 and first == after:
            first = 0 if after else int(documents[-1]) - 1
        end = first + 1
        while end < documents[other + 1] and self.store.sentences[end] - self.store.sentences[first] < goal:
            end += 1
        return self.store.tokens(first, end)


def _cut(first: NDArray[np.int32], second: NDArray[np.int32], room: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Cuts the longer text at its outer end until both fit."""
    of_second = min(len(second), max(room // 2, room - len(first)))
    return first[max(len(first) + of_second - room, 0) :], second[:of_second]
