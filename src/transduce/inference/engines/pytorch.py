"""The engine of PyTorch: runs a search under its own rules and those of the requests."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from transduce.base.devices import to_device
from transduce.base.errors import InputError
from transduce.base.shapes import Mask, Tokens
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import pad
from transduce.data.parts import batches_that_fit
from transduce.inference.constraints import Constraints, Piece, Vocabulary
from transduce.inference.engines.compiled import CompiledModel
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.graphs import GraphedSteps
from transduce.inference.engines.vocabulary_reduction import VocabularyReduction
from transduce.inference.execution.gpu_memory import USED, USED_WITH_GRAPHS, SearchMemory, free_memory
from transduce.inference.execution.parallel_search import size_of, threads_for
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.models.interface import Writer
from transduce.nn.recording import takes_plain_paths
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.choices import Search, can_require
from transduce.search.loop import Hypothesis, SearchProblem, TakeStep, take_step
from transduce.search.rules import (
    BannedPhrases,
    ForcedPrefixes,
    NoRepeatNgram,
    PenalizeRepetition,
    Rule,
    SuppressTokens,
)
from transduce.search.search_settings import Begin, Limits, limits_for

CANNOT_REQUIRE = "required phrases go with a plain beam, not with sampling or diverse beams; leave one of them out"


class PyTorchEngine:
    """Runs a bundle's model on its device and at its precision; others make an ensemble, a shortlist limits the words.

    Compiled, it is faster for one piece alone; on a GPU steps are graphs instead, for batches too.
    """

    batches_at_once = 1

    def __init__(
        self, bundle: ModelBundle, *others: ModelBundle, shortlist: Shortlist | None = None, compile: bool = False
    ) -> None:
        models = [member.writer for member in (bundle, *others)]
        self.bundle = bundle
        self.shortlist = None if shortlist is None else shortlist.to(bundle.device)
        self.model: Writer[Any] = Ensemble(models) if others else models[0]
        self.source_limit = self.model.source_limit
        is_on_gpu = bundle.device.type == "cuda"
        self.compiled = CompiledModel(models[0]) if compile and not is_on_gpu else None
        """The compiled model, which searches when there is one piece and nothing to record."""
        self.graphs = GraphedSteps() if compile and is_on_gpu else None
        """Graphs of the steps of a GPU, for batches too."""
        self._memory: SearchMemory | None = None
        self._threads = torch.get_num_threads()
        self._size = sum(size_of(member.model) for member in (bundle, *others))

    def of(self, piece: Piece, search: Search) -> "PyTorchEngine":
        """See EngineChoice."""
        if piece.required and not can_require(search):
            raise InputError(CANNOT_REQUIRE)
        return self

    def describe(self, search: Search) -> str:
        """See EngineChoice."""
        return f"PyTorch {torch.__version__}"

    def workers(self, search: Search) -> int:
        """See Engine; 1 but on a CPU."""
        return 1 if self.bundle.device.type != "cpu" or takes_plain_paths() else torch.get_num_threads()

    def batches(self, lengths: Sequence[int], search: Search) -> list[list[int]] | None:
        """Returns indices of sources in batches of similar length that fit into a GPU's free memory, the shortest
        first; None on other devices, where more at once is no faster.

        Args:
            lengths: tokens of each source, the end token included.
            search: the search, which limits the lengths of outputs.
        """
        if self.bundle.device.type != "cuda":
            return None
        if self._memory is None:
            self._memory = SearchMemory.of(self.model, self.bundle.device)
        needed = self._memory.needed
        most = free_memory(self.bundle.device) * (USED if self.graphs is None else USED_WITH_GRAPHS)
        limit = self.model.target_limit or np.inf

        def fits(sentences: Any, longest: Any, _: Any) -> Any:
            of_output = np.minimum(longest * search.max_ratio + search.max_extra, limit)
            return needed(sentences, longest, of_output, search.rows) <= most

        return batches_that_fit(lengths, fits)

    def free(self) -> None:
        """Gives back a GPU's memory that only saves time."""
        if self.graphs is not None:
            self.graphs.clear()
        torch.cuda.empty_cache()

    @torch.inference_mode()
    def search(
        self, pieces: Sequence[Piece], constraints: Constraints, search: Search, step: TakeStep = take_step
    ) -> list[list[Hypothesis]]:
        """See Engine; a beam takes its steps by `step`.

        With a shortlist, outputs have each source's own tokens and those that its piece asks for.
        """
        is_plain = takes_plain_paths()
        if self.graphs is not None and step is take_step and not is_plain:
            step = self.graphs
        special, device = self.bundle.special, self.bundle.device
        sources = pad([piece.source for piece in pieces], special.source_pad, special.source_eos)
        ids, is_real = to_device(sources, device)
        narrow = None if self.shortlist is None else VocabularyReduction(self.shortlist, ids, is_real, pieces)
        is_compiled = len(pieces) == 1 and torch.get_num_threads() == self._threads and not is_plain  # as at compiling
        compiled = self.compiled if is_compiled else None
        with threads_for(len(pieces) * search.rows, self._size, device) if compiled is None else nullcontext():
            model, asked = self.model if compiled is None else compiled, pieces
            vocabulary = Vocabulary.of(constraints.tokenizer, lambda: constraints.edges)
            if narrow is not None:
                model, asked, vocabulary = narrow.model(model), narrow.pieces(pieces), narrow.vocabulary(vocabulary)
            limits = _limits(model, sources[1], asked, search).to(device)
            state = model.start(model.encode(ids, is_real))
            problem = problem_of(model, state, limits, _begin(asked, vocabulary, ids), asked, vocabulary, search, step)
            outputs = search.find(problem)
        return outputs if narrow is None else narrow.widen(outputs)


def problem_of(
    model: Writer[Any],
    state: DecoderState,
    limits: Limits,
    begin: Begin,
    pieces: Sequence[Piece],
    vocabulary: Vocabulary,
    search: Search,
    step: TakeStep = take_step,
    rules: Sequence[Rule] | None = None,
) -> SearchProblem[DecoderState]:
    """Returns the problem of a search from a started state, under the rules that it and the pieces ask for, or others.

    Raises InputError for required phrases that the search cannot follow.
    """
    required = [piece.required for piece in pieces] if any(piece.required for piece in pieces) else []
    if required and not can_require(search):
        raise InputError(CANNOT_REQUIRE)
    rules = rules_for(pieces, vocabulary, search) if rules is None else rules
    is_plain = type(search) is Beam and not required
    if is_plain and isinstance(model, CompiledModel) and all(isinstance(rule, SuppressTokens) for rule in rules):
        step = model.take_step
    return SearchProblem(
        model.decoder,
        state,
        limits,
        begin,
        vocabulary.end,
        rules,
        [piece.source for piece in pieces],
        required,
        vocabulary.edges() if required else None,
        step,
        runs_ahead=isinstance(step, GraphedSteps),
    )


def rules_for(pieces: Sequence[Piece], vocabulary: Vocabulary, search: Search) -> list[Rule]:
    """Returns the rules on next tokens that the search and the pieces ask for."""
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


def _limits(model: Writer[Any], is_real: Mask, pieces: Sequence[Piece], search: Search) -> Limits:
    """Returns the lengths that outputs may have; raises InputError for a prefix that leaves no room."""
    context = torch.tensor([piece.context for piece in pieces], device=is_real.device)
    limits = limits_for(search, is_real.sum(1) - context, model.target_limit)
    if not any(piece.prefix for piece in pieces):
        return limits
    lengths = torch.tensor([len(piece.prefix) + 1 for piece in pieces])
    if model.target_limit is not None and int(lengths.max()) > model.target_limit:
        raise InputError(
            f"a prefix of {int(lengths.max()) - 1:,} tokens leaves no room in the {model.target_limit:,} that the "
            "model can write; shorten it"
        )
    return limits.make_room(lengths)


def _begin(pieces: Sequence[Piece], vocabulary: Vocabulary, source: Tokens) -> Begin:
    if all(piece.begin is None for piece in pieces):
        return vocabulary.begin
    begins = [vocabulary.begin if piece.begin is None else piece.begin for piece in pieces]
    return torch.tensor(begins, device=source.device)
