"""A folder that was written for CTranslate2, loaded by it: searches and scores by token ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import torch

from docsegments.extras import require
from transduce.base.errors import CheckpointError
from transduce.inference.constraints import Piece
from transduce.inference.execution.parallel_search import LITTLE
from transduce.search.beam import Beam
from transduce.search.loop import Hypothesis
from transduce.text.tokenizer import Tokenizer, Tokenizers

NO_PENALTY = 1e-6
"""An exponent in place of 0, with which CTranslate2 ends a search as soon as its best hypothesis has ended."""

CONFIG = "config.json"
"""The file that says which token the decoder reads first; null if each request does."""

WEIGHTS = "model.bin"

IMPOSSIBLE = -1e9
"""A bound below which CTranslate2's scores mean impossible."""

TOKENS_AT_ONCE = 6144
"""Padded source tokens times hypotheses of a batch of one thread."""


def require_ctranslate2() -> Any:
    """Imports and returns CTranslate2; InputError if it is not installed."""
    return require("ctranslate2", "export")


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    """Returns the pieces of a tokenizer by id, which CTranslate2 reads and writes instead of ids."""
    return tokenizer.pieces(range(len(tokenizer)))


def adds_source_end(tokenizers: Tokenizers) -> bool:
    """Returns True if CTranslate2 can end the sources of an exported folder: by a token named alike on both sides."""
    source, target = tokenizers.source, tokenizers.target
    return source.pieces([source.eos]) == target.pieces([target.eos])


def never_written(tokenizer: Tokenizer, allow_unknown: bool) -> set[int]:
    """Returns the tokens that no output may have, whatever the model gives them."""
    never = {tokenizer.pad, tokenizer.bos, *tokenizer.marks.values()}
    return (never if allow_unknown else never | {tokenizer.unknown}) - {tokenizer.eos}


@dataclass(frozen=True)
class SearchRun:
    """Properties that sentences must share to be searched for together."""

    shortest: int
    """The length of the shortest output, the end token counted."""
    longest: int
    """The length of the longest output, the end token counted."""
    penalty: float
    """The power of the length by which CTranslate2 divides log-probabilities to rank hypotheses; not 0."""
    forbids: bool = False
    """True if forbidden tokens are suppressed; False for a first search that may not need it."""


@dataclass(frozen=True)
class EncodedPiece:
    """A piece as CTranslate2 reads it."""

    source: list[str]
    first: list[str]
    """The token that the decoder reads first if the folder does not say it, such as a language's token."""


@dataclass(frozen=True)
class CTranslate2Output:
    """A hypothesis as CTranslate2 gives it."""

    tokens: list[int]
    """The tokens without the end token."""
    log_probability: float | None
    """The log-probability; None if the search's own is not the model's, or lacks the end token."""

    def rank(self, beam: Beam, longest: int) -> Hypothesis:
        """Returns the hypothesis with its score, once the log-probability is known; see Limits for the longest."""
        assert self.log_probability is not None
        length = len(self.tokens) + 1
        score = beam.normalize(self.log_probability, length)
        return Hypothesis(self.tokens, self.log_probability, score, truncated=length >= longest)


class CTranslate2Model:
    """Searches and scores with a model that `transduce export` wrote, on as many processor threads as PyTorch has when
    it is made.

    What it is given it divides into batches. On a CPU those of a small model are searched at the same time, each by one
    thread, and those of a large one after another by all threads.
    """

    def __init__(self, folder: Path, tokenizers: Tokenizers, device: torch.device) -> None:
        library = require_ctranslate2()
        self.version: str = library.__version__
        self.target = target = tokenizers.target
        self.source_pieces = vocabulary_of(tokenizers.source)
        self.target_pieces = vocabulary_of(target)
        self.source_end = [] if adds_source_end(tokenizers) else [self.source_pieces[tokenizers.source.eos]]
        self.target_ids = {piece: token for token, piece in enumerate(self.target_pieces)}
        threads = torch.get_num_threads()
        weights = (folder / WEIGHTS).stat().st_size // 4
        self._at_the_same_time = threads if device.type == "cpu" and Beam().size * weights <= LITTLE else 1
        self.batches_at_once = 1 if self._at_the_same_time == 1 else 2 * self._at_the_same_time
        """The number of batches that it takes at once: more than threads, so that none waits long for the others."""
        try:
            self.translator = library.Translator(
                str(folder),
                device.type,
                device_index=device.index or 0,
                inter_threads=self._at_the_same_time,
                intra_threads=threads // self._at_the_same_time,
            )
        except (RuntimeError, ValueError) as error:
            raise CheckpointError(f"{folder}: CTranslate2 {library.__version__} cannot run it: {error}") from None
        start = msgspec.json.decode((folder / CONFIG).read_bytes()).get("decoder_start_token")
        # A token that the decoder reads between the first and the output is one of the output to CTranslate2.
        self.reads_first = start != self.target_pieces[target.bos]
        self.prefixed = 1 if self.reads_first and start is not None else 0

    def sentence(self, piece: Piece) -> EncodedPiece:
        """Returns a piece as CTranslate2 reads it."""
        begin = self.target.bos if piece.begin is None else piece.begin
        source = [*(self.source_pieces[token] for token in piece.source), *self.source_end]
        return EncodedPiece(source, [self.target_pieces[begin]] if self.reads_first else [])

    def search(self, sources: Sequence[EncodedPiece], beam: Beam, run: SearchRun) -> list[list[CTranslate2Output]]:
        """Returns the finished hypotheses of each sentence, at most as many as the beam has."""
        if run.longest == 1:  # only the end token, a length that CTranslate2 does not support
            return [[CTranslate2Output([], None)] for _ in sources]
        forbidden = never_written(self.target, beam.allow_unknown) if run.forbids else ()
        results = self.translator.translate_batch(
            [sentence.source for sentence in sources],
            target_prefix=[sentence.first for sentence in sources] if self.reads_first else None,
            beam_size=beam.size,
            num_hypotheses=beam.size,  # all, since our normalisation may rank another first; this takes 1 % of a search
            length_penalty=run.penalty,
            no_repeat_ngram_size=beam.no_repeat_ngram,
            suppress_sequences=[[self.target_pieces[token]] for token in forbidden] or None,
            **self._batches([len(sentence.source) for sentence in sources], beam.size),
            max_input_length=0,  # the translator has split long sources
            max_decoding_length=run.longest - 1 + self.prefixed,
            min_decoding_length=run.shortest - 1 + self.prefixed,
            return_scores=True,
        )
        is_plain = not (run.forbids or run.shortest > 1 or beam.no_repeat_ngram or self.reads_first)
        outputs: list[list[CTranslate2Output]] = []
        for result in results:
            outputs.append([])
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                tokens = [self.target_ids[piece] for piece in pieces[self.prefixed :]]
                length = len(tokens) + 1
                if score > IMPOSSIBLE:
                    is_known = is_plain and length < run.longest
                    outputs[-1].append(CTranslate2Output(tokens, score * length**run.penalty if is_known else None))
        return outputs

    def score(
        self, sources: Sequence[EncodedPiece], candidates: Sequence[Sequence[CTranslate2Output]]
    ) -> list[list[CTranslate2Output]]:
        """Returns the same outputs, all with the model's own log-probability."""
        unscored = [
            (i, output) for i, outputs in enumerate(candidates) for output in outputs if output.log_probability is None
        ]
        results = self.translator.score_batch(
            [sources[i].source for i, _ in unscored],
            [[*sources[i].first, *(self.target_pieces[token] for token in output.tokens)] for i, output in unscored],
            **self._batches(
                [max(len(sources[i].source), len(output.tokens) + 1) for i, output in unscored], Beam().size
            ),
            max_input_length=0,
            offset=self.prefixed,
        )
        scores = iter([sum(result.log_probs) for result in results])
        return [
            [
                replace(output, log_probability=next(scores)) if output.log_probability is None else output
                for output in outputs
            ]
            for outputs in candidates
        ]

    def _batches(self, lengths: Sequence[int], rows: int) -> dict[str, Any]:
        """Returns the options by which CTranslate2 divides sentences of these lengths into batches: small enough that
        each thread has one."""
        each = max(lengths, default=0) * -(-len(lengths) // self._at_the_same_time)
        return {"max_batch_size": max(1, min(TOKENS_AT_ONCE // rows, each)), "batch_type": "tokens"}
