"""Factorisation orders of permutation language modelling (Yang et al. 2019, section 2.2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transduce.base.devices import to_device

CONTEXT = -1


@dataclass(frozen=True)
class FactorizationOrder:
    """The order in which tokens of segments are predicted, and the predicted positions."""

    rank: Int[Tensor, "rows time"]
    """From 0 in the order of prediction; -1 for tokens that are context and not predicted."""
    targets: Int[Tensor, "rows targets"]
    """The positions that are predicted, in ascending order."""

    @property
    def content_may_attend(self) -> Bool[Tensor, "rows 1 time time"]:
        """Mask by which a token may attend to the context, to tokens predicted before it, and to itself."""
        itself = torch.eye(self.rank.shape[1], dtype=torch.bool, device=self.rank.device)
        return (self._is_known(self.rank) | itself)[:, None]

    @property
    def query_may_attend(self) -> Bool[Tensor, "rows 1 targets time"]:
        """Mask by which a predicted token may attend to the context and tokens predicted before it, not to itself."""
        return self._is_known(self.rank.gather(1, self.targets))[:, None]

    def _is_known(self, rank: Int[Tensor, "rows queries"]) -> Bool[Tensor, "rows queries time"]:
        earlier = self.rank[:, None, :] < rank[..., None]
        return earlier | (self.rank == CONTEXT)[:, None, :]


def draw_orders(rows: int, time: int, share: float, max_span: int, device: torch.device) -> FactorizationOrder:
    """Returns an order for each row, by torch's global generator of the CPU.

    Args:
        rows: segments.
        time: tokens of a segment.
        share: of the tokens, the last ones in the order, that is predicted: 1/K of the paper.
        max_span: predicted tokens are in spans of 1 to this many adjacent tokens; their order is still random.
        device: where the order is used.
    """
    count = min(max(round(share * time), 1), time)
    ranks = torch.full((rows, time), CONTEXT)
    for rank in ranks:
        chosen = _spans(time, count, max_span) if max_span > 1 else torch.randperm(time)[:count]
        rank[chosen] = torch.randperm(count)
    targets = (ranks != CONTEXT).nonzero()[:, 1].view(rows, count)
    return FactorizationOrder(*to_device([ranks, targets], device))


def _spans(time: int, count: int, max_span: int) -> Tensor:
    """Returns `count` positions in spans that begin at random.

    Spans that reach beyond the end continue at the beginning, so that each position is as likely as any other.
    """
    is_chosen = torch.zeros(time, dtype=torch.bool)
    left = count
    while left:
        (free,) = (~is_chosen).nonzero(as_tuple=True)
        start = int(free[torch.randint(len(free), ())])
        length = min(int(torch.randint(1, max_span + 1, ())), left)
        span = torch.arange(start, start + length) % time
        left -= int((~is_chosen[span]).sum())
        is_chosen[span] = True
    return is_chosen.nonzero()[:, 0]
