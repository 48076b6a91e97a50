"""Numbers, addresses and part numbers of a source in its translation: where the model changes one, it is searched again
with those that it must have."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from docsegments.orthography.words import holds
from docsegments.orthography.written_numbers import Changes, forms_of
from transduce.base.errors import InputError
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import EngineChoice
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, search_of
from transduce.search.loop import Hypothesis

MOST_REQUIRED = 20
"""The most numbers that a search requires at once: a line with more is a table, and a search for it would take long."""
MOST_LOST = 3.0
"""The nats per token by which an output that keeps numbers may be less probable than one that changes them."""


def keep_numbers(
    pieces: Sequence[Piece],
    outputs: Sequence[list[Hypothesis]],
    rule: DecisionRule,
    constraints: Constraints,
    engine: EngineChoice,
    search: Callable[[Sequence[Piece], DecisionRule], list[list[Hypothesis]]],
) -> list[list[Hypothesis]]:
    """Returns the outputs of each piece, best first, with numbers kept where `search` can find such an output.

    A new output takes the first place if it changes fewer numbers and is not improbable; else all stays as it is.
    """

    def read(piece: Piece, output: Hypothesis) -> Changes:
        assert piece.numbers is not None
        return piece.numbers.changes(constraints.tokenizer.decode(output.tokens))

    results, asked = list(outputs), {}
    for i, (piece, found) in enumerate(zip(pieces, outputs, strict=True)):
        if piece.numbers is None or not found or not (first := read(piece, found[0])).changed:
            continue
        bound = with_numbers(piece, first, constraints, constraints.tokenizer.decode(found[0].tokens))
        if bound.required and _can_run(engine, bound, rule):
            asked[i] = bound
    wide: Any = msgspec.structs.replace(rule, n_best=rule.size) if isinstance(rule, Beam) else rule
    for i, found in zip(asked, search(list(asked.values()), wide) if asked else [], strict=True):
        first, *_ = outputs[i]
        costs = [len(read(pieces[i], output).changed) for output in (first, *found)]
        least = min(costs)
        kept = [output for output, cost in zip(found, costs[1:], strict=True) if cost == least < costs[0]]
        kept = [output for output in kept if _mean(first) - _mean(output) <= MOST_LOST]
        others = [output for output in outputs[i] if kept and output.score <= kept[0].score]
        results[i] = [*kept, *others][: rule.n_best] or outputs[i]
    return results


def with_numbers(piece: Piece, found: Changes, constraints: Constraints, output: str) -> Piece:
    """Returns a piece that requires the numbers of its source, once for each time, and bans what an output has in their
    place; numbers that the vocabulary cannot write are left out."""
    assert piece.numbers is not None
    language, times = piece.numbers.languages[1], dict[str, int]()
    required, texts = [], list[str]()
    for number in [*found.lost, *found.equal][:MOST_REQUIRED]:
        forms = forms_of(number, language, output)
        times[number.key] = times.get(number.key, 0) + 1
        phrase = constraints.one_of(forms)
        if phrase.forms:
            required.append(replace(phrase, occurrence=times[number.key]))
            texts += forms
    banned = [
        number.text for number in found.invented[:MOST_REQUIRED] if not any(holds(text, number.text) for text in texts)
    ]
    return replace(
        piece,
        required=[*piece.required, *required],
        banned=[*piece.banned, *(constraints.ban(text) for text in banned)],
    )


def _can_run(engine: EngineChoice, piece: Piece, rule: DecisionRule) -> bool:
    """Returns True if an engine can search with required phrases."""
    try:
        engine.of(piece, search_of(rule))
    except InputError:
        return False
    return True


def _mean(output: Hypothesis) -> float:
    return output.log_probability / (len(output.tokens) + 1)
