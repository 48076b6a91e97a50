"""CTranslate2 as the engine of a translator, with the outputs and scores of our own beam search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.errors import CheckpointError, InputError
from transduce.inference.requests import Constraints, Piece
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.search.loop import Hypothesis
from transduce.search.sampling import Sampling
from transduce.search.settings import limits_for
from transduce.text.tokenizer import Tokenizer, Tokenizers

NO_PENALTY = 1e-6
"""An exponent in place of 0, with which CTranslate2 ends a search as soon as its best hypothesis has ended."""

CONFIG = "config.json"
"""The file that says which token the decoder reads first; null if each request does."""

IMPOSSIBLE = -1e9
"""A bound below which CTranslate2's scores mean impossible."""


def require_ctranslate2() -> Any:
    """Imports and returns CTranslate2; InputError if it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        raise InputError(
            "this needs CTranslate2, which is not installed; install it with: pip install ctranslate2, or pip install "
            "'.[export]' in the folder of Transduce"
        ) from None
    return ctranslate2


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    """Returns the pieces of a tokenizer by id, which CTranslate2 reads and writes instead of ids."""
    return tokenizer.pieces(range(len(tokenizer)))


def adds_source_end(tokenizers: Tokenizers) -> bool:
    """Returns True if CTranslate2 can end the sources of an exported folder: by a token named alike on both sides."""
    source, target = tokenizers.source, tokenizers.target
    return source.pieces([source.eos]) == target.pieces([target.eos])


@dataclass(frozen=True)
class _Run:
    """Properties that sentences must share to be searched for together."""

    shortest: int
    """The length of the shortest output, the end token counted."""
    longest: int
    """The length of the longest output, the end token counted."""
    forbids: bool
    """True if forbidden tokens are suppressed; False for a first search that may not need it."""


@dataclass(frozen=True)
class _Sentence:
    """A piece as CTranslate2 reads it."""

    source: list[str]
    first: list[str]
    """The token that the decoder reads first if the folder does not say it, such as a language's token."""


@dataclass(frozen=True)
class _Output:
    """A hypothesis as CTranslate2 gives it."""

    tokens: list[int]
    """The tokens without the end token."""
    log_probability: float | None
    """The log-probability; None if the search's own is not the model's, or lacks the end token."""


class CTranslate2Engine:
    """Runs a folder that `transduce export` wrote, on as many processor threads as PyTorch has when it is made.

    Where CTranslate2's search differs from ours, its outputs are corrected. It divides log-probabilities by n^alpha, so
    hypotheses are reranked. It normalises probabilities after removing forbidden tokens, so a sentence is first
    searched without suppression, and again with it only if a forbidden token came; those outputs are then rescored.
    Its longest length is one for the whole batch and excludes the end token, so a sentence that reached its own limit
    is searched again, and scored with its end token.
    """

    def __init__(self, folder: Path, tokenizers: Tokenizers, longest: int | None, device: torch.device) -> None:
        library = require_ctranslate2()
        self.source_limit = longest
        target = tokenizers.target
        self.never = {target.pad, target.bos, *target.languages.values()} - {target.eos}
        self.bos = target.bos
        self.unknown = target.unknown
        self.source_pieces = vocabulary_of(tokenizers.source)
        self.target_pieces = vocabulary_of(tokenizers.target)
        self.source_end = [] if adds_source_end(tokenizers) else [self.source_pieces[tokenizers.source.eos]]
        self.target_ids = {piece: token for token, piece in enumerate(self.target_pieces)}
        try:
            self.translator = library.Translator(
                str(folder), device.type, device_index=device.index or 0, intra_threads=torch.get_num_threads()
            )
        except (RuntimeError, ValueError) as error:
            raise CheckpointError(f"{folder}: CTranslate2 {library.__version__} cannot run it: {error}") from None
        start = msgspec.json.decode((folder / CONFIG).read_bytes()).get("decoder_start_token")
        # A token that the decoder reads between the first and the output is one of the output to CTranslate2.
        self.reads_first = start != self.target_pieces[target.bos]
        self.prefixed = 1 if self.reads_first and start is not None else 0

    def workers(self, search: Search) -> int:
        """See Engine; one batch, which uses all threads."""
        return 1

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine; knows only the plain beam, and pieces without constraints."""
        beam = _plain_beam(pieces, search)
        sources = [self._sentence(piece) for piece in pieces]
        lengths = torch.tensor([len(piece.source) + 1 for piece in pieces])
        limits = limits_for(beam, lengths, self.source_limit)
        longest = limits.longest.tolist()
        candidates = self._search(sources, beam, limits.shortest.tolist(), longest)
        scored = self._score(sources, candidates)
        return [
            _ranked(beam, outputs, own_longest)[: beam.n_best]
            for outputs, own_longest in zip(scored, longest, strict=True)
        ]

    def _sentence(self, piece: Piece) -> _Sentence:
        begin = self.bos if piece.begin is None else piece.begin
        source = [*(self.source_pieces[token] for token in piece.source), *self.source_end]
        return _Sentence(source, [self.target_pieces[begin]] if self.reads_first else [])

    def _search(
        self, sources: Sequence[_Sentence], beam: Beam, shortest: Sequence[int], longest: Sequence[int]
    ) -> list[list[_Output]]:
        finished: dict[int, list[_Output]] = {}
        forbidden = self._forbidden(beam)
        waiting = {i: _Run(own_shortest, max(longest), forbids=False) for i, own_shortest in enumerate(shortest)}
        while waiting:
            run = next(iter(waiting.values()))
            chosen = [i for i, other in waiting.items() if other == run]
            for i, outputs in zip(chosen, self._run([sources[i] for i in chosen], beam, run), strict=True):
                if longest[i] < run.longest and any(len(output.tokens) + 1 >= longest[i] for output in outputs):
                    waiting[i] = replace(run, longest=longest[i])
                elif not run.forbids and any(forbidden.intersection(output.tokens) for output in outputs):
                    waiting[i] = replace(run, forbids=True)
                else:
                    finished[i] = [output for output in outputs if not forbidden.intersection(output.tokens)]
                    del waiting[i]
        return [finished[i] for i in range(len(sources))]

    def _run(self, sources: Sequence[_Sentence], beam: Beam, run: _Run) -> list[list[_Output]]:
        if run.longest == 1:  # only the end token, a length that CTranslate2 does not support
            return [[_Output([], None)] for _ in sources]
        penalty = beam.length_penalty or NO_PENALTY  # n^alpha, n counting the end token: near ours, it cuts the list
        forbidden = [[self.target_pieces[token]] for token in self._forbidden(beam)] if run.forbids else None
        results = self.translator.translate_batch(
            [sentence.source for sentence in sources],
            target_prefix=[sentence.first for sentence in sources] if self.reads_first else None,
            beam_size=beam.size,
            num_hypotheses=beam.size,  # all, since our normalisation may rank another first; this takes 1 % of a search
            length_penalty=penalty,
            no_repeat_ngram_size=beam.no_repeat_ngram,
            suppress_sequences=forbidden,
            max_input_length=0,  # the translator has split long sources
            max_decoding_length=run.longest - 1 + self.prefixed,
            min_decoding_length=run.shortest - 1 + self.prefixed,
            return_scores=True,
        )
        is_plain = not (run.forbids or run.shortest > 1 or beam.no_repeat_ngram or self.reads_first)
        outputs: list[list[_Output]] = []
        for result in results:
            outputs.append([])
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                tokens = [self.target_ids[piece] for piece in pieces[self.prefixed :]]
                length = len(tokens) + 1
                if score > IMPOSSIBLE:
                    is_known = is_plain and length < run.longest
                    outputs[-1].append(_Output(tokens, score * length**penalty if is_known else None))
        return outputs

    def _score(self, sources: Sequence[_Sentence], candidates: list[list[_Output]]) -> list[list[_Output]]:
        """Returns the same outputs, all with the model's own log-probability."""
        unscored = [
            (i, output) for i, outputs in enumerate(candidates) for output in outputs if output.log_probability is None
        ]
        results = self.translator.score_batch(
            [sources[i].source for i, _ in unscored],
            [[*sources[i].first, *(self.target_pieces[token] for token in output.tokens)] for i, output in unscored],
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

    def _forbidden(self, beam: Beam) -> set[int]:
        return {*self.never, *([] if beam.allow_unknown else [self.unknown])}


def _plain_beam(pieces: Sequence[Piece], search: Search) -> Beam:
    """Returns the search if CTranslate2 can do all that is asked; InputError otherwise."""
    asked = {
        "sampling": isinstance(search, Sampling),
        "diverse beams": isinstance(search, DiverseBeam),
        "a repetition penalty": search.repetition_penalty > 1,
        "a coverage penalty": isinstance(search, Beam) and search.coverage_penalty > 0,
        "prefixes": any(piece.prefix for piece in pieces),
        "required phrases": any(piece.required for piece in pieces),
        "banned phrases": any(piece.banned for piece in pieces),
    }
    unable = [name for name, is_asked in asked.items() if is_asked]
    if unable or not isinstance(search, Beam):
        raise InputError(
            f"exported models do not support {' and '.join(unable)}; leave that out, or use the original model"
        )
    return search


def _ranked(beam: Beam, outputs: Iterable[_Output], longest: int) -> list[Hypothesis]:
    hypotheses = []
    for output in outputs:
        assert output.log_probability is not None
        length = len(output.tokens) + 1
        score = beam.normalize(output.log_probability, length)
        hypotheses.append(Hypothesis(output.tokens, output.log_probability, score, truncated=length >= longest))
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
