"""Hiding tokens of a text, and their replacements (Devlin et al. 2019, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from transduce.base.config import Settings
from transduce.base.ranges import ShareWithin
from transduce.text.tokenizer import Tokenizer

MASKED, RANDOM = 0.8, 0.1  # of the hidden tokens; the others stay, so that a visible token may be wrong, too


class MaskingConfig(Settings, frozen=True):
    """Settings for hiding tokens."""

    retired: ClassVar = {"whole_words": False}

    share: ShareWithin = 0.15
    """Share of the tokens that are hidden: 80 % become [MASK], 10 % a random token, 10 % stay."""
    dynamic: bool = True
    """Hide different tokens in each epoch; else the same texts with the same hidden tokens (Liu et al. 2019, section
    4.1)."""


@dataclass(frozen=True)
class Masking:
    """Hides tokens of one vocabulary."""

    config: MaskingConfig
    mask: int
    ordinary: NDArray[np.int64]
    """The tokens that may replace another."""

    @staticmethod
    def of(config: MaskingConfig, tokenizer: Tokenizer) -> "Masking":
        """Prepares for a tokenizer, which must have a mask token."""
        assert tokenizer.mask is not None
        pieces = tokenizer.pieces(range(len(tokenizer)))
        special = {tokenizer.pad, tokenizer.unknown, tokenizer.bos, tokenizer.eos, tokenizer.mask}
        ordinary = [token for token, piece in enumerate(pieces) if piece and token not in special]
        return Masking(config, tokenizer.mask, np.array(ordinary))

    def hide(
        self, tokens: Sequence[int] | NDArray[np.integer], random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the tokens with some of them hidden, at least one, and the indices of these."""
        changed = np.array(tokens, dtype=np.int64)
        count = max(round(self.config.share * len(changed)), 1)
        indices = np.sort(random.permutation(len(changed))[:count])
        draw = random.random(len(indices))
        changed[indices[draw < MASKED]] = self.mask
        is_random = (draw >= MASKED) & (draw < MASKED + RANDOM)
        changed[indices[is_random]] = random.choice(self.ordinary, int(is_random.sum()))
        return changed, indices
