"""Finds the training pairs that taught a model a word: by the words that stand together, then by decoder states."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from docsegments.orthography.words import without_signs, word_texts
from transduce.analysis.contrast import Decision, InputWord, Side
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import make_batch, with_marks
from transduce.data.pair_index import PairIndex, WordForms
from transduce.text.phrase_encoder import PhraseEncoder

SAMPLED = 4000
"""The most pairs with both words of which the likest are chosen; of more, a sample."""
COMPARED = 128
"""The most pairs whose decoder states are computed."""
SHOWN = 5
ROWS_AT_ONCE = 32
READ = 300
"""The most pairs with the other word in which a source word for it is sought."""
FREQUENT = 20
"""The most frequent words of these pairs, of which one is chosen."""
LEAST = 0.2
"""The least Dice coefficient, 0 to 1, of a source word with the other word."""

Ids = Sequence[int] | NDArray[np.integer]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class TaughtPair:
    """A training pair that has the word."""

    source: str
    target: str
    similarity: float
    """The cosine of the decoder's state before the word in this pair, and in the sentence, -1 to 1."""


@dataclass(frozen=True)
class Taught:
    """Counts of training pairs with a word and its cause, and the nearest of them."""

    pairs: int
    """The number of training pairs."""
    with_cause: int
    with_word: int
    with_other: int
    word_and_cause: int
    other_and_cause: int
    nearest: list[TaughtPair]
    """The pairs with both the word and its cause (if there are none, with the word), the nearest first."""
    instead: str | None
    """The source word that stands most often beside the other word; None if there is none."""


class PairSearch:
    """Searches the training pairs of a model by words."""

    def __init__(self, bundle: ModelBundle, indices: Sequence[PairIndex]) -> None:
        self.bundle = bundle
        self.indices = indices
        source, target = PhraseEncoder(bundle.tokenizers.source), PhraseEncoder(bundle.tokenizers.target)
        self._encoders: dict[Side, PhraseEncoder] = {"source": source, "context": source, "output": target}

    def teach(
        self, decision: Decision, word: str, other: str, within: int, cause: InputWord | None, known: Collection[str]
    ) -> Taught:
        """Returns what the training pairs say.

        Args:
            decision: the step at which the model decided.
            word: the word that it wrote.
            other: the word that it did not write.
            within: the number of tokens of the word before the step.
            cause: the word that it wrote it for; None if there is none.
            known: the words of the source.
        """
        of_word, of_other = self._rows(word, "output"), self._rows(other, "output")
        of_cause = of_word if cause is None else self._rows(bare(cause.text), cause.side)
        in_both = partial(np.intersect1d, assume_unique=True)
        both, others = (list(map(in_both, of_cause, rows)) for rows in (of_word, of_other))
        likest = self._likest(both if _count(both) else of_word, decision.source[0].tolist())
        return Taught(
            pairs=sum(len(index.store) for index in self.indices),
            with_cause=_count(of_cause),
            with_word=_count(of_word),
            with_other=_count(of_other),
            word_and_cause=_count(both),
            other_and_cause=_count(others),
            nearest=self._nearest(decision, word, within, likest),
            instead=self._instead(of_other, known),
        )

    def _rows(self, word: str, side: Side) -> list[Rows]:
        """Returns the pairs of each index that have a word."""
        forms = self._forms(word, side)
        return [index.rows_with(forms, side) for index in self.indices]

    def _forms(self, word: str, side: Side) -> WordForms:
        encoder = self._encoders[side]
        return WordForms(encoder.forms(word), np.array(encoder.continues), np.array(encoder.leaves_open))

    def _likest(self, found: Sequence[Rows], source: Sequence[int]) -> list[tuple[PairIndex, int]]:
        """Returns the pairs whose sources have most in common with one."""
        apart, rated = max(1, -(-_count(found) // SAMPLED)), []
        for index, rows in zip(self.indices, found, strict=True):
            scores = index.overlap(rows[::apart], source)
            rated += [(score, index, int(row)) for score, row in zip(scores, rows[::apart], strict=True)]
        return [pair for _, *pair in sorted(rated, key=lambda each: -each[0])[:COMPARED]]  # type: ignore[misc]

    @torch.inference_mode()
    def _nearest(
        self, decision: Decision, word: str, within: int, pairs: Sequence[tuple[PairIndex, int]]
    ) -> list[TaughtPair]:
        """Returns the pairs in which the decoder's state before the word is nearest to that of the decision."""
        forms, tokenizers, marks = self._forms(word, "output"), self.bundle.tokenizers, self.bundle.marks.source
        state = self._states([decision.source[0, :-1].tolist()], [decision.so_far], [len(decision.so_far)])
        rated: list[tuple[float, PairIndex, int]] = []
        pairs = sorted(pairs, key=lambda pair: len(pair[0].store.source[pair[1]]))  # alike in length: less padding
        for start in range(0, len(pairs), ROWS_AT_ONCE):
            some = pairs[start : start + ROWS_AT_ONCE]
            sources = [with_marks(index.store.source[row], marks) for index, row in some]
            targets = [index.store.target[row] for index, row in some]
            steps = [forms.first_in(target.tolist()) + within for target in targets]
            alike = functional.cosine_similarity(self._states(sources, targets, steps), state)
            rated += [(each, *pair) for each, pair in zip(alike.tolist(), some, strict=True)]
        rated.sort(key=lambda each: -each[0])
        return [
            TaughtPair(
                tokenizers.source.decode(index.source.side[row].tolist()),
                tokenizers.target.decode(index.target.side[row].tolist()),
                similarity,
            )
            for similarity, index, row in rated[:SHOWN]
        ]

    def _states(
        self, sources: Sequence[Ids], targets: Sequence[Ids], steps: Sequence[int]
    ) -> Float[Tensor, "rows dim"]:
        """Returns the decoder's state from which it predicts one token of each target."""
        batch = make_batch(sources, targets, self.bundle.special).to(self.bundle.device)
        model = self.bundle.writer
        memory = model.encode(batch.source, batch.source_is_real)
        hidden, _ = model.decoder.read(batch.target_in, model.start(memory))  # [rows, time, dim]
        # a word that is spelled otherwise there may be shorter
        return hidden[torch.arange(len(steps)), torch.tensor(steps).clamp(max=hidden.shape[1] - 1)]

    def _instead(self, of_other: Sequence[Rows], known: Collection[str]) -> str | None:
        """Returns the source word, of none in `known`, that goes best with the other word, by Dice's coefficient."""
        total, seen, counts = _count(of_other), 0, Counter[str]()
        apart = max(1, -(-total // READ))
        for index, rows in zip(self.indices, of_other, strict=True):
            for row in rows[::apart]:
                seen += 1
                text = self.bundle.tokenizers.source.decode(index.source.side[row].tolist())
                counts.update({bare(each) for each in word_texts(text)})
        found = {}
        for word, count in [each for each in counts.most_common(FREQUENT) if each[0] not in known]:
            of_word = sum(index.source.most(self._forms(word, "source")) for index in self.indices)
            found[word] = 2 * total * count / seen / (total + of_word)
        best = max(found, key=found.__getitem__, default=None)
        return best if best is not None and found[best] > LEAST else None


def bare(word: str) -> str:
    """Returns a word without punctuation around it, or itself if it is nothing else."""
    return without_signs(word) or word


def _count(rows: Sequence[Rows]) -> int:
    return sum(map(len, rows))
