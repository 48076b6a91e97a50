"""Makes and combines masks, all here: bool, True means "may attend"; they broadcast to
[rows, heads, queries, keys]."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from transduce.base.shapes import Mask

AttentionMask = Bool[Tensor, "#rows #heads #queries #keys"]
SourceMask = Bool[Tensor, "sentences 1 1 source_time"]
Ancestry = Bool[Tensor, "sentences hypotheses _"]  # mask of each hypothesis's own among the shared keys


class Causal:
    """The mask of whole rows by which each query may attend to keys up to its own position, without a tensor: kernels
    of a GPU know it by name, and are slower with any mask that is a tensor."""


CAUSAL = Causal()


def masked_softmax(
    scores: Float[Tensor, "rows heads queries keys"], may_attend: AttentionMask | None, further: int = 1
) -> Float[Tensor, "rows heads queries _"]:
    """Returns softmax over the keys that a query may attend to, and over further keys of the least score, one or more.

    The further ones have weights of zero, unless a query may attend to nothing: then they have all of its weight.
    """
    scores = functional.pad(scores, (0, further), value=torch.finfo(scores.dtype).min)  # [..., keys + further]
    if may_attend is not None:
        scores = scores.masked_fill_(~functional.pad(may_attend, (0, further), value=True), -torch.inf)
    return scores.softmax(-1)


def padding_mask(is_real: Mask) -> Bool[Tensor, "rows 1 1 keys"]:
    """Returns a mask by which every query may attend to every real key."""
    return is_real[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device) -> Bool[Tensor, "1 1 queries keys"] | None:
    """Returns the mask by which query i may attend to keys up to its own position, aligned at the last key.

    With cached keys there are more keys than queries. None if nothing is hidden (a single query).
    """
    if queries == 1:
        return None
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)[None, None]


def memory_mask(queries: int, keys: int, memory: int, device: torch.device) -> Bool[Tensor, "1 1 queries keys"] | None:
    """Returns the mask by which a query may attend to its position and `memory` before it, aligned at the last key.

    None if nothing is hidden.
    """
    if keys <= memory + 1:
        return causal_mask(queries, keys, device)
    everywhere = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return everywhere.tril(keys - queries).triu(keys - queries - memory)[None, None]


def shared_cache_mask(
    past: Ancestry, time: int, keys: int | None = None
) -> tuple[Bool[Tensor, "sentences 1 queries keys"], Ancestry]:
    """Returns the mask for hypotheses that share their keys: each may attend to its past and to its `time` new keys.

    The new keys and the queries are in the order of the hypotheses. The second result is the past of the next step.
    `keys` is the number of earlier ones where the past has room for more, which is filled as long as it suffices.
    """
    sentences, rows, room = past.shape
    keys = room if keys is None else keys
    new = torch.eye(rows, dtype=torch.bool, device=past.device).repeat_interleave(time, 1)
    stop = keys + rows * time
    if stop <= room:
        past[..., keys:stop] = new
        after, known = past, past[..., :stop]
    else:
        after = known = torch.cat([past[..., :keys], new.expand(sentences, -1, -1)], -1)
    if time == 1:
        return known[:, None], after
    mask = known.repeat_interleave(time, 1)  # [sentences, rows * time, keys + rows * time]
    mask[..., keys:] &= new.new_ones(time, time).tril().repeat(rows, rows)
    return mask[:, None], after


def window_mask(
    may_attend: SourceMask, center: Float[Tensor, "sentences 1 queries 1"], window: int
) -> Bool[Tensor, "sentences 1 queries source_time"]:
    """Returns a mask by which a query may attend to keys at most `window` positions from its center."""
    positions = torch.arange(may_attend.shape[-1], device=may_attend.device)
    return may_attend & ((positions - center).abs() <= window)
