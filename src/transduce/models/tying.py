"""Weight tying: embeddings of an encoder-decoder and its output layer share one matrix (Press and Wolf 2017)."""

from collections.abc import Callable
from typing import Literal

from torch import nn

from transduce.base.errors import ConfigError

Tie = Literal["none", "target", "all"]
"""Nothing, the target's embeddings and the output layer, or both of these and the source's embeddings."""


def token_tables(
    tie: Tie, source_vocabulary: int, target_vocabulary: int, make_table: Callable[[int], nn.Embedding]
) -> tuple[nn.Embedding, nn.Embedding]:
    """Returns embeddings of the source's and the target's tokens, one for both where all is shared.

    Raises ConfigError where vocabularies of different sizes should share one.
    """
    if tie == "all" and source_vocabulary != target_vocabulary:
        raise ConfigError(
            f'model.tie = "all" shares one matrix, but the source has {source_vocabulary} tokens and the target '
            f'{target_vocabulary}; set tokenizer.shared = true or model.tie = "target"'
        )
    source = make_table(source_vocabulary)
    return source, source if tie == "all" else make_table(target_vocabulary)
