"""Inputs and the scores that a model gave them when it was saved, by which it is known to be the same when loaded."""

import copy
import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from transduce.config import Settings
from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.errors import CheckpointError
from transduce.models.interface import EncoderDecoder
from transduce.models.scoring import score_tokens
from transduce.nn.state import DecoderState
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.verification import COPY_AGAIN, read_json

PROBES = 4
TOLERANCE = 1e-3  # nats a sentence; another processor's float32 stays far below, a broken weight far above
MAX_TOKENS = 4000  # of a probe that is read; written ones are short


class Probe(Settings, frozen=True):
    """Inputs, and what the model made of them when it was saved."""

    source: list[list[int]]
    """Token ids."""
    target: list[list[int]]
    """Token ids."""
    text: list[str]
    """The source texts, which the tokenizer must turn into `source`."""
    scores: list[float]
    """Log-probability of each target, in nats, float32."""
    sha256: dict[str, str]
    """Of the bundle's other files."""


def read_probe(folder: Path) -> Probe:
    """The probe of a bundle's folder; raises CheckpointError for one that no bundle was saved with."""
    path = folder / "probe.json"
    probe = read_json(path, Probe)
    count = len(probe.text)
    if not count or {count} != {len(probe.source), len(probe.target), len(probe.scores)}:
        raise CheckpointError(f"{path} is damaged (not as many sources, targets and scores as texts); {COPY_AGAIN}")
    if not all(map(math.isfinite, probe.scores)):
        raise CheckpointError(f"{path} is damaged (a score is not finite); {COPY_AGAIN}")
    if missing := {"config.toml", "weights.safetensors"} - probe.sha256.keys():
        raise CheckpointError(f"{path} is damaged (no SHA-256 of {min(missing)}); {COPY_AGAIN}")
    if any(Path(name).name != name for name in probe.sha256):
        raise CheckpointError(f"{path} is damaged (SHA-256 of a file outside its folder); {COPY_AGAIN}")
    return probe


def make_probe(
    model: nn.Module,
    tokenizers: Tokenizers,
    special: SpecialIds,
    texts: Sequence[tuple[str, str]],
    sha256: dict[str, str],
) -> Probe:
    """Score a few sentence pairs; raises FloatingPointError where the model's scores are not finite."""
    limits = cast(EncoderDecoder[DecoderState], model)
    sources = [_shortened(text, tokenizers.source, limits.source_limit) for text, _ in texts[:PROBES]]
    targets = [_shortened(text, tokenizers.target, limits.target_limit) for _, text in texts[:PROBES]]
    source, target = tokenizers.source.encode_batch(sources), tokenizers.target.encode_batch(targets)
    scores = _score(model, make_batch(source, target, special))
    if not all(map(math.isfinite, scores)):
        raise FloatingPointError(
            "the model is not saved, because the scores that it gives sentences are not finite; its weights have "
            "grown beyond measure: train with a lower optimizer.learning_rate or a longer warm-up"
        )
    return Probe(source=source, target=target, text=sources, scores=scores, sha256=sha256)


def _shortened(text: str, tokenizer: Tokenizer, limit: int | None) -> str:
    """The text, or its beginning where its tokens and an end token are more than a model has positions for."""
    while text and limit is not None and (length := len(tokenizer.encode(text))) >= limit:
        text = text[: min(len(text) - 1, len(text) * (limit - 1) // length)]
    return text


def check_probe(probe: Probe, model: nn.Module, tokenizers: Tokenizers, special: SpecialIds, folder: Path) -> None:
    """Raise CheckpointError unless tokenizers and model make of the probe what they did when they were saved."""
    limits = cast(EncoderDecoder[DecoderState], model)
    for rows, tokenizer, limit in (
        (probe.source, tokenizers.source, limits.source_limit),
        (probe.target, tokenizers.target, limits.target_limit),
    ):
        _check_ids(rows, len(tokenizer), MAX_TOKENS if limit is None else limit - 1, folder)
    if tokenizers.source.encode_batch(probe.text) != probe.source:
        raise CheckpointError(f"{folder}: its tokenizer tokenizes text differently than when it was saved")
    (score,) = _score(model, make_batch(probe.source[:1], probe.target[:1], special))
    saved = probe.scores[0]
    if not abs(score - saved) <= TOLERANCE * max(1.0, abs(saved)):  # nothing is at most anything for a NaN
        raise CheckpointError(
            f"{folder}: the model scores its probe {score:.4f}, but {saved:.4f} when it was saved; "
            "its weights or the libraries' arithmetic have changed"
        )


def _check_ids(rows: list[list[int]], vocabulary: int, most: int, folder: Path) -> None:
    for ids in rows:
        if len(ids) > most:
            raise CheckpointError(
                f"{folder}/probe.json does not fit the model: {len(ids):,} tokens, where {most:,} are the most; "
                f"{COPY_AGAIN}"
            )
        if any(not 0 <= token < vocabulary for token in ids):
            raise CheckpointError(
                f"{folder}/probe.json does not fit the model: a token beyond its vocabulary of {vocabulary:,}; "
                f"{COPY_AGAIN}"
            )


@torch.no_grad()
def _score(model: nn.Module, batch: Batch) -> list[float]:
    """On the CPU, in float32: another device may compute in TF32, whose scores differ from these by more than a probe
    allows."""
    if next(model.parameters()).device.type != "cpu":
        model = _on_cpu(model)
    training = model.training
    model.eval()
    scores = score_tokens(
        cast(EncoderDecoder[DecoderState], model),
        batch.source,
        batch.source_is_real,
        batch.target_in,
        batch.target_out,
        batch.target_is_real,
    )
    model.train(training)
    return [float(score) for score in scores.sum(1)]


def _on_cpu(model: nn.Module) -> nn.Module:
    """A copy on the CPU; for none of its weights is there a second one on the model's own device meanwhile."""
    copies: dict[int, Tensor] = {}
    for tensor in chain(model.parameters(), model.buffers()):
        there = tensor.detach().cpu()
        copies[id(tensor)] = nn.Parameter(there, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else there
    return copy.deepcopy(model, copies)
