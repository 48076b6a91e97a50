"""States of decoders in the form that CUDA graphs need: the same shapes at every step, and numbers as tensors."""

from dataclasses import replace
from typing import TypeGuard

import torch

from transduce.nn.cache import Cache
from transduce.nn.ssru import Cell
from transduce.nn.state import AttentionState, RecurrentState

GraphState = AttentionState | RecurrentState
"""States that have room for what grows from step to step, so that a GPU replays one graph of a step."""


def is_for_graphs(state: object) -> TypeGuard[GraphState]:
    """Returns True for a state with which a graph can take steps."""
    return isinstance(state, AttentionState | RecurrentState)


def numbered(state: GraphState) -> GraphState:
    """Returns a state with its numbers as tensors."""
    if state.place is not None:
        return state
    numbers = [state.position]
    if isinstance(state, AttentionState):
        cache = state.cache[0]
        numbers.append(cache.length if isinstance(cache, Cache) else 0)
    device = state.source_may_attend.device
    place = torch.cat([torch.full((1,), number, dtype=torch.long, device=device) for number in numbers])
    return replace(state, place=place)


def blank(state: GraphState, sentences: int, source_length: int, tokens: int) -> GraphState:
    """Returns a state of zeros with room for as much, with the tensors of `numbered`, each at least as large; its
    position is the largest that it has room for."""
    mask = state.source_may_attend
    may_attend = mask.new_zeros(sentences, 1, 1, source_length)
    if isinstance(state, RecurrentState):
        rows = sentences * state.rows_per_sentence
        return replace(
            state,
            source=state.source.blank(sentences, source_length),
            source_may_attend=may_attend,
            hidden=state.hidden.new_zeros(rows, *state.hidden.shape[1:]),
            fed=state.fed.new_zeros(rows, state.fed.shape[1]),
            position=tokens - 1,
            place=torch.zeros(1, dtype=torch.long, device=mask.device),
        )
    is_shared = state.past is not None
    rows, slots = (sentences, state.rows_per_sentence) if is_shared else (sentences * state.rows_per_sentence, 1)
    keys = tokens * slots
    return replace(
        state,
        source=tuple(layer.blank(sentences, source_length) for layer in state.source),
        source_may_attend=may_attend,
        cache=tuple(_blank_cache(layer, rows, keys) for layer in state.cache),
        position=tokens - 1,
        past=mask.new_zeros(sentences, slots, keys) if is_shared else None,
        place=torch.zeros(2, dtype=torch.long, device=mask.device),
    )


def _blank_cache(cache: Cache | Cell, rows: int, positions: int) -> Cache | Cell:
    """Returns a cache of the same kind, of zeros which all count as known; a recurrence needs no room for positions."""
    if isinstance(cache, Cell):
        return Cell(cache.value.new_zeros(rows, cache.value.shape[1]))
    return Cache(cache.buffer.blank(rows, positions), positions)
