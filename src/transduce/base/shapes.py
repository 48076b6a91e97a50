"""Types of tensors that packages exchange, with their axes (jaxtyping; checked while tests run)."""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Tokens = Int[Tensor, "rows time"]
"""Token ids, one row per sequence."""

Mask = Bool[Tensor, "rows time"]
"""True where a token is real, False where it is padding."""

Logits = Float[Tensor, "rows time vocabulary"]
"""Unnormalised log-probabilities of each next token."""

Hidden = Float[Tensor, "rows time dim"]
"""One vector per position."""
