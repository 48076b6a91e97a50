"""Records of learning from a project's segments: a lesson for each, its losses, the checks, and the adapter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from torch import Tensor


class Lesson(msgspec.Struct):
    """A segment, in the order of confirmation, and the model's part in it."""

    kind: str
    """learned, held out (as a check), or left out (too long)."""
    static: str = ""
    """Translation of the source by the model without an adapter; made at the next check."""
    adapted: str = ""
    """Translation of the source with the adapter, before the segment was learned."""
    before: float = 0.0
    """Loss of the confirmed target before the segment was learned, in nats per token."""
    after: float = 0.0
    """Loss of the confirmed target right after, in nats per token."""
    seconds: float = 0.0
    """Seconds that the segment took, checks included."""
    is_undone: bool = False
    """True if the group of the segment was undone."""


class Check(msgspec.Struct):
    """A check after a group of learned segments."""

    position: int
    """Number of segments seen."""
    first: int
    """Index of the group's first segment."""
    static: float
    """Loss on the held-out segments without an adapter, in nats per token; 0 without any."""
    held_out: float
    """Loss on the held-out segments with the adapter."""
    general: float
    """Loss on general pairs, more than without an adapter, in nats per token."""
    undone: str = ""
    """The reason why the group was undone; "" if it was kept."""
    shrunk: float = 1.0
    """Factor by which the adapter was made smaller, since it had lost too much little by little; 1 if it was not."""
    key: str = ""
    """Hash of all that the check is a function of."""


class LearningProgress(msgspec.Struct):
    """The part of a learner's state that is not tensors: its lessons and checks so far."""

    lessons: list[Lesson] = []
    checks: list[Check] = []
    group: list[int] = []
    """Indices of segments learned since the last check."""
    new: list[int] = []
    """Indices of segments held out since the last check."""
    held_out: list[int] = []
    """Indices of held-out segments on which updates are checked."""
    static: list[tuple[float, int]] = []
    """Loss in nats, and tokens, of each held-out segment without an adapter."""
    accepted: list[tuple[float, int]] = []
    """Loss in nats, and tokens, of each held-out segment at the last check."""
    general: float = 0.0
    """Loss on general pairs after the last check, more than without an adapter, in nats per token."""
    strictness: int = 0
    """Times that the weight of general text is doubled, as much of what may be forgotten is lost."""


@dataclass(frozen=True)
class Learned:
    """An adapter and the segments that it was learned from."""

    key: str
    """Hash of all that the adapter is a function of."""
    adapter: dict[str, Tensor]
    """Matrices `down` and `up` of each adapted layer, by name."""
    lessons: Sequence[Lesson]
    """A lesson for each segment."""
    checks: Sequence[Check]

    @property
    def position(self) -> int:
        """Number of segments seen."""
        return len(self.lessons)


def mean_loss(losses: Sequence[tuple[float, int]]) -> float:
    """Returns nats per token of several pairs; 0 without any."""
    return sum(nats for nats, _ in losses) / max(1, sum(tokens for _, tokens in losses))


def loss_difference(before: Sequence[tuple[float, int]], after: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Returns the mean difference of the losses of the same pairs in nats per token, and its standard error."""
    mean = mean_loss(after) - mean_loss(before)
    pairs = zip(before, after, strict=True)
    apart = [end - begin - mean * tokens for (begin, tokens), (end, _) in pairs]
    return mean, math.hypot(*apart) / max(1, sum(tokens for _, tokens in before))
