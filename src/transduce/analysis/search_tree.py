"""Records the tree of all that a beam search considers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from transduce.models.interface import Predictor
from transduce.search.beam import Beam
from transduce.search.loop import Active, ChooseCandidates, Step, first_unfinished
from transduce.search.loop import take_step as take_plain_step
from transduce.search.rules import Rule

NodeState = Literal["active", "pruned", "finished", "chosen", "greedy"]

ROOT = 0


@dataclass(frozen=True)
class SearchNode:
    """A token with which the search might have continued an output."""

    id: int
    parent: int | None
    """The node of the token before; None for the root, which is not a token."""
    step: int
    """The number of tokens up to this one, itself counted."""
    token: str
    """The token as the vocabulary spells it."""
    log_probability: float
    """The log-probability of this token, given those before, in nats."""
    total: float
    """The summed log-probability of all tokens up to this one."""
    score: float
    """The total, normalised for length."""
    state: NodeState
    """The state of the node: continued (active) or not (pruned), an output (finished), on the path of the best output
    (chosen), or reached by greedy search alone."""
    text: str
    """The output so far."""
    greedy: bool = False
    """True if greedy search goes through this node."""


class SearchTrace:
    """Takes the steps of a beam search over one sentence, and records the candidates of each."""

    def __init__(
        self, beam: Beam, pieces: Callable[[Sequence[int]], list[str]], decode: Callable[[Sequence[int]], str]
    ):
        self.beam = beam
        self.nodes = [SearchNode(ROOT, None, 0, "", 0.0, 0.0, 0.0, "active", "")]
        self._pieces, self._decode = pieces, decode
        self.tokens: list[list[int]] = [[]]
        """The tokens up to each node."""
        self._of_rows = [ROOT]

    def take_step(
        self,
        decoder: Predictor[Any],
        active: Active[Any],
        choose: ChooseCandidates,
        rule: Rule,
        beam_per_group: int,
        end: int,
    ) -> Step[Any]:
        """Takes a step of `transduce.search.loop.take_step`, and records it."""
        step = take_plain_step(decoder, active, choose, rule, beam_per_group, end)
        candidates = step.candidates
        ends = candidates.tokens == end
        survivors = first_unfinished(ends, beam_per_group)[0, 0].tolist()
        rows, tokens = candidates.rows[0, 0].tolist(), candidates.tokens[0, 0].tolist()
        nodes: list[int | None] = []
        for index, (row, token, total, is_finished) in enumerate(
            zip(rows, tokens, candidates.totals[0, 0].tolist(), step.are_finished[0, 0].tolist(), strict=True)
        ):
            if total == -torch.inf:  # there are fewer candidates
                nodes.append(None)
                continue
            state: NodeState = (
                "finished" if is_finished else "active" if index in survivors and token != end else "pruned"
            )
            tokens_so_far = self.tokens[self._of_rows[row]]
            text = self._decode(tokens_so_far if token == end else [*tokens_so_far, token])
            nodes.append(self._add(self._of_rows[row], token, total, state, text))
        self._of_rows = [ROOT if (node := nodes[index]) is None else node for index in survivors]
        return step

    def mark_best(self, tokens: Sequence[int]) -> None:
        """Marks the path of the best output, its end among the tokens."""
        for node in self._path(tokens):
            self.nodes[node] = replace(self.nodes[node], state="chosen")

    def mark_greedy(self, other: "SearchTrace") -> None:
        """Adds the path of greedy search, recorded by another trace, if it is not in the tree."""
        parent, theirs = ROOT, other.next_of(ROOT)
        while theirs is not None:
            token, step = other.tokens[theirs][-1], other.nodes[theirs]
            if (node := self._child(parent, token)) is None:
                total = self.nodes[parent].total + step.log_probability
                node = self._add(parent, token, total, "greedy", step.text)
            self.nodes[node] = replace(self.nodes[node], greedy=True)
            parent, theirs = node, other.next_of(theirs)

    def next_of(self, node: int) -> int | None:
        """Returns the node after another in a search that follows a single hypothesis."""
        after = {child.state: child.id for child in self.nodes if child.parent == node and child.state != "pruned"}
        return after.get("finished", after.get("active"))

    def finished_nodes(self) -> list[SearchNode]:
        """Returns all nodes, once the search is over: those not continued are pruned."""
        parents = {node.parent for node in self.nodes}
        return [
            replace(node, state="pruned") if node.state == "active" and node.id not in parents else node
            for node in self.nodes
        ]

    def _path(self, tokens: Sequence[int]) -> set[int]:
        """Returns the nodes on the path of some tokens, as far as they are in the tree."""
        path, node = {ROOT}, ROOT
        for token in tokens:
            if (child := self._child(node, token)) is None:
                break
            path.add(child)
            node = child
        return path

    def _child(self, parent: int, token: int) -> int | None:
        return next(
            (node.id for node in self.nodes if node.parent == parent and self.tokens[node.id][-1] == token), None
        )

    def _add(self, parent: int, token: int, total: float, state: NodeState, text: str) -> int:
        tokens = [*self.tokens[parent], token]
        node = SearchNode(
            id=len(self.nodes),
            parent=parent,
            step=len(tokens),
            token=self._pieces([token])[0],
            log_probability=total - self.nodes[parent].total,
            total=total,
            score=self.beam.normalize(total, len(tokens)),
            state=state,
            text=text,
        )
        self.nodes.append(node)
        self.tokens.append(tokens)
        return node.id
