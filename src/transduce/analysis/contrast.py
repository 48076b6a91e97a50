"""Measures why a model prefers one token to another at one step: by words left out, and by gradients.

What is asked is the difference of the two tokens' log-probabilities (Yin and Neubig 2022), which is that of their
logits. Words of the source and of the output so far are hidden as in `transduce.analysis.attribution`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from docsegments.budget import check
from docsegments.orthography.words import words
from transduce.analysis.attribution import drops_without, gradients_of, hidden_in_part
from transduce.base.shapes import Tokens
from transduce.bundle.model_bundle import ModelBundle
from transduce.text.tokenizer import Tokenizer

Side = Literal["source", "context", "output"]
"""Where a word stands: in the source, in the sentences read before it, or in the output so far."""
FAR_LESS = 0.05
"""A share: see `main_cause`."""
LONGEST_WORD = 12
"""The most tokens of a word that is written."""


@dataclass(frozen=True)
class InputWord:
    """A word that the model has read when it decides."""

    text: str
    side: Side
    tokens: tuple[int, ...]
    """The positions of its tokens among those of the source, or among those of the output."""
    left_out: float = 0.0
    """The nats by which the difference of two tokens' log-probabilities falls when the word is hidden."""
    gradient: float = 0.0
    """The integrated gradients of that difference, in nats."""


def main_cause(words: Sequence[InputWord]) -> InputWord | None:
    """Returns the word without which the difference falls most; None if it falls without none.

    A word of the output is itself an effect of the source, and tells the decoder where in the source it is. So one is
    the cause only if the difference falls far less without any word of the source or of the sentences before it.
    """
    first = max(words, key=lambda word: word.left_out, default=None)
    if first is None or first.left_out <= 0:
        return None
    given = max((word for word in words if word.side != "output"), key=lambda word: word.left_out, default=first)
    return given if given.left_out >= FAR_LESS * first.left_out else first


@dataclass(frozen=True)
class Decision:
    """The step at which a model writes one token and not another."""

    bundle: ModelBundle
    source: Tokens
    """The source as the model reads it, [1, time]."""
    so_far: Sequence[int]
    """The tokens of the output before this step."""
    token: int
    other: int

    @cached_property
    def tables(self) -> list[nn.Embedding]:
        """The embeddings of tokens."""
        return [module for module in self.bundle.model.modules() if isinstance(module, nn.Embedding)]

    def without(self, word: InputWord | None = None) -> Float[Tensor, "1 inputs"]:
        """Returns a row of 1 for each token of the source and of the output so far, but 0 for those of a word."""
        keep = torch.ones(1, self.source.shape[1] + len(self.so_far), device=self.source.device)
        if word is not None:
            first = self.source.shape[1] if word.side == "output" else 0
            keep[0, [first + position for position in word.tokens]] = 0
        return keep

    def logits(
        self, keep: Float[Tensor, "rows inputs"], further: Sequence[int] = (), so_far: Sequence[int] | None = None
    ) -> Float[Tensor, "rows vocabulary"]:
        """Returns the logits of the next token, with some tokens hidden (0): see `without`.

        Args:
            keep: for each way of hiding, a number from 0 to 1 for each token of source and output so far.
            further: tokens after those so far.
            so_far: the tokens so far (default: those before this step).
        """
        check()
        model, special, rows = self.bundle.writer, self.bundle.special, len(keep)
        time, known = self.source.shape[1], self.so_far if so_far is None else so_far
        read = torch.tensor([[special.target_bos, *known, *further]], device=keep.device)
        ones = keep.new_ones(rows, 1)
        of_target = torch.cat([ones, keep[:, time : time + len(known)], ones.expand(-1, len(further))], 1)
        with hidden_in_part(self.tables, lambda: keep[:, :time], special.source_eos):
            source = self.source.expand(rows, -1)
            memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        state = model.start(memory)
        with hidden_in_part(self.tables, lambda: of_target, special.target_eos):
            logits: Tensor = model.decoder(read.expand(rows, -1), state)[0]
        return logits[:, -1].float()

    def difference(self, keep: Float[Tensor, "rows inputs"]) -> Float[Tensor, "rows 1"]:
        """Returns by how many nats the token is more probable than the other, for each way of hiding."""
        logits = self.logits(keep)
        return (logits[:, self.token] - logits[:, self.other])[:, None]

    def measure(self, words: Sequence[InputWord], brief: bool = False) -> tuple[list[InputWord], float | None]:
        """Returns words with what each does to the difference, and the error of the sum of all gradients; briefly,
        without gradients."""
        if not words:
            return [], 0.0
        keep = torch.cat([self.without(word) for word in words])  # [words, inputs]
        falls = drops_without(self.difference, keep)[:, 0].tolist()
        if brief:
            return [replace(word, left_out=fall) for word, fall in zip(words, falls, strict=True)], None
        found = gradients_of(self.difference, keep.new_zeros(1, keep.shape[1], dtype=torch.long))
        gradients = (1 - keep.cpu()) @ torch.from_numpy(found.attributions)  # [words]
        measured = zip(words, falls, gradients.tolist(), strict=True)
        return [replace(word, left_out=fall, gradient=own) for word, fall, own in measured], found.error

    def write_word(self, keep: Float[Tensor, "1 inputs"], before: int, begun: Sequence[int] = ()) -> str:
        """Returns the word that the model writes after some of the tokens so far, by greedy search.

        Args:
            keep: see `without`.
            before: the number of tokens so far that stand before the word.
            begun: the first tokens of the word, if they are given.
        """
        tokenizer, known = self.bundle.tokenizers.target, self.so_far[:before]
        count, written = len(words(tokenizer.decode(known))), list(begun)
        for _ in range(LONGEST_WORD):
            token = int(self.logits(keep, written, known).argmax())
            if token == tokenizer.eos or len(words(tokenizer.decode([*known, *written, token]))) > count + 1:
                break
            written.append(token)
        return text_after(tokenizer, known, written)


def text_after(tokenizer: Tokenizer, before: Sequence[int], tokens: Sequence[int]) -> str:
    """Returns the text that tokens add to the text of those before them, without spaces around it."""
    return tokenizer.decode([*before, *tokens])[len(tokenizer.decode(before)) :].strip()
