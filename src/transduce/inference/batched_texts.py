"""Runs an encoder on many texts, those of similar length at once."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transduce.data.batch import SpecialIds
from transduce.data.parts import batches_by_length
from transduce.data.text_batch import Ids, TextBatch, make_text_batch, row_length

TOKENS_AT_ONCE = 4096

Row = tuple[Ids, Ids | None]


@torch.inference_mode()
def read_texts(
    model: nn.Module,
    rows: Sequence[Row],
    special: SpecialIds,
    made_of: Callable[[TextBatch], Tensor] | None = None,
    tokens_at_once: int = TOKENS_AT_ONCE,
    make_batch: Callable[[Sequence[Row], SpecialIds], TextBatch] = make_text_batch,
) -> list[NDArray[np.float32]]:
    """Returns a model's output for each row, float32: a vector, or one for each of its tokens.

    Args:
        model: in evaluation mode.
        rows: ids without special tokens.
        special: the ids that batches need.
        made_of: computes other outputs than the model's from a batch on its device: [rows, outputs], or [rows, time,
            outputs], whose padding is cut off.
        tokens_at_once: tokens of a batch, with padding; a longer row is a batch of its own.
        make_batch: pads rows.
    """
    device = next(model.parameters()).device
    lengths = [row_length(*row) for row in rows]
    outputs: dict[int, NDArray[np.float32]] = {}
    for chosen in batches_by_length(lengths, tokens_at_once, longest_first=True):  # a lack of memory shows at once
        batch = make_batch([rows[i] for i in chosen], special).to(device)
        made = model(batch.tokens, batch.segments, batch.is_real) if made_of is None else made_of(batch)
        real = batch.is_real.sum(1).tolist()
        for i, output, tokens in zip(chosen, made.float().cpu().numpy(), real, strict=True):
            outputs[i] = output[:tokens].copy() if output.ndim > 1 else output
    return [outputs[i] for i in range(len(rows))]


def softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Returns the softmax over the last axis, in float64."""
    raised = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return cast(NDArray[np.float64], raised / raised.sum(-1, keepdims=True))
