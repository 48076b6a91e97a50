"""Probes: inputs and a model's scores when it was saved, which verify the model when it is loaded.

A probe is scored on the CPU, wherever the model is: a GPU may compute in TF32, further off than a probe allows. It also
has the SHA-256 of the bundle's other files, since a single changed weight may move no score.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor, nn

from transduce.base.config import Settings
from transduce.base.errors import CheckpointError
from transduce.base.task_table import ProbeKind
from transduce.base.verification import COPY_AGAIN, read_json
from transduce.data.batch import SpecialIds, make_batch
from transduce.data.text_batch import make_text_batch
from transduce.models.heads import EncoderModel, fixed_projection
from transduce.models.interface import EncoderDecoder
from transduce.models.scoring import score_tokens
from transduce.text.tokenizer import Tokenizer, Tokenizers

PROBES = 4
PROBE_CHARACTERS = 60  # of each text, where a task takes the beginnings of texts
TOLERANCE = 1e-3  # nats a sentence; another processor's float32 stays far below, a broken weight far above
MAX_TOKENS = 4000  # of a probe that is read; written ones are short


class Probe(Settings, frozen=True):
    """Inputs, and the model's scores when it was saved."""

    source: list[list[int]]
    """Token ids of the source; of the first text for a model that reads texts."""
    target: list[list[int]]
    """Token ids of the target; of the second text, if any, for a model that reads texts."""
    text: list[str]
    """The source texts, which the tokenizer must turn into `source`."""
    scores: list[float]
    """Log-probability of each target, in nats, float32; for a model that reads texts, see `fixed_projection`."""
    sha256: dict[str, str]
    """SHA-256 of each other file of the bundle."""


def read_probe(folder: Path) -> Probe:
    """Reads the probe of a bundle's folder; raises CheckpointError for an invalid one."""
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


Ids = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Probing:
    """The functions that probe models of one kind."""

    limits: Callable[[nn.Module], tuple[int | None, int | None]]
    """Returns the maximum tokens of the two texts, each with its end token."""
    score: Callable[[nn.Module, Ids, Ids, SpecialIds], Tensor]
    """Returns a number for each pair of texts, [rows], by a model on the CPU in evaluation mode."""


def make_probe(
    kind: ProbeKind,
    model: nn.Module,
    tokenizers: Tokenizers,
    special: SpecialIds,
    texts: Sequence[tuple[str, str]],
    sha256: dict[str, str],
    marks: Sequence[int] = (),
) -> Probe:
    """Makes the probe of a model from a few sentence pairs, with language tokens before each source, if any.

    Raises FloatingPointError if the model's scores are not finite.
    """
    source_limit, target_limit = PROBINGS[kind].limits(model)
    source_limit = source_limit and source_limit - len(marks)
    sources = [_shortened(text, tokenizers.source, source_limit) for text, _ in texts[:PROBES]]
    targets = [_shortened(text, tokenizers.target, target_limit) for _, text in texts[:PROBES]]
    source, target = _marked(tokenizers.source, sources, marks), tokenizers.target.encode_batch(targets)
    scores = _score(kind, model, source, target, special)
    if not all(map(math.isfinite, scores)):
        raise FloatingPointError(
            "the model is not saved, because the scores that it gives sentences are not finite; its weights have "
            "grown beyond measure: train with a lower optimizer.learning_rate or a longer warm-up"
        )
    return Probe(source=source, target=target, text=sources, scores=scores, sha256=sha256)


def _shortened(text: str, tokenizer: Tokenizer, limit: int | None) -> str:
    """Returns a text, or its beginning if its tokens and an end token exceed the model's positions."""
    while text and limit is not None and (length := len(tokenizer.encode(text))) >= limit:
        text = text[: min(len(text) - 1, len(text) * (limit - 1) // length)]
    return text


def check_probe(
    kind: ProbeKind,
    probe: Probe,
    model: nn.Module,
    tokenizers: Tokenizers,
    special: SpecialIds,
    folder: Path,
    marks: Sequence[int] = (),
) -> None:
    """Raises CheckpointError unless tokenizers and model give the same ids and scores for the probe as when saved."""
    source_limit, target_limit = PROBINGS[kind].limits(model)
    for rows, tokenizer, limit in (
        (probe.source, tokenizers.source, source_limit),
        (probe.target, tokenizers.target, target_limit),
    ):
        _check_ids(rows, len(tokenizer), MAX_TOKENS if limit is None else limit - 1, folder)
    if _marked(tokenizers.source, probe.text, marks) != probe.source:
        raise CheckpointError(f"{folder}: its tokenizer tokenizes text differently than when it was saved")
    (score,) = _score(kind, model, probe.source[:1], probe.target[:1], special)
    saved = probe.scores[0]
    if not abs(score - saved) <= TOLERANCE * max(1.0, abs(saved)):  # also true for NaN
        raise CheckpointError(
            f"{folder}: the model scores its probe {score:.4f}, but {saved:.4f} when it was saved; "
            "its weights or the libraries' arithmetic have changed"
        )


def _marked(tokenizer: Tokenizer, texts: Sequence[str], marks: Sequence[int]) -> list[list[int]]:
    return [[*marks, *ids] for ids in tokenizer.encode_batch(texts)]


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
def _score(kind: ProbeKind, model: nn.Module, source: Ids, target: Ids, special: SpecialIds) -> list[float]:
    """Returns scores computed on the CPU in float32: TF32 on another device exceeds a probe's tolerance."""
    if next(model.parameters()).device.type != "cpu":
        model = _on_cpu(model)
    training = model.training
    model.eval()
    scores = PROBINGS[kind].score(model, source, target, special)
    model.train(training)
    return [float(score) for score in scores]


def _pair_limits(model: nn.Module) -> tuple[int | None, int | None]:
    assert isinstance(model, EncoderDecoder)
    return model.source_limit, model.target_limit


def _score_pairs(model: nn.Module, source: Ids, target: Ids, special: SpecialIds) -> Tensor:
    """Returns the log-probabilities of targets, given sources."""
    batch = make_batch(source, target, special)
    assert isinstance(model, EncoderDecoder)
    read, predicted = (batch.source, batch.source_is_real), (batch.target_in, batch.target_out, batch.target_is_real)
    return score_tokens(model, *read, *predicted).sum(1)


def _text_limits(model: nn.Module) -> tuple[int | None, int | None]:
    assert isinstance(model, EncoderModel)
    limit = model.encoder.limit
    each = None if limit is None else (limit - 1) // 2  # one token begins the row
    return each, each


def _score_texts(model: nn.Module, first: Ids, second: Ids, special: SpecialIds) -> Tensor:
    """Returns projections of a model's vectors of texts, or of pairs if the second text is not empty."""
    batch = make_text_batch([(ids, other_ids or None) for ids, other_ids in zip(first, second, strict=True)], special)
    outputs = model(batch.tokens, batch.segments, batch.is_real)
    return fixed_projection(outputs, batch.is_real)


PROBINGS: Mapping[ProbeKind, Probing] = {
    "pairs": Probing(_pair_limits, _score_pairs),
    "texts": Probing(_text_limits, _score_texts),
}


def _on_cpu(model: nn.Module) -> nn.Module:
    """Returns a copy on the CPU, without a second copy of any weight on the model's own device meanwhile."""
    copies: dict[int, Tensor] = {}
    for tensor in chain(model.parameters(), model.buffers()):
        there = tensor.detach().cpu()
        copies[id(tensor)] = nn.Parameter(there, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else there
    return copy.deepcopy(model, copies)
