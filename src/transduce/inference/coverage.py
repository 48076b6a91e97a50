"""Reranks finished hypotheses by how much of the source they attended to (Wu et al. 2016, eq. 14)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.data.batch import make_batch
from transduce.data.parts import batches_by_length
from transduce.errors import InputError
from transduce.models.interface import Writer
from transduce.nn.recording import record_attention
from transduce.search.loop import Hypothesis

TOKENS_AT_ONCE = 2048
"""Padded tokens of the longer side of a recorded pass."""


def rerank(
    bundle: ModelBundle,
    model: Writer[Any],
    sources: Sequence[list[int]],
    outputs: Sequence[Sequence[Hypothesis]],
    weight: float,
    begins: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Returns each sentence's hypotheses, best first by their score plus `weight` times their coverage."""
    flat = [(i, hypothesis) for i, hypotheses in enumerate(outputs) for hypothesis in hypotheses]
    row_begins = None if begins is None else [begins[i] for i, _ in flat]
    targets = [hypothesis.tokens for _, hypothesis in flat]
    coverages = coverage(bundle, model, [sources[i] for i, _ in flat], targets, row_begins)
    ranked: list[list[Hypothesis]] = [[] for _ in outputs]
    for (i, hypothesis), covered in zip(flat, coverages, strict=True):
        ranked[i].append(replace(hypothesis, score=hypothesis.score + weight * covered))
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in ranked]


@torch.inference_mode()
def coverage(
    bundle: ModelBundle,
    model: Writer[Any],
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    begins: Sequence[int] | None = None,
) -> list[float]:
    """Returns the coverage of each pair of token ids: 0 if attention to each source token sums to 1, else less."""
    lengths = [max(len(source), len(target)) + 2 for source, target in zip(sources, targets, strict=True)]
    results = [0.0] * len(lengths)
    for chosen in batches_by_length(lengths, TOKENS_AT_ONCE):
        row_begins = None if begins is None else [begins[i] for i in chosen]
        batch = make_batch([sources[i] for i in chosen], [targets[i] for i in chosen], bundle.special, row_begins)
        batch = batch.to(bundle.device)
        target_in = batch.target_in
        if target_in.shape[1] == batch.source.shape[1]:  # so that what attends to the source is known by its shape
            target_in = torch.cat([target_in, target_in[:, -1:]], 1)
        state = model.start(model.encode(batch.source, batch.source_is_real))
        with record_attention(bundle.model) as tape:
            model.decoder(target_in, state)
        weights = _mean(tape.values(), batch.source.shape[1])[:, : batch.target_is_real.shape[1]]
        weights = weights * batch.target_is_real[..., None]  # [rows, target_time, source_time]
        for i, value in zip(chosen, coverage_of(weights, [len(sources[i]) for i in chosen]), strict=True):
            results[i] = value
    return results


def coverage_of(weights: Float[Tensor, "rows target_time source_time"], lengths: Sequence[int]) -> list[float]:
    """Returns each row's sum over its real source tokens of log min(1, attention to it from all target tokens)."""
    attended = weights.sum(1).clamp(1e-9, 1.0).log()  # [rows, source_time]
    return [float(row[:length].sum()) for row, length in zip(attended, lengths, strict=True)]


def _mean(calls_of_modules: Iterable[list[Tensor]], source_time: int) -> Float[Tensor, "rows target_time source_time"]:
    """Returns the mean attention to the source, over all layers and heads."""
    maps = [torch.cat(calls, 2) for calls in calls_of_modules if calls and calls[0].shape[-1] == source_time]
    if not maps:
        raise InputError("coverage_penalty needs a model with attention to its source, and this one has none")
    return torch.stack([weights.float().mean(1) for weights in maps]).mean(0)
