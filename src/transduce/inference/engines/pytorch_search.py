"""Runs the search that was asked for, under the rules that it and the requests make."""

from collections.abc import Sequence

import msgspec
import torch

from transduce.bundle import ModelBundle
from transduce.errors import InputError
from transduce.inference.coverage import rerank
from transduce.inference.engines.compiled import CompiledModel
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.requests import Piece
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.inference.shortlist.vocabulary import Vocabulary
from transduce.inference.shortlist.vocabulary_reduction import VocabularyReduction
from transduce.models.interface import EncoderDecoder
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam, TakeStep, beam_search, take_step
from transduce.search.choices import Search, can_require
from transduce.search.constrained import constrained_search
from transduce.search.diverse import DiverseBeam, diverse_search
from transduce.search.hypothesis import Hypothesis
from transduce.search.limits import Begin, Limits, limits_for
from transduce.search.problem import SearchProblem
from transduce.search.rules import (
    BannedPhrases,
    ForcedPrefixes,
    NoRepeatNgram,
    PenalizeRepetition,
    Rule,
    SuppressTokens,
)
from transduce.search.sampling import Sampling, sample
from transduce.shapes import Mask, Tokens


def decode(
    bundle: ModelBundle,
    model: EncoderDecoder[DecoderState],
    source: Tokens,
    is_real: Mask,
    pieces: Sequence[Piece],
    vocabulary: Vocabulary,
    search: Search,
    shortlist: Shortlist | None = None,
    step: TakeStep = take_step,
) -> list[list[Hypothesis]]:
    """The outputs of each source row, as many as the search is asked for; either all pieces require phrases or none.

    A plain beam takes its steps by `step`. With a shortlist, of each row's own tokens and what its piece asks for.
    Raises InputError where the search cannot follow a request.
    """
    n_best, coverage_penalty = search.n_best, 0.0
    if isinstance(search, Beam) and search.coverage_penalty:
        if isinstance(model, Ensemble):
            raise InputError("coverage_penalty is for a single model, not for an ensemble; leave one of them out")
        coverage_penalty = search.coverage_penalty
        search = msgspec.structs.replace(search, n_best=search.size)  # all that were found are ranked anew
    if shortlist is None:
        found = _search(model, source, is_real, pieces, vocabulary, search, step)
    else:
        narrow = VocabularyReduction(shortlist, source, is_real, pieces)
        narrow_pieces, narrow_vocabulary = narrow.pieces(pieces), narrow.vocabulary(vocabulary)
        narrow_model = narrow.model(model)
        found = narrow.widen(_search(narrow_model, source, is_real, narrow_pieces, narrow_vocabulary, search, step))
    if coverage_penalty:
        begins = [bundle.special.target_bos if piece.begin is None else piece.begin for piece in pieces]
        found = rerank(bundle, model, [piece.source for piece in pieces], found, coverage_penalty, begins)
    return [hypotheses[:n_best] for hypotheses in found]


def _search(
    model: EncoderDecoder[DecoderState],
    source: Tokens,
    is_real: Mask,
    pieces: Sequence[Piece],
    vocabulary: Vocabulary,
    search: Search,
    step: TakeStep,
) -> list[list[Hypothesis]]:
    """What the search finds; pieces and outputs are in the vocabulary's numbers."""
    limits = limits_for(search, is_real.sum(1), model.target_limit)
    if any(piece.prefix for piece in pieces):
        lengths = torch.tensor([len(piece.prefix) + 1 for piece in pieces], device=source.device)
        if model.target_limit is not None and int(lengths.max()) > model.target_limit:
            raise InputError(
                f"a prefix of {int(lengths.max()) - 1:,} tokens leaves no room in the {model.target_limit:,} that the "
                "model can write; shorten it"
            )
        limits = limits.make_room(lengths)
    state = model.start(model.encode(source, is_real))
    return search_from(model, state, limits, _begin(pieces, vocabulary, source), pieces, vocabulary, search, step)


def _begin(pieces: Sequence[Piece], vocabulary: Vocabulary, source: Tokens) -> Begin:
    if all(piece.begin is None for piece in pieces):
        return vocabulary.begin
    begins = [vocabulary.begin if piece.begin is None else piece.begin for piece in pieces]
    return torch.tensor(begins, device=source.device)


def search_from(
    model: EncoderDecoder[DecoderState],
    state: DecoderState,
    limits: Limits,
    begin: Begin,
    pieces: Sequence[Piece],
    vocabulary: Vocabulary,
    search: Search,
    step: TakeStep = take_step,
    rules: Sequence[Rule] | None = None,
) -> list[list[Hypothesis]]:
    """What the search finds from a started state on, under the rules that it and the pieces ask for, or others.

    Raises InputError for required phrases that the search cannot follow.
    """
    if any(piece.required for piece in pieces) and not can_require(search):
        raise InputError(
            "required phrases go with a plain beam, not with sampling or diverse beams; leave one of them out"
        )
    rules = rules_for(pieces, vocabulary, search) if rules is None else rules
    problem = SearchProblem(model.decoder, state, limits, begin, vocabulary.end, rules)
    if isinstance(search, Sampling):
        generators = [search.generator(piece.source) for piece in pieces]
        return sample(problem, search, generators)
    if isinstance(search, DiverseBeam):
        return diverse_search(problem, search)
    if any(piece.required for piece in pieces):
        return constrained_search(problem, search, [piece.required for piece in pieces], vocabulary.edges())
    if isinstance(model, CompiledModel) and all(isinstance(rule, SuppressTokens) for rule in rules):
        step = model.take_step
    return beam_search(problem, search, step)


def rules_for(pieces: Sequence[Piece], vocabulary: Vocabulary, search: Search) -> list[Rule]:
    """What may not come next, by what the search and the pieces ask for."""
    unknown = [] if search.allow_unknown else vocabulary.unknown
    rules: list[Rule] = [SuppressTokens([*vocabulary.never, *unknown])]
    if search.no_repeat_ngram:
        rules.append(NoRepeatNgram(search.no_repeat_ngram))
    if search.repetition_penalty > 1:
        rules.append(PenalizeRepetition(search.repetition_penalty))
    if any(piece.banned for piece in pieces):
        rules.append(BannedPhrases([piece.banned for piece in pieces], vocabulary.edges(), vocabulary.decode))
    if any(piece.prefix for piece in pieces):
        return [ForcedPrefixes([piece.prefix for piece in pieces], vocabulary.edges(), rules)]
    return rules
