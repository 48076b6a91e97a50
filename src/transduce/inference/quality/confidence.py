"""Features of a translation that tell how much editing it needs: how probable the model finds it, and how it looks."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from docsegments.orthography.words import word_texts
from docsegments.sentences import split_sentences
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.quality.known_texts import KnownTexts
from transduce.inference.quality.word_translations import unexplained
from transduce.models.scoring import score_tokens

FEATURES = (
    "mean log-probability",
    "surprise of the whole",
    "length",
    "length of the source",
    "length ratio",
    "unusual length ratio",
    "target subwords a word",
    "words of the source in it",
    "repeated words",
    "repeated word pairs",
    "digits of the source",
    "capitals of the source",
    "signs of the source",
    "signs",
    "unseen words",
    "rare words",
    "times seen in training",
    "unexplained words",
)
"""Names of the features; the similarity to earlier sources is added to them by what knows these."""

UNSEEN = FEATURES.index("unseen words")

RARE = 5
"""A source word is rare if it was seen fewer times in training."""

TOKENS_AT_ONCE = 1024
"""Padded tokens of the longer side of a batch; probabilities take the vocabulary times as many numbers."""

LONGEST_TARGET = 4
"""A translation of more than this times the source's longest length is not looked at."""

SIGN = re.compile(r"[^\w\s]")

Features = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """What a model has seen in training."""

    words: KnownTexts
    """Words of the sources, in lower case."""
    targets: KnownTexts
    """Targets that occurred more than once."""
    translations: KnownTexts = field(default_factory=lambda: KnownTexts.of([]))
    """Probabilities of word translations; see `word_translations`."""


def confidence_features(
    bundle: ModelBundle, pairs: Sequence[tuple[str, str]], training: Training | None = None
) -> list[Features | None]:
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
    totals = _log_probabilities(bundle, sentences)
    features: list[Features | None] = []
    for pair, span in zip(pairs, spans, strict=True):
        if span is None:
            features.append(None)
            continue
        total, tokens = sum(totals[number] for number in span), sum(len(sentences[number][1]) + 1 for number in span)
        features.append(features_of(*pair, total, tokens, training))
    return features


def features_of(
    source: str, target: str, log_probability: float, tokens: int, training: Training | None = None
) -> Features:
    """Returns the features of a translation, [len(FEATURES)], given its log-probability and its tokens, its end
    counted.

    Without `training`, all words count as seen. The log-probability of each token adds nothing to these.
    """
    of_source, of_target = (word_texts(text) for text in (source, target))
    counts = [RARE] if training is None else training.words.counts_of([w.lower() for w in of_source] or [""])
    seen = 0 if training is None else training.targets.counts_of([target])[0]
    letters, known = len(source) + 1, set(of_source)
    ratio = math.log((len(target) + 1) / letters)
    return np.array(
        [
            log_probability / tokens,
            math.log1p(max(0.0, -log_probability)),
            math.log(tokens),
            math.log(letters),
            ratio,
            abs(ratio),
            tokens / max(1, len(of_target)),
            sum(word in known for word in of_target) / max(1, len(of_target)),
            *(repetition(of_source, of_target, size) for size in (1, 2)),
            sum(map(str.isdigit, source)) / letters,
            sum(map(str.isupper, source)) / letters,
            *(len(SIGN.findall(text)) / (len(text) + 1) for text in (source, target)),
            counts.count(0) / len(counts),
            sum(count < RARE for count in counts) / len(counts),
            math.log(max(1, seen)),
            0.0 if training is None else unexplained(training.translations, source, target),
        ]
    )


def repetition(source: Sequence[str], target: Sequence[str], size: int) -> float:
    """Returns the share of a target's n-grams of this size that occurred before in it, less the source's share."""
    shares = [repeated(words, size) / max(1, len(words) - size + 1) for words in (target, source)]
    return shares[0] - shares[1]


def repeated(words: Sequence[str] | Sequence[int], size: int) -> int:
    """Returns the number of n-grams of this size that occurred before in a text."""
    ngrams = list(zip(*(words[begin:] for begin in range(size)), strict=False))
    return len(ngrams) - len(set(ngrams))


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
def _log_probabilities(bundle: ModelBundle, sentences: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    """Returns the log-probability of each target, given its source, the end counted."""
    results: dict[int, float] = {}
    sources, targets = [source for source, _ in sentences], [target for _, target in sentences]
    for chosen, batch in bundle.batches(sources, targets, TOKENS_AT_ONCE):
        target = batch.target_in, batch.target_out, batch.target_is_real
        scores = score_tokens(bundle.writer, batch.source, batch.source_is_real, *target)  # [rows, time]
        results.update(zip(chosen, scores.double().sum(1).tolist(), strict=True))
    return [results[i] for i in range(len(sentences))]
