"""The steps of a beam search as CUDA graphs: one launch takes a step, in place of hundreds."""

import warnings
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transduce.base.devices import tensors_of
from transduce.inference.engines.graph_states import blank, is_for_graphs, numbered
from transduce.models.interface import Predictor
from transduce.search.beam import Best
from transduce.search.loop import LOOK_EVERY, Active, Candidates, ChooseCandidates, Step, Written, take_step
from transduce.search.rules import LengthConstraint, Rule, SuppressTokens
from transduce.search.search_settings import Limits

MIN_TOKENS = 32
"""Fewest tokens that a graph has room for; a full one is followed by one for twice as many."""
MOST_GRAPHS = 16
"""Graphs kept for later batches; each has memory for its state."""


@dataclass(frozen=True)
class GraphSizes:
    """Sizes and rules that a graph is made for; sizes are powers of two, so that few graphs do for all batches."""

    sentences: int
    source_length: int
    tokens: int
    """Tokens that outputs have room for, the one that begins them included."""
    rows: int
    """Hypotheses of a sentence."""
    is_shared: bool
    """True if hypotheses of a sentence share a row of the cache."""
    rule: tuple[Any, ...]
    """Tokens that are excluded, the one that ends outputs, and True if a forced end costs nothing."""


class GraphedSteps:
    """Takes the steps of a model's plain beam searches on a CUDA GPU by replaying graphs; see `take_step`.

    A graph is made of the plain step when its sizes first come, which takes about as long as three steps. The first
    step, in which hypotheses begin, and steps of other searches, rules and states are taken as they are.
    """

    def __init__(self) -> None:
        self._graphs: OrderedDict[GraphSizes, _StepGraph] = OrderedDict()
        self._pool: Any = None
        self._loaded: _StepGraph | None = None
        self._is_refused = False

    @property
    def made(self) -> list[GraphSizes]:
        """The sizes of the graphs that are kept."""
        return list(self._graphs)

    def clear(self) -> None:
        """Forgets all graphs, so that their memory can be used otherwise."""
        self._graphs.clear()
        self._loaded = self._pool = None

    def __call__(
        self,
        decoder: Predictor[Any],
        active: Active[Any],
        choose: ChooseCandidates,
        rule: Rule,
        beam_per_group: int,
        end: int,
    ) -> Step[Any]:
        """See `take_step`; what the step shows is overwritten by the eighth step after it."""
        if self._is_refused or not _is_plain(active, choose, rule):
            return take_step(decoder, active, choose, rule, beam_per_group, end)
        assert isinstance(rule, LengthConstraint)
        written = active.written or _written(active)
        needed = max(written.count + 2, written.read + 1)
        graph = self._loaded
        if graph is None or active.state is not graph.active.state or needed > graph.sizes.tokens:
            state = numbered(active.state)
            excluded = tuple(
                token for other in rule.others if isinstance(other, SuppressTokens) for token in other.tokens
            )
            sizes = GraphSizes(
                _power_of_two(len(active.sentences)),
                _power_of_two(state.source_may_attend.shape[-1]),
                max(_power_of_two(needed), MIN_TOKENS),
                active.scores.shape[1],
                getattr(state, "past", None) is not None,
                (excluded, rule.end, rule.limits.end_is_free),
            )
            full = replace(active, state=state, written=written)
            try:
                graph = self._loaded = self._graph(sizes, decoder, full, choose, rule, beam_per_group, end)
            except RuntimeError as error:  # of a library that cannot be captured
                if isinstance(error, torch.OutOfMemoryError) or active.written is not None:
                    raise
                self._is_refused = True
                reason = next(iter(str(error).splitlines()), "")
                warnings.warn(f"steps are no CUDA graphs, since making one failed: {reason}", stacklevel=2)
                return take_step(decoder, active, choose, rule, beam_per_group, end)
            graph.load(full, rule.limits)
        return graph.take(active.sentences, written)

    def _graph(self, sizes: GraphSizes, decoder: Predictor[Any], active: Active[Any], *others: Any) -> "_StepGraph":
        """Returns the graph of these sizes, made if there is none."""
        if sizes not in self._graphs:
            while len(self._graphs) >= MOST_GRAPHS:
                self._graphs.popitem(last=False)
            if self._pool is None:
                self._pool = torch.cuda.graph_pool_handle()
            self._graphs[sizes] = _StepGraph(sizes, decoder, active, *others, pool=self._pool)
        self._graphs.move_to_end(sizes)
        return self._graphs[sizes]


class _StepGraph:
    """A graph of a step, from some tensors to the same, in which what it shows of each step stays for eight steps."""

    def __init__(
        self,
        sizes: GraphSizes,
        decoder: Predictor[Any],
        active: Active[Any],
        choose: ChooseCandidates,
        rule: LengthConstraint,
        beam_per_group: int,
        end: int,
        *,
        pool: Any,
    ) -> None:
        self.sizes = sizes
        device, written = active.sentences.device, active.written
        assert written is not None
        sentences = torch.arange(sizes.sentences, device=device)
        shortest, longest = torch.zeros_like(sentences), torch.zeros_like(sentences)
        self._limits = Limits(shortest, longest, rule.limits.end_is_free)
        self.active = Active(
            sentences,
            active.counts.new_zeros(sizes.sentences, active.counts.shape[1]),
            active.scores.new_zeros(sizes.sentences, sizes.rows),
            active.tokens.new_zeros(sizes.sentences, sizes.rows, sizes.tokens),
            blank(active.state, sizes.sentences, sizes.source_length, sizes.tokens),
            replace(written, on_device=torch.zeros_like(written.on_device)),
        )
        self._step = torch.zeros_like(written.on_device)
        self._shown: list[Tensor] = []
        self._taken = 0
        own_rule = LengthConstraint(self._limits, rule.end, rule.others)

        def run() -> None:
            step = take_step(decoder, self.active, choose, own_rule, beam_per_group, end)
            self._show(step)
            counts = step.active.counts + step.are_finished.sum(2)
            after = replace(step.active, counts=counts)
            for old, new in zip(tensors_of(self.active), tensors_of(after), strict=True):
                if new is not old:
                    old.copy_(new)
            self._step += 1

        run()  # takes the memory of what is shown, and lets libraries choose their kernels
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            run()

    def load(self, active: Active[Any], limits: Limits) -> None:
        """Copies the sentences of a search, and their limits."""
        numbers = active.sentences  # those of the graph stay as they are, since limits are in the order of its rows
        ours, theirs = (
            tensors_of((each.counts, each.scores, each.tokens, each.state, each.written))
            for each in (self.active, active)
        )
        for room, tensor in zip(ours, theirs, strict=True):
            if room is not tensor:
                _fill(room, tensor)
        _fill(self._limits.shortest, limits.shortest[numbers])
        _fill(self._limits.longest, limits.longest[numbers])
        self._step.zero_()
        self._taken = 0

    def take(self, sentences: Tensor, written: Written) -> Step[Any]:
        """Takes a step of the sentences that are loaded."""
        self._graph.replay()
        place, self._taken = self._taken % LOOK_EVERY, self._taken + 1
        count, active = len(sentences), self.active
        are_finished, rows, totals, tokens, history = (shown[place, :count] for shown in self._shown)
        after = Active(
            sentences,
            active.counts[:count],
            active.scores[:count],
            active.tokens[:count],
            active.state,
            Written(written.count + 1, written.read + 1, active.written.on_device) if active.written else None,
        )
        return Step(Candidates(totals, rows, tokens), are_finished, after, history, is_counted=True)

    def _show(self, step: Step[Any]) -> None:
        """Keeps what a search looks at, in the place of the eighth step before."""
        candidates = step.candidates
        shown = (step.are_finished, candidates.rows, candidates.totals, candidates.tokens, step.history)
        if not self._shown:
            self._shown = [tensor.new_zeros(LOOK_EVERY, *tensor.shape) for tensor in shown]
        place = self._step % LOOK_EVERY
        for kept, tensor in zip(self._shown, shown, strict=True):
            kept.index_copy_(0, place, tensor[None])


def _is_plain(active: Active[Any], choose: ChooseCandidates, rule: Rule) -> bool:
    """Returns True for a step that a graph can take: of a plain beam that has begun, under rules that need no host."""
    return (
        isinstance(choose, Best)
        and active.scores.shape[1] == choose.size
        and is_for_graphs(active.state)
        and isinstance(rule, LengthConstraint)
        and all(isinstance(other, SuppressTokens) for other in rule.others)
    )


def _written(active: Active[Any]) -> Written:
    count = active.tokens.shape[2] - 1
    on_device = torch.full((1,), count, dtype=torch.long, device=active.tokens.device)
    return Written(count, active.state.position, on_device)


def _fill(room: Tensor, tensor: Tensor) -> None:
    """Writes a tensor into the corner of another, and zeros into the rest; what has no place there means nothing."""
    if room.shape != tensor.shape:
        room.zero_()
    corner = tuple(slice(min(sizes)) for sizes in zip(room.shape, tensor.shape, strict=True))
    room[corner].copy_(tensor[corner])


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
