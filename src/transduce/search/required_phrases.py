"""Phrases as token ids, and finding them in hypotheses as whole words.

Required phrases are compared in token ids, because one tokenisation is enough; banned ones are found in decoded text,
because every tokenisation must be caught.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool
from torch import Tensor

from docsegments.orthography.words import holds


@dataclass(frozen=True)
class WordEdges:
    """The tokens of a vocabulary that begin or end within a word; subwords do, whole words never."""

    continues: Sequence[bool]
    """For each token, True if it continues the word before it."""
    leaves_open: Sequence[bool]
    """For each token, True if a next token that continues a word would continue its word or attach to its
    punctuation."""
    _on_devices: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False, compare=False)

    def continuing(self, device: torch.device) -> Bool[Tensor, " vocabulary"]:
        """Returns `continues` as a tensor, made once per device: that takes milliseconds, and each step needs it."""
        if device not in self._on_devices:
            self._on_devices[device] = torch.tensor(self.continues, dtype=torch.bool, device=device)
        return self._on_devices[device]


@dataclass(frozen=True)
class Phrase:
    """Words, or others in their place, in each form that a tokenizer may write them in: after a space, after a bracket
    and so on."""

    forms: tuple[tuple[int, ...], ...]
    texts: tuple[str, ...] = ()
    """The words, and others in their place, in outputs' spelling."""
    shortest: int | None = None
    """The number of tokens of the words that have the fewest, in their longest form; None for the longest of all."""
    sources: tuple[str, ...] = ()
    """The terms of the source line that the words translate, as it writes them."""
    occurrence: int = 1
    """How often an output must have the words at least."""

    @property
    def length(self) -> int:
        """The number of tokens missing from a phrase not begun: each step into the shortest words counts, and longer
        words in their place have no part of the beam until less is missing from them."""
        return self.shortest or max(map(len, self.forms))

    def is_met_by(self, text: str) -> bool:
        """Returns True if an output's text has the phrase as whole words, whatever tokens write it."""
        return any(holds(text, phrase) for phrase in self.texts)

    def missing(self, tokens: Sequence[int], edges: WordEdges) -> int:
        """Returns the number of tokens still to be written until the text has the phrase; 0 if it does."""
        if self._is_in(tokens, edges):
            return 0
        begun = (form for form in self.forms if tokens and tokens[-1] in form)
        left = (len(form) - written for form in begun for written in _begun(form, tokens, edges) if written)
        return min([self.length, *left])

    def next_tokens(self, tokens: Sequence[int], edges: WordEdges) -> set[int]:
        """Returns the tokens that begin or continue the phrase."""
        return {form[written] for form in self.forms for written in _begun(form, tokens, edges)}

    def _is_in(self, tokens: Sequence[int], edges: WordEdges) -> bool:
        ends, written = set(), set(tokens)
        for form in filter(written.issuperset, self.forms):
            for start in _positions(form[0], tokens):
                stop = start + len(form)
                if tuple(tokens[start:stop]) != form or not _may_start(form, tokens, start, edges):
                    continue
                if stop == len(tokens) or not (edges.leaves_open[form[-1]] and edges.continues[tokens[stop]]):
                    ends.add(stop)
                    if len(ends) >= self.occurrence:
                        return True
        return False


def _positions(token: int, tokens: Sequence[int]) -> Iterator[int]:
    return (i for i, other in enumerate(tokens) if other == token)


def _begun(form: tuple[int, ...], tokens: Sequence[int], edges: WordEdges) -> list[int]:
    """Returns how many tokens of the form the text ends with, for each way to read its end."""
    longest = min(len(form) - 1, len(tokens))
    return [
        written
        for written in range(longest + 1)
        if tuple(tokens[len(tokens) - written :]) == form[:written]
        and _may_start(form, tokens, len(tokens) - written, edges)
    ]


def _may_start(form: tuple[int, ...], tokens: Sequence[int], start: int, edges: WordEdges) -> bool:
    """Returns True if the form would begin a word at `start`."""
    return start == 0 or not (edges.continues[form[0]] and edges.leaves_open[tokens[start - 1]])
