"""Findings of a look at a model: attention, confidence, alignment, occlusion, and the search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from transduce.analysis.attribution import Attribution
from transduce.analysis.recorded_attention import Part
from transduce.analysis.search_tree import NodeState, SearchNode
from transduce.base.errors import InputError

Direction = Literal["ltr", "rtl"]
Unit = Literal["nats", "score"]


@dataclass(frozen=True)
class TokenText:
    """A text and its tokens."""

    text: str
    tokens: list[str]
    """The tokens as the vocabulary spells them, the end token last."""
    direction: Direction = "ltr"


@dataclass(frozen=True)
class AttentionMap:
    """Attention weights of one layer, each row a distribution over what it attends to."""

    part: Part
    layer: int
    """The layer of that part, counted from 0."""
    weights: NDArray[np.float32]
    """[heads, queries, keys]; a decoder's queries are the tokens that it reads, `Look.read`."""


@dataclass(frozen=True)
class RunnerUp:
    """An alternative token and its probability."""

    token: str
    probability: float


@dataclass(frozen=True)
class Confidence:
    """The confidence of the model in a token of the output."""

    token: str
    probability: float
    rank: int
    """The rank of the token, 1 for the likeliest."""
    alternatives: list[RunnerUp]
    """The likeliest others, best first."""


@dataclass(frozen=True)
class WordAlignment:
    """Pairs of words that translate each other, by one head's attention."""

    layer: int
    head: int
    shift: int
    """See AlignmentHead."""
    source_words: list[str]
    target_words: list[str]
    links: list[tuple[int, int]]
    """Source and target words, counted from 0."""


@dataclass(frozen=True)
class Occlusion:
    """The fall of the output's log-probability (or score) when a source token is hidden, in nats."""

    drops: NDArray[np.float32]
    """The falls, [target tokens, source tokens]."""

    @property
    def total(self) -> NDArray[np.float32]:
        """The fall of the whole output's score for each source token."""
        return self.drops.sum(0)


@dataclass(frozen=True)
class OcclusionAgreement:
    """Spearman rank correlations with occlusion, over the source tokens that are text; None where one is constant."""

    attention: float | None
    """The correlation of the attention that each source token gets: the mean over layers, heads and target tokens."""
    gradient: float | None
    """The correlation of integrated gradients."""


@dataclass(frozen=True)
class SearchTree:
    """The tree of all that a beam search considered."""

    size: int
    length_penalty: float
    nodes: list[SearchNode]
    """The nodes, the root first, parents before children."""

    def state_of(self, path: Sequence[str]) -> NodeState | None:
        """Returns the state of the last of some tokens from the root on; None if the search did not consider it."""
        node = self.nodes[0]
        for token in path:
            after = [each for each in self.nodes if each.parent == node.id and each.token == token]
            if not after:
                return None
            node = after[0]
        return node.state


@dataclass(frozen=True)
class Findings:
    """A record of a model's work on one sentence or text."""

    model: str
    task: str
    source: TokenText | None
    """The source; None for a language model."""
    target: TokenText
    """The output's tokens; of a model that only reads: a class, a score, a tag for each word, an answer, or nothing."""
    read: list[str]
    """The tokens that the decoder read before it wrote each target token; empty without a decoder."""
    attention: list[AttentionMap]
    confidence: list[Confidence]
    """The confidence in each target token; none for a score."""
    alignment: WordAlignment | None = None
    occlusion: Occlusion | None = None
    """The occlusion of source tokens; None for a language model, which has no source."""
    gradient: Attribution | None = None
    attended: NDArray[np.float32] | None = None
    """The attention that each source token gets; None without attention to a source."""
    agreement: OcclusionAgreement | None = None
    search: SearchTree | None = None
    """The beam search; None if the target was given, or nothing was written."""
    unit: Unit = "nats"
    """The unit of occlusion and gradient: of a log-probability, or of the model's score."""

    def maps(self, part: Part) -> NDArray[np.float32]:
        """Returns the weights of a part, [layers, heads, queries, keys]; InputError if the model has none."""
        weights = [attention.weights for attention in self.attention if attention.part == part]
        if not weights:
            raise InputError(f"the model has no {part} attention")
        return np.stack(weights)

    def to_dict(self) -> dict[str, Any]:
        """Returns all findings as numbers, lists and strings, which `transduce look -o FILE.json` writes."""
        facts = self.facts()
        return facts | {"attention": [entry | {"weights": entry["weights"].tolist()} for entry in facts["attention"]]}

    def facts(self) -> dict[str, Any]:
        """Returns all findings with attention weights as arrays."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.occlusion is not None:
            facts["occlusion"] = {"drops": self.occlusion.drops.tolist(), "total": self.occlusion.total.tolist()}
        return {name: _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    """Turns dataclasses into dicts and small arrays into lists; attention keeps its arrays."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, AttentionMap):
        return {"part": value.part, "layer": value.layer, "weights": value.weights}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
