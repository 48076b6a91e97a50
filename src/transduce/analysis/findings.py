"""What is found when a model is looked at: attention, confidence, alignment, occlusion, and the search."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from transduce.analysis.attention import Part
from transduce.analysis.attribution import Attribution
from transduce.analysis.search_tree import Node
from transduce.errors import InputError

Direction = Literal["ltr", "rtl"]
Unit = Literal["nats", "score"]


@dataclass(frozen=True)
class TokenText:
    """A text and its tokens."""

    text: str
    tokens: list[str]
    """As they stand in the vocabulary, the end token last."""
    direction: Direction = "ltr"


@dataclass(frozen=True)
class AttentionMap:
    """Attention weights of one layer, each row a distribution over what it attends to."""

    part: Part
    layer: int
    """Of that part, counted from 0."""
    weights: NDArray[np.float32]
    """[heads, queries, keys]; a decoder's queries are the tokens that it reads, `Look.read`."""


@dataclass(frozen=True)
class RunnerUp:
    """Another token that might have come, and its probability."""

    token: str
    probability: float


@dataclass(frozen=True)
class Confidence:
    """How sure the model was of a token of the output."""

    token: str
    probability: float
    rank: int
    """1 for the likeliest token."""
    alternatives: list[RunnerUp]
    """The likeliest others, best first."""


@dataclass(frozen=True)
class WordAlignment:
    """Which words translate which, by one head's attention."""

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
    """How much the output's log-probability (or score) falls when a source token is hidden, in nats."""

    drops: NDArray[np.float32]
    """[target tokens, source tokens]."""

    @property
    def total(self) -> NDArray[np.float32]:
        """Of the whole output, one a source token."""
        return self.drops.sum(0)


@dataclass(frozen=True)
class Agreement:
    """Spearman rank correlations with occlusion, over the source tokens that are text; None where one is constant."""

    attention: float | None
    """Of the attention that each source token gets, the mean over layers, heads and target tokens."""
    gradient: float | None
    """Of integrated gradients."""


@dataclass(frozen=True)
class SearchTree:
    """All that a beam search considered."""

    size: int
    length_penalty: float
    nodes: list[Node]
    """The root first; parents before children."""


@dataclass(frozen=True)
class Findings:
    """What a model did with one sentence or text."""

    model: str
    task: str
    source: TokenText | None
    """None for a language model."""
    target: TokenText
    """Of a model that only reads what it tells: a class, a score, a tag for each word, an answer, or nothing."""
    read: list[str]
    """What the decoder read before it wrote each target token; nothing without a decoder."""
    attention: list[AttentionMap]
    confidence: list[Confidence]
    """One a target token; none for a score."""
    alignment: WordAlignment | None
    occlusion: Occlusion | None
    """None for a language model, which has no source."""
    gradient: Attribution | None
    attended: NDArray[np.float32] | None
    """The attention that each source token gets; None without attention to a source."""
    agreement: Agreement | None
    search: SearchTree | None
    """None where the target was given, or nothing was written."""
    unit: Unit = "nats"
    """Of occlusion and gradient: of a log-probability, or of the score that the model tells."""

    def maps(self, part: Part) -> NDArray[np.float32]:
        """[layers, heads, queries, keys] of a part; InputError where the model has none."""
        found = [one.weights for one in self.attention if one.part == part]
        if not found:
            raise InputError(f"the model has no {part} attention")
        return np.stack(found)

    def to_dict(self) -> dict[str, Any]:
        """All of it as numbers, lists and strings, which is what `transduce look -o FILE.json` writes."""
        facts = self.facts()
        return facts | {"attention": [one | {"weights": one["weights"].tolist()} for one in facts["attention"]]}

    def facts(self) -> dict[str, Any]:
        """The same with attention weights as arrays."""
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.occlusion is not None:
            facts["occlusion"] = {"drops": self.occlusion.drops.tolist(), "total": self.occlusion.total.tolist()}
        return {name: _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    """Dataclasses as dicts and small arrays as lists; attention keeps its arrays."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, AttentionMap):
        return {"part": value.part, "layer": value.layer, "weights": value.weights}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
