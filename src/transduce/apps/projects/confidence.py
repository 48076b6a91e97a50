"""Features of a translation that tell how much editing it needs: what the model that knows both texts thinks of it."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from docsegments.orthography.words import word_texts
from docsegments.sentences import split_sentences
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import make_batch
from transduce.data.parts import batches_by_length

FEATURES = (
    "mean log-probability",
    "spread of log-probabilities",
    "least log-probability",
    "tokens below 0.5",
    "tokens below 0.2",
    "mean entropy",
    "mean distance to the best token",
    "surprise of the whole",
    "length",
    "length ratio",
    "source subwords a word",
    "target subwords a word",
    "unknown tokens",
)
"""Names of the features; the similarity to earlier sources is added to them by what knows these."""

TOKENS_AT_ONCE = 1024
"""Padded tokens of the longer side of a batch; probabilities take the vocabulary times as many numbers."""

LONGEST_TARGET = 4
"""A translation of more than this times the source's longest length is not looked at."""

Features = NDArray[np.float64]
TokenFacts = NDArray[np.float64]
"""Log-probability of each target token, entropy before it, and log-probability of the best: [tokens, 3]."""


def confidence_features(bundle: ModelBundle, pairs: Sequence[tuple[str, str]]) -> list[Features | None]:
    """Returns the features of each source and its translation, [len(FEATURES)].

    Texts of as many sentences are read sentence by sentence. None for a blank side, or for sentences that are longer
    than those that the model was trained on.
    """
    sentences: list[tuple[list[int], list[int]]] = []
    spans: list[range | None] = []
    for pair in pairs:
        sources, targets = zip(*_sentences(*pair), strict=True)
        encoded = list(zip(bundle.read(sources), bundle.tokenizers.target.encode_batch(targets), strict=True))
        fits = all(map(str.strip, pair)) and all(_fits(bundle, *sentence) for sentence in encoded)
        spans.append(range(len(sentences), len(sentences) + len(encoded)) if fits else None)
        sentences += encoded if fits else []
    facts = _token_facts(bundle, sentences)
    unknown, marks = bundle.tokenizers.source.unknown, len(bundle.marks.source)
    results: list[Features | None] = []
    for (source, target), span in zip(pairs, spans, strict=True):
        if span is None:
            results.append(None)
            continue
        read = [token for number in span for token in sentences[number][0][marks:]]
        results.append(_features(source, target, read, unknown, np.concatenate([facts[number] for number in span])))
    return results


def _sentences(source: str, target: str) -> list[tuple[str, str]]:
    """Returns the sentences of both texts if there are as many, else the texts."""
    sides = [[text[start:end] for start, end in split_sentences(text)] for text in (source, target)]
    if len(sides[0]) != len(sides[1]) or not sides[0]:
        return [(source.strip(), target.strip())]
    return list(zip(*sides, strict=True))


def _fits(bundle: ModelBundle, source: list[int], target: list[int]) -> bool:
    longest, model = bundle.config.longest_source + len(bundle.marks.source), bundle.writer
    limits = (min(longest, model.source_limit or longest), min(LONGEST_TARGET * longest, model.target_limit or 10**9))
    return len(source) <= limits[0] and len(target) < limits[1]


@torch.inference_mode()
def _token_facts(bundle: ModelBundle, sentences: Sequence[tuple[list[int], list[int]]]) -> list[TokenFacts]:
    model = bundle.writer
    results: dict[int, TokenFacts] = {}
    lengths = [max(len(source), len(target)) + 1 for source, target in sentences]
    for chosen in batches_by_length(lengths, TOKENS_AT_ONCE):
        sources, targets = zip(*(sentences[i] for i in chosen), strict=True)
        batch = make_batch(sources, targets, bundle.special).to(bundle.device)
        state = model.start(model.encode(batch.source, batch.source_is_real))
        logits, _ = model.decoder(batch.target_in, state)
        logs = logits.float().log_softmax(-1)  # [rows, time, vocabulary]
        of_tokens = logs.gather(2, batch.target_out[..., None])[..., 0]
        entropy = -(logs.exp() * logs).sum(-1)  # [rows, time]
        facts = torch.stack([of_tokens, entropy, logs.amax(-1)], -1).double().cpu().numpy()
        for row, i in enumerate(chosen):
            results[i] = facts[row, : len(sentences[i][1]) + 1]
    return [results[i] for i in range(len(sentences))]


def _features(source: str, target: str, read: Sequence[int], unknown: int, facts: TokenFacts) -> Features:
    logs, entropies, best = facts.T
    source_words, target_words = (max(1, len(word_texts(text))) for text in (source, target))
    return np.array(
        [
            logs.mean(),
            logs.std(),
            logs.min(),
            (logs < math.log(0.5)).mean(),
            (logs < math.log(0.2)).mean(),
            entropies.mean(),
            (best - logs).mean(),
            math.log1p(max(0.0, -logs.sum())),
            math.log(len(logs)),
            math.log(target_words / source_words),
            len(read) / source_words,
            len(logs) / target_words,
            sum(token == unknown for token in read) / max(1, len(read)),
        ]
    )
