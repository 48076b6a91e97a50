"""Attention of a sequence to itself, and to the keys and values kept of its earlier part."""

import torch
from torch import nn

from transduce.base.shapes import Hidden
from transduce.nn.attention import AnyMask, Heads, KeysValues, MultiHeadAttention
from transduce.nn.cache import Cache
from transduce.nn.linear import linear_layer
from transduce.nn.positions import Rotary, Span
from transduce.nn.ragged import Ragged


class SelfAttention(nn.Module):
    """Attention of a sequence to itself, and to the keys and values kept from its earlier part."""

    def __init__(self, attention: MultiHeadAttention, rotary: Rotary | None) -> None:
        super().__init__()
        self.attention = attention
        self.rotary = rotary
        self.joint: nn.Module | None = None

    def empty_cache(self, like: Hidden) -> Cache:
        """Returns the cache before the first position."""
        return Cache(self.attention.no_keys(like), 0)

    def forward(
        self, hidden: Hidden, at: Span | Ragged, may_attend: AnyMask | None, cache: Cache
    ) -> tuple[Hidden, Cache]:
        """Maps [rows, time, dim] to the same shape; returns also the keys and values of all positions so far.

        A row may hold several sequences, one after another, all of the same span.
        """
        # project the new positions: a query, a key and a value for each head
        queries, new = self._project(hidden, at)  # [rows, heads, time, key_dim]
        # put the new keys and values behind the known ones
        slots = at.on_device.slots if isinstance(at, Span) and at.on_device is not None else None
        cache = cache.append(new) if slots is None else cache.write(new, slots)
        # weigh all values by softmax(Q K^T / sqrt(d_k)), and project back
        return self.attention(queries, cache.known, may_attend), cache  # [rows, time, dim]

    @torch.no_grad()
    def join(self) -> None:
        """Projects queries, keys and values by one product from now on, and turns queries and keys at once."""
        if self.joint is not None:
            return
        apart = (self.attention.query, self.attention.key_value)
        self.joint = linear_layer(
            torch.cat([layer.weight for layer in apart]), torch.cat([layer.bias for layer in apart])
        )
        del self.attention.query, self.attention.key_value

    def _project(self, hidden: Hidden, at: Span | Ragged) -> tuple[Heads, KeysValues]:
        """Returns queries, keys and values, with positions applied."""
        part = self.attention
        if self.joint is None:
            queries, new = part.queries(hidden), part.project(hidden)
            return self._turn(queries, at), KeysValues(self._turn(new.keys, at), new.values)
        queries_keys, values = part.split_joint(self.joint(hidden))
        queries, keys = self._turn(queries_keys, at).tensor_split((part.heads,), 1)
        return queries, KeysValues(keys, values)

    def _turn(self, heads: Heads, at: Span | Ragged) -> Heads:
        if self.rotary is None:
            return heads
        return self.rotary(heads.unflatten(2, (-1, at.time)), at).flatten(2, 3)


def join_projections(model: nn.Module) -> None:
    """Joins the projections of every self-attention of a trained model, in place; parameters change their names."""
    for module in model.modules():
        if isinstance(module, SelfAttention):
            module.join()
