"""Searches outputs that change numbers, addresses or part numbers of their source again, with these required."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from docsegments.orthography.words import holds
from docsegments.text.written_numbers import changes, forms_of
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import EngineChoice
from transduce.inference.quality.alarms import EXTRA
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, can_require, search_of
from transduce.search.loop import Hypothesis

BEAM = 8
"""The least hypotheses of a search that places numbers."""
MOST_REQUIRED = 20
"""The most numbers that a search requires at once: a line with more is a table, and a search for it would take long."""
MOST_LOST = 9.0
"""The most nats by which an output that keeps numbers may be less probable than one that changes them, for each token
of these numbers, and once more: any token costs the logarithm of the vocabulary if the model knows nothing of it."""


@dataclass(frozen=True)
class Rebound:
    """A piece that is searched again, since its first output changes numbers."""

    piece: Piece
    first: Hypothesis
    changed: int
    """How many numbers the first output changes."""
    invented: int
    """How many numbers it has that the source has not."""
    tokens: int
    """The number of tokens of the numbers that it lost."""

    @staticmethod
    def of(piece: Piece, outputs: Sequence[Hypothesis], constraints: Constraints) -> "Rebound | None":
        """Returns the piece with the numbers of its source required, once for each time, and banned what is in their
        place; None if nothing is changed that the vocabulary can write."""
        if piece.keeps_numbers is None or not outputs:
            return None
        text = constraints.tokenizer.decode(outputs[0].tokens)
        found = changes(piece.text, text, piece.keeps_numbers)
        if not found.changed:
            return None
        required, forms, times = [], list[str](), Counter[str]()
        for number in [*found.lost, *found.equal][:MOST_REQUIRED]:
            times[number.key] += 1
            written = forms_of(number, piece.keeps_numbers[1], text)
            phrase = replace(constraints.one_of(written), occurrence=times[number.key])
            required.append(phrase)
            forms += written
        lost = required[: len(found.lost)]
        invented = [number.text for number in found.invented if number.is_long][:MOST_REQUIRED]
        bans = [constraints.ban(text) for text in invented if not any(holds(form, text) for form in forms)]
        required = [*piece.required, *(phrase for phrase in required if phrase.forms)]
        bound = replace(piece, required=required, banned=[*piece.banned, *bans])
        tokens = sum(phrase.length for phrase in lost if phrase.forms)
        return Rebound(bound, outputs[0], len(found.changed), len(found.invented), tokens) if required else None

    def better(self, outputs: Sequence[Hypothesis], decode: Callable[[list[int]], str]) -> list[Hypothesis]:
        """Returns the outputs that change the fewest numbers, if these are fewer than before; none that is improbable
        or truncated, invents more, or has less than half as many other tokens as the first one."""
        assert self.piece.keeps_numbers is not None
        few: dict[int, list[Hypothesis]] = {self.changed: []}
        for output in outputs:
            is_probable = self.first.log_probability - output.log_probability <= MOST_LOST * (self.tokens + 1)
            is_probable &= output.truncated <= self.first.truncated
            if is_probable and len(output.tokens) - self.tokens >= len(self.first.tokens) / 2:
                found = changes(self.piece.text, decode(output.tokens), self.piece.keeps_numbers)
                if len(found.invented) <= self.invented:
                    few.setdefault(len(found.changed), []).append(output)
        return few[min(few)] if min(few) < self.changed else []


def keep_numbers(
    pieces: Sequence[Piece],
    outputs: Sequence[list[Hypothesis]],
    rule: DecisionRule,
    constraints: Constraints,
    engine: EngineChoice,
    search: Callable[[Sequence[Piece], DecisionRule], list[list[Hypothesis]]],
) -> list[list[Hypothesis]]:
    """Returns the outputs of each piece, best first, with a better one in the first place where `search` finds it."""
    results = list(outputs)
    rebounds = [Rebound.of(piece, found, constraints) for piece, found in zip(pieces, outputs, strict=True)]
    again = {i: each for i, each in enumerate(rebounds) if each is not None and _can_run(engine, each.piece, rule)}
    if not again:
        return results
    wide: Any = rule
    if isinstance(rule, Beam):
        size, most = max(rule.size, BEAM), EXTRA + max(rebound.tokens for rebound in again.values())
        wide = msgspec.structs.replace(rule, size=size, n_best=size, max_extra=min(rule.max_extra, most))
    new = search([rebound.piece for rebound in again.values()], wide)
    for (i, rebound), found in zip(again.items(), new, strict=True):
        if better := rebound.better(found, constraints.tokenizer.decode):
            others = [output for output in outputs[i] if output.score <= better[-1].score]
            results[i] = [*better, *others][: rule.n_best]
    return results


def kept_between(config: BundleConfig, rule: DecisionRule) -> tuple[str, str] | None:
    """Returns the languages between which a rule keeps numbers; None if it does not."""
    return (config.source, config.target) if search_of(rule).keep_numbers == "on" else None


def _can_run(engine: EngineChoice, piece: Piece, rule: DecisionRule) -> bool:
    """Returns True if an engine can search with required phrases by a rule."""
    try:
        engine.of(piece, search_of(rule))
    except InputError:
        return False
    return can_require(rule)
