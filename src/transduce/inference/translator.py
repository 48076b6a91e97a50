"""A trained model as a tool: sentences in, translations out, in the same order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

import torch

from transduce.bundle import ModelBundle
from transduce.data.batch import pad
from transduce.models.interface import EncoderDecoder
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam, beam_search, limits_for
from transduce.search.hypothesis import Hypothesis
from transduce.text.tokenizer import Tokenizer

LINES_AT_ONCE = 1000
"""Sentences held at a time: enough to sort by length, however long the input is."""

TOKENS_AT_ONCE = 4096
"""Padded source tokens times beam size of a batch."""


@dataclass(frozen=True)
class Translation:
    """What became of one line."""

    text: str
    """The best translation; empty for a blank line."""
    n_best: list["Candidate"]
    """As many as were asked for, best first; one alone for a line that was split."""
    was_split: bool = False
    """Whether the line was longer than any the model was trained on, and was translated piece by piece."""
    truncated: bool = False
    """Whether the output reached the longest length allowed."""


@dataclass(frozen=True)
class Candidate:
    """One translation and how the model ranks it."""

    text: str
    score: float
    """Log-probability, normalised for length."""
    log_probability: float
    """Natural logarithm, the end token counted."""


class Translator:
    """Translates with a bundle's model, on the device and at the precision that the model has."""

    def __init__(self, bundle: ModelBundle) -> None:
        self.bundle = bundle
        self.model = cast(EncoderDecoder[DecoderState], bundle.model)
        limit = self.model.source_limit
        self.longest_source = min(bundle.config.longest_source, limit - 1 if limit else bundle.config.longest_source)

    def translate(self, texts: Sequence[str], search: Beam | None = None) -> list[Translation]:
        """Translate lines of text: as many translations, in the same order; a blank line gives an empty one."""
        return list(self.stream(texts, search))

    def stream(
        self, texts: Iterable[str], search: Beam | None = None, lines_at_once: int = LINES_AT_ONCE
    ) -> Iterator[Translation]:
        """Translate any number of lines, holding a bounded number at a time."""
        lines = iter(texts)
        while chunk := list(islice(lines, lines_at_once)):
            yield from self.translate_chunk(chunk, search or Beam())

    def translate_chunk(self, texts: Sequence[str], search: Beam) -> list[Translation]:
        """Translate lines that are held together: sorted by length inside, returned in order."""
        tokenizer = self.bundle.tokenizers.source
        pieces = [split_text(text, tokenizer, self.longest_source) for text in texts]
        flat = [piece for line in pieces for piece in line]
        found = iter(self._search(tokenizer.encode_batch(flat), search))
        return [self._join([next(found) for _ in line]) for line in pieces]

    def _search(self, sources: list[list[int]], search: Beam) -> list[list[Hypothesis]]:
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        results: list[list[Hypothesis]] = [[] for _ in sources]
        for batch in _batches(order, [len(ids) + 1 for ids in sources], TOKENS_AT_ONCE // search.size):
            for i, hypotheses in zip(batch, self._search_batch([sources[i] for i in batch], search), strict=True):
                results[i] = hypotheses
        return results

    @torch.inference_mode()
    def _search_batch(self, sources: list[list[int]], search: Beam) -> list[list[Hypothesis]]:
        special, target = self.bundle.special, self.bundle.tokenizers.target
        ids, is_real = (
            tensor.to(self.bundle.device) for tensor in pad(sources, special.source_pad, special.source_eos)
        )
        state = self.model.start(self.model.encode(ids, is_real))
        limits = limits_for(search, is_real.sum(1), self.model.target_limit)
        forbidden = [special.target_pad, special.target_bos, *([] if search.allow_unknown else [target.unknown])]
        return beam_search(self.model.decoder, state, search, limits, special.target_bos, special.target_eos, forbidden)

    def _join(self, pieces: list[list[Hypothesis]]) -> Translation:
        decode = self.bundle.tokenizers.target.decode
        if not pieces:
            return Translation("", [])
        if len(pieces) == 1:
            candidates = [Candidate(decode(h.tokens), h.score, h.log_probability) for h in pieces[0]]
            return Translation(candidates[0].text, candidates, truncated=pieces[0][0].truncated)
        best = [hypotheses[0] for hypotheses in pieces]
        text = " ".join(decode(hypothesis.tokens) for hypothesis in best)
        candidate = Candidate(text, sum(h.score for h in best), sum(h.log_probability for h in best))
        return Translation(text, [candidate], was_split=True, truncated=any(h.truncated for h in best))


def load(path: str | Path, device: str = "cpu") -> Translator:
    """A translator from a model's or run's folder; raises CheckpointError for one that is not whole."""
    return Translator(ModelBundle.load(Path(path), device))


def split_text(text: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    """Pieces of at most `longest` tokens: the whole text if it fits, else sentences, words, or characters together."""
    text = text.strip()
    if not text or not (count := len(tokenizer.encode(text))):
        return []
    if count <= longest:
        return [text]
    for parts, joint in ((re.split(r"(?<=[.!?…。！？])\s+", text), " "), (text.split(), " "), (list(text), "")):
        if len(parts) > 1:
            return _pack(parts, joint, tokenizer, longest)
    return [text]


def _pack(parts: list[str], joint: str, tokenizer: Tokenizer, longest: int) -> list[str]:
    """Join neighbours while their tokens, counted apart, stay within the longest; split parts that are too long."""
    packed: list[list[str]] = []
    room = 0
    for part, ids in zip(parts, tokenizer.encode_batch(parts), strict=True):
        if len(ids) > longest:
            packed += [[piece] for piece in split_text(part, tokenizer, longest)]
            room = 0
        elif len(ids) <= room:
            packed[-1].append(part)
            room -= len(ids)
        else:
            packed.append([part])
            room = longest - len(ids)
    return [joint.join(group) for group in packed]


def _batches(order: list[int], lengths: list[int], budget: int) -> Iterator[list[int]]:
    """Runs of the order, which goes by rising length, whose padded size stays within the budget."""
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
